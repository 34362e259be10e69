"""Certificates: files that prove bounds and ranks, and the verifier that checks them.

To trust what `rpsr verify` prints, read this package, in this order: `bounds`, `ranks` and
`controllers` say what a certificate holds, which inequalities and equations are checked, and why
these prove the statement; `verifier` compares what is proven with what is stated; `reading` turns
text into exact numbers; `exact_model` is the POMDP in integers.
Beyond it, `rpsr.io` and `rpsr.models` read the model and its clock. Nothing is imported of planners
or of the search for ranks.
"""

from rpsr.certificates.verifier import Verified, verify

__all__ = ["Verified", "verify"]
