"""Look up names and indices; the error for a wrong one lists the right ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from difflib import get_close_matches

from rpsr.errors import InputError

Label = str | int


def index_of(names: Sequence[str], label: Label, kind: str) -> int:
    """The index of a name, or a valid index itself; else an `InputError` that lists names.

    An index may be of any integer type, numpy's included.
    """
    if isinstance(label, str):
        if label in names:
            return names.index(label)
        close = get_close_matches(label, names, n=3) or list(names[:5])
        raise InputError(
            f"no {kind} is called {label!r}; choose from {', '.join(map(repr, close))}"
        )
    try:
        index = operator.index(label)
    except TypeError:
        raise InputError(f"{kind}: read {label!r}, expected a name or an index") from None
    if isinstance(label, bool) or not 0 <= index < len(names):
        raise InputError(f"{kind}: read {label!r}, expected an index from 0 to {len(names) - 1}")
    return index
