"""Whether the files of a log speak of one system.

A file may show only some actions and observations, so files that share a name are of one family,
and so are families that share a file. Those that are left apart have nothing in common.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from rpsr.errors import InputError

SOME = 4  # names in a sentence


class Families:
    """The families of a log's files by action, by observation, and by either."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, set[str]]] = {"name": {}, "action": {}, "observation": {}}

    def add(self, place: str, actions: Iterable[Any], observations: Iterable[Any]) -> None:
        """Take in one file: its names; indices are anybody's, and count as one name."""
        found = {"action": _names(actions), "observation": _names(observations)}
        found["name"] = {f"{kind} {name}" for kind, names in found.items() for name in names}
        for kind, names in found.items():
            if names:
                _join(self._names[kind], place, names)

    def check(self) -> None:
        """Refuse files that share no name at all; warn of those that share none of one kind."""
        for kind, families in self._names.items():
            if len(families) > 1:
                (first, known), (place, names), *_ = families.items()
                told = f"read {_few(names)}, no {kind} of {first}: {_few(known)}"
                if kind == "name":
                    raise InputError(f"{told}; expected logs of one system", place=place)
                warnings.warn(f"{place}: {told}; taken as one system", stacklevel=2)


def _join(families: dict[str, set[str]], place: str, names: set[str]) -> None:
    """Make one family of a file and all that share names with it, known by its first file."""
    kin = [first for first, known in families.items() if not known.isdisjoint(names)]
    families.setdefault(kin[0] if kin else place, set()).update(names)
    for other in kin[1:]:
        families[kin[0]] |= families.pop(other)


def _names(labels: Iterable[Any]) -> set[str]:
    return {label if isinstance(label, str) else "by index" for label in labels}


def _few(names: set[str]) -> str:
    return ", ".join(sorted(names)[:SOME]) + (", ..." if len(names) > SOME else "")
