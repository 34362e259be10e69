"""Backups of value functions at selected states, on any linear model.

A backup of V = max_k alpha_k at a state x chooses, for every action and observation, the best
vector at the next state, and then the best action:

    max_a  x R[:, a] + discount * sum_o max_k (x M[a, o]) . alpha_k.

Its vector, R[:, a] + discount * sum_o M[a, o] alpha_k(o), is the value, in every state, of taking a
and continuing with the policies whose values the alpha are. So vectors that start as values of
blind policies remain values of policies, at any state and for any domain. The domain is needed only
for upper bounds.

V is stored as a finite-state controller: every vector has an action and, for every observation, a
vector of V as its successor. Then V <= HV, and a look-ahead policy has at least the value V.
`with_successors` drops the vectors that no state needs and replaces successors by stand-ins.
`swept` evaluates the controller; after any number of sweeps vectors are values of policies. The
effect of rounding and of unfinished sweeps is at most `excess`, the amount by which a vector
exceeds its own backup, divided by 1 - discount.

Learned models may be inconsistent. An observation whose probability is at most the model's rounding
counts as impossible. A state far outside the others is not visited. A vector that exceeds twice the
largest possible value at a visited state is no policy's value and is dropped (`Promises`). None of
this happens on an exact model with a known domain.

References: J. Pineau, G. Gordon, S. Thrun, "Point-based value iteration: an anytime algorithm for
POMDPs", IJCAI 2003; E. A. Hansen, "Solving POMDPs by searching in policy space", UAI 1998;
M. T. Izadi and D. Precup, "Point-based planning for predictive state representations", Canadian AI
2008, and M. R. James, T. Wessling, N. Vlassis, "Improving approximate value iteration using
memories and predictive state representations", AAAI 2006, for points that are predictive states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.filter import alike
from rpsr.models.linear import LinearModel
from rpsr.models.rounding import one_step
from rpsr.planning.corners.cheap_bounds import blind_values, blind_vectors
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.proven_worth import worth_at_start
from rpsr.planning.limits import Clock
from rpsr.planning.value.value_function import ValueFunction

WALKERS, STEPS = 32, 40  # random walks before planning
FAR = 1e3  # times the start's largest coordinate: states beyond are estimation errors


def backup(
    model: LinearModel,
    vectors: Floats,
    states: Floats,
    actions: Ints | None = None,
    clock: Clock | None = None,
) -> tuple[Ints, Floats]:
    """The best one-step plan at each state: choices (B, 1 + O), and values there (B,).

    actions (B,): the first actions; by default the best ones. After an impossible observation a
    plan continues with the vector of the largest mean over the states.
    """
    n_actions, n_observations, _ = model.operators.shape
    discount = 1.0 if model.discount is None else model.discount
    worth = states @ model.rewards  # (B, A)
    after = np.empty((n_actions, len(states), n_observations), dtype=np.int64)
    default = int((states @ vectors.T).mean(axis=0).argmax())
    for a in range(n_actions):
        possible = states @ model.emissions[a] > model.rounding  # (B, O)
        after[a] = default
        for o in np.flatnonzero(possible.any(axis=0)).tolist():
            rows = np.flatnonzero(possible[:, o])
            if clock is not None:
                clock.check()
            scores = states[rows] @ model.operators.right(vectors, a, o).T
            best = scores.argmax(axis=1)
            after[a, rows, o] = best
            worth[rows, a] += discount * scores[np.arange(len(rows)), best]
    chosen = worth.argmax(axis=1) if actions is None else actions
    rows = np.arange(len(states))
    return np.column_stack([chosen, after[chosen, rows]]), worth[rows, chosen]


class Followers:
    """Choices (M, 1 + O) grouped by successors, for repeated evaluation."""

    def __init__(self, model: LinearModel, choices: Ints) -> None:
        self.model = model
        self.rewards = np.ascontiguousarray(model.rewards[:, choices[:, 0]].T)
        self.groups: list[tuple[int, int, Ints, Ints, Ints]] = []
        for a in np.unique(choices[:, 0]).tolist():
            rows = np.flatnonzero(choices[:, 0] == a)
            for o in np.flatnonzero(model.emissions[a].any(axis=0)).tolist():
                # Many have the same successors: each of these is projected once.
                used, which = np.unique(choices[rows, 1 + o], return_inverse=True)
                self.groups.append((a, o, rows, used, which))

    def __call__(self, vectors: Floats, clock: Clock | None = None) -> Floats:
        """The vectors (M, n) of the choices, continuing with vectors (K, n)."""
        discount = 1.0 if self.model.discount is None else self.model.discount
        out = self.rewards.copy()
        for a, o, rows, used, which in self.groups:
            if clock is not None:
                clock.check()
            ahead = discount * self.model.operators.right(vectors[used], a, o)
            out[rows] += ahead[which]
        return out


def swept(
    model: LinearModel,
    plans: ValueFunction,
    sweeps: int,
    settled: float,
    clock: Clock | None = None,
) -> ValueFunction:
    """The controller evaluated by this many sweeps, or until no coordinate changes by `settled`."""
    follow, vectors = Followers(model, plans.choices), plans.vectors
    for _ in range(sweeps):
        fresh = follow(vectors, clock)
        change = float(np.abs(fresh - vectors).max())
        vectors = fresh
        if change <= settled:
            break
    return ValueFunction.of(vectors, plans.choices)


def excess(
    model: LinearModel, plans: ValueFunction, points: Floats, clock: Clock | None = None
) -> float:
    """The largest amount by which a vector exceeds its own backup at the witnesses."""
    over = plans.vectors - Followers(model, plans.choices)(plans.vectors, clock)
    return float(at_witnesses(model, over, points).max())


def at_witnesses(model: LinearModel, vectors: Floats, points: Floats) -> Floats:
    """Values (W, K) of vectors (K, n) at the witnesses.

    These are the domain's corners or, if it is unknown, the points (P, n).
    """
    return model.domain.at_corners(vectors.T) if model.domain.known else points @ vectors.T


def lower_at_start(
    model: LinearModel,
    process: CornerProcess | None,
    plans: ValueFunction,
    points: Floats,
    clock: Clock | None = None,
) -> float:
    """A lower bound on the value at the start, rounding and unfinished sweeps included.

    process: the model at its corners; None if its domain is unknown. Then points replace the
    corners, and only errors at the points are included.
    """
    if process is not None:
        first = int((plans.vectors @ model.start).argmax())
        return worth_at_start(process, plans.vectors, plans.choices, first)
    over = max(0.0, excess(model, plans, points, clock))
    scale = float(np.abs(plans.vectors).max())
    over += 2 * one_step(model.dimension, len(model.observations)) * scale  # vector and backup
    value = float(plans.at(model.start[None])[0])
    return value - over / (1 - (model.discount or 0.0))


def with_successors(
    plans: ValueFunction, wanted: Bools, worth: Floats, slack: float
) -> ValueFunction:
    """The controller of the wanted vectors (K,), and of those they continue with.

    A vector that is only a successor is replaced by a stand-in, if one of the others is as good at
    all states of comparison, up to `slack`. worth (C, K): values at these states.
    """
    deputy = np.where(wanted, np.arange(len(wanted)), -1)
    there = np.flatnonzero(wanted).tolist()
    for i in there:  # grows during the loop
        for after in plans.choices[i, 1:].tolist():
            if deputy[after] >= 0:
                continue
            as_good = (worth[:, there] >= worth[:, after, None] - slack).all(axis=0)
            if as_good.any():
                deputy[after] = there[int(as_good.argmax())]
            else:
                deputy[after] = after
                there.append(after)
    place = np.full(len(wanted), -1)
    place[there] = np.arange(len(there))
    choices = plans.choices[there]
    choices[:, 1:] = place[deputy[choices[:, 1:]]]
    return ValueFunction.of(plans.vectors[there], choices)


@dataclass(frozen=True)
class Promises:
    """The least and greatest possible values of policies, by rewards at visited states."""

    least: float
    most: float

    @staticmethod
    def at(model: LinearModel, points: Floats) -> Promises:
        """From the domain's corners or, if it is unknown, twice those from the points."""
        rewards = at_witnesses(model, model.rewards.T, points)
        low, high = float(rewards.min()), float(rewards.max())
        room = 0.5 * (high - low) + 1e-9 * (abs(high) + abs(low))
        discount = 0.0 if model.discount is None else model.discount
        return Promises((low - room) / (1 - discount), (high + room) / (1 - discount))

    def kept(self, vectors: Floats, points: Floats) -> Bools:
        """(K,): whether vectors are numbers and have possible values at the points."""
        with np.errstate(invalid="ignore", over="ignore"):
            worth = points @ vectors.T
            sane = (worth >= self.least) & (worth <= self.most)
        finite = np.isfinite(vectors)
        return np.all(sane, axis=0) & np.all(finite, axis=1)


