"""Anytime planning with bounds that hold: planners `hsvi` and `sarsop`, one search.

Both walk from the start along actions that look best and observations about which least is known,
and back up what they met on the way back (see `anytime_kernels`). In turns with these trials,
sweeps back up all points met so far, policy iteration values what the points do (see
`point_policies`), and sweeps lower the upper bounds of the whole graph. They differ as in the
literature:

- `hsvi` ends a trial where the gap is narrow enough for its depth, and works on every point met.
- `sarsop` also ends it where a point will not change the bounds at the start, carrying targets for
  both bounds along, and works only on points that can be reached by actions not yet proven worse
  than another; vectors that are best at none of those are pruned.

Bounds. Each vector is at most its own backup by vectors that are kept, so that following them is a
controller worth at least as much, wherever the search is stopped; that controller is the solution.
Each Q bounds the optimal one. Both hold at any moment, up to rounding and the merging of close
beliefs. One backup is off by at most `CornerProcess.rounding`, a look by that, what a decomposition
leaves over and what merging moves a belief by, in units of the largest possible value; both
accumulate by at most 1 / (1 - discount), and the reported bounds include that.

References: T. Smith and R. Simmons, Point-based POMDP algorithms: improved analysis and
implementation, UAI 2005; H. Kurniawati, D. Hsu and W. S. Lee, SARSOP: efficient point-based POMDP
planning by approximating optimally reachable belief spaces, RSS 2008; M. T. J. Spaan and N.
Vlassis, Perseus: randomized point-based value iteration for POMDPs, JAIR 24 (2005), for the lower
sweeps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rpsr.io.records import Ints
from rpsr.kernels import interpreting
from rpsr.models.linear import LinearModel
from rpsr.planning.anytime_kernels import (
    DONE,
    FULL,
    lower_sweep,
    mark_live,
    trial,
    upper_sweep,
)
from rpsr.planning.anytime_state import SearchState
from rpsr.planning.belief_graph import COLUMNS, LIVE, OPS, POINTS, ROUND, VECTOR, VECTORS, Knobs
from rpsr.planning.bounds import blind_values, fast_informed_values, upper_at_start
from rpsr.planning.checkpoint import Checkpoint
from rpsr.planning.finite import infinite_discount
from rpsr.planning.going_on import adopt, fit
from rpsr.planning.limits import SLOWER, Clock, LimitReached
from rpsr.planning.lower_vectors import collect, family_of, prune
from rpsr.planning.point_policies import improve_policy
from rpsr.planning.precision import CLOSED, Epsilon, Goal, goal_of
from rpsr.planning.process import CornerProcess, corner_process
from rpsr.planning.sawtooth import LEFT_OVER
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status
from rpsr.planning.value_function import ValueFunction

BLIND_SHARE, INFORMED_SHARE = 0.1, 0.4  # of the time there is, for the bounds to begin with
CHUNK = 1_000_000  # operations between two looks at the clock: a few milliseconds
MOST_CHUNKS = 10  # of them, at most, for a step of policy iteration
FACTORS = (0.5, 0.95)  # of the gap at the start: what trials aim for, in turns
LOWER_SHARE = 1.0  # of the operations of trials, for lower sweeps and policy iteration
POLICY_SHARE = 0.2  # of the operations of trials and lower sweeps, for policy iteration
UPPER_SHARE = 0.18  # of the operations of trials and lower sweeps, for upper sweeps
FRESH = 16  # of so many upper sweeps, one decomposes anew
PIVOTS = 5  # of a decomposition
STALE = 1.2  # weights are out of date when there are so many times more points
LEAST = 0.02, 2e-4  # of epsilon and of the gap, times 1 - discount: too little to bother
ROW_EVERY, ROW_SECONDS = 0.995, 1.0  # a row of progress: the gap shrunk so, or so much later


@dataclass(frozen=True)
class AnytimePlanner(ABC):
    """Close the gap at the start, with bounds that hold at any moment.

    epsilon: the gap at the start to reach, in units of reward or a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_trials: how many trials at most; with it, the same seed gives the same result.
    """

    epsilon: Epsilon = None
    time_limit: float | None = None
    memory_limit: int | None = None
    max_trials: int | None = None
    seed: int = 0
    _selective: ClassVar[bool]  # whether it works only on points that optimal policies may reach

    @property
    @abstractmethod
    def name(self) -> str:
        """The planner's name on the command line."""

    def solve(self, model: LinearModel, progress: Progress) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1."""
        return self._plan(model, progress, None)

    def resume(self, model: LinearModel, progress: Progress, checkpoint: Checkpoint) -> Solution:
        """Plan, beginning with a checkpoint's vectors as lower bound; the upper one is made anew.

        The lower bound is at least the checkpoint's, up to rounding (see `going_on`).
        """
        return self._plan(model, progress, checkpoint.controller)

    def _plan(
        self, model: LinearModel, progress: Progress, earlier: ValueFunction | None
    ) -> Solution:
        infinite_discount(model)
        clock = Clock(progress, self.time_limit, self.memory_limit)
        process = corner_process(model)
        goal = goal_of(self.epsilon, CLOSED, model, process.ahead)
        search = _Search(process, clock, goal, self._selective, self.seed)
        status, shown = Status.SOLVED, np.inf
        clock.offer(lambda: _solution(self, model, search, Status.INTERRUPTED))
        try:
            if earlier is not None:
                search.go_on(earlier)
            while True:
                lower, upper = search.bounds
                due = not clock.rows or clock.seconds - clock.rows[-1].seconds >= ROW_SECONDS
                if due or upper - lower <= max(ROW_EVERY * shown, 0.0):
                    shown = upper - lower
                    clock.report(_row(search))
                if upper - lower <= goal.at(lower, upper):
                    break
                if search.at_rounding:
                    status = Status.ROUNDING
                    break
                if self.max_trials is not None and search.trials >= self.max_trials:
                    raise LimitReached(Status.ITERATIONS)
                search.step()
        except LimitReached as limit:
            status = limit.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        clock.report(_row(search))
        return _solution(self, model, search, status)


@dataclass(frozen=True)
class HSVI(AnytimePlanner):
    """Heuristic search value iteration: trials end where the gap is narrow enough.

    epsilon: the gap at the start to reach, in units of reward or a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_trials: how many trials at most; with it, the same seed gives the same result.
    """

    _selective = False

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "hsvi"


@dataclass(frozen=True)
class SARSOP(AnytimePlanner):
    """Successive approximation of the space reachable under optimal policies.

    epsilon: the gap at the start to reach, in units of reward or a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_trials: how many trials at most; with it, the same seed gives the same result.
    """

    _selective = True

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "sarsop"


class _Search:
    """The schedule: trials, lower sweeps, upper sweeps and pruning, in shares of operations."""

    def __init__(
        self, process: CornerProcess, clock: Clock, goal: Goal, selective: bool, seed: int
    ) -> None:
        self.process, self.clock, self.goal, self.trials = process, clock, goal, 0
        ahead = process.ahead
        blind = blind_values(process, clock.share(BLIND_SHARE))
        informed = fast_informed_values(process, clock=clock.share(INFORMED_SHARE))
        self.first = upper_at_start(process, informed)
        value, off = process.value_at_start(blind)
        self.least = value - off  # what a blind policy is worth, by its own proof
        epsilon = goal.guess(value, self.first)
        # Nothing that appears in a backup is larger: rewards for ever, as if never discounted less.
        self.scale = max(float(np.abs(process.rewards).max()) * ahead, np.finfo(float).tiny)
        tau = min(1e-9, 1e-4 * epsilon / (ahead * self.scale))
        rounding = process.rounding(self.scale)
        self.settled = 1e-4 * epsilon / ahead
        self._policy, self._sweeps = 0.0, 0
        self.low_margin = 2 * ahead * rounding
        self.high_margin = ahead * (2 * rounding + (tau + LEFT_OVER) * self.scale)
        self.high_margin += process.displaced * self.scale
        knobs = Knobs(process.discount, tau, 0.0, PIVOTS, STALE, selective, 0, 0)
        self.state = SearchState(process, clock, knobs, blind, informed)
        self._rng = np.random.default_rng(seed)
        self._order = np.empty(0, dtype=np.int64)
        self._spent = np.zeros(3)  # operations of trials, lower and upper sweeps
        self._kept = self._rows = len(process.rewards)

    def go_on(self, earlier: ValueFunction) -> None:
        """Add the vectors of an earlier search, lowered where need be.

        All stay until there are twice as many: at first no point is there for which they are best.
        """
        adopt(self.state, fit(self.process, earlier, self.scale))
        self._kept = self._rows = self._kept + len(earlier)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper at the start, as proven."""
        lower, upper = self.state.bounds
        proven = max(lower - self.low_margin, self.least)
        return proven, min(upper + self.high_margin, self.first)

    @property
    def at_rounding(self) -> bool:
        """Whether the bounds are as close as what is allowed for rounding: trials help no more."""
        lower, upper = self.state.bounds
        return upper - lower <= self.low_margin + self.high_margin

    def step(self) -> None:
        """A trial, and what is due of the rest; `LimitReached` past the deadline."""
        state, spent = self.state, self._spent
        lower, upper = state.bounds
        gap, wanted = upper - lower, self.goal.at(lower, upper)
        least = (1 - self.process.discount) * max(LEAST[0] * wanted, LEAST[1] * gap)
        state.knobs = state.knobs._replace(least=max(least, 1e-14 * self.scale))
        self._run(0, np.inf, trial, state.trail, FACTORS[self.trials % len(FACTORS)] * gap)
        self.trials += 1
        self._lower_sweeps()
        while UPPER_SHARE * (spent[0] + spent[1]) > spent[2]:
            due = UPPER_SHARE * (spent[0] + spent[1]) - spent[2]
            if self._run(2, due, upper_sweep, self._sweeps % FRESH == 0):
                self._sweeps += 1

    def _lower_sweeps(self) -> None:
        """Sweep for as many operations as are due, or until a sweep raises nothing."""
        state, spent = self.state, self._spent
        while LOWER_SHARE * spent[0] > spent[1]:
            counts = state.graph.counts
            if not len(self._order):
                if counts[COLUMNS] > 2 * self._kept + 50:
                    self.tidy()
                self._order = self._live()
            if self._run(1, LOWER_SHARE * spent[0] - spent[1], lower_sweep, self._order):
                self._order = self._order[:0]
                raised = counts[ROUND] < counts[COLUMNS]
                if not (self._improve() or raised):
                    break
                self.clock.check()

    def _improve(self) -> bool:
        """A step of policy iteration on the points, for a share of what sweeps have taken."""
        state = self.state
        counts = state.graph.counts
        before, columns = counts[OPS], counts[COLUMNS]
        state.make_room(int(columns) + 1)
        due = POLICY_SHARE * (self._spent[0] + self._spent[1]) - self._policy
        budget = int(min(max(due, CHUNK), MOST_CHUNKS * CHUNK))
        improve_policy(state.graph, state.moves, state.vectors, state.knobs, budget, self.settled)
        self._policy += counts[OPS] - before
        self._spent[1] += counts[OPS] - before
        return bool(counts[COLUMNS] > columns)

    def tidy(self) -> None:
        """Prune vectors, and forget ancestors that no vector needs."""
        state = self.state
        counts = state.graph.counts
        if state.knobs.selective:
            mark_live(state.graph, state.knobs.root)
        prune(state.graph, state.vectors)
        self._kept = int(counts[COLUMNS])
        if counts[VECTORS] > 2 * self._rows + 50:
            collect(state.graph, state.vectors)
            self._rows = int(counts[VECTORS])

    def family_at_start(self) -> Ints:
        """The rows that the best vector at the start needs, itself among them."""
        state, counts = self.state, self.state.graph.counts
        best = state.vectors.origin[state.graph.node[state.knobs.root, VECTOR]]
        return np.flatnonzero(family_of(state.vectors, int(counts[VECTORS]), int(best)))

    def _live(self) -> Ints:
        graph = self.state.graph
        if self.state.knobs.selective:
            mark_live(graph, self.state.knobs.root)
        live = np.flatnonzero(graph.point[: graph.counts[POINTS], LIVE])
        return self._rng.permutation(live)

    def _run(self, which: int, due: float, kernel: Callable[..., int], *arguments: object) -> bool:
        """Run a kernel in chunks until it is done or has done what is due; whether it is done."""
        state = self.state
        before = state.graph.counts[OPS]
        done = False
        chunk = CHUNK // SLOWER if interpreting() else CHUNK
        while not done and state.graph.counts[OPS] - before < due:
            code = kernel(
                state.graph,
                state.moves,
                state.scratch,
                state.vectors,
                state.knobs,
                *arguments,
                chunk,
            )
            if code == FULL:
                state.make_room()
            self.clock.check()
            done = code == DONE
        self._spent[which] += state.graph.counts[OPS] - before
        return done


