"""Estimates of a policy's return by every model's own rewards, beside the exact value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rpsr.errors import InputError
from rpsr.evaluation.exact import exact_returns
from rpsr.evaluation.returns import returns
from rpsr.evaluation.simulation import AnyPolicy, Progress, runnable, simulate
from rpsr.evaluation.stochastic import StochasticController
from rpsr.evaluation.truncation import NEGLIGIBLE, cut_off, enough_steps, planned_steps
from rpsr.io.records import Floats
from rpsr.models.given import as_model, named_models
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.given import UNIFORM
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import Policy, UniformPolicy
from rpsr.predictive.constructors import psr, rpsr
from rpsr.showing import Shown, counted

DIFFERENT = 1e-6  # of a return: policies that differ by less are taken to earn the same
ROUNDING = 1e-12  # of the scale of returns: sums of some hundred rewards in floats


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
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

    def title(self) -> str:
        """What it is, in one line."""
        return f"estimate of {self.policy!r} by {self.model!r}: mean return {self.mean:.6g}"

    def facts(self) -> list[tuple[str, str]]:
        """The mean and how sure it is, what it estimates, and of how much."""
        error = "unknown, of one episode" if self.stderr is None else f"{self.stderr:.3g}"
        exact = [] if self.exact is None else [("exact", f"{self.exact:.9g}")]
        beyond = [] if self.cut_off is None else [("cut off", f"at most {self.cut_off:.2g}")]
        effort = f"{counted(self.episodes, 'episode')} of {counted(self.steps, 'step')}"
        return [
            ("mean", f"{self.mean:.9g}"),
            ("standard error", error),
            *exact,
            ("simulated", effort),
            *beyond,
        ]

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


class Estimates(Shown, tuple[Estimate, ...]):
    """The table that `evaluate` makes: an estimate for each policy by each model, in that order."""

    def __str__(self) -> str:
        return repr(self)  # a table that is printed is to be read

    def title(self) -> str:
        """What it is, in one line."""
        policies = counted(len({row.policy for row in self}), "policy", "policies")
        return f"returns of {policies} by {counted(len({row.model for row in self}), 'model')}"

    def columns(self) -> tuple[str, ...]:
        """The names of what is shown of an estimate."""
        return ("policy", "model", "mean", "stderr", "exact", "episodes", "steps", "cut off")

    def facts(self) -> list[tuple[str, ...]]:
        """A row for each estimate; what is not known is left out."""
        return [
            (
                row.policy,
                row.model,
                f"{row.mean:.5g}",
                *("" if x is None else f"{x:.5g}" for x in (row.stderr, row.exact)),
                *(str(row.episodes), str(row.steps)),
                "" if row.cut_off is None else f"{row.cut_off:.2g}",
            )
            for row in self
        ]


def differ(first: Sequence[Estimate], second: Sequence[Estimate]) -> bool:
    """Whether two policies earn different amounts, exactly or, where that is unknown, simulated.

    first and second: their estimates by the same models in the same order.
    """

    def apart(a: Estimate, b: Estimate) -> bool:
        known = a.exact is not None and b.exact is not None
        x, y = (a.exact, b.exact) if known else (a.mean, b.mean)
        return not math.isclose(x or 0.0, y or 0.0, rel_tol=DIFFERENT, abs_tol=DIFFERENT)

    return any(map(apart, first, second))


def missing(rows: Sequence[Estimate], discount: float | None) -> str | None:
    """What to say of a policy's estimates where what is cut off may exceed the standard error."""
    said = f"{rows[0].policy}: what is earned after {rows[0].steps} steps is cut off"
    if any(row.cut_off is None for row in rows):
        return f"{said}, and nothing bounds it"
    if (discount or 1.0) ** rows[0].steps <= NEGLIGIBLE:
        return None
    most = max((c for r in rows if (c := r.cut_off or 0.0) > (r.stderr or 0.0)), default=0.0)
    return f"{said}, up to {most:.3g} more or less" if most > 0 else None


Models = POMDP | LinearModel | Mapping[str, POMDP | LinearModel]


def evaluate(
    system: POMDP | LinearModel,
    policy: AnyPolicy | Sequence[AnyPolicy] | Mapping[str, AnyPolicy] = UNIFORM,
    *,
    models: Models | None = None,
    episodes: int = 1000,
    steps: int | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Estimates:
    """Simulate policies on a system and value every episode by every model, at its discount.

    policy: one, several, or several by the names that their estimates bear; a plan is called by its
    planner, another policy by its kind. Any action with equal chance by default.
    models: what values episodes, by name; by default a POMDP together with its PSR and its R-PSR,
    and a linear model by itself.
    steps: of each episode; by default enough that what is cut off counts for less than the
    standard error (see `truncation.enough_steps`). `Estimate.cut_off` bounds it in any case.
    Episodes go on for all steps, whether or not the task ends before: a model that does not know of
    the end goes on expecting rewards.
    """
    system = as_model(system, "system")
    followed = {name: runnable(given, system) for name, given in _named(policy).items()}
    valuing = _forms(system) if models is None else named_models(models)
    if not valuing:
        raise InputError("models: expected at least one to value episodes by")
    how = _How(episodes, steps, seed, workers, progress)
    return Estimates(
        row
        for name, each in followed.items()
        for row in _estimates(system, name, each, valuing, how)
    )


class _How(NamedTuple):
    """How each policy is simulated: see `evaluate`."""

    episodes: int
    steps: int | None
    seed: int
    workers: int
    progress: Progress | None


def _estimates(
    system: POMDP | LinearModel,
    name: str,
    policy: StochasticController | Policy,
    models: dict[str, LinearModel],
    how: _How,
) -> list[Estimate]:
    """The estimates of one policy."""
    steps = how.steps
    if steps is None:
        steps = enough_steps(system, policy, models, episodes=how.episodes, seed=how.seed)
    trajectories = simulate(
        system,
        policy,
        episodes=how.episodes,
        steps=steps,
        seed=how.seed,
        ends=False,
        workers=how.workers,
        progress=how.progress,
    )
    discount = 1.0 if system.discount is None else system.discount
    exact = exact_returns(system, policy, list(models.values()), steps=steps)
    return [
        Estimate.of(
            returns(trajectories, model, discount=discount),
            name,
            label,
            steps,
            expected,
            cut_off(model, system.discount, steps, planned_steps(policy)),
        )
        for (label, model), expected in zip(models.items(), exact, strict=True)
    ]


def _forms(system: POMDP | LinearModel) -> dict[str, LinearModel]:
    """A POMDP with its PSR and R-PSR, or a linear model, by name."""
    if not isinstance(system, POMDP):
        return {system.kind: system}
    return {"pomdp": system.belief_model(), "psr": psr(system), "rpsr": rpsr(system)}


def _named(policy: Any) -> dict[str, Any]:
    """Policies by their own names, each of which is numbered where it comes again."""
    if isinstance(policy, Mapping):
        named: dict[Any, Any] = dict(policy)
        return {str(name): each for name, each in named.items()}
    found: dict[str, Any] = {}
    for each in policy if isinstance(policy, list | tuple) else [policy]:
        name, again = _name(each), 2
        while name in found:
            name, again = f"{_name(each)} {again}", again + 1
        found[name] = each
    return found


def _name(policy: Any) -> str:
    """What to call a policy that nobody named."""
    match policy:
        case UniformPolicy():
            return UNIFORM
        case Solution():
            return policy.planner
        case _:
            return policy if isinstance(policy, str) else type(policy).__name__
