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

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from rpsr.arguments import real
from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.labels import Label, index_of, observed

Rng = np.random.Generator
States = Any  # an array of B rows, or of B objects
HASHABLE = "an integer, or another value that can be hashed, such as a tuple"


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
        self.actions = _names(simulator.actions, "actions")
        if not self.actions:
            raise InputError("simulator: expected at least one action")
        discount = real(simulator.discount)
        if discount is None or not 0 < discount < 1:
            raise InputError(
                f"simulator: read discount {simulator.discount!r}, expected 0 < discount < 1"
            )
        self.discount = discount
        names = getattr(simulator, "observations", None)
        self.observations = None if names is None else _names(names, "observations")
        self.least, self._most = self._range()

    def _range(self) -> tuple[float | None, float | None]:
        """The least sum of rewards, and the largest if the simulator has no `upper`.

        None where it is unknown.
        """
        given: Any = getattr(self.simulator, "reward_range", None)
        bounded = hasattr(self.simulator, "upper")
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
            after, seen, rewards, done = _four(self.simulator.step(states, action, rng))
            after = self._rows(after, count, "step")
        else:
            found = [_four(self.simulator.step(state, action, rng)) for state in states]
            after, seen, rewards, done = (list(column) for column in zip(*found, strict=True))
            after, seen = _objects(after), _values(seen)
        rewards = _numbers(rewards, count, "step", "rewards")
        return after, _seen(seen, count), rewards, _ended(done, count)

    def upper(self, states: States) -> Floats:
        """Upper bounds on the optimal values of observed states, (B,)."""
        if self._most is not None:
            return np.full(len(states), self._most)
        upper = self.simulator.upper
        found = upper(states) if self.batched else [upper(state) for state in states]
        return _numbers(found, len(states), "upper", "bounds")

    @property
    def has_lower(self) -> bool:
        """Whether the simulator has lower bounds of its own."""
        return hasattr(self.simulator, "lower")

    def lower(self, states: States) -> float:
        """A lower bound on the mean value of states that are one belief."""
        lower = self.simulator.lower
        found = lower(states) if self.batched else [lower(state) for state in states]
        values = _numbers(found, None, "lower", "bounds")
        return float(np.max(values if self.batched else np.mean(values, axis=0)))

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
            try:
                hash(given)
            except TypeError:
                raise InputError(f"observation: read {given!r}, expected {HASHABLE}") from None
            return given
        return observed(self.observations, given)

    def action(self, given: Label) -> int:
        """The index of an action."""
        return index_of(self.actions, given, "action")

    def _rows(self, states: Any, count: int, verb: str) -> States:
        rows = _array(states, f"simulator: `{verb}` gave states that are not rows of an array")
        if rows.ndim == 0 or len(rows) != count:
            raise ModelError(f"simulator: `{verb}` gave {rows.shape} states, expected {count} rows")
        return rows


def _names(given: Any, what: str) -> tuple[str, ...]:
    """The names of actions or observations."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"simulator: read {what} {given!r}, expected a list of names")
    return tuple(given)


def _four(found: Any) -> tuple[Any, Any, Any, Any]:
    """The results of `step`."""
    try:
        after, seen, reward, done = found
    except (TypeError, ValueError):
        count = f"{len(found)} values" if isinstance(found, tuple | list) else f"{found!r}"
        raise ModelError(
            f"simulator: `step` gave {count}, expected 4: state, observation, reward, done"
        ) from None
    return after, seen, reward, done


def _array(given: Any, message: str, dtype: Any = None) -> Any:
    """Results as an array; a `ModelError` if they are none."""
    try:
        return np.asarray(given, dtype=dtype)
    except (TypeError, ValueError):
        raise ModelError(message) from None


def _numbers(given: Any, count: int | None, verb: str, what: str) -> Floats:
    """Finite numbers, of this count if it is given."""
    message = f"simulator: `{verb}` gave {what} that are not finite numbers, one per state"
    if count is None:
        message = f"simulator: `{verb}` gave {what} that are not finite numbers"
    values = _array(given, message, np.float64)
    if (count is not None and values.shape != (count,)) or not np.isfinite(values).all():
        raise ModelError(message)
    return values


def _ended(given: Any, count: int) -> Bools:
    message = "simulator: `step` gave `done` that is not one truth value per state"
    values = _array(given, message, np.bool_)
    if values.shape != (count,):
        raise ModelError(message)
    return values


def _seen(given: Any, count: int) -> Any:
    """Observations (B,), of integers or other values that can be hashed."""
    message = f"simulator: `step` gave observations of which each should be {HASHABLE}"
    values = _array(given, message)
    if values.shape != (count,):
        raise ModelError(message)
    if values.dtype == object:
        try:
            set(values)
        except TypeError:
            raise ModelError(message) from None
    return values


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
