"""Exact value iteration, planner `vi`: one algorithm for belief models, PSRs and R-PSRs.

With a horizon: the optimal k-step policy trees for every k, by incremental pruning (see `horizon`).
Without: vectors proven to be within epsilon of the optimal value at every state of the domain, by
branch and bound on the Bellman residual (see `infinite`). Both compute with values at the corners
of the domain (see `process`), so that models of one POMDP prune the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from rpsr.errors import ModelError
from rpsr.models.linear import LinearModel
from rpsr.planning.backup import incremental, loss_of
from rpsr.planning.checkpoint import Checkpoint
from rpsr.planning.finite import planning_discount
from rpsr.planning.horizon import plan_horizon
from rpsr.planning.infinite import plan_infinite
from rpsr.planning.limits import Clock
from rpsr.planning.precision import Epsilon, check_epsilon
from rpsr.planning.solution import Progress, Solution


@dataclass(frozen=True)
class ValueIteration:
    """Exact planning on any model whose domain is known.

    horizon: steps to plan; None for the infinite horizon.
    epsilon: what to prove, |V - V*| <= epsilon over the domain, in units of reward, or a share of
    the value at the start (`Relative`); by default 1e-9 of the range of values (see `precision`).
    time_limit in seconds; memory_limit in bytes.
    max_iterations: backups, or passes of branch and bound.
    faces: prove it on the states that can follow an interaction only, the rest being one step of
    looking ahead away (see `faces`); None leaves that to the planner.
    """

    horizon: int | None = None
    epsilon: Epsilon = None
    time_limit: float | None = None
    memory_limit: int | None = None
    max_iterations: int | None = None
    faces: bool | None = None

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "vi"

    def solve(self, model: LinearModel, progress: Progress) -> Solution:
        """Plan; a `ModelError` where the domain is unknown or the discount is 1 with no horizon."""
        planning_discount(model, self.horizon)
        check_epsilon(self.epsilon)
        clock = Clock(progress, self.time_limit, self.memory_limit)
        if self.horizon is not None:
            return plan_horizon(
                self.name, model, self.horizon, clock, incremental, loss_of, self.max_iterations
            )
        return plan_infinite(self.name, model, self.epsilon, clock, self.max_iterations, self.faces)

    def resume(self, model: LinearModel, progress: Progress, checkpoint: Checkpoint) -> Solution:
        """Plan, without a horizon, beginning with the vectors of a checkpoint."""
        planning_discount(model, self.horizon)
        check_epsilon(self.epsilon)
        if self.horizon is not None:
            raise ModelError("a finite horizon is planned anew: its stages are not in a checkpoint")
        return plan_infinite(
            self.name,
            model,
            self.epsilon,
            Clock(progress, self.time_limit, self.memory_limit),
            self.max_iterations,
            self.faces,
            checkpoint.controller,
        )
