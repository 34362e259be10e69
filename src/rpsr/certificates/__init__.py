"""Certificates: files that prove bounds and ranks, and the verifier that checks them."""

from rpsr.certificates.verifier import Verified, verify

__all__ = ["Verified", "verify"]
