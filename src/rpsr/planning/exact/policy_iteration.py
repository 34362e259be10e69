"""Planner `policy-iteration`: improves a finite-state controller until its value is proven.

Evaluate: the values of a controller's nodes solve a linear system (see `controllers`), on beliefs,
PSRs and R-PSRs. Improve: a pass of `branch_and_bound` finds vectors of HV that
exceed V by more than a cutoff somewhere in the domain; each is a node, an action and the nodes it
continues with. A node is replaced by a stand-in if that equals or exceeds it at every corner, up to
a hundredth of the cutoff. Nodes that are best nowhere and have no predecessor are dropped. The next
evaluation then raises values by whole policies, not by one step.

It stops when a complete pass finds nothing: HV <= V + rho over the domain proves
V* <= V + rho / (1 - discount), as for planner `vi`, whose passes these are. Hansen's algorithm adds
all vectors of HV that are best somewhere. Here those that gain less than the cutoff are added
later: the cutoff is divided by ten after every complete pass.

References: E. A. Hansen, "Solving POMDPs by searching in policy space", UAI 1998; M. T. Izadi and
D. Precup, "A planning algorithm for predictive state representations", IJCAI 2003, for PSRs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.io.records import Ints
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.cheap_bounds import initial_upper_bound
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.covering import close
from rpsr.planning.corners.pruning import filtered
from rpsr.planning.exact.vector_search import THIN, Search, begin, resume_from
from rpsr.planning.limits import Clock
from rpsr.planning.precision import PROVEN, goal_of
from rpsr.planning.runner import ResumablePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.value_function import ValueFunction

SLACK = 1e-2  # of the cutoff: the largest cost of replacing a node


@dataclass(frozen=True)
class PolicyIteration(ResumablePlanner):
    """Policy iteration on any model whose valid states (its domain) are known.

    epsilon: the precision |V - V*| over the domain, in units of reward, or as a share of the value
    at the start (`Relative`); by default 1e-9 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes. max_iterations: controllers evaluated.
    """

    name = "policy-iteration"

    max_iterations: int | None = None

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1."""
        infinite_discount(run.model)
        clock, process = run.clock, run.corners()
        search = begin(process, clock)
        ahead = process.ahead
        goal = goal_of(self.epsilon, PROVEN, run.model, ahead)
        _, upper = initial_upper_bound(process, clock.share(0.4))
        proven, rounds, best = np.inf, 0, search.controller

        def finished(status: Status) -> Solution:
            return replace(search, controller=best).solution(run, status, proven, upper, rounds)

        def converge() -> Status:
            nonlocal upper, proven, rounds, best
            cutoff = 1e-2 * search.scale / ahead
            if run.earlier is not None:
                resume_from(search, run.earlier)
                search.controller = best = _evaluated(process, search.choices, clock)
            while True:
                rounding = process.rounding(search.scale)
                wanted = goal.at(search.from_below()[0], upper)
                enough = max(wanted, 4 * rounding * ahead)  # the limit of floats
                target = (enough / ahead - 2 * rounding) / (1 + 2 * THIN)
                if self.max_iterations is not None and rounds >= self.max_iterations:
                    return Status.ITERATIONS
                cutoff = max(cutoff, target)
                added, rho = search.run(cutoff)
                rho = max(rho, 0.0) + process.rounding(search.scale)
                value, off = process.value_at_start(search.values)
                upper = min(upper, value + off + rho * ahead)
                if added:
                    made = _evaluated(process, _replaced(search, SLACK * cutoff), clock)
                    clock.check()  # an unfinished evaluation may be lower
                    search.controller = made
                best, rounds = search.controller, rounds + 1
                lower, delta = search.from_below()
                run.report(
                    rounds,
                    lower,
                    upper,
                    residual=rho if rho < np.inf else None,
                    vectors=len(search.values),
                    programs=search.effort.programs,
                )
                proven = max(rho, delta)
                if not added and proven * ahead <= enough:
                    return Status.SOLVED if proven * ahead <= wanted else Status.ROUNDING
                if rho < np.inf:
                    cutoff /= 10 if added else 1000

        run.offer(lambda: finished(Status.INTERRUPTED))
        return finished(run.attempt(converge))


def _replaced(search: Search, slack: float) -> Ints:
    """The choices of the controller with nodes replaced by their stand-ins, (K, 1+O).

    slack: the largest amount by which a stand-in may be below the replaced node.
    """
    values = search.values
    wanted = np.zeros(len(values), dtype=np.bool_)
    wanted[filtered(values, slack, search.clock, search.effort)] = True
    deputy = close(values, search.choices, slack, wanted)
    place = np.cumsum(wanted) - 1
    choices = search.choices[wanted]
    choices[:, 1:] = place[deputy[choices[:, 1:]]]
    return choices


def _evaluated(process: CornerProcess, choices: Ints, clock: Clock) -> ValueFunction:
    """The controller with the values of its nodes at the corners, by linear algebra."""
    model = process.model
    actions, successors = choices[:, 0].copy(), choices[:, 1:].copy()
    controller = FiniteStateController(model.actions, model.observations, actions, successors)
    return ValueFunction.of(process.at_corners(controller.vectors(model, clock)), choices)
