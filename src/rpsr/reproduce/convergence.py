"""How value iteration converges: the change of the value function from each backup to the next.

The paper's algorithm, for beliefs, PSRs and R-PSRs alike: V_0 = 0 and V_k = H V_(k-1), with exact
pruning. The residual of iteration k is the largest |V_k - V_(k-1)| at the corners of the domain
and at the first few hundred reachable states, which are fixed before the iteration begins. The
remaining gain at those states is at most residual * discount / (1 - discount). Once the policy no
longer changes, every iteration multiplies the residual by at most the discount.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from rpsr.io.records import Floats
from rpsr.models.linear import LinearModel
from rpsr.planning import ValueIteration, solve
from rpsr.planning.reachable.reachable_graph import explore
from rpsr.predictive import psr, rpsr
from rpsr.sources import load_pomdp

REACHED = 300  # states besides the corners


class Curve(TypedDict):
    """One model's residuals, from the first iteration on, and the vectors each iteration kept."""

    residuals: list[float]
    vectors: list[int]


def convergence(source: str, discount: str | None, iterations: int) -> dict[str, Curve]:
    """The curves of the three value iterations of a POMDP, by model."""
    pomdp = load_pomdp(source, discount=discount)
    models = {"pomdp": pomdp.belief_model(), "psr": psr(pomdp), "rpsr": rpsr(pomdp)}
    return {name: residuals(model, iterations) for name, model in models.items()}


def residuals(model: LinearModel, iterations: int) -> Curve:
    """The residual of each iteration."""
    solution = solve(model, ValueIteration(horizon=iterations))
    points = _points(model)
    before = np.zeros(len(points))
    changes: list[float] = []
    for stage in solution.stages:
        now = stage.at(points)
        changes.append(float(np.abs(now - before).max()))
        before = now
    return Curve(residuals=changes, vectors=[len(stage) for stage in solution.stages])


def _points(model: LinearModel) -> Floats:
    """Corners, then reachable states, (B, n)."""
    graph = explore(model, limit=REACHED, partial=True)
    return np.vstack([model.domain.corners, graph.states[:REACHED]])
