"""Generative simulators: problems that are known only by sampling their steps.

A simulator is any object with

    discount                            above 0 and below 1
    actions                             their names
    start(rng) -> state                 samples a first state
    step(state, action, rng) -> (state, observation, reward, done)

where `action` is an index, `rng` a `numpy.random.Generator`, and observations are integers or other
hashable values. It may also have

    observations                        names; observations are then indices of them
    upper(state) -> float               at least the optimal value of the state, if it is observed
    lower(state) -> float or (P,)       at most the value of a policy, or of P policies, in the
                                        state; policies must not depend on the hidden state
                                        (by default, one action at every step is rolled out)
    reward_range                        the lowest and the highest reward; required if there is no
                                        `upper`
    perturb(state, rng) -> state        a state near one that contradicts an observation

A simulator whose class sets `batched = True` works on B states at once, as rows of an array:
`start(rng, B)`, `step(states, action, rng)`, `upper(states)` and `perturb(states, rng)` then take
and return arrays of B rows, which is many times as fast. `lower(states)` returns the mean over the
states, as a number or (P,); its policies may depend on the set of states, which is a belief.

`Batches` gives both kinds the same form, and checks what they return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.labels import Label, index_of

Rng = np.random.Generator
States = Any  # an array of B rows, or of B objects


class Simulator(Protocol):
    """The members that every simulator has; see the module for optional ones."""

    @property
    def discount(self) -> float:
        """The discount, above 0 and below 1."""
        ...

    @property
    def actions(self) -> Sequence[str]:
        """The names of the actions."""
        ...

    def start(self, rng: Rng) -> Any:
        """Sample a first state."""
        ...

    def step(self, state: Any, action: int, rng: Rng) -> tuple[Any, Any, Any, Any]:
        """Sample the next state, the observation, the reward, and whether the episode ended."""
        ...


def is_simulator(given: Any) -> bool:
    """Whether it is an object (not a class) with the members of a simulator."""
    verbs = (getattr(given, verb, None) for verb in ("start", "step"))
    named = hasattr(given, "actions") and hasattr(given, "discount")
    return not isinstance(given, type) and named and all(map(callable, verbs))


class Batches:
    """A simulator on B states at once."""

    def __init__(self, simulator: Any) -> None:
        self.simulator: Any = simulator
        self.batched = bool(getattr(simulator, "batched", False))
        self.actions = tuple(simulator.actions)
        self.discount = float(simulator.discount)
        if not self.actions:
            raise InputError("simulator: expected at least one action")
        if not 0 < self.discount < 1:
            raise InputError(
                f"simulator: read discount {self.discount!r}, expected 0 < discount < 1"
            )
        names = getattr(simulator, "observations", None)
        self.observations: tuple[str, ...] | None = None if names is None else tuple(names)
        self.least, self._most = self._range()

    def _range(self) -> tuple[float | None, float | None]:
        """The least sum of rewards, and the largest if the simulator has no `upper`.

        None where it is unknown.
        """
        given, bounded = (
            getattr(self.simulator, "reward_range", None),
            hasattr(self.simulator, "upper"),
        )
        if bounded and given is None:
            return None, None
        try:
            least, most = map(float, given)
        except (TypeError, ValueError):
            raise InputError(
                "simulator: expected `upper(state)`, an upper bound on its optimal value, or "
                "`reward_range`, the lowest and the highest reward"
            ) from None
        if not -np.inf < least <= most < np.inf:
            raise InputError(f"simulator: read reward_range {(least, most)}, expected lowest first")
        # An episode may end before the next reward, which then counts as 0.
        ahead = 1 / (1 - self.discount)
        least = least if least > 0 else least * ahead
        return least, None if bounded else (most if most < 0 else most * ahead)

    def start(self, rng: Rng, count: int) -> States:
        """Sample first states, B of them."""
        if self.batched:
            return self._rows(self.simulator.start(rng, count), count, "start")
        return _objects([self.simulator.start(rng) for _ in range(count)])

    def step(self, states: States, action: int, rng: Rng) -> tuple[States, Any, Floats, Bools]:
        """Next states, observations, rewards (B,) and whether episodes ended (B,)."""
        count = len(states)
        if self.batched:
            after, seen, rewards, done = self.simulator.step(states, action, rng)
            after = self._rows(after, count, "step")
        else:
            found = [self.simulator.step(state, action, rng) for state in states]
            columns = zip(*found, strict=True)
            after, seen, rewards, done = (list(column) for column in columns)
            after, seen = _objects(after), _values(seen)
        rewards = np.asarray(rewards, dtype=np.float64)
        if rewards.shape != (count,) or not np.isfinite(rewards).all():
            raise ModelError("simulator: `step` gave rewards that are not finite numbers")
        return after, np.asarray(seen), rewards, np.asarray(done, dtype=np.bool_)

    def upper(self, states: States) -> Floats:
        """Upper bounds on the optimal values of observed states, (B,)."""
        if self._most is not None:
            return np.full(len(states), self._most)
        if self.batched:
            return np.asarray(self.simulator.upper(states), dtype=np.float64)
        return np.array([float(self.simulator.upper(state)) for state in states])

    @property
    def has_lower(self) -> bool:
        """Whether the simulator has lower bounds of its own."""
        return hasattr(self.simulator, "lower")

    def lower(self, states: States) -> float:
        """A lower bound on the mean value of states that are one belief."""
        if self.batched:
            return float(np.max(self.simulator.lower(states)))
        found = [self.simulator.lower(state) for state in states]
        return float(np.max(np.mean(np.array(found, dtype=np.float64), axis=0)))

    def perturbed(self, states: States, rng: Rng) -> States | None:
        """States near these, or None if the simulator cannot tell."""
        perturb = getattr(self.simulator, "perturb", None)
        if perturb is None:
            return None
        if self.batched:
            return self._rows(perturb(states, rng), len(states), "perturb")
        return _objects([perturb(state, rng) for state in states])

    def observation(self, given: Any) -> Any:
        """An observation of a user as the simulator has it."""
        if self.observations is None:
            return given
        return index_of(self.observations, given, "observation")

    def action(self, given: Label) -> int:
        """The index of an action."""
        return index_of(self.actions, given, "action")

    def _rows(self, states: Any, count: int, verb: str) -> States:
        rows = np.asarray(states)
        if rows.ndim == 0 or len(rows) != count:
            raise ModelError(f"simulator: `{verb}` gave {rows.shape} states, expected {count} rows")
        return rows


def grouped(seen: Any) -> tuple[Any, Ints]:
    """The different observations, and which of them each is, (B,)."""
    if seen.dtype != object:
        return np.unique(seen, return_inverse=True)
    number: dict[Any, int] = {}
    which = np.array([number.setdefault(value, len(number)) for value in seen], dtype=np.int64)
    return _objects(list(number)), which


def same(seen: Any, observation: Any) -> Bools:
    """Which observations equal the given one, (B,)."""
    if seen.dtype != object:
        return np.asarray(seen == observation, dtype=np.bool_)
    return np.array([value == observation for value in seen], dtype=np.bool_)


def _objects(items: list[Any]) -> States:
    """Objects as an array, whatever they are."""
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def _values(items: list[Any]) -> Any:
    """Observations as integers if they are, else as objects."""
    if all(isinstance(item, int | np.integer) for item in items):
        return np.array(items, dtype=np.int64)
    return _objects(items)
