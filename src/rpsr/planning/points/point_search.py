"""The common parts of point-based planners: points, plans, bounds, and when to stop.

The lower bound is the value of the best plan at the start, less the error of an unfinished
evaluation (`backups.excess`). The upper one is the fast-informed bound, if the model's domain is
known. These planners never improve it, so a remaining gap does not mean that the plan is poor.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from rpsr.errors import InputError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.cheap_bounds import initial_upper_bound
from rpsr.planning.limits import LimitReached
from rpsr.planning.points.backups import (
    Followers,
    Promises,
    at_witnesses,
    backup,
    first_plans,
    lower_at_start,
    step,
    swept,
    visited,
    with_successors,
)
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.planning.runner import ResumablePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import ValueFunction

BLIND_SHARE, INFORMED_SHARE = 0.2, 0.4  # of the time left, for the initial bounds
APART = 1e-3  # of the start's largest coordinate: closer points count as one
SLACK = 0.1  # of `settled`: the loss allowed at a state to save vectors
CROWDED = 2  # vectors per point: a value function with more is pruned
SWEEPS = 50  # of the controller after each round


class PointSearch:
    """Plans and their points on one model.

    max_rounds: the largest number of rounds.
    settled: a round that raises no point by more than this is the last.
    best, lower: the plans with the best proven value at the start, and that value.
    dropped: the number of vectors dropped for impossible values.
    """

    def __init__(self, run: Run, planner: PointPlanner) -> None:
        self.run, self.model, self.clock = run, run.model, run.clock
        self.rng = np.random.default_rng(planner.seed)
        self.max_rounds = planner.max_iterations
        model, clock = self.model, self.clock
        self.discount = infinite_discount(model)
        self.points = model.start[None]
        self.process = run.corners() if model.domain.known else None
        self.upper = None
        if self.process is not None:
            _, self.upper = initial_upper_bound(self.process, clock.share(INFORMED_SHARE))
        self.met = met = visited(model, self.rng)
        blind, self.lower = first_plans(model, met, self.process, clock.share(BLIND_SHARE))
        self.best = self.plans = blind
        self.goal = goal_of(planner.epsilon, CLOSED, model, 1 / (1 - self.discount), met)
        self.settled = self.goal.guess(self.lower, self.upper) * (1 - self.discount)
        self.rounds = self.dropped = 0

    # ---- points

    def walk(
        self, actions: Callable[[Floats], Ints], walkers: int, steps: int, limit: int
    ) -> Floats:
        """New states on walks that choose actions (B,) at states (B, n)."""
        states = np.tile(self.model.start, (walkers, 1))
        met: list[Floats] = []
        for _ in range(steps):
            seen, states = step(self.model, states, actions(states), self.rng)
            met.append(states[seen >= 0])
            over = self.rng.random(walkers) < 1 - self.discount
            states[over] = self.model.start
            self.clock.check()
        return self.apart(np.vstack(met), limit)

    def greedy(self, random: float) -> Callable[[Floats], Ints]:
        """The actions of the best plans at states; random actions with a given probability."""

        def choose(states: Floats) -> Ints:
            best = self.plans.actions[self.plans.best(states)]
            anything = self.rng.integers(len(self.model.actions), size=len(states))
            return np.where(self.rng.random(len(states)) < random, anything, best)

        return choose

    def anything(self, states: Floats) -> Ints:
        """Uniformly random actions."""
        return self.rng.integers(len(self.model.actions), size=len(states))

    def apart(self, states: Floats, limit: int) -> Floats:
        """Up to `limit` of the states that are not close to a point or to each other."""
        near = APART * float(np.abs(self.model.start).max())
        fresh = cdist(states, self.points, "chebyshev").min(axis=1, initial=np.inf) > near
        kept: list[int] = []
        for i in range(len(states)):
            if len(kept) >= limit:
                break
            if fresh[i]:
                self.clock.check()
                kept.append(i)
                fresh[i:] &= cdist(states[i:], states[i : i + 1], "chebyshev")[:, 0] > near
        return states[kept]

    # ---- plans

    def resume_from(self, earlier: ValueFunction) -> None:
        """Add a controller of an earlier search, if it is proven to be better.

        It is evaluated again, if there is time. Its values are not trusted: the lower bound
        accounts for vectors above their own backups.
        """
        old = len(self.plans.vectors)
        choices = np.hstack([earlier.choices[:, :1], earlier.choices[:, 1:] + old])
        both = ValueFunction.of(
            np.vstack([self.plans.vectors, earlier.vectors]),
            np.vstack([self.plans.choices, choices]),
        )
        with suppress(LimitReached):
            both = swept(self.model, both, SWEEPS, 0.1 * self.settled, self.clock)
        if not Promises.at(self.model, self.met).kept(both.vectors, self.met).all():
            return
        lower = lower_at_start(self.model, self.process, both, self.met)
        if lower > self.lower:
            self.best, self.plans, self.lower = both, both, lower

    def renew(self, wanted: Callable[[Floats, Floats, Ints], Bools]) -> float:
        """One round: back up at all points and select vectors. The largest gain at a point.

        wanted(before, after, which): the vectors to keep, (M + K,), of M new ones with values after
        (P, M) at the points, and K old ones with values before (P, K); which (P,): each point's
        backup.

        The new vectors appear twice, unchanged and as a controller among themselves, in which each
        has its action and continues with the best new vectors from its point.
        """
        model, points, old = self.model, self.points, self.plans
        self._claim()
        plans, _ = backup(model, old.vectors, points, clock=self.clock)
        plans, first, which = np.unique(plans, axis=0, return_index=True, return_inverse=True)
        fresh = Followers(model, plans)(old.vectors, self.clock)
        links, _ = backup(model, fresh, points[first], plans[:, 0], self.clock)
        closed = swept(
            model, ValueFunction.of(fresh, links), SWEEPS, 0.1 * self.settled, self.clock
        ).vectors
        size = len(fresh)
        links = np.vstack([links, plans, old.choices])
        links[size:, 1:] += 2 * size
        everything = ValueFunction.of(np.vstack([closed, fresh, old.vectors]), links)
        worth = points @ everything.vectors.T
        sane = Promises.at(model, points).kept(everything.vectors, points)
        sane[2 * size :] = True  # they were checked before
        self.dropped += int((~sane).sum())
        worth[:, ~sane] = -np.inf
        rows, slack = np.arange(len(points)), SLACK * self.settled
        before, after = worth[:, 2 * size :], worth[:, : 2 * size]
        better = which + size * (after[rows, which] < after[rows, size + which])
        grown = self._needed(everything, wanted(before, after, better) & sane, slack)
        if len(grown.vectors) > CROWDED * len(points) and sane[:size].any():
            # Too many predecessors are needed: keep only the controller.
            alone = wanted(worth[:, :0], worth[:, :size], which) & sane[:size]
            grown = self._needed(ValueFunction.of(closed, links[:size]), alone, slack)
        settled = swept(model, grown, SWEEPS, 0.1 * self.settled, self.clock)
        sane = Promises.at(model, points).kept(settled.vectors, points)
        self.dropped += int((~sane).sum())
        self.plans = settled if sane.all() else grown  # if it diverges, keep the old one
        self.rounds += 1
        lower = lower_at_start(model, self.process, self.plans, self.points, self.clock)
        if lower > self.lower:
            self.best, self.lower = self.plans, lower
        self.clock.check()
        return float((after.max(axis=1) - before.max(axis=1)).max())

    def _needed(self, plans: ValueFunction, wanted: Bools, slack: float) -> ValueFunction:
        """`with_successors`, with comparisons at the points and at the domain's corners."""
        worth = self.points @ plans.vectors.T
        if self.model.domain.known:
            worth = np.vstack([worth, at_witnesses(self.model, plans.vectors, self.points)])
        return with_successors(plans, wanted, worth, slack)

    def _claim(self) -> None:
        """Claim the memory of a round: two sets of vectors, and their values at the points."""
        n_points, n = self.points.shape
        vectors = 2 * n_points + len(self.plans.vectors)
        checks = n_points + len(at_witnesses(self.model, np.zeros((0, n)), self.points[:0]))
        self.clock.claim(8 * vectors * (3 * n + 2 * checks + len(self.model.observations)))

    # ---- results

    @property
    def gap(self) -> float | None:
        """Upper minus lower at the start."""
        return None if self.upper is None else max(self.upper - self.lower, 0.0)

    @property
    def closed(self) -> bool:
        """Whether the gap is small enough."""
        return self.gap is not None and self.gap <= self.goal.at(self.lower, self.upper)

    def may_continue(self) -> bool:
        """Whether another round is allowed and needed; too many are a `LimitReached`."""
        if self.closed:
            return False
        if self.max_rounds is not None and self.rounds >= self.max_rounds:
            raise LimitReached(Status.ITERATIONS)
        return True

    def report(self) -> None:
        """A row of progress."""
        counts = {"vectors": len(self.best), "points": len(self.points)}
        self.run.report(self.rounds, self.lower, self.upper, **counts)

    def solution(self, status: Status) -> Solution:
        """The best plans so far."""
        return self.run.solution(
            status,
            self.best,
            (self.lower, self.upper),
            value=float(self.best.at(self.model.start[None])[0]),
            iterations=self.rounds,
            points=len(self.points),
            dropped=self.dropped,
        )


@dataclass(frozen=True)
class PointPlanner(ResumablePlanner):
    """Plan at points; on any linear model, also a learned one.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`), and the precision of values at the points; by default 1e-6 of the range of
    values (see `precision`). time_limit: in seconds. memory_limit: in bytes.
    max_points: the largest number of points. max_iterations: rounds. seed: random seed.
    """

    max_points: int = 300
    max_iterations: int | None = None
    seed: int = 0

    def plan(self, run: Run) -> Solution:
        """Plan; without a discount below 1, a `ModelError`.

        An earlier controller is evaluated again, and new points are chosen.
        """
        if self.max_points < 1:
            raise InputError(f"max_points: read {self.max_points}, expected at least 1")
        search = PointSearch(run, self)

        def improve() -> Status:
            if run.earlier is not None:
                search.resume_from(run.earlier)
            self.rounds(search)
            if search.gap is None:
                return Status.NO_UPPER_BOUND
            return Status.SOLVED if search.closed else Status.SETTLED

        run.offer(lambda: search.solution(Status.INTERRUPTED))
        status = run.attempt(improve)
        search.report()
        return search.solution(status)

    @abstractmethod
    def rounds(self, search: PointSearch) -> None:
        """Choose points and improve the plans there, until no improvement is left."""
