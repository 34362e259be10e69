"""Planner `q-learning`: Q-learning on predictive states, with interaction simulated by the model.

Walkers begin at the model's start, act, receive observations sampled from the model and its
expected rewards, filter their states, and restart with probability 1 - discount. After each step

    Q(x, a)  moves towards  x R[:, a] + discount * max_a' Q(x', a'),

where an action is random with a probability that falls from 1 to `explore` in the first half of all
steps, and otherwise the best. Q over the continuous states is tile coding: the mean over several
shifted grids with one number per cell and action. Cells are found by hashing, so only visited cells
need memory, for any dimension. A cell's step size falls with the number of its visits.

Q is an estimate and proves nothing. The proven value is that of a finite-state controller: the
greedy actions at the states that they reach from the start, up to a number of states (close states
are merged), and the best blind policy beyond. It is evaluated on the model by linear algebra, and
its vectors are the returned value function. `Solution.extras` has the estimate at the start
("estimate") and Q itself ("q").

References: C. J. C. H. Watkins and P. Dayan, "Q-learning", Machine Learning 8 (1992); on states of
PSRs: M. R. James, S. Singh, M. L. Littman, "Planning with predictive state representations", ICMLA
2004; for tile coding: R. S. Sutton and A. G. Barto, Reinforcement Learning, second edition, 2018,
section 9.5.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.cheap_bounds import initial_upper_bound
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.points.backups import first_plans, lower_at_start, step, visited
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.planning.reachable.rule_controller import followed
from rpsr.planning.runner import BasePlanner, Run
from rpsr.planning.solution import Solution, Status

WALKERS = 64
CELLS = 2**16  # per action and tiling; cells whose hashes collide share a number
SLOWEST = 0.02  # the least step size
REPORTS = 20
BOUND_SHARES = 0.2, 0.1  # of the time left, for the initial upper and lower bound
LEARNING = 0.7  # of the time left then; the rest is for evaluating the policy
CLOSE = 1e-3  # of the start's size: states of the controller closer than this are one


@dataclass(frozen=True)
class QLearning(BasePlanner):
    """Learn Q by simulated interaction, on any linear model, also a learned one.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_iterations: steps of all walkers together. explore: the final probability of a random
    action. tilings: the number of grids. width: of their cells, relative to the range of each
    coordinate. max_states: of the controller. seed: random seed.
    """

    name = "q-learning"

    max_iterations: int = 200_000 // WALKERS
    explore: float = 0.2
    tilings: int = 8
    width: float = 0.2
    max_states: int = 200
    seed: int = 0

    def plan(self, run: Run) -> Solution:
        """Plan; without a discount below 1, a `ModelError`."""
        model, clock = run.model, run.clock
        discount = infinite_discount(model)
        rng = np.random.default_rng(self.seed)
        tables = 8 * 2 * CELLS * self.tilings * len(model.actions)
        clock.hold(tables, "the Q tables, one per action and tiling, take")
        upper = process = None
        if model.domain.known:
            process = corner_process(model)
            clock.hold(process.nbytes, "the model and the Q tables take")
            _, upper = initial_upper_bound(process, clock.share(BOUND_SHARES[0]))
        met = visited(model, rng)
        plans, lower = first_plans(model, met, process, clock.share(BOUND_SHARES[1]))
        q, batches = None, 0
        learning = clock.share(LEARNING)

        def learn() -> Status:
            nonlocal q, batches
            q = TileCoding(model, self.tilings, self.width, rng, learning)
            states, total = np.tile(model.start, (WALKERS, 1)), self.max_iterations
            for batches in range(1, total + 1):
                random = max(self.explore, 1 - 2 * batches / total)
                states = _interact(model, q, states, random, discount, rng)
                if batches % max(1, total // REPORTS) == 0:
                    run.report(batches, lower, upper)
                learning.check()
            return Status.SETTLED

        goal = goal_of(self.epsilon, CLOSED, model, 1 / (1 - discount), met)

        def finished(status: Status, clock: Clock) -> Solution:
            best, worth = plans, lower
            if q is not None:  # after Ctrl-C too: Q gives the policy so far
                try:
                    made, _ = followed(
                        model, q.greedy, plans, self.max_states, tolerance=CLOSE, clock=clock
                    )
                    earned = lower_at_start(model, process, made, model.start[None], clock)
                    if earned >= worth:
                        best, worth = made, earned
                except LimitReached as limit:
                    status = status if status is Status.INTERRUPTED else limit.status
            if upper is not None and upper - worth <= goal.at(worth, upper):
                status = Status.INTERRUPTED if status is Status.INTERRUPTED else Status.SOLVED
            elif upper is None and status is Status.SETTLED:
                status = Status.NO_UPPER_BOUND
            return run.solution(
                status,
                best,
                (worth, upper),
                value=float(best.at(model.start[None])[0]),
                iterations=batches,
                estimate=None if q is None else float(q.values(model.start[None])[0].max()),
                q=q,
            )

        run.offer(lambda: finished(Status.INTERRUPTED, clock.hurried()))
        status = run.attempt(learn)
        solution = finished(status, clock.hurried() if status is Status.INTERRUPTED else clock)
        run.report(batches, solution.lower, upper, vectors=len(solution.vectors))
        return replace(solution, trace=tuple(clock.rows))

    def _check(self) -> None:
        super()._check()
        for what in ("max_iterations", "tilings", "max_states"):
            if (getattr(self, what) or 0) < 1:
                raise InputError(f"{what}: read {getattr(self, what)}, expected at least 1")
        width, explore = _number(self.width), _number(self.explore)
        if not width > 0:
            raise InputError(f"width: read {self.width!r}, expected a number above 0")
        if not 0 <= explore <= 1:
            raise InputError(f"explore: read {self.explore!r}, expected a probability from 0 to 1")


def _number(given: Any) -> float:
    """The argument if it is a number, else NaN, which fails every check."""
    return given if isinstance(given, float | int) else float("nan")


class TileCoding:
    """Q(x, a) as the mean of one cell in each of several randomly shifted grids."""

    def __init__(
        self,
        model: LinearModel,
        tilings: int,
        width: float,
        rng: np.random.Generator,
        clock: Clock,
    ) -> None:
        n_actions = len(model.actions)
        low, high = _range(model, rng, clock)
        span = np.where(high - low > 1e-9 * np.abs(model.start).max(), high - low, np.inf)
        self._scale = 1.0 / (width * span)
        self._shift = rng.random((tilings, model.dimension))
        self._mix = rng.integers(1, 2**62, size=model.dimension) | 1
        self._tilings = np.arange(tilings)
        self.table = np.zeros((n_actions, tilings * CELLS))
        self.visits = np.zeros((n_actions, tilings * CELLS), dtype=np.int64)

    def cells(self, states: Floats) -> Ints:
        """The cell of each state in each tiling, (B, n) -> (B, T)."""
        places = np.floor(states[:, None] * self._scale + self._shift).astype(np.int64)
        with np.errstate(over="ignore"):
            mixed = (places * self._mix).sum(axis=2)  # wraps around, as hashes do
        mixed ^= mixed >> 31
        return mixed % CELLS + self._tilings * CELLS

    def values(self, states: Floats) -> Floats:
        """Q at a batch of states, (B, n) -> (B, A)."""
        return self.table[:, self.cells(states)].mean(axis=2).T

    def greedy(self, states: Floats) -> Ints:
        """The best action at each state, (B, n) -> (B,)."""
        return self.values(states).argmax(axis=1)

    def move(self, cells: Ints, actions: Ints, errors: Floats) -> None:
        """Move Q at cells (B, T) of actions (B,) by errors (B,), less after many visits."""
        flat = (actions[:, None] * self.table.shape[1] + cells).ravel()
        used, where, count = np.unique(flat, return_inverse=True, return_counts=True)
        mean = np.bincount(where, np.repeat(errors, cells.shape[1])) / count
        visits = self.visits.reshape(-1)
        visits[used] += count
        self.table.reshape(-1)[used] += np.maximum(SLOWEST, visits[used] ** -0.6) * mean


def _range(model: LinearModel, rng: np.random.Generator, clock: Clock) -> tuple[Floats, Floats]:
    """The least and greatest coordinates on a random walk, (n,) each."""
    states = np.tile(model.start, (WALKERS, 1))
    low = high = model.start
    for _ in range(50):
        actions = rng.integers(len(model.actions), size=WALKERS)
        _, states = step(model, states, actions, rng)
        clock.check()
        low, high = np.minimum(low, states.min(axis=0)), np.maximum(high, states.max(axis=0))
    return low, high


def _interact(
    model: LinearModel,
    q: TileCoding,
    states: Floats,
    random: float,
    discount: float,
    rng: np.random.Generator,
) -> Floats:
    """One step of every walker with an update of Q; returns the next states (B, n)."""
    cells = q.cells(states)
    values = q.table[:, cells].mean(axis=2).T  # (B, A)
    anything = rng.integers(len(model.actions), size=len(states))
    actions = np.where(rng.random(len(states)) < random, anything, values.argmax(axis=1))
    rows = np.arange(len(states))
    earned = (states @ model.rewards)[rows, actions]
    seen, after = step(model, states, actions, rng)
    target = earned + discount * q.values(after).max(axis=1)
    known = seen >= 0  # no update where a learned model has no next state
    q.move(cells[known], actions[known], (target - values[rows, actions])[known])
    after[rng.random(len(states)) < 1 - discount] = model.start
    return after