def visited(model: LinearModel, rng: np.random.Generator) -> Floats:
    """States to judge first plans by, (P, n): the start and, if the domain is unknown, others.

    The others come from random walks: rewards at the start alone do not bound later ones.
    """
    met = [model.start[None]]
    states = np.tile(model.start, (WALKERS, 1))
    for _ in range(0 if model.domain.known else STEPS):
        actions = rng.integers(len(model.actions), size=WALKERS)
        seen, states = step(model, states, actions, rng)
        met.append(states[seen >= 0])
    return np.vstack(met)


def first_plans(
    model: LinearModel,
    points: Floats,
    process: CornerProcess | None = None,
    clock: Clock | None = None,
) -> tuple[ValueFunction, float]:
    """Blind policies, each taking one action at every step, and a lower bound at the start.

    If no blind policy of a learned model has a possible value at the points: the least reward at
    every step, which is below every policy's value. process: see `lower_at_start`.
    """
    if process is not None:
        values = blind_values(process, clock)
        value, off = process.value_at_start(values)
        every = np.arange(len(values))
        plans = ValueFunction.repeating(process.lift(values), every, process.observations)
        return plans, value - off
    try:
        vectors, actions = blind_vectors(model, clock=clock)
    except ModelError:
        vectors, actions = np.empty((0, model.dimension)), np.empty(0, dtype=np.int64)
    promises = Promises.at(model, points)
    kept = promises.kept(vectors, points)
    vectors, actions = vectors[kept], actions[kept]
    if not len(vectors):
        vectors = promises.least * model.normalizer[None]
        actions = np.array([(model.start @ model.rewards).argmax()])
    plans = ValueFunction.repeating(vectors, actions, len(model.observations))
    return plans, lower_at_start(model, None, plans, points)


