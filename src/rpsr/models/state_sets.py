"""Sets of states and observations by name, index or label, as users write them.

An item is a label of the file, the name of a state, the name of an observation, or the index of a
state (an integer). `state:`, `observation:` and `label:` before a name say which is meant, and `!`
before a state or a label means all other states. In one string, commas separate items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Bools
from rpsr.models.labels import index_of
from rpsr.models.pomdp import POMDP

SetLike = str | int | Iterable[str | int]
KINDS = ("label", "state", "observation")


@dataclass(frozen=True, eq=False)
class Chosen:
    """A set: states (S,) and observations (O,)."""

    states: Bools
    observations: Bools


def chosen(pomdp: POMDP, given: SetLike, what: str) -> Chosen:
    """The set that was given; an `InputError` that names the item and the choices.

    what: the name of the argument, for messages.
    """
    states = np.zeros(len(pomdp.states), dtype=np.bool_)
    observations = np.zeros(len(pomdp.observations), dtype=np.bool_)
    items = _items(pomdp, given)
    if not items:
        raise InputError(f"{what}: read an empty set, expected states, labels or observations")
    for item in items:
        if isinstance(item, str):
            _add(pomdp, item, what, states, observations)
        else:
            states[index_of(pomdp.states, item, f"{what}: state")] = True
    return Chosen(states, observations)


def described(given: SetLike) -> str:
    """A set in words, as it was given."""
    if isinstance(given, str | int):
        return str(given)
    return ", ".join(str(item) for item in given)


def _items(pomdp: POMDP, given: Any) -> list[str | int]:
    if isinstance(given, str) and not given.strip():
        return []
    if isinstance(given, str):
        # A name may contain commas, as joint values of variables do.
        whole = _meanings(pomdp, given.removeprefix("!"))
        return [given] if whole else [part.strip() for part in given.split(",")]
    return list(given) if isinstance(given, Iterable) else [given]


def _meanings(pomdp: POMDP, name: str) -> list[tuple[str, str]]:
    """What a name may mean: (kind, name without its kind)."""
    kind, colon, rest = name.partition(":")
    if colon and kind in KINDS:
        return [(kind, rest)] if rest in _names(pomdp, kind) else []
    return [(kind, name) for kind in KINDS if name in _names(pomdp, kind)]


def _names(pomdp: POMDP, kind: str) -> tuple[str, ...]:
    names = {
        "label": tuple(pomdp.labels),
        "state": pomdp.states,
        "observation": pomdp.observations,
    }
    return names[kind]


def _add(pomdp: POMDP, item: str, what: str, states: Bools, observations: Bools) -> None:
    name = item.removeprefix("!")
    meanings = _meanings(pomdp, name)
    if not meanings:
        every = [each for kind in KINDS for each in _names(pomdp, kind)]
        close = get_close_matches(name.rpartition(":")[2], every, n=3) or every[:5]
        raise InputError(
            f"{what}: no label, state or observation is called {name!r}; "
            f"choose from {', '.join(map(repr, dict.fromkeys(close)))}"
        )
    kind, name = meanings[0]
    if len(meanings) > 1 and kind != "label":
        raise InputError(
            f"{what}: {name!r} is a state and an observation; "
            f"write state:{name} or observation:{name}"
        )
    if kind == "observation":
        if item.startswith("!"):
            raise InputError(f"{what}: read {item!r}, expected ! before a state or a label")
        observations[pomdp.observations.index(name)] = True
        return
    members = np.zeros(len(pomdp.states), dtype=np.bool_)
    members[list(pomdp.labels[name]) if kind == "label" else pomdp.states.index(name)] = True
    states |= ~members if item.startswith("!") else members
