"""Anytime planning with proven bounds: planners `hsvi` and `sarsop`, one search.

Both run trials from the start along the actions with the best upper bounds and the observations
with the widest gaps, and back up the visited points in reverse order (see `walks`). With a
discount, a share of the trials follows the policy of the lower bound instead. Trials alternate with
sweeps that back up all points, with policy iteration on the points (see
`point_policies`), and with sweeps that lower the upper bounds of the whole graph. The planners
differ as in the literature:

- `hsvi` ends a trial where the gap is narrow enough for its depth, and works on every point.
- `sarsop` also ends it where a point will not change the bounds at the start, by targets for both
  bounds, and works only on points reached by actions not yet proven worse than another. Vectors
  that are best at none of those are pruned.

Bounds. Each vector is at most its own backup by vectors that are kept, so these form a controller
with at least these values, whenever the search is stopped; that controller is the solution. Each Q
is an upper bound on the optimal one. Both hold at any time, up to rounding and the merging of close
beliefs. The error of one backup is at most `CornerProcess.rounding`; that of a look is the same
plus the remainder of a decomposition and the displacement by merging, in units of the largest
possible value. Both accumulate by at most 1 / (1 - discount), which the reported bounds include.

References: T. Smith and R. Simmons, Point-based POMDP algorithms: improved analysis and
implementation, UAI 2005; H. Kurniawati, D. Hsu and W. S. Lee, SARSOP: efficient point-based POMDP
planning by approximating optimally reachable belief spaces, RSS 2008; M. T. J. Spaan and N.
Vlassis, Perseus: randomized point-based value iteration for POMDPs, JAIR 24 (2005), for the lower
sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rpsr.planning.anytime.schedule import Schedule
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.runner import ResumablePlanner, Run
from rpsr.planning.solution import Solution, Status

ROW_EVERY, ROW_SECONDS = 0.995, 1.0  # of the gap, and seconds, between two rows of progress


@dataclass(frozen=True)
class AnytimePlanner(ResumablePlanner):
    """Narrow the gap at the start, with bounds that hold at any time.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_iterations: the largest number of trials; with it, equal seeds give equal results.
    keep_points: keep the points that prove the upper bound in the solution, for a certificate. The
    first upper bound is then the fast-informed one, which points prove.
    """

    max_iterations: int | None = None
    seed: int = 0
    keep_points: bool = False
    without_discount = True
    _selective: ClassVar[bool]  # whether it works only on points that optimal policies may reach

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1.

        If it continues an earlier run, the lower bound is at least the earlier one, up to rounding
        (see `resuming`); the upper one is computed again.
        """
        process = run.process or corner_process(run.model)
        search = Schedule(
            process, run.clock, self.epsilon, self._selective, self.seed, by_points=self.keep_points
        )
        goal = search.begun.goal

        def close_gap() -> Status:
            shown = np.inf
            if run.earlier is not None:
                search.resume_from(run.earlier)
            while True:
                lower, upper = search.bounds
                rows = run.clock.rows
                due = not rows or run.clock.seconds - rows[-1].seconds >= ROW_SECONDS
                if due or upper - lower <= max(ROW_EVERY * shown, 0.0):
                    shown = upper - lower
                    run.report(search.trials, lower, upper, **search.sizes)
                if upper - lower <= goal.at(lower, upper):
                    return Status.SOLVED
                if search.at_rounding:
                    return Status.ROUNDING
                if self.max_iterations is not None and search.trials >= self.max_iterations:
                    return Status.ITERATIONS
                search.sample()  # a trial, with backups in reverse order
                search.back_up()  # the lower bound at all points; then prunes
                search.tighten()  # the upper bound of the whole graph

        run.offer(lambda: search.solution(run, Status.INTERRUPTED))
        status = run.attempt(close_gap)
        run.report(search.trials, *search.bounds, **search.sizes)
        solution = search.solution(run, status)
        if not self.keep_points or not run.model.domain.beliefs:
            return solution
        return replace(solution, points=search.state.point_bounds())


@dataclass(frozen=True)
class HSVI(AnytimePlanner):
    """Heuristic search value iteration (HSVI), with lower and upper bounds on the optimal value.

    Each trial follows the best action by the upper bound and the observation with the widest gap,
    until the gap is narrow enough, and then tightens both bounds at the beliefs that it visited.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_iterations: the largest number of trials; with it, equal seeds give equal results.
    keep_points: keep the points that prove the upper bound in the solution, for a certificate. The
    first upper bound is then the fast-informed one, which points prove.
    """

    name = "hsvi"

    _selective = False


@dataclass(frozen=True)
class SARSOP(AnytimePlanner):
    """Successive approximation of the space reachable under optimal policies.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_iterations: the largest number of trials; with it, equal seeds give equal results.
    keep_points: keep the points that prove the upper bound in the solution, for a certificate. The
    first upper bound is then the fast-informed one, which points prove.
    """

    name = "sarsop"

    _selective = True
