"""Spaces whose numbers have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

START = "(start)"  # the observation before the first action, which rpsr's models do not have


class NamedDiscrete(Discrete):
    """A `Discrete` space whose numbers 0, 1, ... have names.

    initial: the number that `reset` returns and `step` never does, or None.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        initial: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.names = tuple(names)
        self.initial = initial
        super().__init__(len(self.names), seed=seed)

    def __repr__(self) -> str:
        return f"NamedDiscrete({', '.join(self.names)})"

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        return same and (not isinstance(other, NamedDiscrete) or self.names == other.names)

    __hash__: Any = None


def observation_space(names: tuple[str, ...]) -> NamedDiscrete:
    """The names of a model's observations, and after them one for the start of an episode."""
    start = START
    while start in names:
        start = f"({start})"
    return NamedDiscrete((*names, start), initial=len(names))


def observation_names(space: NamedDiscrete) -> tuple[str, ...]:
    """The names that `step` may return: without that of the start."""
    return tuple(name for i, name in enumerate(space.names) if i != space.initial)
