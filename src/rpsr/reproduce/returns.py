"""The paper's experiment on one domain, with three additions.

`program`: exact returns over 99 steps, which the authors' published program simulates in place of
100. `reward_aware`: the optimal policy of an agent that observes its rewards, which is another
problem. `verified`: whether a certificate proves the POMDP's optimum.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rpsr.certificates import verify
from rpsr.evaluation import Estimate, evaluate, exact_return
from rpsr.models.pomdp import POMDP
from rpsr.planning import AlphaPolicy, Planner, Solution, certify, planner_by_name, solve
from rpsr.predictive import psr, reward_aware
from rpsr.reproduce import paper
from rpsr.reproduce.case_study import CASE, Walk, walks
from rpsr.reproduce.one_domain import Experiment, Plan, Planned, experiment, paper_domain

RA = "ra-psr"
HALF_A_DIGIT = 5e-7  # of an optimal value, which is shown with six decimals
TRIALS = 1000


@dataclass(frozen=True)
class Returns:
    """One domain's results.

    program: expected returns over 99 steps by planned policy and by row of rewards.
    reward_aware: estimate and plan of the reward-aware PSR's policy; None if it was not run.
    verified: whether a certificate proves the bounds on the POMDP's optimum, to the digits shown.
    walks: on load/unload, the walks of each model's optimal policy (`case_study`); else empty.
    """

    experiment: Experiment
    program: dict[str, dict[str, float | None]]
    reward_aware: tuple[Estimate, Plan] | None
    verified: bool
    walks: dict[str, list[Walk]] = field(default_factory=dict[str, list[Walk]])

    @property
    def certified(self) -> bool:
        """Whether all three optima were proven; if not, policies are the best that were found."""
        return all(plan.epsilon is not None for plan in self.experiment.plans)

    def to_document(self) -> dict[str, Any]:
        """All numbers as plain JSON values."""
        aware = self.reward_aware
        return {
            "experiment": self.experiment.to_document(),
            "program": self.program,
            "reward_aware": aware and [asdict(part) for part in aware],
            "verified": self.verified,
            "walks": self.walks,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Returns:
        """The results from their `to_document`."""
        aware = document["reward_aware"]
        return Returns(
            experiment=Experiment.from_document(document["experiment"]),
            program=document["program"],
            reward_aware=aware and (Estimate(**aware[0]), Plan(**aware[1])),
            verified=document["verified"],
            walks=document["walks"],
        )


def returns_on(
    name: str, *, planner: str, options: dict[str, Any], aware: bool, episodes: int, seed: int
) -> Returns:
    """Run the experiment on a built-in domain as the authors did.

    planner and options: see `rpsr.planning.planner_by_name`. aware: whether to run the reward-aware
    PSR too.
    """
    pomdp, how = paper_domain(name), planner_by_name(planner, **options)
    planned = Planned.of(pomdp, how)
    return Returns(
        experiment=experiment(planned, episodes=episodes, steps=paper.STEPS, seed=seed),
        program=_program(planned) if name in paper.RESULTS else {},
        reward_aware=_aware(pomdp, how, episodes, seed) if aware else None,
        verified=_verified(pomdp, planned.plans["pomdp"]),
        walks=walks(planned) if name == CASE else {},
    )


def _verified(pomdp: POMDP, plan: Solution) -> bool:
    """Whether a certificate proves the bounds of a plan to the digits shown, by the verifier alone.

    Another planner searches for the proof, without a time limit, so that all runs are equal. Plans
    that a limit stopped have bounds that no short search proves.
    """
    if plan.epsilon is None or plan.upper is None:
        return False
    solution = solve(pomdp, "sarsop", epsilon=HALF_A_DIGIT, max_iterations=TRIALS, keep_points=True)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        certify(solution).save(path)
        proven = verify(pomdp, path)
    if proven.lower is None or proven.upper is None:
        return False
    low, high = plan.lower - HALF_A_DIGIT, plan.upper + HALF_A_DIGIT
    return low <= proven.lower and proven.upper <= high


def _program(planned: Planned) -> dict[str, dict[str, float | None]]:
    steps = paper.STEPS_OF_THE_PROGRAM
    return {
        f"{name}-vi": {
            row: exact_return(
                planned.pomdp, AlphaPolicy.of(plan), steps=steps, rewards=planned.models[row]
            )
            for row in paper.REWARD_ROWS
        }
        for name, plan in planned.plans.items()
    }


def _aware(pomdp: POMDP, planner: Planner, episodes: int, seed: int) -> tuple[Estimate, Plan]:
    seen = reward_aware(pomdp)
    model = psr(seen)
    solution = solve(model, planner)
    (estimate,) = evaluate(
        seen,
        {f"{RA}-vi": AlphaPolicy.of(solution)},
        models={RA: model},
        episodes=episodes,
        steps=paper.STEPS,
        seed=seed,
    )
    return estimate, Plan.of(RA, solution)
