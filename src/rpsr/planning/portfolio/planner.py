"""Planner `auto`, the default: several planners in turn, and the best bounds of all of them.

1. *Cheap bounds*: blind policies below, the MDP and QMDP above (see `cheap_bounds`).
2. `reachable`, if the reachable states are few. They are explored up to `FEW`, which takes a small
   part of a second. If they are closed without merging states that differ, the problem is finite
   and solved exactly.
3. `vi`, if there are at most `MOST_CORNERS` corners. It has a small part of the time, and more as
   long as its passes promise to prove its precision soon. Its value function holds at every belief.
4. `sarsop`, for the rest of the time. It begins with the vectors of `vi` if there are at most
   `MOST_VECTORS`: with more, it would mostly compare them.

Every planner proves its bounds by itself, so the largest lower bound and the smallest upper bound
of all hold together, and the policy is that of the largest lower bound (see `answers`).

Without a discount, `reachable` in exact arithmetic, if few beliefs are reachable, and `sarsop`.

Stopping rule: the gap at the start is at most epsilon. Without a time limit, planning also ends
when the gap has narrowed by less than `WORTH` of itself within `PATIENCE` seconds.

With `everywhere`, steps 1 and 2 give no policy: a blind policy that is optimal at the start says
nothing of other beliefs. `vi` continues as long as its residual, which bounds the error at every
belief, is on course to reach its precision. If it is not, the gap at the start decides as before,
and `Solution.epsilon` is None: the value function is a lower bound at every belief, and precise at
the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rpsr.compile_limit import compiling_until
from rpsr.planning.anytime.planners import SARSOP
from rpsr.planning.cheap_plan import cheap_plan
from rpsr.planning.convergence import undiscounted
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.limits import MemoryTooSmall
from rpsr.planning.portfolio.answers import Answers
from rpsr.planning.portfolio.patience import OverTheDomain, Promising, Watch, Worthwhile
from rpsr.planning.precision import CLOSED, PROVEN, Goal, goal_of
from rpsr.planning.reachable.exact_problem import ExactBeliefGraph, explore_exactly
from rpsr.planning.reachable.planner import SAME, Reachable
from rpsr.planning.reachable.reachable_graph import Exploration
from rpsr.planning.runner import ResumablePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import ValueFunction

FEW, FEW_NUMBERS = 1000, 2**20  # reachable states, and the numbers that describe them
FEW_STEPS = 20_000  # pairs of an action and a state of an exact belief: some tenths of a second
MOST_CORNERS = 100  # for `vi`, whose programs grow with the square
EXPLORING_SHARE = 0.05  # of the time limit, for the reachable states
VI_SHARE, VI_SECONDS = 0.1, 2.0  # of the time limit, and at most: what `vi` has at first
MOST_VECTORS = 1000  # of `vi`, for `sarsop` to begin with


@dataclass(frozen=True)
class Auto(ResumablePlanner):
    """Several planners in turn, and the best bounds of all of them: the default.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values, or less if it is reached quickly (see
    `precision`).
    time_limit: in seconds; without one, planning ends when the gap hardly narrows within a minute.
    memory_limit in bytes. max_iterations: the largest number of passes of `vi`, and of trials of
    `sarsop`. everywhere: whether to prove the value function at every belief, not only at those
    that are reachable. `Solution.epsilon` is its largest error, or None if `vi` was stopped before.
    """

    name = "auto"
    without_discount = True

    max_iterations: int | None = None
    seed: int = 0
    everywhere: bool = False

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or no sum of rewards converges."""
        portfolio = _Portfolio(self, run)
        status = run.attempt(portfolio.solve)
        if portfolio.answers.best is None:  # interrupted before there was any policy (see `runner`)
            raise KeyboardInterrupt
        plan = portfolio.answers.solution(status)
        # A planner may prove its last bounds only when it has ended.
        run.report(plan.iterations, plan.lower, plan.upper, vectors=len(plan.value_function))
        return replace(plan, trace=tuple(run.clock.rows))


