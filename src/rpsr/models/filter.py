"""Filters: track the state of a linear model from actions and observations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import pairwise
from typing import Self

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.as_model import as_linear
from rpsr.models.labels import Label, index_of, observed
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP


class Filter:
    """The state of a linear model along one history; of a POMDP, its belief.

    Actions and observations are names or indices. A filter never receives rewards, because they
    are not observed at run time.
    """

    def __init__(self, model: POMDP | LinearModel) -> None:
        self.model: LinearModel = as_linear(model)
        self._state = self.model.start

    @property
    def state(self) -> Floats:
        """The current state, (n,)."""
        return self._state

    @property
    def memory(self) -> Floats:
        """A vector of fixed length that determines all future output: the state, (n,)."""
        return self._state

    def start(self) -> Floats:
        """Return to the start state, (n,)."""
        self._state = self.model.start
        return self._state

    def predict(self, action: Label) -> Floats:
        """Probabilities of the observations after an action, (O,)."""
        return self.model.predict(self._state, action)

    def update(self, action: Label, observation: Label) -> Floats:
        """Update with one interaction; returns the new state, (n,).

        action, observation: a string is a name, an integer an index. An integer that is also the
        name of another observation is an `InputError`. An observation of probability zero raises
        `ImpossibleObservation` and leaves the filter unchanged.
        """
        o = observed(self.model.observations, observation)
        self._state = self.model.update(self._state, action, o)
        return self._state

    def after(self, action: Label, observation: Label) -> Self:
        """A copy of this filter, updated with one interaction."""
        twin = copy(self)
        twin.update(action, observation)
        return twin


class RobustFilter(Filter):
    """A filter for a model that may be wrong, such as a learned one: it never raises an error.

    Negative predictions are set to zero, and the rest is divided by its sum. If an observation has
    a probability of at most `IMPOSSIBLE`, or the state exceeds `LARGEST` (1 + max |start|), the
    filter returns to the start state and replays the last `REPLAY` interactions.

    resets: the number of such returns. negative_mass: the mean negative probability predicted for
    the actions taken.
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
        """The state, then the interactions that a return would replay, (n + 2 REPLAY,)."""
        recent = [float(label) for pair in self._recent for label in pair]
        return np.concatenate([self._state, recent, np.full(2 * REPLAY - len(recent), -1.0)])

    def start(self) -> Floats:
        """Return to the start state, (n,), but keep the counts."""
        self._state, self._recent = self._rule.origin, ()
        return self._state

    def predict(self, action: Label) -> Floats:
        """Probabilities of the observations after an action, (O,): never negative."""
        return clipped(self._raw(index_of(self.model.actions, action, "action")))

    def _raw(self, a: int) -> Floats:
        with np.errstate(all="ignore"):
            return self._state @ self.model.emissions[a]

    def update(self, action: Label, observation: Label) -> Floats:
        """Update with one interaction; returns the new state, (n,). Accepts every observation."""
        a = index_of(self.model.actions, action, "action")
        o = observed(self.model.observations, observation)
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
    """A `RobustFilter` for each of B histories of equal length.

    states (B, n): the current ones.
    """

    def __init__(self, model: LinearModel, batch: int) -> None:
        self.model = model
        self._rule = RobustRule(model)
        self.states: Floats = np.tile(self._rule.origin, (batch, 1))
        # Actions and observations of the last interactions, oldest first, (2, REPLAY, B).
        self._recent: Ints = np.full((2, REPLAY, batch), NOTHING, dtype=np.int64)

    def update(self, actions: Ints, observations: Ints, rows: Ints | None = None) -> Bools:
        """Update with one interaction per history; whether each was possible, (B,): always true.

        rows: the histories to update, by default all; the other entries are ignored.
        """
        which = np.arange(len(self.states)) if rows is None else rows
        self._recent = self._recent.copy()  # copies of the batch keep the old one
        self._recent[:, :-1, which] = self._recent[:, 1:, which]
        self._recent[0, -1, which] = actions[which]
        self._recent[1, -1, which] = observations[which]
        recent = zip(self._recent[0][:, which], self._recent[1][:, which], strict=True)
        after = self.states.copy()
        after[which], _ = self._rule.step(self.states[which], recent)
        self.states = after
        return np.ones(len(actions), dtype=np.bool_)

    def restart(self, rows: Ints) -> None:
        """Return some of the histories to the start, by their positions in the batch."""
        self.states = self.states.copy()
        self.states[rows] = self._rule.origin
        self._recent = self._recent.copy()
        self._recent[:, :, rows] = NOTHING

    def keep(self, rows: Ints) -> None:
        """Keep only some of the histories, by their positions in the batch."""
        self.states = self.states[rows]
        self._recent = self._recent[:, :, rows]


