"""Exact value iteration, planner `vi`: one algorithm for belief models, PSRs and R-PSRs.

With a horizon: the optimal k-step policy trees for every k, by incremental pruning (see `horizon`).
Without: vectors proven to be within epsilon of the optimal value at every state of the domain, by
branch and bound on the Bellman residual (see `infinite`). Both compute with values at the corners
of the domain (see `corner_model`), so models of one POMDP prune the same vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from rpsr.errors import ModelError
from rpsr.planning.convergence import planning_discount
from rpsr.planning.exact.backup import incremental, loss_of
from rpsr.planning.exact.horizon import plan_horizon
from rpsr.planning.exact.infinite import plan_infinite
from rpsr.planning.runner import ResumablePlanner, Run
from rpsr.planning.solution import Solution


@dataclass(frozen=True)
class ValueIteration(ResumablePlanner):
    """Exact planning on any model whose valid states (its domain) are known.

    horizon: number of steps; None for the infinite horizon.
    epsilon: the precision |V - V*| over the domain, in units of reward, or as a share of the value
    at the start (`Relative`); by default 1e-9 of the range of values (see `precision`).
    time_limit: in seconds. memory_limit: in bytes.
    max_iterations: backups, or passes of branch and bound.
    faces: prove the precision on faces only, the states that can follow an interaction; a
    look-ahead covers the rest (see `faces`). If None, the planner decides.
    """

    name = "vi"

    horizon: int | None = None
    max_iterations: int | None = None
    faces: bool | None = None

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1 with no horizon."""
        planning_discount(run.model, self.horizon)
        if self.horizon is None:
            return plan_infinite(run, self.epsilon, self.max_iterations, self.faces)
        if run.earlier is not None:
            raise ModelError(
                "planning for a horizon cannot resume from a checkpoint, which has no value "
                "function per step; plan from the start"
            )
        return plan_horizon(run, self.horizon, incremental, loss_of, self.max_iterations)
