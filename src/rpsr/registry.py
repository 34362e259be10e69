"""Planners, estimators and domains by name: those of this library and those of other packages.

Another package offers its own through an entry point of the same group, in its `pyproject.toml`:

    [project.entry-points."rpsr.planners"]
    mine = "my_package.planners:Mine"

An object is imported when its name is first used: listing names is quick, and using one planner
does not compile another. Another package cannot replace a name of this library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

from rpsr.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MOST_COMPARED = 1000  # names: comparing takes long


@dataclass(frozen=True)
class Registry:
    """Objects by name.

    kind: the word for them in messages ("planner"). group: the group of entry points.
    own: the objects of this library, each as "module:attribute".
    """

    kind: str
    group: str
    own: Mapping[str, str]

    def names(self) -> tuple[str, ...]:
        """All names, this library's first."""
        return (*self.own, *sorted(set(self._offered()) - set(self.own)))

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._offered()

    def get(self, name: str) -> Any:
        """The object of this name; an `InputError` if there is none or its import fails."""
        if name in self.own:
            module, attribute = self.own[name].split(":")
            return getattr(import_module(module), attribute)
        offered = self._offered()
        if name not in offered:
            raise InputError(self.unknown(name))
        entry = offered[name]
        try:
            return entry.load()
        except (ImportError, AttributeError, SyntaxError) as error:
            package = entry.dist.name if entry.dist is not None else "another package"
            raise InputError(
                f"{self.kind} {name!r} of {package} cannot be loaded from {entry.value}: {error}"
            ) from error

    def _offered(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points

        return {entry.name: entry for entry in entry_points(group=self.group)}

    def unknown(self, name: str) -> str:
        """The error message for an unknown name."""
        names = self.names()
        advice = (
            did_you_mean(name, {one: one for one in names}) or f"choose from {', '.join(names)}"
        )
        return f"no {self.kind} is called {name!r}; {advice}"


def did_you_mean(name: str, names: Mapping[str, str]) -> str:
    """The question whether one of the names that resemble a wrong one was meant; '' if none do.

    names: how to show each name; the first `MOST_COMPARED` are compared.
    """
    close = get_close_matches(name, islice(names, MOST_COMPARED), n=3)
    return f"did you mean {' or '.join(names[other] for other in close)}?" if close else ""
