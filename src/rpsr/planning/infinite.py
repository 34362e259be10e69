"""Infinite horizons: vectors V, and a proof that V is within epsilon of V* over the domain.

The proof has two sides, each a check of V alone.
Upper: HV <= V + rho at every state of the domain gives V* <= V + rho / (1 - discount); `residual`
bounds rho by branch and bound, each bound from duality.
Lower: every vector is at most its own backup + delta at every corner, so V <= HV + delta, which
gives V <= V* + delta / (1 - discount); `moves.excess` looks.
The discount is the largest row sum of the discounted process, and rho and delta include what
rounding may hide (see `process`).

The search for V alternates passes of branch and bound, which add vectors where HV exceeds V by a
cutoff, with policy-iteration steps on the points where they were found (see `warm`). The cutoff
starts at a hundredth of the scale of values, times 1 - discount, and falls by ten with every
complete pass, to where floats can prove no less; a pass that has added more vectors than V had is
abandoned. A complete pass that adds nothing proves rho <= cutoff. One that added vectors proves
rho <= cutoff + discount * (how far they rose above the V it began with), which gives honest bounds
on the way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpsr.models.linear import LinearModel
from rpsr.planning.bounds import qmdp_values, upper_at_start
from rpsr.planning.faces import maximal_faces, worth_it
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.precision import PROVEN, Epsilon, goal_of
from rpsr.planning.process import corner_process
from rpsr.planning.search import THIN, begin, go_on
from rpsr.planning.solution import ProgressRow, Solution, Status
from rpsr.planning.value_function import ValueFunction

SEEING = 0.2  # of the time there is, for the value of seeing every state


def plan_infinite(
    name: str,
    model: LinearModel,
    epsilon: Epsilon,
    clock: Clock,
    max_iterations: int | None = None,
    faces: bool | None = None,
    earlier: ValueFunction | None = None,
) -> Solution:
    """Vectors proven to be within epsilon of the optimal value over the domain.

    Where rounding may hide more than epsilon, they are proven as closely as floats allow.
    faces: whether to look at faces only; None leaves it to `faces.worth_it`.
    earlier: what an earlier search found, to begin with.
    """
    process = corner_process(model)
    clock.hold_model(process.nbytes)
    ahead = process.ahead
    goal = goal_of(epsilon, PROVEN, model, ahead)
    # The value of seeing every state, until something better is proven.
    upper = upper_at_start(process, qmdp_values(process, clock=clock.share(SEEING)))
    search = begin(process, clock)
    status, proven, passes = Status.SOLVED, np.inf, 0
    cutoff = 1e-2 * search.scale * (1 - process.discount)

    def finished(status: Status) -> Solution:
        ends = replace(search)  # which the backup at the start, added to it, leaves as it is
        if not status.certified and not search.whole:
            ends.look_ahead()
        return ends.solution(name, status, proven, upper, passes)

    clock.offer(lambda: finished(Status.INTERRUPTED))
    try:
        if earlier is not None:
            go_on(search, earlier)
        search.improve(0.1 * cutoff)
        search.explore()
        while True:
            rounded = 2 * process.rounding(search.scale) + search.hidden
            wanted = goal.at(search.from_below()[0], upper)
            enough = max(wanted, 2 * rounded * ahead)  # floats can prove no less
            target = (enough / ahead - rounded) / (1 + 2 * THIN)
            if max_iterations is not None and passes >= max_iterations:
                raise LimitReached(Status.ITERATIONS)
            cutoff = max(cutoff, target)
            on_faces = worth_it(process, len(search.values)) if faces is None else faces
            if search.whole and on_faces:
                search.narrow(maximal_faces(process))
            search.improve(0.1 * cutoff)
            passes += 1
            added, rho = search.run(cutoff)
            rho = max(rho, 0.0) + process.rounding(search.scale)
            if not search.whole:
                search.look_ahead()
            value, off = process.value_at_start(search.values)
            upper = min(upper, value + off + rho * ahead)
            lower, delta = search.from_below()
            clock.report(
                ProgressRow(
                    seconds=clock.seconds,
                    iteration=passes,
                    lower=lower,
                    upper=upper,
                    gap=upper - lower,
                    residual=rho if rho < np.inf else None,
                    vectors=len(search.values),
                    points=len(search.points),
                    programs=search.effort.programs,
                )
            )
            proven = max(rho, delta)
            if proven * ahead <= enough:
                status = Status.SOLVED if proven * ahead <= wanted else Status.ROUNDING
                break
            if rho < np.inf:
                cutoff /= 10 if added else 1000
    except LimitReached as limit:
        status = limit.status
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return finished(status)
