"""Planners by name, and the one that is chosen where none is named."""

import pytest

import rpsr
from rpsr import planning
from rpsr.domains import build
from rpsr.evaluation import simulate
from rpsr.learning import LastKTable


def test_the_default_planner_is_public_and_is_what_solve_uses():
    tiger = build("tiger")
    assert "default_planner" in planning.__all__
    assert planning.default_planner(tiger) == "auto"
    assert planning.solve(tiger).planner == planning.solve(tiger, "auto").planner == "auto"


@pytest.mark.parametrize("name", planning.PLANNER_NAMES)
def test_every_planner_is_in_the_package_itself(name):
    made = type(planning.planner_by_name(name)).__name__
    assert made in rpsr.__all__
    assert getattr(rpsr, made) is getattr(planning, made)


def test_the_default_name_stands_for_what_suits():
    tiger = build("tiger")
    assert planning.default_planner(tiger, horizon=2) == "vi"
    for name in (None, "auto"):
        assert planning.solve(tiger, name, horizon=2).planner == "vi"
    exact = planning.solve(tiger, "vi", horizon=2)
    assert planning.solve(tiger, "auto", horizon=2).value == exact.value


def test_a_learned_model_is_planned_on_at_points():
    log = simulate(build("tiger"), "uniform", episodes=50, steps=10, seed=0, rewards=True)
    learned = LastKTable(k=1, discount=0.9).fit(log).model_
    assert planning.default_planner(learned) == "pbvi"


def test_the_default_name_plans_an_objective_within_steps():
    pomdp, goal = build("4x3"), rpsr.reach("column-3-row-0", within=4)
    plans = [planning.solve(pomdp, name, objective=goal) for name in (None, "auto")]
    assert {plan.planner for plan in plans} == {"auto"}
    assert plans[0].value == plans[1].value > 0
    exact = planning.solve(pomdp, "vi", objective=goal)
    assert exact.lower - 1e-5 <= plans[0].value <= exact.upper + 1e-12
