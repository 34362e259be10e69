"""Anytime planning with bounds that hold: planners `hsvi` and `sarsop`, one search.

Both walk from the start along actions that look best and observations about which least is known,
and back up what they met on the way back (see `walks`). In turns with these trials,
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

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rpsr.planning.anytime.schedule import Schedule
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.discounts import infinite_discount
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.planning.runner import ResumablePlanner, Run
from rpsr.planning.solution import Solution, Status

ROW_EVERY, ROW_SECONDS = 0.995, 1.0  # a row of progress: the gap shrunk so, or so much later


@dataclass(frozen=True)
class AnytimePlanner(ResumablePlanner):
    """Close the gap at the start, with bounds that hold at any moment.

    epsilon: the gap at the start to reach, in units of reward or a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_iterations: how many trials at most; with it, the same seed gives the same result.
    """

    max_iterations: int | None = None
    seed: int = 0
    _selective: ClassVar[bool]  # whether it works only on points that optimal policies may reach

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1.

        Beginning with what an earlier run found, the lower bound is at least that one's, up to
        rounding (see `resuming`); the upper one is made anew.
        """
        infinite_discount(run.model)
        process = corner_process(run.model)
        goal = goal_of(self.epsilon, CLOSED, run.model, process.ahead)
        search = Schedule(process, run.clock, goal, self._selective, self.seed)

        def close_gap() -> Status:
            shown = np.inf
            if run.earlier is not None:
                search.go_on(run.earlier)
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
                search.sample()  # a trial: beliefs on the way, backed up on the way back
                search.back_up()  # the lower bound at all points; then prunes
                search.tighten()  # the upper bound of the whole graph

        run.offer(lambda: search.solution(run, Status.INTERRUPTED))
        status = run.attempt(close_gap)
        run.report(search.trials, *search.bounds, **search.sizes)
        return search.solution(run, status)


@dataclass(frozen=True)
class HSVI(AnytimePlanner):
    """Heuristic search value iteration: trials end where the gap is narrow enough.

    epsilon: the gap at the start to reach, in units of reward or a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_iterations: how many trials at most; with it, the same seed gives the same result.
    """

    name = "hsvi"

    _selective = False


@dataclass(frozen=True)
class SARSOP(AnytimePlanner):
    """Successive approximation of the space reachable under optimal policies.

    epsilon: the gap at the start to reach, in units of reward or a share of the value there
    (`Relative`); by default 1e-6 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_iterations: how many trials at most; with it, the same seed gives the same result.
    """

    name = "sarsop"

    _selective = True