def step(
    model: LinearModel, states: Floats, actions: Ints, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """One interaction of each of B walkers: observations (B,) and states (B, n).

    If no observation is possible, or the next state is out of bounds, the walker returns to the
    start, with observation -1.
    """
    chances = np.empty((len(states), len(model.observations)))
    for a in np.unique(actions).tolist():
        rows = actions == a
        chances[rows] = states[rows] @ model.emissions[a]
    chances[~(chances > model.rounding)] = 0.0  # in this form, NaN is impossible too
    levels = chances.cumsum(axis=1)
    draw = rng.random(len(states)) * levels[:, -1]
    seen = np.minimum((levels <= draw[:, None]).sum(axis=1), len(model.observations) - 1)
    seen[levels[:, -1] <= 0] = -1
    ahead = np.tile(model.start, (len(states), 1))
    limit = FAR * float(np.abs(model.start).max())
    going = np.flatnonzero(seen >= 0)
    for a, o, which in alike(actions[going], seen[going]):
        rows = going[which]
        moved, mass = model.moved(states[rows], a, o)
        sound = mass > model.rounding
        normalized = moved[sound] / mass[sound, None]
        near = np.abs(normalized).max(axis=1, initial=0.0) <= limit
        ahead[rows[sound][near]] = normalized[near]
        lost = np.ones(len(rows), dtype=np.bool_)
        lost[np.flatnonzero(sound)[near]] = False
        seen[rows[lost]] = -1
    return seen, ahead
