"""Check that the files of a log are of one system.

A file may contain only some actions and observations. Files that share a name form a family, and
families that share a file are merged. Files of different families share no name.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from rpsr.errors import InputError

SOME = 4  # names in a message


class Families:
    """The families of a log's files by action, by observation, and by either."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, set[str]]] = {"name": {}, "action": {}, "observation": {}}

    def add(self, place: str, actions: Iterable[Any], observations: Iterable[Any]) -> None:
        """Add one file by its names; all indices count as one name."""
        by_kind = {"action": _names(actions), "observation": _names(observations)}
        by_kind["name"] = {f"{kind} {name}" for kind, names in by_kind.items() for name in names}
        for kind, names in by_kind.items():
            if names:
                _join(self._names[kind], place, names)

    def check(self) -> None:
        """Refuse files without a common name; warn if they have no common action or observation."""
        for kind, families in self._names.items():
            if len(families) > 1:
                (first, known), (place, names), *_ = families.items()
                problem = f"has no {kind} in common with {first}: read {_few(names)}"
                problem += f", but that file has {_few(known)}"
                if kind == "name":
                    raise InputError(f"{problem}; expected logs of one system", place=place)
                warnings.warn(
                    f"{place}: {problem}; both files are nevertheless read as logs of one system",
                    stacklevel=2,
                )


def _join(families: dict[str, set[str]], place: str, names: set[str]) -> None:
    """Merge a file and all families that share names with it, keyed by the first file."""
    kin = [first for first, known in families.items() if not known.isdisjoint(names)]
    families.setdefault(kin[0] if kin else place, set()).update(names)
    for other in kin[1:]:
        families[kin[0]] |= families.pop(other)


def _names(labels: Iterable[Any]) -> set[str]:
    return {label if isinstance(label, str) else "indices" for label in labels}


def _few(names: set[str]) -> str:
    return ", ".join(sorted(names)[:SOME]) + (", ..." if len(names) > SOME else "")