def _row(search: _Search) -> ProgressRow:
    lower, upper = search.bounds
    counts = search.state.graph.counts
    return ProgressRow(
        seconds=search.clock.seconds,
        iteration=search.trials,
        lower=lower,
        upper=upper,
        gap=upper - lower,
        vectors=int(counts[COLUMNS]),
        points=int(counts[POINTS]),
    )


def _solution(
    planner: AnytimePlanner, model: LinearModel, search: _Search, status: Status
) -> Solution:
    """The best vector at the start with those it goes on with: a controller that earns it."""
    state, process = search.state, search.process
    rows = search.family_at_start()
    values = state.vectors.table[rows]
    actions = state.vectors.choice[rows, 0].astype(np.int64)
    place = np.full(state.graph.counts[VECTORS], -1)
    place[rows] = np.arange(len(rows))
    successors = place[state.vectors.choice[rows, 1:]]
    lower, upper = search.bounds
    value, off = process.value_at_start(values)
    lower = max(min(lower, value - off - search.low_margin), search.least)
    return Solution(
        planner=planner.name,
        model=model,
        status=status,
        value=value,
        lower=lower,
        upper=upper,
        residual=None,
        epsilon=None,
        value_function=ValueFunction(process.lift(values), actions, successors),
        iterations=search.trials,
        seconds=search.clock.seconds,
        seed=planner.seed,
        trace=tuple(search.clock.rows),
        extras={"points": int(state.graph.counts[POINTS])},
    )
