"""Comparing policies, their values, and the range of what optimal ones are worth elsewhere."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from rpsr import ModelError
from rpsr.domains import build
from rpsr.planning.comparing.comparison import compare, compare_over_domain
from rpsr.planning.comparing.joint_runs import policy_value
from rpsr.planning.comparing.model_sums import direct_sum, second_rewards
from rpsr.planning.comparing.optimal_range import optimal_range
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.planners import solve
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.reachable.plans import value_bounds
from rpsr.planning.value.controllers import extract_controller
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.predictive import psr, rpsr
from rpsr.testing import check_model


@cache
def forms(name):
    """The POMDP, R-PSR and PSR of a domain of the paper's results table."""
    pomdp = build(name).with_discount("0.95")
    return pomdp.belief_model(), rpsr(pomdp), psr(pomdp)


@cache
def plans(name):
    return tuple(solve(model, Reachable()) for model in forms(name))


CLOSED = ("heavenhell", "loadunload", "parr", "stand-tiger")


@pytest.mark.parametrize("name", CLOSED)
def test_pomdp_and_rpsr_policies_never_differ(name):
    (model, _, _), (first, second, _) = forms(name), plans(name)
    compared = compare(AlphaPolicy.of(first), AlphaPolicy.of(second), model, vectors=first.vectors)
    assert compared.same
    assert compared.complete
    assert compared.largest_cost == 0
    assert np.allclose(compared.values, first.value, atol=1e-9)


@pytest.mark.parametrize("name", ["tiger", "paint", "line4-2goals"])
def test_they_do_not_differ_where_states_never_close(name):
    model, other, _ = forms(name)
    first, second = (solve(m, ValueIteration(epsilon=1e-7)) for m in (model, other))
    compared = compare(AlphaPolicy.of(first), AlphaPolicy.of(second), model, limit=200)
    assert compared.same
    everywhere = compare_over_domain(AlphaPolicy.of(first), AlphaPolicy.of(second), samples=200)
    assert everywhere.same
    assert everywhere.states == 200 + model.dimension


def test_a_difference_is_found_where_it_is_and_priced():
    (model, _, _), (best, _, wrong) = forms("parr"), plans("parr")
    compared = compare(AlphaPolicy.of(best), AlphaPolicy.of(wrong), model, vectors=best.vectors)
    (only,) = compared.differences
    assert only.history == (("a", "A"),)
    assert only.probability == 1
    assert only.actions[0] == "a"
    # The policies are equal after one wrong step: the cost of that step, discounted, is ...
    assert only.cost is not None
    assert 0 < 0.95 * only.cost <= best.value - compared.values[1][1] + 1e-9
    unpriced = compare(AlphaPolicy.of(best), AlphaPolicy.of(wrong), model)
    assert unpriced.largest_cost is None


def test_looking_less_far_finds_less():
    (model, _, _), (best, _, wrong) = forms("parr"), plans("parr")
    first, second = AlphaPolicy.of(best), AlphaPolicy.of(wrong)
    near = compare(first, second, model, steps=1)
    assert near.same
    assert near.complete
    few = compare(first, second, model, limit=1)
    assert not few.complete


def test_over_the_domain_a_difference_costs_something():
    best, _, wrong = plans("loadunload")
    compared = compare_over_domain(AlphaPolicy.of(best), AlphaPolicy.of(wrong), samples=100)
    assert not compared.same
    assert compared.largest_cost > 0.1
    with pytest.raises(ModelError, match="not models of the same POMDP"):
        compare_over_domain(AlphaPolicy.of(best), AlphaPolicy.of(plans("parr")[0]))


def test_the_value_of_a_finite_number_of_steps():
    (model, _, _), (best, _, _) = forms("parr"), plans("parr")
    policy = AlphaPolicy.of(best)
    whole = policy_value(policy, model)
    assert whole == pytest.approx((best.value, best.value), abs=1e-11)
    part = [policy_value(policy, model, steps=k) for k in (1, 50, 400)]
    assert part[0] == pytest.approx((0.0, 0.0))
    assert part[2] == pytest.approx(whole, abs=1e-7)
    assert part[1][0] < part[2][0]


def test_bounds_hold_where_the_walk_is_cut():
    model = build("paint").belief_model()
    solution = solve(model, ValueIteration(epsilon=1e-6))
    policy = AlphaPolicy.of(solution)
    narrow = [policy_value(policy, model, limit=limit) for limit in (3, 30, 300)]
    for low, high in narrow:
        assert low - 1e-6 <= solution.value <= high + 1e-6
    assert narrow[0][1] - narrow[0][0] > narrow[2][1] - narrow[2][0]


# ---- sums of models


def test_a_sum_of_models_is_a_model():
    model, other, _ = forms("loadunload")
    pair = direct_sum(other, model)
    check_model(pair, histories=3, steps=10)
    x = pair.start
    for action, seen in (("right", "unloading"), ("left", "travel")):
        x = pair.update(x, action, seen)
    state, belief = x[: other.dimension], x[other.dimension :]
    assert np.allclose(state, belief @ other.domain.points)
    both = belief @ model.rewards
    assert np.allclose(x @ second_rewards(other, model), both)
    assert np.allclose(x @ pair.rewards, both)
    with pytest.raises(ModelError, match="do not have the same actions"):
        direct_sum(model, forms("parr")[0])


# ---- ranges

# The PSR policy's returns on the POMDP in the paper's results table: mean and standard deviation of
# 1,000 episodes of 100 steps, both printed with one decimal.
CELLS = {
    "heavenhell": (0.0, 0.0),
    "line4-2goals": (0.4, 0.0),
    "loadunload": (0.6, 0.2),
    "paint": (0.0, 0.0),
    "parr": (6.5, 1.8),
    "stand-tiger": (0.0, 0.0),
}


