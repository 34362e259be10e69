"""A running filter: told of actions and observations one by one, it knows the state."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import pairwise
from typing import Self

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel


class Filter:
    """The state of a linear model along one history.

    Actions and observations are names or indices. Rewards never enter: what cannot be seen at run
    time cannot be passed.
    """

    def __init__(self, model: LinearModel) -> None:
        self.model = model
        self._state = model.start

    @property
    def state(self) -> Floats:
        """The current state, (n,)."""
        return self._state

    @property
    def memory(self) -> Floats:
        """What determines all this filter will say, a vector of fixed length: the state, (n,)."""
        return self._state

    def start(self) -> Floats:
        """Forget the history; the start state, (n,)."""
        self._state = self.model.start
        return self._state

    def predict(self, action: Label) -> Floats:
        """Probabilities of the observations that an action would bring, (O,)."""
        return self.model.predict(self._state, action)

    def update(self, action: Label, observation: Label) -> Floats:
        """Take in one interaction; the new state, (n,).

        An observation of probability zero raises `ImpossibleObservation`, and the filter stays as
        it was.
        """
        self._state = self.model.update(self._state, action, observation)
        return self._state

    def after(self, action: Label, observation: Label) -> Self:
        """A filter that has taken in one interaction more; this one stays as it was."""
        twin = copy(self)
        twin.update(action, observation)
        return twin


class RobustFilter(Filter):
    """A filter for a model that may be wrong, as a learned one is: it never fails and never stops.

    Predictions below zero are clipped, the rest is divided by its sum. An observation that the
    model holds impossible (below `IMPOSSIBLE`) sends it back to the start state, to replay the last
    few interactions, and so does a state that has grown out of all proportion.

    resets: how often that happened. negative_mass: how much probability was below zero, the mean
    over the predictions for the actions that were taken.
    """

    def __init__(self, model: LinearModel) -> None:
        super().__init__(model)
        self._rule = RobustRule(model)
        self._state = self._rule.origin
        self._recent: tuple[tuple[int, int], ...] = ()
        self._updates = 0
        self._negative = 0.0
        self.resets = 0

    @property
    def negative_mass(self) -> float:
        """Mean predicted probability below zero per interaction."""
        return self._negative / max(self._updates, 1)

    @property
    def memory(self) -> Floats:
        """The state, then the interactions it would replay, (n + 2 REPLAY,)."""
        recent = [float(label) for pair in self._recent for label in pair]
        return np.concatenate([self._state, recent, np.full(2 * REPLAY - len(recent), -1.0)])

    def start(self) -> Floats:
        """Forget the history, but not the counts; the start state, (n,)."""
        self._state, self._recent = self._rule.origin, ()
        return self._state

    def predict(self, action: Label) -> Floats:
        """Probabilities of the observations that an action would bring, (O,): never below zero."""
        return clipped(self._raw(index_of(self.model.actions, action, "action")))

    def _raw(self, a: int) -> Floats:
        with np.errstate(all="ignore"):
            return self._state @ self.model.emissions[a]

    def update(self, action: Label, observation: Label) -> Floats:
        """Take in one interaction; the new state, (n,). No observation is impossible."""
        a = index_of(self.model.actions, action, "action")
        o = index_of(self.model.observations, observation, "observation")
        below = np.maximum(-self._raw(a), 0.0).sum()
        self._negative += float(below) if below < MOST_MASS else MOST_MASS
        self._updates += 1
        self._recent = (*self._recent, (a, o))[-REPLAY:]
        recent = [(np.array([a]), np.array([o])) for a, o in self._recent]
        states, lost = self._rule.step(self._state[None], recent)
        self.resets += len(lost)
        states.setflags(write=False)
        self._state = states[0]
        return self._state


class RobustBatch:
    """A `RobustFilter` for each of B histories that go on in step.

    states (B, n): the current ones.
    """

    def __init__(self, model: LinearModel, batch: int) -> None:
        self.model = model
        self._rule = RobustRule(model)
        self.states: Floats = np.tile(self._rule.origin, (batch, 1))
        self._recent: deque[tuple[Ints, Ints]] = deque(maxlen=REPLAY)

    def update(self, actions: Ints, observations: Ints) -> Bools:
        """Take in one interaction of each history; whether each was possible, (B,): always."""
        self._recent.append((actions, observations))
        self.states, _ = self._rule.step(self.states, self._recent)
        return np.ones(len(actions), dtype=np.bool_)

    def keep(self, rows: Ints) -> None:
        """Continue with some of the histories only, by their positions in the batch."""
        self.states = self.states[rows]
        recent = [(actions[rows], observations[rows]) for actions, observations in self._recent]
        self._recent = deque(recent, maxlen=REPLAY)


class RobustRule:
    """How states of a model that may be wrong are updated, B histories at a time.

    A state is lost if the observation has a probability of at most `IMPOSSIBLE`, or if an entry
    exceeds `largest`. It is then replaced by `origin`, (n,), from which the last interactions are
    replayed; what is lost during the replay is replaced by `origin` again.
    `learning.learned_kernels` has the same rule compiled.
    """

    def __init__(self, model: LinearModel) -> None:
        finite = bool(np.isfinite(model.start).all())
        self.model = model
        self.origin: Floats = model.start if finite else np.zeros(model.dimension)
        self.largest = LARGEST * (1 + float(np.abs(self.origin).max(initial=0.0)))

    @property
    def limits(self) -> tuple[float, float, int]:
        """The least probability, the largest entry and the interactions to replay."""
        return IMPOSSIBLE, self.largest, REPLAY

    def step(self, states: Floats, recent: Iterable[tuple[Ints, Ints]]) -> tuple[Floats, Ints]:
        """The states (B, n) after the last of the recent interactions, and which were lost.

        recent: actions (B,) and observations (B,) of up to `REPLAY` interactions, oldest first.
        """
        recent = list(recent)
        moved, fine = self._moved(states, *recent[-1])
        lost = np.flatnonzero(~fine)
        if len(lost):
            again = np.tile(self.origin, (len(lost), 1))
            for a, o in recent:
                again, _ = self._moved(again, a[lost], o[lost])
            moved[lost] = again
        return moved, lost

    def _moved(self, states: Floats, actions: Ints, observations: Ints) -> tuple[Floats, Bools]:
        """The states one interaction later, (B, n), the origin where lost; which are not, (B,)."""
        model = self.model
        after = np.empty_like(states)
        with np.errstate(all="ignore"):
            for a, o, rows in alike(actions, observations):
                after[rows], _ = model.moved(states[rows], a, o)
            # Of the whole batch: the last bit of a product may depend on the rows beside it.
            mass = after @ model.normalizer
            after /= mass[:, None]
            size = np.abs(after).max(axis=1, initial=0.0)
            fine = (mass > IMPOSSIBLE) & (size <= self.largest)
        after[~fine] = self.origin
        return after, fine


REPLAY = 5  # interactions
IMPOSSIBLE = 1e-4  # an estimated probability below this says nothing
MOST_MASS = 1e100  # counted for one prediction, so that their sum stays a number
LARGEST = 100  # states beyond so many times the start's size are nonsense


def alike(actions: Ints, observations: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Each action and observation that occurs in (B,) and (B,), ascending, and where, ascending."""
    width = int(observations.max(initial=0)) + 1
    pairs = actions * width + observations
    order = np.argsort(pairs, kind="stable")
    kinds, first = np.unique(pairs[order], return_index=True)
    bounds = pairwise([*first.tolist(), len(order)])
    for pair, (begin, end) in zip(kinds.tolist(), bounds, strict=True):
        a, o = divmod(pair, width)
        yield a, o, order[begin:end]


def clipped(probabilities: Floats) -> Floats:
    """Estimated probabilities (..., O) made such: none negative, sum 1; uniform if none is left.

    How far they were from that is not kept: see `RobustFilter.negative_mass`.
    """
    kept = np.where(np.isfinite(probabilities), np.maximum(probabilities, 0.0), 0.0)
    kept[kept.max(axis=-1, initial=0.0) == 0.0] = 1.0
    kept /= kept.max(axis=-1, keepdims=True, initial=0.0)  # else large numbers add up to infinity
    return kept / kept.sum(axis=-1, keepdims=True)
