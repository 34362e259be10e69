"""Histories as numbers, so that a memory of fixed length tells them apart."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

BYTES = 6  # exact as a float; two histories in 2^48 have the same number


def extended(digest: int, action: int, observation: Any) -> int:
    """The number of a history after one more interaction; that of the empty history is 0."""
    seen = observation.item() if isinstance(observation, np.generic) else observation
    text = repr((digest, action, seen)).encode()
    return int.from_bytes(blake2b(text, digest_size=BYTES).digest(), "big")