def range_of(name):
    """The range over policies that are optimal for a domain's PSR."""
    model, _, approximate = forms(name)
    bounds = optimal_range(approximate, model, solve(approximate, ValueIteration(epsilon=1e-8)))
    assert bounds.complete
    return bounds


@pytest.mark.parametrize("name", [name for name in CELLS if name != "line4-2goals"])
def test_the_paper_s_cells_lie_in_the_range(name):
    bounds = range_of(name)
    assert max(high - low for low, high in (bounds.least, bounds.greatest)) < 1e-7
    mean, deviation = CELLS[name]
    worst, best = value_bounds(forms(name)[0], 0.95**100 / 0.05)  # what later steps are worth
    noise = 0.05 + 3 * (deviation + 0.05) / np.sqrt(1000)
    assert bounds.least[0] - best - noise <= mean <= bounds.greatest[1] - worst + noise
    if deviation == 0:  # nothing to blame on chance, and rounding does not matter
        assert bounds.contains(mean, 1e-7)


def test_every_policy_is_optimal_for_the_psr_of_line4_2goals():
    """One state, one reward: the range is what the POMDP can earn at worst and at best."""
    model, _, approximate = forms("line4-2goals")
    assert approximate.dimension == 1
    assert approximate.rewards[0, 0] == approximate.rewards[0, 1]
    ends = [
        solve(model.with_rewards(sign * model.rewards), ValueIteration(epsilon=1e-9))
        for sign in (-1, 1)
    ]
    assert all(end.epsilon <= 1e-9 for end in ends)
    least, greatest = -ends[0].value, ends[1].value
    assert least < CELLS["line4-2goals"][0] < greatest


@pytest.mark.parametrize("name", ["heavenhell", "loadunload", "parr"])
def test_a_range_is_the_same_by_either_way(name):
    model, _, approximate = forms(name)
    bounds, other = optimal_range(approximate, model), range_of(name)
    assert bounds.exact
    assert other.least == pytest.approx(bounds.least, abs=1e-7)
    assert other.greatest == pytest.approx(bounds.greatest, abs=1e-7)


def test_where_nothing_is_rewarded_everything_is_optimal():
    model, _, approximate = forms("heavenhell")
    bounds = optimal_range(approximate, model)
    best = plans("heavenhell")[0].value
    assert bounds.greatest == pytest.approx((best, best), abs=1e-9)
    assert bounds.least == pytest.approx((-best, -best), abs=1e-9)


def test_optimal_policies_for_the_task_itself_have_one_value():
    model, other, _ = forms("loadunload")
    bounds = optimal_range(other, model)
    value = plans("loadunload")[0].value
    assert (*bounds.least, *bounds.greatest) == pytest.approx((value,) * 4, abs=1e-9)


def test_a_range_is_that_of_all_optimal_controllers():
    """Every choice of actions in parr's PSR states, tried one by one."""
    model, _, approximate = forms("parr")
    plan = plans("parr")[2]
    controller = extract_controller(plan)
    worth = []
    for actions in product(range(3), repeat=len(controller)):
        changed = np.array(actions)
        if (changed == controller.actions).sum() < len(controller) - 1:
            continue
        # The graph of states has its own successors for every action.
        from rpsr.planning.reachable.reachable_graph import explore

        graph = explore(approximate)
        tried = type(controller)(
            controller.action_names,
            controller.observation_names,
            changed,
            graph.successors(changed),
        )
        if tried.value(approximate) >= plan.value - 1e-9:
            worth.append(tried.value(model))
    bounds = optimal_range(approximate, model)
    assert min(worth) >= bounds.least[0] - 1e-9
    assert max(worth) <= bounds.greatest[1] + 1e-9


def test_a_range_that_never_closes_is_tightened_by_the_extremes():
    """The PSR of line4-2goals has one state: all is optimal, so the range is the POMDP's own."""
    model, _, approximate = forms("line4-2goals")
    solution = solve(approximate, ValueIteration(epsilon=1e-8))
    loose = optimal_range(approximate, model, solution, limit=100)
    assert not loose.complete
    most, least = (
        solve(m, ValueIteration(epsilon=1e-6)) for m in (model, model.with_rewards(-model.rewards))
    )
    tight = optimal_range(approximate, model, solution, limit=100, extremes=(most, least))
    assert tight.greatest[1] == pytest.approx(most.value, abs=1e-5)
    assert tight.least[0] == pytest.approx(-least.value, abs=1e-5)
    assert tight.contains(0.4)
    assert loose.least[0] <= tight.least[0] <= tight.greatest[1] <= loose.greatest[1]


def test_a_range_that_does_not_close_is_bounds_and_says_so():
    model, _, approximate = forms("paint")
    solution = solve(approximate, ValueIteration(epsilon=1e-7))
    with pytest.raises(ModelError, match="did not end within"):
        optimal_range(approximate, model, limit=100)
    bounds = optimal_range(approximate, model, solution, limit=300)
    assert bounds.least[0] <= bounds.least[1] + 1e-9
    assert bounds.contains(0.0, 0.1)


def test_a_solution_that_was_stopped_does_not_say_which_actions_are_best():
    model, _, approximate = forms("paint")
    stopped = solve(approximate, ValueIteration(epsilon=1e-9, max_iterations=1))
    with pytest.raises(ModelError, match="without a proven epsilon"):
        optimal_range(approximate, model, stopped)
