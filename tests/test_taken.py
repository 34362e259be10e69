"""What makes sense is taken wherever it is handed over, and the rest is refused in one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rpsr
from rpsr.domains import build
from rpsr.evaluation import exact_return, open_policy, returns
from rpsr.planning import (
    PolicyTree,
    compare,
    compare_over_domain,
    compress,
    extract_controller,
    from_beliefs,
    optimal_range,
    policy_value,
    read_alpha,
    read_pg,
    to_beliefs,
    write_alpha,
)
from rpsr.report import (
    plot_bounds,
    plot_convergence,
    plot_corridor,
    plot_policy_graph,
    plot_reconstruction,
    plot_returns,
    plot_simplex,
    plot_states,
    plot_trajectory,
    plot_value_function,
)
from rpsr.reproduce import experiment
from rpsr.testing import check_model, check_policy

TIGER = build("tiger")
BELIEF = TIGER.belief_model()
PLAN = rpsr.solve(TIGER, "vi")
TREE = rpsr.solve(TIGER, "vi", horizon=4)
LOADUNLOAD = build("loadunload")
NONSENSE = 7

# ---- what makes sense


@pytest.mark.parametrize("model", [TIGER, BELIEF])
@pytest.mark.parametrize(
    "policy",
    [PLAN, PLAN.policy(), extract_controller(PLAN), extract_controller(PLAN).policy(), "uniform"],
    ids=lambda policy: type(policy).__name__,
)
def test_whatever_can_be_followed_is_simulated_and_valued(model: Any, policy: Any):
    log = rpsr.simulate(model, policy, episodes=5, steps=6, seed=1)
    assert log.episodes == 5
    (row, *_) = rpsr.evaluate(model, policy, episodes=5, steps=60, seed=1)
    worth = exact_return(model, policy, steps=60, rewards=TIGER)
    assert row.exact == pytest.approx(worth, abs=1e-9)
    if policy != "uniform":
        assert policy_value(policy, model)[0] == pytest.approx(PLAN.value, abs=1e-6)
        assert compare(policy, PLAN, model).same


def test_plans_for_a_horizon_are_followed():
    tree = PolicyTree.of(TREE)
    for policy in (TREE, tree, tree.policy()):
        assert exact_return(TIGER, policy, steps=4) == pytest.approx(TREE.value, abs=1e-9)
    assert tree.value(TIGER) == pytest.approx(TREE.value, abs=1e-12)


def test_what_is_evaluated_needs_no_more_than_a_system():
    table = rpsr.evaluate(TIGER, episodes=4, steps=5)
    assert [(row.policy, row.model) for row in table] == [
        ("uniform", model) for model in ("pomdp", "psr", "rpsr")
    ]
    assert [row.model for row in rpsr.evaluate(BELIEF, episodes=4, steps=5)] == ["belief"]


def test_policies_are_called_by_what_they_are_or_as_the_user_says():
    several = rpsr.evaluate(TIGER, [PLAN, PLAN, "uniform"], models=TIGER, episodes=4, steps=5)
    assert [row.policy for row in several] == ["vi", "vi 2", "uniform"]
    named = rpsr.evaluate(TIGER, {"mine": PLAN}, models={"true": TIGER}, episodes=4, steps=5)
    assert [(row.policy, row.model) for row in named] == [("mine", "true")]


def test_a_controller_is_worth_the_same_on_a_pomdp_as_on_its_beliefs():
    controller = extract_controller(PLAN)
    assert controller.value(TIGER) == controller.value(BELIEF)
    assert np.array_equal(controller.vectors(TIGER), controller.vectors(BELIEF))


def test_policies_are_kept_and_read_by_what_the_user_has(tmp_path: Path):
    path = tmp_path / "p.json"
    controller, tree = extract_controller(PLAN), PolicyTree.of(TREE)
    rpsr.save_policy(PLAN, path)
    stored = rpsr.load_policy(path, TIGER)
    assert np.array_equal(stored.vectors, PLAN.vectors)
    for kept in (stored, stored.policy()):
        rpsr.save_policy(kept, path)
        assert np.array_equal(rpsr.load_policy(path, TIGER).actions, PLAN.actions)
    assert rpsr.simulate(TIGER, stored, episodes=2, steps=3).episodes == 2
    for kept in (controller, controller.policy()):
        rpsr.save_policy(kept, path, TIGER)
        assert rpsr.load_policy(path, TIGER).value(TIGER) == controller.value(TIGER)
    for kept, model in ((TREE, None), (tree, TIGER), (tree.policy(), TIGER)):
        rpsr.save_policy(kept, path, model)
        assert rpsr.load_policy(path, TIGER).value(TIGER) == pytest.approx(TREE.value)
    write_alpha(TIGER, PLAN.vectors, PLAN.actions, tmp_path / "p.alpha")
    assert np.array_equal(read_alpha(tmp_path / "p.alpha", TIGER)[0], PLAN.vectors)


def test_what_a_file_cannot_hold_is_said(tmp_path: Path):
    path = tmp_path / "p.json"
    with pytest.raises(
        rpsr.InputError, match=r"model: .* does not contain its model, so pass it as `model`"
    ):
        rpsr.save_policy(extract_controller(PLAN), path)
    with pytest.raises(
        rpsr.InputError, match="a look-ahead policy has no actions for its vectors; save"
    ):
        rpsr.save_policy(PLAN.policy(), path)
    assert not path.exists()


def test_plots_are_drawn_of_plans_and_pomdps():
    graph = plot_policy_graph(PLAN).axes[0]
    assert [text.get_text() for text in graph.texts] == [
        text.get_text() for text in plot_policy_graph(extract_controller(PLAN), TIGER).axes[0].texts
    ]
    assert plot_bounds(PLAN).legends[0].texts[0].get_text() == "vi"
    assert plot_convergence(PLAN).legends[0].texts[0].get_text() == "vi"
    assert plot_value_function(PLAN, TIGER).axes[0].get_xlabel().endswith("(at 0: tiger-left)")
    assert len(plot_reconstruction(LOADUNLOAD).axes) == 4
    assert plot_corridor(LOADUNLOAD).axes
    assert len(plot_trajectory(TIGER, [("listen", "tiger-left")]).axes) > 1
    assert plot_returns(rpsr.evaluate(TIGER, episodes=4, steps=5)).axes


def test_a_path_may_be_any_object_that_has_one(tmp_path: Path):
    class Place(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(tmp_path / "mine.rpsr")

    rpsr.save(BELIEF, Place())
    assert rpsr.load(Place()).dimension == 2


# ---- what does not

LOG = rpsr.simulate(TIGER, "uniform", episodes=2, steps=3)
MODEL = "model: read int, expected a POMDP or a linear model"
SYSTEM = "system: read int, expected a POMDP or a linear model"
POMDP = "pomdp: read int, expected a POMDP"
POLICY = (
    "policy: read int, expected a plan, a policy (an object with the methods reset, act, update)"
)
SOURCE = "source: read int, expected a file's path as a string"
WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "load": (rpsr.load, SOURCE),
    "load_pomdp": (rpsr.load_pomdp, SOURCE),
    "save": (lambda x: rpsr.save(x, "never.rpsr"), MODEL),
    "save to": (lambda x: rpsr.save(TIGER, x), "target: read int, expected a file's path"),
    "psr": (rpsr.psr, POMDP),
    "rpsr": (rpsr.rpsr, POMDP),
    "reward_aware_psr": (rpsr.reward_aware_psr, POMDP),
    "find_core": (lambda x: rpsr.find_core(x, "psr"), POMDP),
    "accuracy": (rpsr.accuracy, POMDP),
    "episodic": (rpsr.episodic, POMDP),
    "continuing": (rpsr.continuing, POMDP),
    "solve": (rpsr.solve, MODEL),
    "solve by": (lambda x: rpsr.solve(TIGER, x), "planner: read int, expected a planner"),
    "simulate on": (lambda x: rpsr.simulate(x, PLAN, episodes=1, steps=1), SYSTEM),
    "simulate": (lambda x: rpsr.simulate(TIGER, x, episodes=1, steps=1), POLICY),
    "simulate once": (
        lambda x: rpsr.simulate(TIGER, PLAN, episodes=x / 2, steps=1),
        "episodes: read 3.5, expected a whole number from 1",
    ),
    "simulate by": (
        lambda x: rpsr.simulate(TIGER, PLAN, episodes=1, steps=1, seed=str(x)),
        "seed: read '7', expected a whole number from 0",
    ),
    "filter": (rpsr.Filter, MODEL),
    "certify": (rpsr.certify, "solution: read int, expected a plan"),
    "certify for": (lambda x: rpsr.certify(PLAN, x), POMDP),
    "verify": (lambda x: rpsr.verify(x, "never.json"), POMDP),
    "verify from": (lambda x: rpsr.verify(TIGER, x), "path: read int, expected a file's path"),
    "value_at": (PLAN.value_at, "states: read shape (1, 1), expected numbers of shape (states, 2)"),
    "value_at text": (lambda x: PLAN.value_at(str(x)), "states: read str, expected numbers"),
    "evaluate on": (rpsr.evaluate, SYSTEM),
    "evaluate": (lambda x: rpsr.evaluate(TIGER, x), POLICY),
    "evaluate some": (lambda x: rpsr.evaluate(TIGER, ["uniform", x]), POLICY),
    "evaluate by": (lambda x: rpsr.evaluate(TIGER, models=x), "models: read int, expected a POMDP"),
    "evaluate by one": (
        lambda x: rpsr.evaluate(TIGER, models={"mine": x}),
        "models: mine: read int, expected a POMDP",
    ),
    "exact_return on": (lambda x: exact_return(x, PLAN), SYSTEM),
    "exact_return": (lambda x: exact_return(TIGER, x), POLICY),
    "exact_return by": (
        lambda x: exact_return(TIGER, PLAN, rewards=x),
        "rewards: read int, expected a POMDP",
    ),
    "returns of": (lambda x: returns(x, TIGER), "trajectories: read int, expected episodes"),
    "returns by": (lambda x: returns(LOG, x), MODEL),
    "experiment": (experiment, POMDP),
    "open_policy": (lambda x: open_policy("never.json", x), SYSTEM),
    "load_policy": (lambda x: rpsr.load_policy("never.json", x), MODEL),
    "load_policy from": (lambda x: rpsr.load_policy(x, TIGER), "path: read int, expected a file's"),
    "save_policy": (lambda x: rpsr.save_policy(x, "never.json", TIGER), "policy: read int, expec"),
    "save_policy for": (
        lambda x: rpsr.save_policy(extract_controller(PLAN), "never.json", x),
        MODEL,
    ),
    "controller.value": (extract_controller(PLAN).value, MODEL),
    "controller.check": (extract_controller(PLAN).check, MODEL),
    "tree.value": (PolicyTree.of(TREE).value, MODEL),
    "extract_controller": (extract_controller, "solution: read int, expected a plan"),
    "policy_value of": (lambda x: policy_value(x, TIGER), POLICY),
    "policy_value on": (lambda x: policy_value(PLAN, x), MODEL),
    "compare": (lambda x: compare(PLAN, x, TIGER), "second: read int, expected a plan"),
    "compare_over_domain": (
        lambda x: compare_over_domain(PLAN, x),
        "second: read int, expected a plan",
    ),
    "optimal_range": (lambda x: optimal_range(TIGER, x, PLAN), "others: read int, expected a POM"),
    "compress": (compress, POMDP),
    "to_beliefs": (lambda x: to_beliefs(x, PLAN.vectors), MODEL),
    "from_beliefs": (lambda x: from_beliefs(x, PLAN.vectors), MODEL),
    "read_alpha": (lambda x: read_alpha("never.alpha", x), MODEL),
    "read_pg": (lambda x: read_pg("never.pg", x), MODEL),
    "uniform": (rpsr.UniformPolicy, MODEL),
    "uniform by": (
        lambda x: rpsr.UniformPolicy(TIGER, -x),
        "seed: read -7, expected a whole number from 0",
    ),
    "check_policy": (lambda x: check_policy(PLAN, x), MODEL),
    "check_model": (check_model, MODEL),
    "plot_policy_graph": (plot_policy_graph, "controller: read int, expected a plan or a contr"),
    "plot_policy_graph on": (lambda x: plot_policy_graph(PLAN, x), MODEL),
    "plot_value_function": (plot_value_function, "solution: read int, expected a plan"),
    "plot_reconstruction": (plot_reconstruction, POMDP),
    "plot_corridor": (plot_corridor, POMDP),
    "plot_trajectory": (
        lambda x: plot_trajectory(x, [("listen", "tiger-left")]),
        "models: read int, expected a POMDP",
    ),
    "plot_simplex": (plot_simplex, "solution: read int, expected a plan"),
    "plot_states": (lambda x: plot_states(x, LOG), "models: read int, expected a POMDP"),
    "plot_states of": (lambda x: plot_states(TIGER, x), "trajectories: read int, expected episode"),
    "plot_convergence": (plot_convergence, "traces: read int, expected a plan"),
    "plot_bounds": (lambda x: plot_bounds({"mine": x}), "traces: mine: read int, expected a plan"),
    "plot_returns": (plot_returns, "estimates: read int, expected the table that evaluate"),
    "plot_returns of": (lambda x: plot_returns([x]), "estimates: read int, expected the table th"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_type_is_answered_with_what_was_expected(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, said = WRONG[name]
    with pytest.raises(rpsr.InputError) as refused:
        call(NONSENSE)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_text_is_answered_with_what_opens_it():
    with pytest.raises(rpsr.InputError, match=r"read 'tiger', expected a POMDP.*rpsr\.load"):
        rpsr.simulate("tiger", PLAN, episodes=1, steps=1)
    with pytest.raises(rpsr.InputError, match=r"read 'p\.json', expected a plan.*load_policy"):
        rpsr.simulate(TIGER, "p.json", episodes=1, steps=1)
    with pytest.raises(rpsr.InputError, match="pomdp: read a belief model, expected a POMDP"):
        rpsr.psr(BELIEF)
    with pytest.raises(rpsr.InputError, match="policy: read the class Solution, expected a plan"):
        rpsr.simulate(TIGER, rpsr.Solution, episodes=1, steps=1)
