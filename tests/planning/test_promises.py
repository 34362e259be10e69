"""Bounds that hold: below what seeing all is worth, above what doing one thing is, on all models.

Rewards cancel and reach 1e15, probabilities are as small as 1e-13, rows sum to one only nearly.
What floats cannot tell is allowed for, in units of the largest reward; the margins that planners
claim are not looked at.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import CANCELLING
from tests.planning.exact_values import ExactMDP
from tests.planning.plans import ignore
from tests.predictive.exact_accuracy import residual, reward_columns
from tests.predictive.rationals import LiteralSearch
from tests.strategies import few, records

from rpsr import POMDP, psr, rpsr
from rpsr.errors import ModelError
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.models.domain import Corners
from rpsr.models.operators import DenseOperators
from rpsr.planning import (
    HSVI,
    PBVI,
    QMDP,
    SARSOP,
    Enumeration,
    FastInformedBound,
    Perseus,
    PolicyIteration,
    QLearning,
    Reachable,
    Solution,
    ValueIteration,
)
from rpsr.planning.corners.cheap_bounds import blind_values, mdp_values, upper_at_start
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.planners import PLANNER_NAMES, planner_options
from rpsr.planning.portfolio.planner import Auto
from rpsr.planning.precision import CLOSED, MERGED, Relative, goal_of

PLANNERS = {
    "auto": Auto(epsilon=1e-3),
    "auto, cut short": Auto(max_iterations=1),
    "auto, not begun": Auto(max_iterations=0),
    "vi": ValueIteration(epsilon=1e-3),
    "vi, cut short": ValueIteration(epsilon=1e-3, max_iterations=1),
    "vi, not begun": ValueIteration(epsilon=1e-3, max_iterations=0),
    "enumeration": Enumeration(epsilon=1e-1, max_iterations=3),
    "enumeration, cut short": Enumeration(epsilon=1e-1, max_iterations=1),
    "reachable": Reachable(max_states=60),
    "reachable, cut short": Reachable(max_states=2),
    "hsvi": HSVI(max_iterations=4),
    "sarsop": SARSOP(max_iterations=4),
    "sarsop, not begun": SARSOP(max_iterations=0),
    "pbvi": PBVI(max_points=20, max_iterations=3),
    "perseus": Perseus(max_points=20, max_iterations=3),
    "qmdp": QMDP(max_states=20),
    "fib": FastInformedBound(max_states=1),
    "policy-iteration": PolicyIteration(epsilon=1e-3, max_iterations=3),
    "policy-iteration, cut short": PolicyIteration(epsilon=1e-3, max_iterations=1),
    "q-learning": QLearning(max_iterations=2, max_states=5),
}
EVERYWHERE = ("vi", "policy-iteration", "enumeration")  # whose epsilon is about every belief
OVER_A_HORIZON = {
    "vi": ValueIteration(horizon=5),
    "vi, cut short": ValueIteration(horizon=5, max_iterations=2),
    "enumeration": Enumeration(horizon=3),
    "enumeration, cut short": Enumeration(horizon=5, max_iterations=1),
    "reachable": Reachable(horizon=4, epsilon=1e9),
    "reachable, cut short": Reachable(horizon=5, max_states=2, epsilon=1e9),
}
FLOATS = Fraction(1, 10**11)  # of the largest value that rewards allow: what floats cannot tell
SMALL_REWARDS = st.integers(-3, 3).map(Fraction)
REWARDS = st.one_of(
    SMALL_REWARDS,
    st.sampled_from([Fraction(7000001), Fraction(-3000000), Fraction("0.1"), Fraction(-1, 3)]),
)


def read(text: str) -> POMDP:
    return POMDP(parse_pomdp(text.encode(), place="text", name="model"))


def projected(pomdp: POMDP) -> list[list[Fraction]]:
    """The rewards that the PSR stands for, (S, A): least squares over states, in fractions."""
    search = LiteralSearch(pomdp, rewards=False)
    search.breadth_first()
    columns = [
        [r - x for r, x in zip(column, residual(search.vectors, column), strict=True)]
        for column in reward_columns(pomdp)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def planned(planner, model, refusal: str) -> Solution | None:
    """A plan, or None where the planner refuses with these words."""
    try:
        return planner.solve(model, ignore)
    except ModelError as refused:
        if refusal not in str(refused):
            raise
        return None


def assert_between(planner, model, mdp: ExactMDP, epsilon: Fraction = Fraction(0)) -> None:
    size = max(abs(r) for row in mdp.rewards for r in row) / (1 - mdp.discount) ** 2
    slack = FLOATS * size + epsilon
    plan = planned(planner, model, "floats can prove no less")  # for rewards this large
    if plan is None:
        return
    assert plan.lower <= plan.value
    assert mdp.blind() - slack <= Fraction(float(plan.lower)) <= mdp.seen()
    if plan.upper is not None:
        assert Fraction(float(plan.upper)) <= mdp.seen() + slack
        assert plan.upper >= plan.lower
        assert Fraction(float(plan.upper)) >= mdp.blind()


@pytest.mark.parametrize("name", PLANNERS)
@settings(max_examples=few(25))
@given(record=records(exact=True, rewards=REWARDS, most_states=3))
def test_no_bound_is_outside_of_blind_and_seen(name, record):
    pomdp, planner = POMDP(replace(record, discount=Fraction(19, 20))), PLANNERS[name]
    # What a planner leaves undone on purpose, at most its epsilon.
    share = MERGED if isinstance(planner, Reachable) else CLOSED
    goal = goal_of(planner.epsilon, share, pomdp.belief_model(), 20.0)
    epsilon = Fraction(goal.least)
    assert_between(planner, pomdp.belief_model(), ExactMDP(pomdp), epsilon)
    assert_between(planner, rpsr(pomdp), ExactMDP(pomdp), epsilon)
    assert_between(planner, psr(pomdp), ExactMDP(pomdp, projected(pomdp)), epsilon)


def test_every_registered_planner_is_looked_at():
    assert {planner.name for planner in PLANNERS.values()} == set(PLANNER_NAMES)
    with_horizon = {name for name in PLANNER_NAMES if "horizon" in planner_options(name)}
    assert {planner.name for planner in OVER_A_HORIZON.values()} == with_horizon


@pytest.mark.parametrize("discount", [Fraction(19, 20), Fraction(999, 1000)])
@pytest.mark.parametrize("name", PLANNERS)
@settings(max_examples=few(8))
@given(record=records(exact=True, rewards=REWARDS, most_states=3))
def test_no_proven_bound_is_worse_than_those_of_blind_and_seen(name, discount, record):
    """Without any slack: what costs nothing to prove is never lost to rounding."""
    pomdp, planner = POMDP(replace(record, discount=discount)), PLANNERS[name]
    if planner.name in EVERYWHERE:  # a precision for which few iterations suffice
        most = 4 if planner.max_iterations is None else planner.max_iterations
        planner = replace(planner, epsilon=Relative(0.01), max_iterations=most)
    for model in (pomdp.belief_model(), rpsr(pomdp), psr(pomdp)):
        plan = planned(planner, model, "merged nearly equal reachable states")
        if plan is not None:
            process = corner_process(model)
            value, off = process.value_at_start(blind_values(process))
            assert value - off <= plan.lower <= plan.value
            most = upper_at_start(process, mdp_values(process)[None])
            assert plan.upper is None or plan.upper <= max(most, plan.lower)


@pytest.mark.parametrize("name", OVER_A_HORIZON)
@settings(max_examples=few(15))
@given(record=records(exact=True, rewards=SMALL_REWARDS, most_states=3))
def test_no_bound_over_a_horizon_is_outside_of_blind_and_seen(name, record):
    pomdp, planner = POMDP(replace(record, discount=Fraction(19, 20))), OVER_A_HORIZON[name]
    steps = planner.horizon
    for model, mdp in (
        (pomdp.belief_model(), ExactMDP(pomdp)),
        (rpsr(pomdp), ExactMDP(pomdp)),
        (psr(pomdp), ExactMDP(pomdp, projected(pomdp))),
    ):
        slack = FLOATS * steps**2 * max(abs(r) for row in mdp.rewards for r in row)
        plan = planner.solve(model, ignore)
        assert plan.lower <= plan.value
        assert mdp.blind_over(steps) - slack <= Fraction(plan.lower) <= mdp.seen_over(steps)
        assert mdp.blind_over(steps) <= Fraction(plan.upper) <= mdp.seen_over(steps) + slack


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize(
    ("up", "down", "value"),
    [("7000001", "-3000000", 6), ("7000000000000003.5", "-3000000000000000", 21)],
)
def test_rewards_that_cancel(name, up, down, value):
    model = read(CANCELLING.format(up, down)).belief_model()
    plan = PLANNERS[name].solve(model, ignore)
    assert plan.lower <= value
    assert plan.upper is None or plan.upper >= value
    assert plan.lower == pytest.approx(value, abs=2e-2)


@pytest.mark.parametrize("name", PLANNERS)
def test_rewards_that_cancel_in_a_model_known_in_floats(name):
    seen, paid = np.array([[[0.3, 0.7]]]), np.array([[[[7e15 + 2, -3e15]]]])
    pomdp = POMDP.from_arrays(np.ones((1, 1, 1)), seen, paid, discount=0.95)
    p, q = Fraction(0.3), Fraction(0.7)
    value = (p * Fraction(7e15 + 2) + q * Fraction(-3e15)) / (p + q) * 20
    plan = replace(PLANNERS[name], epsilon=1e9).solve(pomdp.belief_model(), ignore)
    assert Fraction(float(plan.lower)) <= value
    assert plan.upper is None or Fraction(float(plan.upper)) >= value


THIN = """discount: .9999
values: reward
states: 3
actions: 1
observations: 1
T: * : * .333333333334 .333333333333 .333333333334
O: * uniform
R: * : * : * : * 1
"""


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", PLANNERS)
def test_rows_that_sum_to_one_only_nearly(name, exact):
    pomdp = read(THIN)
    if not exact:
        row = [0.333333333334, 0.333333333333, 0.333333333334]
        pomdp = POMDP.from_arrays([[row] * 3], np.ones((1, 3, 1)), np.ones((3, 1)), discount=0.9999)
    planner = replace(PLANNERS[name], epsilon=1e-4)
    plan = planner.solve(pomdp.belief_model(), ignore)
    assert plan.lower <= 10000
    assert plan.upper is None or plan.upper >= 10000
    assert plan.lower >= 10000 - 2e-4  # epsilon, and as much again for rounding


def rare(sign: int) -> POMDP:
    """Something of probability 9e-14 leads to a reward of 1e15; one state mixes two others."""
    return read(f"""discount: .5
