"""The paper's experiment: returns of the optimal policies of three models, by each model's rewards.

Four policies act in the POMDP: uniform, and the optimal ones of the POMDP, of its PSR and of its
R-PSR. The discounted return of every action-observation sequence is computed with the expected
rewards R(h, a) of each of the three models. All policies have the same seeds, so equal policies
give equal episodes, and differences between policies have less noise than either estimate.

Reference: A. Baisero and C. Amato, "Reconciling Rewards with Predictive State Representations",
IJCAI 2021, section 5, table 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rpsr.domains.catalogue import build
from rpsr.errors import InputError
from rpsr.evaluation.episode_returns import returns
from rpsr.evaluation.estimates import Estimate
from rpsr.evaluation.exact import exact_returns
from rpsr.evaluation.simulation import simulate
from rpsr.evaluation.truncation import cut_off
from rpsr.io.records import Floats
from rpsr.logs.trajectories import Trajectories
from rpsr.models.as_model import as_pomdp
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.comparing.optimal_range import optimal_range
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.planners import solve
from rpsr.planning.solution import Planner, Solution
from rpsr.planning.value.controllers import FiniteStateController, extract_controller
from rpsr.planning.value.policies import AlphaPolicy, UniformPolicy
from rpsr.predictive.constructors import psr, rpsr
from rpsr.showing import Shown, counted

PAPER_DOMAINS = ("heavenhell", "line4-2goals", "loadunload", "paint", "parr", "stand-tiger")
# Where the authors changed the discount: 0.99 converged slowly, 1 need not converge at all.
PAPER_DISCOUNTS = {"heavenhell": "0.95", "line4-2goals": "0.95"}
MODELS = ("pomdp", "psr", "rpsr")
POLICIES = ("uniform", "pomdp-vi", "psr-vi", "rpsr-vi")
EPSILON = 1e-8  # at which the policies of a POMDP and of its R-PSR are equal


def paper_domain(name: str) -> POMDP:
    """A built-in domain as the authors ran it: two of them with another discount."""
    pomdp = build(name)
    return pomdp.with_discount(PAPER_DISCOUNTS[name]) if name in PAPER_DISCOUNTS else pomdp


@dataclass(frozen=True)
class Plan:
    """A plan on a model: the value at its start by its own rewards, with bounds."""

    model: str
    dimension: int
    planner: str
    status: str
    value: float
    lower: float
    upper: float | None
    epsilon: float | None
    vectors: int

    @staticmethod
    def of(model: str, solution: Solution) -> Plan:
        """The summary of a solution."""
        return Plan(
            model=model,
            dimension=solution.model.dimension,
            planner=solution.planner,
            status=solution.status.name.lower(),
            value=solution.value,
            lower=solution.lower,
            upper=solution.upper,
            epsilon=solution.epsilon,
            vectors=len(solution.vectors),
        )


@dataclass(frozen=True)
class Range:
    """Bounds (low, high) on the least and greatest POMDP value over all PSR-optimal policies."""

    least: tuple[float, float]
    greatest: tuple[float, float]
    exact: bool


@dataclass(frozen=True, repr=False)
class Experiment(Shown):
    """The experiment's numbers for one domain; every field is plain JSON.

    estimates: one for each of `POLICIES` by each of `MODELS`. plans: one for each of `MODELS`.
    psr_range: bounds on the POMDP's value of PSR-optimal policies, over an infinite horizon instead
    of `steps`; None if the PSR's plan is not certified.
    disagreement: the largest difference between the returns of the POMDP and of the R-PSR over all
    episodes. same_episodes: whether POMDP-VI and R-PSR-VI took the same actions in all episodes.
    """

    domain: str
    discount: float
    episodes: int
    steps: int
    seed: int
    estimates: tuple[Estimate, ...]
    plans: tuple[Plan, ...]
    psr_range: Range | None
    disagreement: float
    same_episodes: bool

    def title(self) -> str:
        """A description, in one line."""
        effort = f"{counted(self.episodes, 'episode')} of {counted(self.steps, 'step')}"
        return f"experiment on {self.domain!r}: {effort}, discount {self.discount:g}"

    def columns(self) -> tuple[str, ...]:
        """A policy, and each model."""
        return ("mean return", *dict.fromkeys(row.model for row in self.estimates))

    def facts(self) -> list[tuple[str, ...]]:
        """The mean return of each policy, by each model's rewards."""
        policies, models = dict.fromkeys(row.policy for row in self.estimates), self.columns()[1:]
        means = {(row.policy, row.model): f"{row.mean:.5g}" for row in self.estimates}
        return [
            (policy, *(means.get((policy, model), "") for model in models)) for policy in policies
        ]

    def estimate(self, policy: str, model: str) -> Estimate:
        """The estimate of a policy by a model."""
        for estimate in self.estimates:
            if (estimate.policy, estimate.model) == (policy, model):
                return estimate
        raise InputError(f"no estimate of {policy!r} by {model!r}")

    def to_document(self) -> dict[str, Any]:
        """All numbers as plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_document(document: dict[str, Any]) -> Experiment:
        """The experiment from its `to_document`."""
        try:
            stored = document["psr_range"]
            psr_range = stored and Range(
                tuple(stored["least"]), tuple(stored["greatest"]), stored["exact"]
            )
            parts: dict[str, Any] = {
                "estimates": tuple(Estimate(**row) for row in document["estimates"]),
                "plans": tuple(Plan(**row) for row in document["plans"]),
                "psr_range": psr_range,
            }
            return Experiment(**(document | parts))
        except (KeyError, TypeError, IndexError) as error:
            raise InputError(f"not an experiment: {error}") from None


@dataclass(frozen=True)
class Planned:
    """The three models of a POMDP and their optimal plans, both by the names of `MODELS`."""

    pomdp: POMDP
    planner: Planner
    models: dict[str, LinearModel]
    plans: dict[str, Solution]

    @staticmethod
    def of(
        pomdp: POMDP, planner: Planner | None = None, progress: Callable[[str], None] | None = None
    ) -> Planned:
        """Make the models and plan on each; planner and progress: see `experiment`."""
        pomdp = as_pomdp(pomdp)
        tell = progress or _silent
        planner = planner or ValueIteration(epsilon=EPSILON)
        tell("models")
        models: dict[str, LinearModel] = {
            "pomdp": pomdp.belief_model(),
            "psr": psr(pomdp),
            "rpsr": rpsr(pomdp),
        }
        plans: dict[str, Solution] = {}
        for name, model in models.items():
            tell(f"planning on {name}")
            plans[name] = solve(model, planner)
        return Planned(pomdp, planner, models, plans)


def experiment(
    given: POMDP | Planned,
    *,
    planner: Planner | None = None,
    episodes: int = 1000,
    steps: int = 100,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Experiment:
    """Run the paper's experiment on a POMDP, at its own discount, which must be below 1.

    given: the POMDP, or its models and plans if they are already made (`Planned`). planner: exact
    value iteration to 1e-8 by default. progress: called with the name of each stage as it begins.
    """
    tell = progress or _silent
    planned = given if isinstance(given, Planned) else Planned.of(given, planner, progress)
    pomdp, models, plans = planned.pomdp, planned.models, planned.plans
    uniform = UniformPolicy(models["pomdp"], np.random.default_rng(seed))
    planned_policies = [_policy(plan) for plan in plans.values()]
    estimates: list[Estimate] = []
    logs: dict[str, Trajectories] = {}
    disagreement = 0.0
    for name, policy in zip(POLICIES, [uniform, *planned_policies], strict=True):
        tell(f"simulating {name}")
        logs[name] = simulate(
            pomdp, policy, episodes=episodes, steps=steps, seed=seed, ends=False, workers=workers
        )
        earned: dict[str, Floats] = {}
        expected = exact_returns(pomdp, policy, list(models.values()), steps=steps)
        for (label, model), exact in zip(models.items(), expected, strict=True):
            earned[label] = returns(logs[name], model)
            left = cut_off(model, pomdp.discount, steps)
            estimates.append(Estimate.of(earned[label], name, label, steps, exact, left))
        apart = float(np.abs(earned["pomdp"] - earned["rpsr"]).max())
        disagreement = max(disagreement, apart)
    tell("the range of PSR-optimal policies")
    return Experiment(
        domain=pomdp.name,
        discount=float(models["pomdp"].discount or 0.0),
        episodes=episodes,
        steps=steps,
        seed=seed,
        estimates=tuple(estimates),
        plans=tuple(Plan.of(name, plan) for name, plan in plans.items()),
        psr_range=_psr_range(planned),
        disagreement=disagreement,
        same_episodes=_same(logs["pomdp-vi"], logs["rpsr-vi"]),
    )


def _silent(stage: str) -> None:
    """Ignore progress."""


def _policy(plan: Solution) -> AlphaPolicy | FiniteStateController:
    """The greedy policy of a finished plan; the controller of one that a limit ended.

    The controller earns the plan's lower bound. Anytime planners end with tens of thousands of
    vectors, and a look-ahead with all of them at each step of each episode would take hours.
    """
    return AlphaPolicy.of(plan) if plan.status.reached_goal else extract_controller(plan)


def _same(first: Trajectories, second: Trajectories) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("actions", "observations", "offsets")
    )


def _psr_range(planned: Planned) -> Range | None:
    models, plans = planned.models, planned.plans
    if plans["psr"].epsilon is None or not plans["psr"].status.reached_goal:
        return None
    task = models["pomdp"]
    optimal = optimal_range(models["psr"], task, plans["psr"])
    if not optimal.exact:
        # Values of states beyond the limit are bounded by those of the best and the worst policy.
        best, worst = plans["pomdp"], solve(task.with_rewards(-task.rewards), planned.planner)
        if None not in (best.epsilon, best.upper, worst.epsilon, worst.upper):
            optimal = optimal_range(models["psr"], task, plans["psr"], extremes=(best, worst))
    return Range(optimal.least, optimal.greatest, optimal.exact)
