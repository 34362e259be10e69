"""A plan that takes a moment: one action at every step, between bounds that cost little.

It is the answer of a planner that is stopped before it has one of its own, and the first answer of
`auto`. Where the corners are unknown, or without a discount, there is none. It needs no kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rpsr.planning.convergence import undiscounted
from rpsr.planning.corners.cheap_bounds import blind_values, initial_upper_bound, qmdp_values
from rpsr.planning.limits import Clock
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.value_function import ValueFunction

if TYPE_CHECKING:
    from rpsr.planning.runner import Run

SHARE = 0.1  # of the time left, for the bound on each side


def has_cheap_plan(run: Run) -> bool:
    """Whether a cheap plan exists: corners are known, and there is a discount and no horizon."""
    endless = getattr(run.planner, "horizon", None) is None
    return endless and run.model.domain.known and not undiscounted(run.model)


def cheap_plan(run: Run, clock: Clock, status: Status) -> Solution | None:
    """The best blind policy, with QMDP as the upper bound, for the infinite horizon."""
    process = run.process if has_cheap_plan(run) else None
    if process is None:
        return None
    blind = blind_values(process, clock.share(SHARE))
    _, upper = initial_upper_bound(process, clock.share(SHARE), qmdp_values)
    value, off = process.value_at_start(blind)
    vectors, actions = process.lift(blind), np.arange(len(blind))
    value_function = ValueFunction.repeating(vectors, actions, process.observations)
    return run.solution(status, value_function, (value - off, upper), value=value, iterations=0)