values: reward
states: a b mix hit
actions: 1
observations: x y z
start: 0 0 1 0
T: * : a : a 1
T: * : b : b 1
T: * : mix : a .45
T: * : mix : b .54999999999991
T: * : mix : hit .00000000000009
T: * : hit : a 1
O: * : a 1 0 0
O: * : b .3 .7 0
O: * : mix 1 0 0
O: * : hit 0 0 1
R: * : hit : * : * {sign}000000000000000
R: * : a : * : * 2
""")


@pytest.mark.parametrize("horizon", [None, 2, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_too_rare_for_coordinates_is_paid_for(sign, horizon):
    pomdp = rare(sign)
    mdp = ExactMDP(pomdp)
    value = mdp.seen()  # with one action, nothing is to be seen
    if horizon is not None:
        values = [Fraction(0)] * 4
        for _ in range(horizon):
            values = [
                mdp.rewards[s][0]
                + mdp.discount * sum(p * values[t] for t, p in mdp.moves[s].items())
                for s in range(4)
            ]
        value = values[2]
    for model in (rpsr(pomdp), rotated(rpsr(pomdp))):
        for planner in (Reachable(horizon=horizon, epsilon=1e9), QMDP(), FastInformedBound()):
            if horizon is None or isinstance(planner, Reachable):
                plan = planner.solve(model, ignore)
                assert Fraction(float(plan.lower)) <= value <= Fraction(float(plan.upper))


def rotated(model):
    """The same model in coordinates in which probabilities come out of cancellation."""
    n, domain = model.dimension, model.domain
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(n, n)))[0]
    actions, observations, _ = model.operators.shape
    matrices = [
        [turn.T @ model.operators.matrix(a, o) @ turn for o in range(observations)]
        for a in range(actions)
    ]
    return replace(
        model,
        start=model.start @ turn,
        operators=DenseOperators(np.array(matrices)),
        normalizer=model.normalizer @ turn,
        rewards=turn.T @ model.rewards,
        domain=Corners(domain.points @ turn, domain.kernel, domain.start, error=1e-14),
        rounding=1e-13,
        reward_error=1.0,
        coordinates=None,
        core=(),
    )
