"""What a solution says of itself."""

from dataclasses import replace

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.models import Unknown
from rpsr.planning import PBVI, solve
from rpsr.planning.runner import Run
from rpsr.planning.solution import Status, silent
from rpsr.planning.value.value_function import ValueFunction
from rpsr.predictive import reachable_restriction

TIGER = build("tiger").belief_model()


def test_nothing_is_proven_where_valid_states_are_unknown():
    # Its lower bound checks the plan at some states only.
    restricted = reachable_restriction(build("tiger").belief_model()).model
    for model in (restricted, replace(TIGER, domain=Unknown())):
        plan = solve(model, "pbvi", max_iterations=2)
        assert model.estimator is None
        assert not plan.proven
        assert "nothing is proven" in repr(plan)
    assert solve(TIGER, "pbvi", max_iterations=2).proven


def made(lower, upper):
    run = Run(PBVI(), TIGER, silent)
    function = ValueFunction(np.ones((1, 2)), np.zeros(1, dtype=int), np.zeros((1, 2), dtype=int))
    return run.solution(Status.SETTLED, function, (lower, upper), value=np.float64(1), iterations=0)


def test_bounds_that_cross_are_shown_unless_by_rounding():
    assert made(1.0, 1.0 - 1e-15).upper == 1.0
    assert made(1.0, 0.5).upper == 0.5
    assert made(1.0, None).upper is None


def test_a_plan_shows_its_bounds_if_it_has_both():
    assert "1 to 2.5, 1.5 apart" in repr(made(1.0, 2.5))
    assert "1, no upper bound" in repr(made(1.0, None))


def test_values_and_bounds_are_plain_floats():
    plan = made(np.float64(1.0), np.float64(2.0))
    assert [type(number) for number in (plan.value, plan.lower, plan.upper)] == [float] * 3


@pytest.mark.parametrize("planner", ["vi", "enumeration", "reachable", "sarsop", "qmdp"])
def test_every_planner_gives_plain_floats(planner):
    plan = solve(TIGER, planner, epsilon=1.0)
    for number in (plan.value, plan.lower, plan.upper, plan.epsilon, plan.residual):
        assert number is None or type(number) is float
