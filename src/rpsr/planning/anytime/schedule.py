"""The schedule of an anytime search: trials, sweeps and pruning, in shares of operations.

Compiled kernels work in chunks (see `walks`), with checks of the clock between them. Shares are
counted in operations, not in seconds, so that equal seeds give equal results.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rpsr.compile_limit import compiling_until
from rpsr.io.records import Floats, Ints
from rpsr.kernels import interpreting
from rpsr.planning.anytime.beginning import Beginning, begin
from rpsr.planning.anytime.belief_graph import Knobs
from rpsr.planning.anytime.belief_parts import find_parts, whole
from rpsr.planning.anytime.exact_beliefs import ExactBeliefs
from rpsr.planning.anytime.loops import Loops
from rpsr.planning.anytime.lower_bound import collect, family_of, prune
from rpsr.planning.anytime.point_policies import improve_policy
from rpsr.planning.anytime.resuming import add_vectors, fit
from rpsr.planning.anytime.search_arrays import SearchState
from rpsr.planning.anytime.sweeps import lower_sweep, mark_live, upper_sweep
from rpsr.planning.anytime.walks import DONE, FULL, PAUSED, trial
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.reward_signs import exact_rewards
from rpsr.planning.exact_steps import ExactSteps
from rpsr.planning.limits import SLOWER, Clock
from rpsr.planning.precision import Epsilon
from rpsr.planning.runner import Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import PartialValueFunction, ValueFunction

CHUNK = 1_000_000  # operations between two checks of the clock: a few milliseconds
MOST_CHUNKS = 10  # of them, at most, for a step of policy iteration
FACTORS = (0.5, 0.95)  # of the gap at the start: the targets of trials, in turns
GREEDY_SHARE = 0.25  # of the operations of other trials, for those that go by the lower bound
GREEDY_UNTIL = 0.05  # of the first gap; then mostly the upper bound is left to improve
GREEDY_VAIN = 8.0  # how much longer a greedy trial counts that changes nothing
LOWER_SHARE = 1.0  # of the operations of trials, for lower sweeps and policy iteration
POLICY_SHARE = 0.2  # of the operations of trials and lower sweeps, for policy iteration
UPPER_SHARE = 0.18  # of the operations of trials and lower sweeps, for upper sweeps
UPPER_VAIN = 1e-3  # of the gap: after a sweep that lowers the start by less, the next waits
MORE_POINTS = 1.02  # until there are this many times the points
VAIN_SHARE = 8.0  # without a discount, of the operations of fruitless trials, for upper sweeps
FRESH = 16  # one upper sweep in this many computes new decompositions
PIVOTS = 5  # of a decomposition
STALE = 1.2  # weights are out of date when the points have grown by this factor
LEAST = 0.02, 2e-4  # of epsilon and of the gap, per step ahead: less is ignored
NEGLIGIBLE = 1e-14  # of the scale of values: less is rounding, and ignored, too
# Without a discount: how often a trial steps back, at first; a gap that shrinks by less is stuck.
RETREATS, STUCK = 100, 0.99
HINTED = 4  # one trial in this many goes by hints
FADINGS = (0.9, 0.99, 0.999)  # without a discount, in turns: how fast interest in a gap falls


class Schedule:
    """The schedule: trials, lower sweeps, upper sweeps and pruning, in shares of operations.

    begun: the first bounds, if they are known from an earlier search on the process.
    """

    def __init__(
        self,
        process: CornerProcess,
        clock: Clock,
        epsilon: Epsilon,
        selective: bool,
        seed: int,
        *,
        by_points: bool = False,
        one_part: bool = False,
        begun: Beginning | None = None,
    ) -> None:
        self.process, self.clock, self.trials = process, clock, 0
        begun = begun or begin(process, clock, epsilon, by_points=by_points)
        self.begun = begun
        guess = begun.goal.guess(begun.least, begun.first)
        self.settled = 1e-4 * guess / begun.ahead
        self._policy, self._vain, self._sweeps = 0.0, 0.0, 0
        self._gap, self._retreats = np.inf, RETREATS
        knobs = Knobs(process.discount, begun.tau, 0.0, PIVOTS, STALE, selective, 0, 0)
        knobs = knobs._replace(pad=begun.pad, shave=begun.shave, fading=process.discount)
        parts = whole(process) if one_part else find_parts(process, clock)
        first = begun.policies, begun.informed, begun.hint
        self.state = SearchState(process, clock, parts, knobs, *first)
        self._loops = None if self.discounted else self._find_loops()
        self._rng = np.random.default_rng(seed)
        self.state.graph.counts["random"] = self._rng.integers(2**31)
        self._order = np.empty(0, dtype=np.int64)
        self._spent = np.zeros(3)  # operations of trials, lower and upper sweeps
        # The number of greedy trials, and their operations, more for those that change nothing.
        self._greedy, self._walked = 0, 0.0
        lower, upper = self.state.bounds
        # How far the present upper sweep has lowered the start; how many points the next awaits.
        self._fallen, self._points_awaited = 0.0, 0.0
        # Sweeps contract by 1 - discount: a smaller fall than half of that says that they are done.
        self._least_fall = min(UPPER_VAIN, 0.5 * (1 - process.discount))
        self._least_gap = GREEDY_UNTIL * (upper - lower) if self.discounted else np.inf
        self._kept = self._rows = int(self.state.graph.counts["vectors"])

    @property
    def discounted(self) -> bool:
        """Whether the process has a discount below 1."""
        return not len(self.begun.floor)

    @property
    def _has_floor(self) -> bool:
        """Whether a discount or a floor bounds the values of all policies from below."""
        return bool(np.isfinite(self.begun.floor).all())

    def resume_from(self, earlier: ValueFunction) -> None:
        """Add the vectors of an earlier search, lowered if necessary.

        All are kept until there are twice as many, since at first there are no points to judge by.
        """
        begun = self.begun
        if not self._has_floor:  # the policies of the vectors might never end
            return
        fitted = fit(self.process, earlier, begun.scale, begun.floor, begun.shave)
        add_vectors(self.state, fitted)
        self._kept = self._rows = int(self.state.graph.counts["columns"])

    @property
    def bounds(self) -> tuple[float, float]:
        """The proven lower and upper bound at the start."""
        lower, upper = self.state.bounds
        proven = max(lower - self.begun.low_margin, self.begun.least)
        return proven, min(upper + self.begun.high_margin, self.begun.first)

    def search_from(self, mixture: Floats) -> None:
        """Continue from another mixture of corners, (k,); whatever was found so far is kept."""
        self.state.search_from(mixture)
        self._fallen, self._points_awaited = 0.0, 0.0
        self.state.graph.counts["cursor"] = 0
        self._order = self._order[:0]

    @property
    def bounds_here(self) -> tuple[float, float]:
        """The proven bounds where the search is now (see `search_from`)."""
        lower, upper = self.state.bounds
        moved = self.begun.tau * self.begun.scale  # it may have been merged with a close belief
        return lower - self.begun.low_margin - moved, upper + self.begun.high_margin + moved

    @property
    def at_rounding(self) -> bool:
        """Whether the gap is within the allowance for rounding, so that trials cannot help."""
        lower, upper = self.state.bounds
        return upper - lower <= self.begun.low_margin + self.begun.high_margin

    def sample(self) -> None:
        """A trial; `LimitReached` past the deadline, as for the other methods."""
        state = self.state
        lower, upper = state.bounds
        gap, wanted = upper - lower, self.begun.goal.at(lower, upper)
        least = max(LEAST[0] * wanted, LEAST[1] * gap) / self.begun.ahead
        state.knobs = state.knobs._replace(least=max(least, NEGLIGIBLE * self.begun.scale))
        others = self.trials - self._greedy
        due = self._walked < GREEDY_SHARE * (self._spent[0] - self._walked)
        greedy = due and gap > self._least_gap
        factor = FACTORS[0 if greedy else others % len(FACTORS)]
        state.knobs = state.knobs._replace(greedy=greedy)
        if not self.discounted:
            self._patience(gap)
            state.knobs = state.knobs._replace(
                fading=FADINGS[self.trials % len(FADINGS)],
                retreats=self._retreats,
                hinted=self.trials % HINTED == 0,
            )
        before, spent = self._progress, self._spent[0]
        self._run(0, np.inf, trial, state.trail, factor * gap)
        self.trials += 1
        took = float(self._spent[0] - spent)
        vain = self._progress == before
        if greedy:
            self._greedy += 1
            self._walked += took * (GREEDY_VAIN if vain else 1.0)
            if vain:  # overdue greedy trials are dropped
                share = GREEDY_SHARE / (1 + GREEDY_SHARE)
                self._walked = max(self._walked, share * float(self._spent[0]))
        if not self.discounted and vain:
            self._vain += took

    @property
    def _progress(self) -> tuple[float, ...]:
        """Numbers of which a useful trial changes one: bounds at the start, points, vectors."""
        counts = self.state.graph.counts
        return (*self.state.bounds, int(counts["points"]), int(counts["columns"]))

    def _patience(self, gap: float) -> None:
        """Let trials step back more often while that limit ends them and the gap is stuck."""
        exhausted = self.state.graph.counts["steps"] >= self._retreats
        if gap < STUCK * self._gap:
            self._gap, self._retreats = gap, RETREATS
        elif exhausted:
            self._retreats *= 2

    def tighten(self) -> None:
        """Upper sweeps, for as many operations as are due.

        Trials that change nothing make more of them due: without a discount the bounds of a loop of
        beliefs justify each other, which no trial changes, but a sweep over all of them does. With
        a discount, a sweep that hardly lowers the start is the last one until points are added.
        """
        spent, vain = self._spent, VAIN_SHARE * self._vain
        points = int(self.state.graph.counts["points"])
        if points < self._points_awaited:  # overdue sweeps are dropped
            spent[2] = max(spent[2], UPPER_SHARE * (spent[0] + spent[1]))
        while (due := UPPER_SHARE * (spent[0] + spent[1]) + vain - spent[2]) > 0:
            before = self.state.bounds[1]
            done = self._run(2, due, upper_sweep, self._sweeps % FRESH == 0)
            lower, upper = self.state.bounds
            self._fallen += before - upper
            if not done:
                continue
            self._sweeps += 1
            fell, self._fallen = self._fallen, 0.0
            if self._loops is not None:
                self._cap(self._loops)
            elif fell < self._least_fall * (upper - lower):
                self._points_awaited = MORE_POINTS * points
                break

    def _find_loops(self) -> Loops:
        process, root, mixed = self.process, self.state.knobs.root, self.state.mixed
        record, exact = process.record, None
        merged = np.bincount(process.corner_of, minlength=process.k) > 1
        if record is not None and record.exact:
            steps = ExactSteps(record, process.corner_of)
            earning = exact_rewards(process) is not None  # a PSR may have rewards of its own
            if steps.lumps(self.clock.check, earning=earning):
                exact, merged = ExactBeliefs(steps, root, mixed), np.zeros_like(merged)
        drift = 2 * process.rounding(self.begun.scale)  # of a backup and of a mixture
        return Loops(exact, max(process.k, root + 1, mixed + 1), merged, drift)

    def _cap(self, loops: Loops) -> None:
        """Lower the upper bounds of loops of beliefs; the work counts as that of upper sweeps."""
        graph = self.state.graph
        loops.cap(graph, self.clock)
        operations = int(graph.counts["edges"]) // 4
        graph.counts["ops"] += operations
        self._spent[2] += operations

    def back_up(self) -> None:
        """Lower sweeps for as many operations as are due, or until one raises nothing."""
        state, spent = self.state, self._spent
        while LOWER_SHARE * spent[0] > spent[1]:
            counts = state.graph.counts
            if not len(self._order):
                if counts["columns"] > 2 * self._kept + 50:
                    self.tidy()
                self._order = self._live()
            if self._run(1, LOWER_SHARE * spent[0] - spent[1], lower_sweep, self._order):
                self._order = self._order[:0]
                raised = counts["round"] < counts["columns"]
                if not (self._improve() or raised):
                    break
                self.clock.check()

    def _improve(self) -> bool:
        """A step of policy iteration on the points, for a share of the operations of sweeps.

        Without a floor there is none: the policy of the points might never end.
        """
        if not self._has_floor:
            return False
        state = self.state
        counts = state.graph.counts
        before, columns = counts["ops"], counts["columns"]
        used = state.vectors.part[state.vectors.origin[:columns]]
        state.make_room(int(columns) + 1, int(state.sizes[used].sum()))
        due = POLICY_SHARE * (self._spent[0] + self._spent[1]) - self._policy
        budget = int(min(max(due, CHUNK), MOST_CHUNKS * CHUNK))
        floor = self.begun.floor
        improve_policy(
            state.graph, state.moves, state.vectors, state.knobs, floor, budget, self.settled
        )
        self._policy += counts["ops"] - before
        self._spent[1] += counts["ops"] - before
        return bool(counts["columns"] > columns)

    def tidy(self) -> None:
        """Prune vectors, and drop ancestors that no vector needs."""
        state = self.state
        counts = state.graph.counts
        if state.knobs.selective:
            mark_live(state.graph, state.knobs.root)
        prune(state.graph, state.vectors)
        self._kept = int(counts["columns"])
        if counts["vectors"] > 2 * self._rows + 50:
            collect(state.graph, state.vectors, self.discounted)
            self._rows = int(counts["vectors"])

    @property
    def _floor(self) -> float:
        """A value that a backup can only raise, whatever it continues with: the least reward."""
        least = float(self.process.rewards.min()) * self.process.ahead
        return least - self.begun.low_margin

    @property
    def sizes(self) -> dict[str, int]:
        """The number of vectors in use and of points."""
        counts = self.state.graph.counts
        return {"vectors": int(counts["columns"]), "points": int(counts["points"])}

    def solution(self, run: Run, status: Status) -> Solution:
        """The best vector at the start with its successors: a controller of at least that value."""
        state, process, counts = self.state, self.process, self.state.graph.counts
        best = state.vectors.origin[state.graph.node[state.knobs.root]["vector"]]
        with compiling_until(run.clock.cutoff, interpret=True):
            family = family_of(state.vectors, int(counts["vectors"]), int(best))
        rows = np.flatnonzero(family)
        place = np.full(counts["vectors"], -1)
        place[rows] = np.arange(len(rows))
        choices = state.vectors.choice[rows].astype(np.int64)
        choices[:, 1:] = place[choices[:, 1:]]
        lower, upper = self.bounds
        if len(state.vectors.parts.part) == 1:
            values = state.values_of(rows)
            value_function = ValueFunction.of(process.lift(values), choices)
        else:  # on beliefs, where values at the corners are coordinates
            value_function = PartialValueFunction.made(state.partial_of(rows, self._floor), choices)
            values = state.partial_of(np.array([best]), self._floor).dense()
        value, off = process.value_at_start(values)
        lower = max(min(lower, value - off - self.begun.low_margin), self.begun.least)
        return run.solution(
            status,
            value_function,
            (lower, upper),
            value=value,
            iterations=self.trials,
            points=int(counts["points"]),
            first_upper_bound=self.begun.first_upper_bound,
        )

    def _live(self) -> Ints:
        graph = self.state.graph
        if self.state.knobs.selective:
            mark_live(graph, self.state.knobs.root)
        live = np.flatnonzero(graph.point[: graph.counts["points"]]["live"])
        return self._rng.permutation(live)

    def _run(self, which: int, due: float, kernel: Callable[..., int], *arguments: object) -> bool:
        """Run a kernel in chunks until it is done or out of operations; whether it is done.

        While kernels are interpreted, the clock is checked several times per chunk. The operations
        are the same as those of compiled kernels, so that results do not depend on which ran.
        """
        state, done = self.state, False
        counts = state.graph.counts
        before = counts["ops"]
        piece = CHUNK // SLOWER if interpreting() else CHUNK
        while not done and counts["ops"] - before < due:
            code, end = PAUSED, counts["ops"] + CHUNK
            while code == PAUSED and counts["ops"] <= end:
                budget = int(min(piece, end - counts["ops"]))
                code = kernel(
                    state.graph,
                    state.moves,
                    state.scratch,
                    state.vectors,
                    state.knobs,
                    *arguments,
                    budget,
                )
                if code == FULL:
                    state.make_room()
                self.clock.check()
            done = code == DONE
        self._spent[which] += counts["ops"] - before
        return done
