"""Policies from files run on the system, looking ahead with the model they were planned on."""

import pytest

from rpsr import InputError
from rpsr.domains import build
from rpsr.evaluation import exact_return, open_policy
from rpsr.planning import (
    AlphaPolicy,
    FiniteStateController,
    PolicyTree,
    Reachable,
    ValueIteration,
    extract_controller,
    save_policy,
    solve,
    write_alpha,
    write_pg,
)
from rpsr.predictive import psr, rpsr


@pytest.mark.parametrize("kind", ["belief", "psr", "rpsr"])
def test_a_value_function_is_followed_on_its_own_kind_of_model(kind, tmp_path):
    pomdp = build("loadunload")
    model = {"belief": pomdp.belief_model, "psr": lambda: psr(pomdp), "rpsr": lambda: rpsr(pomdp)}
    solution = solve(model[kind](), Reachable())
    save_policy(solution, tmp_path / "p.json")
    policy = open_policy(tmp_path / "p.json", pomdp)
    assert isinstance(policy, AlphaPolicy)
    assert policy.model.kind == kind
    expected = exact_return(pomdp, AlphaPolicy.of(solution))
    assert exact_return(pomdp, policy) == pytest.approx(expected, abs=1e-9)
    if kind != "psr":
        assert expected == pytest.approx(solution.value, abs=1e-9)
        on_rpsr = open_policy(tmp_path / "p.json", rpsr(pomdp))
        assert exact_return(rpsr(pomdp), on_rpsr) == pytest.approx(expected, abs=1e-9)
    else:
        with pytest.raises(InputError, match="was planned on a psr model"):
            open_policy(tmp_path / "p.json", rpsr(pomdp))


def test_the_classic_forms(tmp_path):
    pomdp = build("loadunload")
    solution = solve(pomdp, ValueIteration(epsilon=1e-9, faces=False))
    write_alpha(solution.model, solution.vectors, solution.actions, tmp_path / "p.alpha")
    write_pg(extract_controller(solution), tmp_path / "p.pg")
    greedy, graph = (open_policy(tmp_path / name, pomdp) for name in ("p.alpha", "p.pg"))
    assert isinstance(greedy, AlphaPolicy)
    assert isinstance(graph, FiniteStateController)
    for policy in (greedy, graph):
        assert exact_return(pomdp, policy) == pytest.approx(solution.value, abs=1e-8)


def test_trees_and_other_names(tmp_path):
    plan = solve(build("tiger"), ValueIteration(horizon=3))
    save_policy(plan, tmp_path / "t.json")
    policy = open_policy(tmp_path / "t.json", build("tiger"))
    assert isinstance(policy, PolicyTree)
    assert exact_return(build("tiger"), policy, steps=3) == pytest.approx(plan.value, abs=1e-12)
    with pytest.raises(InputError, match="was made for other actions"):
        open_policy(tmp_path / "t.json", build("paint"))
    with pytest.raises(InputError, match="cannot be read"):
        open_policy(tmp_path / "none.json", build("paint"))
