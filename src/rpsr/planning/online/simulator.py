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
from rpsr.showing import counted

Rng = np.random.Generator
States = Any  # an array of B rows, or of B objects
SLACK = 1e-6  # relative: rewards in single precision, bounds of an iteration that was stopped
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
        self.batched = getattr(simulator, "batched", False)
        if not isinstance(self.batched, bool | np.bool_):
            raise InputError(f"simulator: read batched {self.batched!r}, expected True or False")
        self.actions = _names(simulator.actions, "actions")
        if not self.actions:
            raise InputError("simulator: read no actions, expected at least one")
        discount = real(simulator.discount)
        if discount is None or not 0 < discount < 1:
            raise InputError(
                f"simulator: read discount {simulator.discount!r}, expected 0 < discount < 1"
            )
        self.discount = discount
        names = getattr(simulator, "observations", None)
        self.observations = None if names is None else _names(names, "observations")
        self._rewards: tuple[float, float] | None = None  # the lowest and the highest
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
                "simulator: expected a method `upper(state)`, an upper bound on the state's "
                "optimal value, or an attribute `reward_range`, the lowest and the highest reward"
            ) from None
        if not -np.inf < least <= most < np.inf:
            raise InputError(
                f"simulator: read reward_range {(least, most)}, expected two finite numbers, the "
                "lowest first"
            )
        self._rewards = least, most
        # An episode may end before the next reward, which then counts as 0.
        ahead = 1 / (1 - self.discount)
        least = least if least > 0 else least * ahead
        return least, None if bounded else (most if most < 0 else most * ahead)

    def start(self, rng: Rng, count: int) -> States:
        """Sample first states, B of them."""
        if self.batched:
            return self._rows(self._call("start", rng, count), count, "start")
        return self._items([self._call("start", rng) for _ in range(count)], "start")

    def step(self, states: States, action: int, rng: Rng) -> tuple[States, Any, Floats, Bools]:
        """Next states, observations, rewards (B,) and whether episodes ended (B,)."""
        count = len(states)
        if self.batched:
            after, seen, rewards, done = _four(self._call("step", states, action, rng))
            after = self._rows(after, count, "step")
        else:
            results = [_four(self._call("step", state, action, rng)) for state in states]
            after, seen, rewards, done = (list(column) for column in zip(*results, strict=True))
            after, seen = self._items(after, "step"), _values(seen)
        rewards = _numbers(rewards, count, "step", "rewards")
        self._check_rewards(rewards)
        return after, self._named(_seen(seen, count)), rewards, _ended(done, count)

    def _call(self, verb: str, *arguments: Any) -> Any:
        """The result of a method; an error in it says what it was called with."""
        try:
            return getattr(self.simulator, verb)(*arguments)
        except (TypeError, ValueError, IndexError) as error:
            way = "all states at once, as rows of an array" if self.batched else "one state at once"
            reason = " ".join(str(error).split())
            raise ModelError(
                f"simulator: `{verb}` failed: {reason}; `batched` is {bool(self.batched)}, so "
                f"that `{verb}` is called with {way}"
            ) from error

    def _check_rewards(self, rewards: Floats) -> None:
        if self._rewards is None or not len(rewards):
            return
        least, most = self._rewards
        slack = SLACK * max(abs(least), abs(most))
        outside = rewards[(rewards < least - slack) | (rewards > most + slack)]
        if len(outside):
            raise ModelError(
                f"simulator: `step` gave reward {outside[0]:g}, expected a reward in "
                f"reward_range, {least:g} to {most:g}"
            )

    def _named(self, seen: Any) -> Any:
        """Observations (B,), which must be indices if they have names."""
        if self.observations is None:
            return seen
        indices = range(len(self.observations))
        if seen.dtype.kind in "iu":
            wrong = seen[(seen < 0) | (seen >= len(indices))].tolist()
        else:
            wrong = [value for value in seen.tolist() if value not in indices]
        if wrong:
            raise ModelError(
                f"simulator: `step` gave observation {wrong[0]!r}, expected an index into the "
                f"simulator's `observations`, 0 to {len(indices) - 1}"
            )
        return seen

    def upper(self, states: States) -> Floats:
        """Upper bounds on the optimal values of observed states, (B,)."""
        if self._most is not None:
            return np.full(len(states), self._most)
        return _numbers(self._each("upper", states), len(states), "upper", "bounds")

    @property
    def has_lower(self) -> bool:
        """Whether the simulator has lower bounds of its own."""
        return hasattr(self.simulator, "lower")

    def lower(self, states: States, above: float) -> float:
        """A lower bound on the mean value of states that are one belief; above: an upper one."""
        values = _numbers(self._each("lower", states), None, "lower", "bounds")
        below = float(np.max(values if self.batched else np.mean(values, axis=0)))
        if below > above + SLACK * max(abs(below), abs(above)):
            raise ModelError(
                f"simulator: `lower` gave {below:g}, above the upper bound of the same states, "
                f"{above:g} (means over {counted(len(states), 'state')}); expected lower <= upper"
            )
        return below

    def _each(self, verb: str, states: States) -> Any:
        """The results of a method that takes states only."""
        if self.batched:
            return self._call(verb, states)
        return [self._call(verb, state) for state in states]

    def perturbed(self, states: States, rng: Rng) -> States | None:
        """States near these, or None if the simulator cannot tell."""
        if not hasattr(self.simulator, "perturb"):
            return None
        if self.batched:
            return self._rows(self._call("perturb", states, rng), len(states), "perturb")
        return self._items([self._call("perturb", state, rng) for state in states], "perturb")

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
        if _has_nan(rows):
            raise ModelError(f"simulator: `{verb}` gave a state with NaN, expected numbers")
        return rows

    def _items(self, states: list[Any], verb: str) -> States:
        for state in states:
            if isinstance(state, float | np.ndarray | np.floating) and _has_nan(state):
                raise ModelError(f"simulator: `{verb}` gave the state {state!r}, expected no NaN")
        return _objects(states)


def _names(given: Any, what: str) -> tuple[str, ...]:
    """The names of actions or observations."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"simulator: read {what} {given!r}, expected a list of names")
    names = tuple(given)
    seen = set[str]()
    for name in names:
        if repr(name) in seen:
            raise InputError(f"simulator: read {name!r} twice in {what}, expected it once")
        seen.add(repr(name))
    return names


def _has_nan(given: Any) -> bool:
    values = np.asarray(given)
    return values.dtype.kind in "fc" and bool(np.isnan(values).any())


def _four(returned: Any) -> tuple[Any, Any, Any, Any]:
    """The results of `step`."""
    try:
        after, seen, reward, done = returned
    except (TypeError, ValueError):
        count = f"{len(returned)} values" if isinstance(returned, tuple | list) else f"{returned!r}"
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
    message = "simulator: `step` gave `done` in a wrong shape, expected one bool per state"
    values = _array(given, message)
    if values.shape != (count,):
        raise ModelError(message)
    if values.dtype == np.bool_:
        return values
    wrong = [value for value in values.tolist() if value not in (0, 1)]  # None and NaN are not
    if wrong:
        raise ModelError(f"simulator: `step` gave done {wrong[0]!r}, expected True or False")
    return values.astype(np.bool_)


def _seen(given: Any, count: int) -> Any:
    """Observations (B,), of integers or other values that can be hashed."""
    message = (
        "simulator: `step` gave wrong observations, expected one per state, each of them "
        f"{HASHABLE}"
    )
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
