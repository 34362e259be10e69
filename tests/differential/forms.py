"""Every form that a policy has, and what it earns in that form.

A form is a policy made of a solution, or a file that is written and read again. `.alpha` files of
random vectors are followed, too: they are policies of others, and mean what they say.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.differential.oracle import Bracket, Oracle
from tests.differential.tally import Record
from tests.differential.values import controller_value, followed_value, horizon_value

from rpsr import POMDP, LinearModel
from rpsr.evaluation.policy_files import open_policy
from rpsr.planning import (
    FiniteStateController,
    PolicyTree,
    Solution,
    StagedPolicy,
    extract_controller,
    save_policy,
    write_alpha,
)

FORMS = (
    "greedy policy",
    "controller",
    "controller.json",
    "policy.alpha",
    "policy.pg",
    "policy.json",
)
HORIZON_FORMS = ("staged policy", "tree", "tree.json")
FOLLOWED = 40  # beliefs at which a policy is asked


def earned_by(
    solution: Solution, form: str, system: POMDP | LinearModel, oracle: Oracle
) -> Bracket | None:
    """What a solution's policy earns in a form; None for a controller that is too large.

    system: what a file is read for.
    """
    policy = _in_form(solution, form, system)
    if isinstance(policy, FiniteStateController):
        return controller_value(oracle, policy)
    if solution.horizon is not None:
        followed = policy.policy() if isinstance(policy, PolicyTree) else policy
        return horizon_value(oracle, followed, solution.horizon)
    return followed_value(oracle, policy, FOLLOWED)


def _in_form(solution: Solution, form: str, system: POMDP | LinearModel) -> Any:
    match form:
        case "greedy policy":
            return solution.policy()
        case "staged policy":
            return StagedPolicy.of(solution)
        case "tree":
            return PolicyTree.of(solution)
        case "controller":
            return extract_controller(solution)
    with TemporaryDirectory() as folder:
        path = Path(folder) / form
        if form == "controller.json":
            save_policy(extract_controller(solution), path, solution.model)
        else:
            save_policy(solution, path)
        return open_policy(path, system)


def obeyed(pomdp: POMDP, rng: np.random.Generator, record: Record) -> None:
    """A file of vectors is followed as it is written: the best vector's action is taken."""
    model = pomdp.belief_model()
    vectors = rng.integers(-9, 10, (4, model.dimension)).astype(float)
    actions = rng.integers(len(model.actions), size=4)
    worths = vectors @ model.start
    best = set(actions[worths >= worths.max() - 1e-9].tolist())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "policy.alpha"
        write_alpha(model, vectors, actions, path)
        policy: Any = open_policy(path, pomdp)
    policy.reset()
    record.holds(".alpha as written", policy.act() in best, f"action {policy.act()}, not {best}")
