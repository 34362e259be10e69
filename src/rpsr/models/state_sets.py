"""Sets of states and observations by name, index or label, as users write them.

An item is a label of the file, the name of a state, the name of an observation, or the index of a
state (an integer). `state:`, `observation:` and `label:` before a name say which is meant, and `!`
before a state or a label means all other states. In one string, commas separate items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Bools
from rpsr.models.labels import advice, index_of

SetLike = str | int | Iterable[str | int]
KINDS = ("label", "state", "observation")


class Named(Protocol):
    """An object with names to choose from, such as a POMDP."""

    @property
    def labels(self) -> Mapping[str, Iterable[int]]:
        """States (their indices) by label."""
        ...

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states."""
        ...

    @property
    def observations(self) -> tuple[str, ...]:
        """The names of the observations."""
        ...


@dataclass(frozen=True, eq=False)
class Chosen:
    """A set: states (S,) and observations (O,)."""

    states: Bools
    observations: Bools


def chosen(named: Named, given: SetLike, what: str) -> Chosen:
    """The set that was given; an `InputError` that names the item and the choices.

    what: the name of the argument, for messages.
    """
    states = np.zeros(len(named.states), dtype=np.bool_)
    observations = np.zeros(len(named.observations), dtype=np.bool_)
    items = _items(named, given)
    if not items:
        raise InputError(f"{what}: read an empty set, expected states, labels or observations")
    for item in items:
        if isinstance(item, str):
            _add(named, item, what, states, observations)
        elif not named.states:
            raise InputError(f"{what}: read {item!r}, expected the name of an observation")
        else:
            states[index_of(named.states, item, f"{what}: state")] = True
    return Chosen(states, observations)


def described(given: SetLike) -> str:
    """A set in words, as it was given."""
    if isinstance(given, str | int):
        return str(given)
    return ", ".join(str(item) for item in given)


def _items(named: Named, given: Any) -> list[str | int]:
    if isinstance(given, str) and not given.strip():
        return []
    if isinstance(given, str):
        # A name may contain commas, as joint values of variables do.
        whole = _meanings(named, given.removeprefix("!"))
        return [given] if whole else [part.strip() for part in given.split(",")]
    return list(given) if isinstance(given, Iterable) else [given]


def _meanings(named: Named, name: str) -> list[tuple[str, str]]:
    """The meanings of a name: (kind, name without its kind)."""
    kind, colon, rest = name.partition(":")
    if colon and kind in KINDS:
        return [(kind, rest)] if rest in _names(named, kind) else []
    return [(kind, name) for kind in KINDS if name in _names(named, kind)]


def _names(named: Named, kind: str) -> tuple[str, ...]:
    names = {
        "label": tuple(named.labels),
        "state": named.states,
        "observation": named.observations,
    }
    return names[kind]


def _add(named: Named, item: str, what: str, states: Bools, observations: Bools) -> None:
    name = item.removeprefix("!")
    meanings = _meanings(named, name)
    if not meanings:
        every = tuple(dict.fromkeys(other for kind in KINDS for other in _names(named, kind)))
        kinds = "label, state or observation" if named.states else "observation"
        instead = advice(name.rpartition(":")[2], every)
        raise InputError(f"{what}: no {kinds} is called {name!r}; {instead}")
    kind, name = meanings[0]
    if len(meanings) > 1 and kind != "label":
        raise InputError(
            f"{what}: {name!r} is a state and an observation; "
            f"write state:{name} or observation:{name}"
        )
    if kind == "observation":
        if item.startswith("!"):
            raise InputError(
                f"{what}: read {item!r}, but {name!r} is an observation; "
                "only a state or a label may follow !"
            )
        observations[named.observations.index(name)] = True
        return
    members = np.zeros(len(named.states), dtype=np.bool_)
    members[list(named.labels[name]) if kind == "label" else named.states.index(name)] = True
    states |= ~members if item.startswith("!") else members
