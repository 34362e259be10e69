"""Estimates of a policy's return, one per model of the rewards, with the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rpsr.errors import InputError
from rpsr.evaluation.episode_returns import returns
from rpsr.evaluation.exact import exact_returns
from rpsr.evaluation.simulation import AnyPolicy, Progress, as_table, runnable, simulate
from rpsr.evaluation.stochastic import StochasticController
from rpsr.evaluation.truncation import NEGLIGIBLE, cut_off, enough_steps, planned_steps
from rpsr.io.records import Floats
from rpsr.models.as_model import as_model, named_models
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.as_policy import UNIFORM
from rpsr.planning.online.simulator import is_simulator
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import Policy, UniformPolicy
from rpsr.predictive.constructors import psr, rpsr
from rpsr.showing import Shown, counted

DIFFERENT = 1e-6  # of a return: smaller differences between policies are ignored
ROUNDING = 1e-12  # of the scale of returns: sums of some hundred rewards in floats


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
    """The mean return of a policy over simulated episodes, by the rewards of one model.

    std: of the returns, with N - 1 in its denominator; stderr: std / sqrt(N); both None for a
    single episode. exact: the expected return of the same number of steps, or None if it cannot be
    computed. cut_off: bound on the absolute return of later steps, or None if there is no bound.
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
        """A description in one line."""
        return f"estimate of {self.policy!r} by {self.model!r}: mean return {self.mean:.6g}"

    def facts(self) -> list[tuple[str, str]]:
        """The mean, its standard error, the exact value, and the sample size."""
        error = "unknown (one episode)" if self.stderr is None else f"{self.stderr:.3g}"
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
        """(mean - exact) / stderr; None if one of them is missing.

        If all returns are equal, their spread is rounding, and so is the error of their mean.
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
        """The estimate from returns (N,)."""
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
    """The result of `evaluate`: one estimate per policy and model, in that order."""

    def __str__(self) -> str:
        return repr(self)  # print(...) shows the table

    def title(self) -> str:
        """A description in one line."""
        policies = counted(len({row.policy for row in self}), "policy", "policies")
        return f"returns of {policies} by {counted(len({row.model for row in self}), 'model')}"

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("policy", "model", "mean", "stderr", "exact", "episodes", "steps", "cut off")

    def facts(self) -> list[tuple[str, ...]]:
        """One row per estimate; unknown numbers are left empty."""
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
    """Whether two policies have different returns, exact or, where unknown, simulated.

    first and second: their estimates by the same models in the same order.
    """

    def apart(a: Estimate, b: Estimate) -> bool:
        known = a.exact is not None and b.exact is not None
        x, y = (a.exact, b.exact) if known else (a.mean, b.mean)
        return not math.isclose(x or 0.0, y or 0.0, rel_tol=DIFFERENT, abs_tol=DIFFERENT)

    return any(map(apart, first, second))


def missing(rows: Sequence[Estimate], discount: float | None) -> str | None:
    """A note if the return of uncounted steps may exceed the standard error, else None."""
    uncounted = f"{rows[0].policy}: rewards of later steps"
    why = f"are not counted: episodes have {counted(rows[0].steps, 'step')}"
    if any(row.cut_off is None for row in rows):
        return f"{uncounted}, for which no bound is known, {why}"
    if (discount or 1.0) ** rows[0].steps <= NEGLIGIBLE:
        return None
    most = max((c for r in rows if (c := r.cut_off or 0.0) > (r.stderr or 0.0)), default=0.0)
    change = f"which would change the return by at most {most:.3g}"
    return f"{uncounted}, {change}, {why}" if most > 0 else None


Models = POMDP | LinearModel | Mapping[str, POMDP | LinearModel] | Sequence[str]


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
    """Simulate policies on a system and compute the return of every episode by every model.

    policy: one policy, a sequence, or a mapping from names. Unnamed plans are named after their
    planner, other policies after their kind. Default: uniformly random actions.
    models: by name, the models whose expected rewards give the returns, with the system's discount;
    or some of "pomdp", "psr" and "rpsr", the POMDP itself, its PSR and its R-PSR. Default: these
    three; for a linear model, itself.
    steps: per episode. By default enough for the return of later steps to be below the standard
    error (see `truncation.enough_steps`). `Estimate.cut_off` bounds it in any case.
    Episodes have all steps, even if the task ends earlier, because a model that does not represent
    the end still predicts rewards.
    """
    return Estimates(
        estimates(
            system,
            policy,
            models=models,
            episodes=episodes,
            steps=steps,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    )


# The arguments are those of `evaluate`.
def estimates(
    system: POMDP | LinearModel,
    policy: AnyPolicy | Sequence[AnyPolicy] | Mapping[str, AnyPolicy] = UNIFORM,
    *,
    models: Models | None = None,
    episodes: int = 1000,
    steps: int | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[Estimate]:
    """The estimates of `evaluate`, each as soon as it is known.

    A POMDP's PSR and R-PSR are built when they are needed, which takes long for a large POMDP. If
    the number of steps is not given, it depends on all models. say: called with the current work.
    """
    if is_simulator(system):
        raise InputError(
            f"system: read the simulator {type(system).__name__}, expected a POMDP or a linear "
            "model, whose rewards give returns; simulate(..., rewards=True) runs a policy on it"
        )
    system = as_model(system, "system")
    followed = {name: runnable(given, system) for name, given in _named(policy).items()}
    valuing = _models(system, models, say)
    if not valuing:
        raise InputError("models: expected at least one model to compute returns with")
    how = _How(episodes, steps, seed, workers, progress)
    for name, follower in followed.items():
        yield from _estimates(system, name, follower, valuing, how)


class _How(NamedTuple):
    """The options of the simulations, see `evaluate`."""

    episodes: int
    steps: int | None
    seed: int
    workers: int
    progress: Progress | None


def _estimates(
    system: POMDP | LinearModel,
    name: str,
    policy: StochasticController | Policy,
    models: Mapping[str, LinearModel],
    how: _How,
) -> Iterator[Estimate]:
    """The estimates of one policy."""
    steps = how.steps
    if steps is None:
        steps = enough_steps(system, policy, models, episodes=how.episodes, seed=how.seed)
    table = as_table(policy, system, steps)
    trajectories = simulate(
        system,
        policy if table is None else table,
        episodes=how.episodes,
        steps=steps,
        seed=how.seed,
        ends=False,
        workers=how.workers,
        progress=how.progress,
    )
    discount = 1.0 if system.discount is None else system.discount
    for label, model in models.items():
        exact = None
        if table is not None:
            (exact,) = exact_returns(system, table, [model], steps=steps)
        yield Estimate.of(
            returns(trajectories, model, discount=discount),
            name,
            label,
            steps,
            exact,
            cut_off(model, system.discount, steps, planned_steps(policy)),
        )


FORMS: dict[str, tuple[str, Callable[[POMDP], LinearModel]]] = {
    "pomdp": ("belief model", POMDP.belief_model),
    "psr": ("PSR", lambda pomdp: psr(pomdp)),
    "rpsr": ("R-PSR", lambda pomdp: rpsr(pomdp)),
}


class _Forms(Mapping[str, LinearModel]):
    """Models of a POMDP by name, each built when it is first read."""

    def __init__(
        self, pomdp: POMDP, names: Sequence[str], say: Callable[[str], None] | None
    ) -> None:
        for name in names:
            if name not in FORMS:
                raise InputError(f"models: read {name!r}, choose from {', '.join(FORMS)}")
        self._pomdp, self._names, self._say = pomdp, dict.fromkeys(names), say
        self._built: dict[str, LinearModel] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> LinearModel:
        if name not in self._built:
            words, build = FORMS[name]
            if self._say is not None:
                self._say(f"building the {words}")
            self._built[name] = build(self._pomdp)
        return self._built[name]


def _models(
    system: POMDP | LinearModel, models: Models | None, say: Callable[[str], None] | None
) -> Mapping[str, LinearModel]:
    """The models whose rewards count, by name; those of a POMDP are built when needed."""
    names = models if isinstance(models, list | tuple) else None
    if isinstance(system, POMDP):
        if models is None or names is not None:
            return _Forms(system, names or tuple(FORMS), say)
    elif models is None:
        return {system.kind: system}
    elif names is not None:
        raise InputError(
            f"models: read names, which choose among the models of a POMDP, but the system is a "
            f"{system.kind} model; leave models out"
        )
    return named_models(models)


def _named(policy: Any) -> dict[str, Any]:
    """Policies by name; repeated names are numbered."""
    if isinstance(policy, Mapping):
        named: dict[Any, Any] = dict(policy)
        return {str(name): one for name, one in named.items()}
    policies: dict[str, Any] = {}
    for one in policy if isinstance(policy, list | tuple) else [policy]:
        name, again = _name(one), 2
        while name in policies:
            name, again = f"{_name(one)} {again}", again + 1
        policies[name] = one
    return policies


def _name(policy: Any) -> str:
    """The name of an unnamed policy."""
    match policy:
        case UniformPolicy():
            return UNIFORM
        case Solution():
            return policy.planner
        case _:
            return policy if isinstance(policy, str) else type(policy).__name__
