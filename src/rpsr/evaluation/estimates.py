"""Estimates of a policy's return by every model's own rewards, beside the exact value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rpsr.errors import InputError
from rpsr.evaluation.exact import exact_return
from rpsr.evaluation.returns import returns
from rpsr.evaluation.simulation import AnyPolicy, Progress, simulate
from rpsr.evaluation.truncation import cut_off, enough_steps, planned_steps
from rpsr.io.records import Floats
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.policies import UniformPolicy

ROUNDING = 1e-12  # of the scale of returns: sums of some hundred rewards in floats


@dataclass(frozen=True)
class Estimate:
    """The return of a policy, as a model's rewards have it, over simulated episodes.

    std: of the returns, with N - 1 in its denominator; stderr: std / sqrt(N); both None for a
    single episode. exact: the expected value of as many steps, or None where there is no way to
    compute it. cut_off: what later steps may add or take at most, or None where nothing bounds it.
    """

    policy: str
    model: str
    mean: float
    std: float | None
    stderr: float | None
    exact: float | None
    episodes: int
    steps: int
    cut_off: float | None = None

    @property
    def deviation(self) -> float | None:
        """How many standard errors the mean is off the exact value; None where one is missing.

        Returns that are all alike have a spread of rounding only, and so may their mean be off.
        """
        if self.exact is None or self.stderr is None:
            return None
        off, rounding = self.mean - self.exact, ROUNDING * max(1.0, abs(self.exact))
        return 0.0 if abs(off) <= rounding else off / max(self.stderr, rounding)

    @staticmethod
    def of(
        values: Floats,
        policy: str,
        model: str,
        steps: int,
        exact: float | None = None,
        cut_off: float | None = None,
    ) -> Estimate:
        """The estimate that returns (N,) give."""
        spread = float(values.std(ddof=1)) if len(values) > 1 else None
        return Estimate(
            policy=policy,
            model=model,
            mean=float(values.mean()),
            std=spread,
            stderr=None if spread is None else spread / math.sqrt(len(values)),
            exact=exact,
            episodes=len(values),
            steps=steps,
            cut_off=cut_off,
        )


def evaluate(
    system: POMDP | LinearModel,
    policy: AnyPolicy,
    *,
    models: Mapping[str, LinearModel],
    episodes: int = 1000,
    steps: int | None = None,
    seed: int = 0,
    workers: int = 1,
    name: str | None = None,
    progress: Progress | None = None,
) -> list[Estimate]:
    """Simulate a policy on a system and value every episode by every model, at its discount.

    models: by the names their estimates bear. name: the policy's; that of its kind by default.
    steps: of each episode; by default enough that what is cut off counts for less than the
    standard error (see `truncation.enough_steps`). `Estimate.cut_off` bounds it in any case.
    Episodes go on for all steps, whether or not the task ends before: a model that does not know of
    the end goes on expecting rewards.
    """
    if not models:
        raise InputError("models: expected at least one to value episodes by")
    if steps is None:
        steps = enough_steps(system, policy, models, episodes=episodes, seed=seed)
    trajectories = simulate(
        system,
        policy,
        episodes=episodes,
        steps=steps,
        seed=seed,
        ends=False,
        workers=workers,
        progress=progress,
    )
    discount = 1.0 if system.discount is None else system.discount
    return [
        Estimate.of(
            returns(trajectories, model, discount=discount),
            name or policy_name(policy),
            label,
            steps,
            exact_return(system, policy, steps=steps, rewards=model),
            cut_off(model, system.discount, steps, planned_steps(policy)),
        )
        for label, model in models.items()
    ]


def policy_name(policy: AnyPolicy) -> str:
    """What to call a policy that nobody named."""
    return "uniform" if isinstance(policy, UniformPolicy) else type(policy).__name__
