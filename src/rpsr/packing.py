"""Objects as bytes, to be sent to other processes; arrays that are read-only stay so.

Values are immutable here, and a kernel is compiled for each kind of array. The protocol that Python
pickles by unless told otherwise would make all arrays writable.
"""

from __future__ import annotations

import pickle
from traceback import format_exception
from typing import Any

from rpsr.errors import RpsrError

PROTOCOL = 5  # the first that keeps arrays read-only


def packed(value: Any) -> bytes:
    """The bytes of any object whose classes and functions are importable elsewhere."""
    return pickle.dumps(value, PROTOCOL)


def unpacked(content: bytes) -> Any:
    """The object of `packed`, which must come from a process of the same user."""
    return pickle.loads(content)


def sendable(error: Exception) -> Exception:
    """An exception with the place where it was raised, as a note, to be packed.

    Its kind and text alone if it does not survive the way to another process.
    """
    error.add_note("".join(format_exception(error)))
    try:
        unpacked(packed(error))
    except Exception:
        return RpsrError(f"{type(error).__name__}: {error}")
    return error
