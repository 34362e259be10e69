"""Infinite horizons: vectors V, and a proof that V is within epsilon of V* over the domain.

The proof has two sides, each a check of V alone.
Upper: HV <= V + rho at every state of the domain gives V* <= V + rho / (1 - discount);
`branch_and_bound` bounds rho, each bound from duality.
Lower: every vector is at most its own backup + delta at every corner, so V <= HV + delta, which
gives V <= V* + delta / (1 - discount); `moves.excess` computes delta.
The discount is the largest row sum of the discounted process, and rho and delta include
rounding errors (see `corner_model`).

The search for V alternates passes of branch and bound, which add vectors where HV exceeds V by a
cutoff, with policy-iteration steps on the points where they were found (see `improvement`). The
cutoff starts at a hundredth of the scale of values, times 1 - discount, and is divided by ten after
every complete pass, down to the limit of floats. A pass that has added more vectors than V had is
abandoned. A complete pass that adds nothing proves rho <= cutoff. One that added vectors proves
rho <= cutoff + discount * (the largest amount by which they exceed the initial V), which gives
valid bounds during the search.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpsr.planning.corners.cheap_bounds import initial_upper_bound, qmdp_values
from rpsr.planning.exact.faces import maximal_faces, worth_it
from rpsr.planning.exact.vector_search import THIN, begin, resume_from
from rpsr.planning.precision import PROVEN, Epsilon, goal_of
from rpsr.planning.runner import Run
from rpsr.planning.solution import Solution, Status

SEEING = 0.2  # of the time left, for the value with observed states
LEAST_SETTLED = 1e-6  # of the cutoff: vectors that change by less in a sweep have converged


def plan_infinite(
    run: Run,
    epsilon: Epsilon,
    max_iterations: int | None = None,
    faces: bool | None = None,
) -> Solution:
    """Vectors proven to be within epsilon of the optimal value over the domain.

    If rounding errors exceed epsilon, the proven precision is the best possible in floats.
    faces: whether to plan on faces only; if None, `faces.worth_it` decides.
    """
    clock, process = run.clock, run.corners()
    ahead = process.ahead
    goal = goal_of(epsilon, PROVEN, run.model, ahead)
    # The value with observed states, until a better bound is proven.
    _, upper = initial_upper_bound(process, clock.share(SEEING), qmdp_values)
    search = begin(process, clock)
    proven, passes = np.inf, 0

    def finished(status: Status) -> Solution:
        ends = replace(search)  # a copy, to which the backup at the start is added
        if not status.certified and not search.whole:
            ends.look_ahead()
        return ends.solution(run, status, proven, upper, passes)

    def converge() -> Status:
        nonlocal upper, proven, passes
        cutoff, settled = 1e-2 * search.scale * (1 - process.discount), 0.1
        if run.earlier is not None:
            resume_from(search, run.earlier)
        search.improve(0.1 * cutoff)
        search.explore()
        while True:
            # A residual is a vector less its backup, and both were rounded.
            rounded = 2 * process.rounding(search.scale) + search.hidden
            wanted = goal.at(search.from_below()[0], upper)
            enough = max(wanted, 2 * rounded * ahead)  # the limit of floats
            target = (enough / ahead - rounded) / (1 + 2 * THIN)
            if max_iterations is not None and passes >= max_iterations:
                return Status.ITERATIONS
            cutoff = max(cutoff, target)
            on_faces = worth_it(process, len(search.values)) if faces is None else faces
            if search.whole and on_faces:
                search.narrow(maximal_faces(process))
            search.improve(settled * cutoff)
            passes += 1
            added, rho = search.run(cutoff)
            rho = max(rho, 0.0) + process.rounding(search.scale)
            if not search.whole:
                search.look_ahead()
            value, off = process.value_at_start(search.values)
            upper = min(upper, value + off + rho * ahead)
            lower, delta = search.from_below()
            run.report(
                passes,
                lower,
                upper,
                residual=rho if rho < np.inf else None,
                vectors=len(search.values),
                points=len(search.points),
                programs=search.effort.programs,
            )
            proven = max(rho, delta)
            if proven * ahead <= enough and (search.beats_blind or settled < LEAST_SETTLED):
                return Status.SOLVED if proven * ahead <= wanted else Status.ROUNDING
            if proven * ahead <= enough:  # but a blind policy is better: evaluate more precisely
                settled /= 10
                continue
            if rho < np.inf:
                cutoff /= 10 if added else 1000

    run.offer(lambda: finished(Status.INTERRUPTED))
    return finished(run.attempt(converge))