class RobustRule:
    """How states of a model that may be wrong are updated, B histories at a time.

    A state is lost if the observation has a probability of at most `IMPOSSIBLE`, or if an entry
    exceeds `largest`. It is then replaced by `origin`, (n,), from which the last interactions are
    replayed; what is lost during the replay is replaced by `origin` again.
    `learning.filter_kernels` has the same rule compiled.
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

        recent: actions (B,) and observations (B,) of up to `REPLAY` interactions, oldest first; an
        action `NOTHING` stands for an interaction before the start of a history.
        """
        recent = list(recent)
        moved, fine = self._moved(states, *recent[-1])
        lost = np.flatnonzero(~fine)
        if len(lost):
            again = np.tile(self.origin, (len(lost), 1))
            for a, o in recent:
                begun = a[lost] != NOTHING
                again[begun], _ = self._moved(again[begun], a[lost][begun], o[lost][begun])
            moved[lost] = again
        return moved, lost

    def _moved(self, states: Floats, actions: Ints, observations: Ints) -> tuple[Floats, Bools]:
        """The states one interaction later, (B, n), the origin where lost; which are not, (B,)."""
        model = self.model
        after = np.empty_like(states)
        with np.errstate(all="ignore"):
            for a, o, rows in alike(actions, observations):
                after[rows], _ = model.moved(states[rows], a, o)
            # One product for the batch: the last bit of a row may depend on the other rows.
            mass = after @ model.normalizer
            after /= mass[:, None]
            size = np.abs(after).max(axis=1, initial=0.0)
            fine = (mass > IMPOSSIBLE) & (size <= self.largest)
        after[~fine] = self.origin
        return after, fine


REPLAY = 5  # interactions
NOTHING = -1  # no action: the history has not begun
IMPOSSIBLE = 1e-4  # an estimated probability of at most this counts as zero
MOST_MASS = 1e100  # per prediction, so that the sum stays finite
LARGEST = 100  # times 1 + max |start|; a larger state is an artefact


def alike(actions: Ints, observations: Ints) -> Iterator[tuple[int, int, Ints]]:
    """The distinct (action, observation) pairs of (B,) and (B,), sorted, and their positions."""
    width = int(observations.max(initial=0)) + 1
    pairs = actions * width + observations
    order = np.argsort(pairs, kind="stable")
    kinds, first = np.unique(pairs[order], return_index=True)
    bounds = pairwise([*first.tolist(), len(order)])
    for pair, (begin, end) in zip(kinds.tolist(), bounds, strict=True):
        a, o = divmod(pair, width)
        yield a, o, order[begin:end]


def clipped(probabilities: Floats) -> Floats:
    """Estimates (..., O) as probabilities: none negative, sum 1; uniform if none is positive.

    `RobustFilter.negative_mass` measures the size of this correction.
    """
    kept = np.where(np.isfinite(probabilities), np.maximum(probabilities, 0.0), 0.0)
    kept[kept.max(axis=-1, initial=0.0) == 0.0] = 1.0
    kept /= kept.max(axis=-1, keepdims=True, initial=0.0)  # prevents overflow of the sum
    return kept / kept.sum(axis=-1, keepdims=True)
