"""Policies: alpha, controllers, trees, uniform; the laws, ties, exact values."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, random_exact, rotated
from tests.strategies import few

from rpsr import POMDP, InputError, ModelError
from rpsr.domains import build
from rpsr.models.domain import Unknown
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, SparseOperators
from rpsr.planning.comparing.joint_runs import policy_value
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.linear_systems import STANDSTILL
from rpsr.planning.planners import solve
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.value import controller_equations
from rpsr.planning.value.controllers import FiniteStateController, extract_controller
from rpsr.planning.value.coordinates import from_beliefs, to_beliefs, translate
from rpsr.planning.value.policies import AlphaPolicy, StagedPolicy, UniformPolicy
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import action_values
from rpsr.predictive import psr, rpsr
from rpsr.testing import check_policy


@cache
def parr():
    return build("parr").belief_model()


@cache
def solved(name, kind="belief"):
    pomdp = build(name).with_discount("0.95")
    models = {"belief": pomdp.belief_model, "rpsr": lambda: rpsr(pomdp), "psr": lambda: psr(pomdp)}
    return solve(models[kind](), Reachable())


# ---- the laws


def test_every_kind_of_policy_obeys_the_laws():
    tiger = build("tiger").belief_model()
    solution = solve(tiger, ValueIteration())
    check_policy(AlphaPolicy.of(solution), tiger)
    check_policy(extract_controller(solution).policy(), tiger)
    plan = solve(tiger, ValueIteration(horizon=6))
    check_policy(PolicyTree.of(plan).policy(), tiger, steps=6)
    check_policy(StagedPolicy.of(plan), tiger, steps=6)
    uniform = UniformPolicy(tiger, np.random.default_rng(0))
    check_policy(uniform, tiger, deterministic=False)


def test_a_policy_follows_an_episode():
    policy = AlphaPolicy.of(solved("parr"))
    assert policy.act() == 0
    policy.update("a", "A")
    policy.update("a", policy.model.observations[2])
    before = policy.act()
    twin = policy.copy()
    twin.reset()
    assert twin.act() == 0
    assert policy.act() == before


# ---- ties


def test_the_lowest_action_within_four_epsilon_wins():
    model = build("tiger").belief_model()
    values = action_values(model, model.start[None], np.zeros((1, 2)))[0]
    assert values == pytest.approx([-1, -45, -45])
    assert AlphaPolicy(model, np.zeros((1, 2))).act() == 0
    swapped = model.with_rewards(model.rewards[:, [1, 2, 0]])
    assert AlphaPolicy(swapped, np.zeros((1, 2)), 10.9, ties=True).act() == 2
    assert AlphaPolicy(swapped, np.zeros((1, 2)), 11.1, ties=True).act() == 0
    assert AlphaPolicy(swapped, np.zeros((1, 2)), 11.1).act() == 2


@pytest.mark.parametrize("name", ["tiger", "paint", "parr", "stand-tiger", "heavenhell"])
def test_pomdp_and_rpsr_choose_alike_at_every_corner_and_mixture(name):
    pomdp = build(name).with_discount("0.95")
    model, other = pomdp.belief_model(), rpsr(pomdp)
    first, second = (AlphaPolicy.of(solve(m, ValueIteration(epsilon=1e-7))) for m in (model, other))
    rng = np.random.default_rng(0)
    beliefs = np.vstack([np.eye(model.dimension), rng.dirichlet(np.ones(model.dimension), 100)])
    points = beliefs @ other.domain.points
    agree = [
        first.action_at(b) == second.action_at(x) for b, x in zip(beliefs, points, strict=True)
    ]
    assert all(agree)


# ---- controllers


def test_a_controller_is_worth_the_same_in_every_form():
    solution = solved("loadunload")
    controller = extract_controller(solution)
    pomdp = build("loadunload")
    values = [controller.value(m) for m in (pomdp.belief_model(), rpsr(pomdp), rotated(pomdp))]
    assert values == pytest.approx([solution.value] * 3, abs=1e-11)


def test_vectors_satisfy_their_equations():
    model = solved("heavenhell").model
    controller = extract_controller(solved("heavenhell"))
    vectors = controller.vectors(model)
    for node in range(len(controller)):
        expected = model.rewards[:, controller.actions[node]].copy()
        for o in range(len(model.observations)):
            after = vectors[[controller.after(node, o)]]
            a = int(controller.actions[node])
            expected += model.discount * model.operators.right(after, a, o)[0]
        assert np.allclose(vectors[node], expected, atol=1e-13)


def test_a_blind_controller_sums_a_geometric_series():
    model = parr()
    for action in range(3):
        only = FiniteStateController(
            model.actions, model.observations, np.array([action]), np.zeros((1, 6), dtype=int)
        )
        moves = sum(model.operators.matrix(action, o) for o in range(6))
        x, total = model.start, 0.0
        for k in range(800):
            total += model.discount**k * float(x @ model.rewards[:, action])
            x = x @ moves
        assert only.value(model) == pytest.approx(total, abs=1e-12)
        assert policy_value(only.policy(), model)[0] == pytest.approx(total, abs=1e-12)


def test_large_systems_are_solved_without_being_formed(monkeypatch):
    controller, model = extract_controller(solved("loadunload")), solved("loadunload").model
    direct = controller.vectors(model)
    monkeypatch.setattr("rpsr.planning.value.controller_equations._DIRECT", 0)
    assert np.allclose(controller.vectors(model), direct, atol=1e-12)
    dense = rpsr(build("loadunload"))
    assert controller.value(dense) == pytest.approx(solved("loadunload").value, abs=1e-11)


def test_a_controller_is_found_where_successors_are_not_known():
    solution = solved("parr")
    from dataclasses import replace

    open_ended = replace(solution.value_function, successors=np.full_like(solution.successors, -1))
    unknown = replace(solution, value_function=open_ended)
    controller = extract_controller(unknown)
    assert controller.value(solution.model) == pytest.approx(solution.value, abs=1e-11)
    assert len(controller) <= len(solution.vectors)


def test_the_converged_value_function_of_vi_gives_a_controller_as_good():
    for name in ("tiger", "parr", "stand-tiger"):
        solution = solve(build(name), ValueIteration(epsilon=1e-8))
        value = extract_controller(solution).value(solution.model)
        assert solution.lower - 1e-9 <= value <= solution.upper + 1e-9


def test_a_controller_refuses_what_is_not_its_own():
    controller = extract_controller(solved("parr"))
    policy = controller.policy()
    with pytest.raises(ModelError, match="a controller can follow only its own actions"):
        policy.update("c", "A")
    with pytest.raises(ModelError, match="the controller has the actions"):
        controller.value(build("tiger").belief_model())
    names = controller.action_names, controller.observation_names
    with pytest.raises(
        InputError, match="successors: read numbers from 3 to 3, expected numbers from -1 to 0"
    ):
        FiniteStateController(*names, np.zeros(1, dtype=int), np.full((1, 6), 3))
    with pytest.raises(
        InputError, match="actions: read numbers from 3 to 3, expected numbers from 0 to 2"
    ):
        FiniteStateController(*names, np.array([3]), np.zeros((1, 6), dtype=int))
    with pytest.raises(ModelError, match="policy tree"):
        extract_controller(solve(parr(), Reachable(horizon=2)))


# ---- trees


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=few(15))
def test_trees_are_worth_what_the_plan_says_in_every_form(seed, horizon):
    pomdp = random_exact(seed, Sizes(2, 3, 2))
    for planner in (Enumeration(horizon=horizon), Reachable(horizon=horizon)):
        plan = solve(pomdp, planner)
        tree = PolicyTree.of(plan)
        for model in (plan.model, rotated(pomdp), rpsr(pomdp)):
            assert tree.value(model) == pytest.approx(plan.value, abs=1e-9)
            walked = policy_value(tree.policy(), model, steps=horizon)
            assert walked == pytest.approx((plan.value, plan.value), abs=1e-9)
        staged = policy_value(StagedPolicy.of(plan), plan.model, steps=horizon)
        assert staged == pytest.approx((plan.value, plan.value), abs=1e-9)


def test_a_tree_ends():
    policy = PolicyTree.of(solve(parr(), Reachable(horizon=1))).policy()
    policy.update(policy.act(), "A")
    with pytest.raises(ModelError, match="the horizon of 1 step is over; call reset"):
        policy.act()
    with pytest.raises(ModelError, match="has no policy trees"):
        PolicyTree.of(solved("parr"))


# ---- uniform


def test_the_uniform_policy_is_worth_what_simulation_says():
    model = build("tiger").belief_model()
    exact = float(UniformPolicy(model, np.random.default_rng(0)).vector() @ model.start)
    # Opening a door at random costs 45 on average, listening 1; the tiger is always as likely.
    assert exact == pytest.approx((-1 - 45 - 45) / 3 / 0.05)
    draws = UniformPolicy(model, np.random.default_rng(1))
    counts = np.zeros(3)
    for _ in range(3000):
        counts[draws.act()] += 1
        draws.update(draws.act(), 0)
    assert counts.min() > 900


# ---- other coordinates


@pytest.mark.parametrize("name", ["parr", "loadunload", "heavenhell"])
def test_a_value_function_goes_to_beliefs_and_back(name):
    solution, reference = solved(name, "rpsr"), solved(name)
    model = solution.model
    values = to_beliefs(model, solution.vectors)
    assert float((values @ reference.model.start).max()) == pytest.approx(reference.value)
    assert np.allclose(from_beliefs(model, values), solution.vectors, atol=1e-11)
    again = translate(solution.vectors, model, reference.model)
    assert np.array_equal(again, values)


def test_what_a_representation_cannot_carry_is_refused():
    reference, small = solved("loadunload"), solved("loadunload", "psr").model
    with pytest.raises(ModelError, match="cannot represent this value function"):
        translate(reference.vectors, reference.model, small)
    with pytest.raises(InputError, match=r"expected \(vectors, 10\)"):
        from_beliefs(small, np.zeros((1, 9)))


def test_a_plan_has_its_policy():
    tiger = build("tiger")
    plan = solve(tiger, "vi")
    check_policy(plan.policy(), plan.model)
    assert plan.policy().act() == AlphaPolicy.of(plan).act()
    tree = solve(tiger, "vi", horizon=3).policy()
    for _ in range(3):
        tree.update(tree.act(), 0)


def test_the_best_of_many_nodes_is_found_before_their_values_are_known_to_the_last_digit(
    monkeypatch,
):
    model = build("loadunload").belief_model()
    rng = np.random.default_rng(0)
    n_nodes, n_observations = 300, len(model.observations)
    actions = rng.integers(len(model.actions), size=n_nodes)
    successors = rng.integers(n_nodes, size=(n_nodes, n_observations))
    controller = FiniteStateController(model.actions, model.observations, actions, successors)
    exact = controller.vectors(model) @ model.start  # by a factorisation
    sweeps = []
    swept = controller_equations.Equations.swept
    monkeypatch.setattr(
        controller_equations, "_DIRECT", 0
    )  # as for graphs that are too large for one
    monkeypatch.setattr(
        controller_equations.Equations,
        "swept",
        lambda *given: (sweeps.append(1), swept(*given))[1],
    )
    # A residual that shrinks no more may be as large as STANDSTILL, and adds up over all steps.
    off = STANDSTILL * np.abs(exact).max() / (1 - model.discount)
    assert controller.vectors(model) @ model.start == pytest.approx(exact, abs=off)
    all_of_them = len(sweeps)
    sweeps.clear()
    assert controller.best_node(model) == exact.argmax()
    assert 0 < len(sweeps) < all_of_them / 2


def test_a_sweep_carries_values_from_part_to_part(monkeypatch):
    model = build("tiger").belief_model()
    n_nodes = 4096
    successors = np.repeat(np.maximum(np.arange(n_nodes) - 64, 0)[:, None], 2, axis=1)
    controller = FiniteStateController(
        model.actions, model.observations, np.zeros(n_nodes, dtype=np.int64), successors
    )
    monkeypatch.setattr(controller_equations, "_DIRECT", 0)
    equations = controller._equations(model)
    begin = np.zeros_like(equations.rewards)
    # A part has 64 nodes, and their successors are nodes of the part before.
    after = equations.swept(begin, equations.rewards, None)
    once = equations.rewards + equations.following(begin)
    assert (once == -1).all()
    assert after[-1, 0] == pytest.approx(-20 * (1 - 0.95 ** (n_nodes // 64)), rel=1e-12)
    assert controller.vectors(model) == pytest.approx(np.full((n_nodes, 2), -20.0), rel=1e-12)


def test_an_operator_whose_emission_is_zero_counts_alike_in_trees_and_in_looking_ahead():
    # M[0, 1] e = 0, and yet it moves states: such operators are learned, not made of a POMDP.
    operators = np.array([[[[1.0, 0.0], [0.0, 1.0]], [[1.0, -1.0], [0.0, 0.0]]]])
    model = LinearModel(
        kind="learned",
        name="learned",
        domain=Unknown(),
        operators=DenseOperators(operators),
        start=np.array([0.5, 0.5]),
        normalizer=np.ones(2),
        rewards=np.array([[1.0], [0.0]]),
        discount=0.5,
        actions=("a",),
        observations=("x", "y"),
    )
    layer = (np.array([0]), np.array([[0, 0]]))
    tree = PolicyTree(model.actions, model.observations, (layer, layer), 0)
    looked = action_values(model, model.start[None], model.rewards.T)[0, 0]
    assert tree.value(model) == looked == 0.5 + 0.5 * (0.5 + 0.5)


# ---- a plan's policy earns what the plan promises


@pytest.mark.parametrize(
    ("planner", "options"),
    [
        ("vi", {"epsilon": 2.0}),
        ("policy-iteration", {"epsilon": 2.0}),
        ("enumeration", {"max_iterations": 3}),
        ("sarsop", {"epsilon": 5.0}),
    ],
)
def test_the_policy_of_a_coarse_plan_earns_its_lower_bound(planner, options):
    # With ties within 4 epsilon it would listen indefinitely, and earn -20.
    plan = solve(build("tiger"), planner, **options)
    assert policy_value(plan.policy(), plan.model)[0] >= plan.lower - 1e-11


@pytest.mark.parametrize("planner", ["vi", "policy-iteration", "reachable", "sarsop", "pbvi"])
@pytest.mark.parametrize(
    ("rewards", "discount"), [([1 - 1e-8, 1.0, -100.0], 0.99), ([1 - 3e-9, 1.0], 0.999)]
)
def test_an_action_that_is_worse_by_little_is_not_taken_at_every_step(planner, rewards, discount):
    only = np.ones((len(rewards), 1, 1))
    pomdp = POMDP.from_arrays(only, only, np.array([rewards]), discount=discount)
    plan = solve(pomdp, planner)
    assert plan.policy().act() == 1
    # Rounding: of a sum of 1 / (1 - discount) terms.
    assert policy_value(plan.policy(), plan.model)[0] >= plan.lower - 1e-15 / (1 - discount) ** 2


def test_ties_are_for_comparing_policies():
    plan = solve(build("tiger"), "vi", epsilon=2.0)
    assert policy_value(AlphaPolicy.of(plan), plan.model)[1] < plan.lower


def test_looking_ahead_with_many_observations_is_looking_ahead_with_each(monkeypatch):
    """The products of all possible observations together, and one by one."""
    model = build("hallway").belief_model()
    rng = np.random.default_rng(1)
    states = rng.random((150, model.dimension)) * (rng.random((150, model.dimension)) < 0.2)
    states[70] = 0.0
    vectors = rng.standard_normal((7, model.dimension))
    expected = action_values(model, states, vectors)
    monkeypatch.setattr("rpsr.planning.value.value_function.MANY", 0)
    monkeypatch.setattr(SparseOperators, "left", None)
    np.testing.assert_allclose(action_values(model, states, vectors), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["tiger", "4x3", "heavenhell"])
def test_looking_ahead_from_one_state_is_as_from_many(name):
    """One state is moved by all observations together, a batch by one after the other."""
    model = build(name).belief_model()
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(7, model.dimension))
    states = rng.dirichlet(np.full(model.dimension, 0.3), size=20)
    alone = np.vstack([action_values(model, x[None], vectors) for x in states])
    np.testing.assert_allclose(alone, action_values(model, states, vectors), rtol=1e-13, atol=1e-13)
