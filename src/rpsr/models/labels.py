"""Look up names and indices; the error for a wrong one lists the right ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from rpsr.errors import InputError
from rpsr.registry import did_you_mean

Label = str | int
FEW = 5  # names in a message


class Index(int):
    """A number that is surely an index, in whatever way things are named."""


def index_of(names: Sequence[str], label: Label, kind: str) -> int:
    """The index of a name, or a valid index itself; else an `InputError` that lists names.

    An index may be of any integer type, numpy's included.
    """
    if isinstance(label, str):
        if label in names:
            return names.index(label)
        raise InputError(f"no {kind} is called {label!r}; {advice(label, names)}")
    try:
        index = operator.index(label)
    except TypeError:
        raise InputError(f"{kind}: read {label!r}, expected a name or an index") from None
    if isinstance(label, bool) or not 0 <= index < len(names):
        name = f", or the name {str(label)!r} in quotes" if str(label) in names else ""
        raise InputError(
            f"{kind}: read {label!r}, expected an index from 0 to {len(names) - 1}{name}"
        )
    return index


def advice(name: str, names: Sequence[str]) -> str:
    """A name to write instead of a wrong one: one that resembles it, or any."""
    return did_you_mean(name, {one: repr(one) for one in names}) or f"the names are {_few(names)}"


def _few(names: Sequence[str]) -> str:
    """Some names, and how many there are."""
    listed = ", ".join(map(repr, names[:FEW]))
    return listed if len(names) <= FEW else f"{listed}, ... ({len(names)} in all)"


def observed(names: Sequence[str], label: Label) -> int:
    """The index of an observation, as `index_of`, for labels from outside.

    In a table of numbers, 1 is a name. So a number that is both an index and the name of another
    observation is an `InputError`; an `Index` is not. Actions need no such rule: a number is the
    index that `act` returned.
    """
    index = index_of(names, label, "observation")
    if isinstance(label, str | Index) or names[index] == str(index) or str(index) not in names:
        return index
    raise InputError(
        f"observation: read {label!r}, expected a name in quotes: observations are called "
        f"{_few(names)}, so {index} may mean {str(index)!r} or, as an index from 0, "
        f"{names[index]!r}"
    )