class _Portfolio:
    """One run of `auto`: its planners, one method each, and their answers."""

    def __init__(self, auto: Auto, run: Run) -> None:
        self.auto, self.run, self.clock = auto, run, run.clock
        self.answers = Answers(run)

    def solve(self) -> Status:
        """Run the planners; why planning ended."""
        begun, model = self.run.earlier, self.run.model
        if undiscounted(model):
            return self._exactly() or self._sarsop(None, begun)
        process = self.run.corners()
        goal = goal_of(self.auto.epsilon, CLOSED, model, process.ahead)
        self._cheap()
        if not self.auto.everywhere and self._reachable():
            return Status.EXACT
        if process.k <= MOST_CORNERS:
            status = self._vi(goal, process, begun)
            if status.certified or status is Status.INTERRUPTED or self.clock.over:
                return status
            if self.answers.reached(goal):
                return Status.SOLVED
            policy = self.answers.policy
            begun = policy if len(policy) <= MOST_VECTORS else begun
        return self._sarsop(goal, begun)

    def _cheap(self) -> None:
        """Blind policies below, and QMDP above."""
        cheap = cheap_plan(self.run, self.clock, Status.SETTLED)
        assert cheap is not None, "the corners are known, and there is a discount"
        blind = replace(cheap, planner="blind policy")
        self.answers.add(blind, upper_by="qmdp", stand_in=self.auto.everywhere)
        self.run.report(0, cheap.lower, cheap.upper, vectors=len(cheap.value_function))

    def _reachable(self) -> bool:
        """Whether the reachable states are few, and solved exactly."""
        model, share = self.run.model, self.clock.share(EXPLORING_SHARE)
        few = min(FEW, max(1, FEW_NUMBERS // model.dimension))
        graph = Exploration(model).run(share, limit=few, partial=True)
        if graph.stopped is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if graph.stopped is not None or graph.edges.moved.max(initial=0.0) > SAME:
            return False
        planner = Reachable(epsilon=self.auto.epsilon)
        part = self._part(planner, self.clock.time_limit, None)
        plan = planner.planned(part, graph, part.clock)
        part.report(
            1, plan.lower, plan.upper, vectors=len(plan.value_function), points=len(graph.states)
        )
        self.answers.add(plan)
        return plan.status is Status.EXACT

    def _exactly(self) -> Status | None:
        """The status if few exact beliefs are reachable and solved, else None."""
        model = self.run.model
        if self.auto.everywhere or model.record is None or not model.record.exact:
            return None
        graph = explore_exactly(model, FEW, self.clock.share(EXPLORING_SHARE), work=FEW_STEPS)
        if not isinstance(graph, ExactBeliefGraph):
            return None
        planner = Reachable(epsilon=self.auto.epsilon)
        part = self._part(planner, self.clock.time_limit, None)
        plan = planner.planned_exactly(part, graph)
        self.answers.add(plan)
        return plan.status if plan.status.reached_goal else None

    def _vi(self, goal: Goal, process: CornerProcess, begun: ValueFunction | None) -> Status:
        """Value iteration, while it promises to end soon."""
        auto, left = self.auto, self.clock.seconds_left
        first = VI_SECONDS if left is None else min(VI_SECONDS, VI_SHARE * left)
        faces = False if auto.everywhere else None
        planner = ValueIteration(
            epsilon=auto.epsilon, max_iterations=auto.max_iterations, faces=faces
        )
        proven = goal_of(auto.epsilon, PROVEN, self.run.model, process.ahead)
        watch = Promising(self.clock, goal, proven, auto.epsilon is not None)
        if auto.everywhere:
            never = Goal(0.0)  # `vi` ends by itself when its precision is proven
            watch = OverTheDomain(Promising(self.clock, never, proven, False), process.ahead)
        part = self._part(planner, self.clock.seconds + first, watch, begun)
        plan = planner.plan(part)
        self.answers.add(plan)
        return plan.status

    def _sarsop(self, goal: Goal | None, begun: ValueFunction | None) -> Status:
        """The search from the start, while it is worth waiting for."""
        auto = self.auto
        planner = SARSOP(epsilon=auto.epsilon, max_iterations=auto.max_iterations, seed=auto.seed)
        watch = Worthwhile(self.clock, goal)
        part = self._part(planner, watch.until, watch, begun)
        best = self.answers.best
        try:  # without any answer so far, it needs to begin at least
            with compiling_until(self.clock.cutoff, interpret=best is None):
                plan = planner.plan(part)
        except MemoryTooSmall:
            if best is None:
                raise
            return Status.MEMORY
        self.answers.add(plan)
        if goal is not None and self.answers.reached(goal):
            return Status.SOLVED
        stalled = plan.status is Status.TIME and not self.clock.over
        return Status.STALLED if stalled else plan.status

    def _part(
        self,
        planner: ResumablePlanner | Reachable,
        until: float | None,
        watch: Watch | None,
        earlier: ValueFunction | None = None,
    ) -> Run:
        """A part of the run, by another planner."""
        return self.run.part(planner, self.answers.clock(until, watch), earlier)
