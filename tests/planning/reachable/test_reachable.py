"""Planner `reachable`: closure, analytic values, brute force, and the same in every form."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, bayes, dense_process, random_exact, rotated
from tests.planning.lottery import lottery, value_of_lottery
from tests.planning.plans import ignore
from tests.strategies import few

from rpsr import POMDP, ModelError
from rpsr.domains import build, tabulate
from rpsr.models import Unknown
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.limits import Clock
from rpsr.planning.planners import solve
from rpsr.planning.reachable.infinite import _seen_at
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.reachable.reachable_graph import explore
from rpsr.planning.solution import Status
from rpsr.planning.value import controller_equations
from rpsr.predictive import psr, rpsr

PAPER = ("heavenhell", "line4-2goals", "loadunload", "paint", "parr", "stand-tiger")


@cache
def paper(name):
    """A domain of the paper's results table at its discount there."""
    return build(name).with_discount("0.95")


# ---- the states that are found


def exactly_reachable(pomdp, limit):
    """How many beliefs are reachable, counted in rationals; more than limit: None."""
    D, S = pomdp.record, len(pomdp.states)
    chance = {}
    for a, s in product(range(len(pomdp.actions)), range(S)):
        for t, move in D.transition.fractions(a * S + s).items():
            for o, emission in D.emission.fractions(a * S + t).items():
                chance.setdefault((a, o), []).append((s, t, move * emission))
    start = tuple(D.start.fractions(0).get(s, Fraction(0)) for s in range(S))
    seen, queue = {start}, [start]
    for belief in queue:
        for moves in chance.values():
            after = [Fraction(0)] * S
            for s, t, p in moves:
                after[t] += belief[s] * p
            total = sum(after)
            if total:
                normalized = tuple(p / total for p in after)
                if normalized not in seen:
                    seen.add(normalized)
                    queue.append(normalized)
        if len(seen) > limit:
            return None
    return len(seen)


@pytest.mark.parametrize(
    ("name", "beliefs", "rpsr_states"),
    [("heavenhell", 29, 26), ("loadunload", 26, 26), ("parr", 8, 8), ("t-maze", 23, 23)],
)
def test_sets_that_close_are_counted_exactly(name, beliefs, rpsr_states):
    pomdp = build(name)
    assert exactly_reachable(pomdp, 100) == beliefs
    for model, states in ((pomdp.belief_model(), beliefs), (rpsr(pomdp), rpsr_states)):
        solution = solve(model, Reachable())
        assert (solution.status, solution.extras["states"]) == (Status.EXACT, states)
        assert solution.gap is not None
        assert solution.gap < 1e-9


def test_stand_tiger_closes_only_by_merging_and_says_so():
    """67 beliefs are what is left when those closer than 1e-9 count as one."""
    pomdp = build("stand-tiger")
    assert exactly_reachable(pomdp, 200) is None
    for model in (pomdp.belief_model(), rpsr(pomdp)):
        solution = solve(model, Reachable())
        assert (solution.status, solution.extras["states"]) == (Status.SOLVED, 67)
        assert solution.value == pytest.approx(50.377239637209, abs=1e-9)
        assert solution.gap is not None
        assert solution.gap < 1e-9
    with pytest.raises(ModelError, match="merged nearly equal reachable states and kept"):
        solve(pomdp, Reachable(tolerance=0.2))


def test_merging_far_too_much_still_gives_bounds_that_hold():
    tiger = build("tiger")
    truth = solve(tiger, Reachable()).value
    wide = solve(tiger, Reachable(tolerance=1e-2, epsilon=1e6))
    assert wide.extras["states"] < 10
    assert wide.lower <= truth <= wide.upper


def test_exploring_says_which_limit_it_met():
    for options, reached in (
        ({"limit": 50}, "50 states"),
        ({"clock": Clock(ignore, time_limit=1e-9)}, "1e-09 seconds"),
        ({"clock": Clock(ignore, memory_limit=500)}, "500 bytes"),
    ):
        with pytest.raises(ModelError, match=f"did not end within {reached}"):
            explore(build("paint").belief_model(), **options)


@pytest.mark.parametrize("kind", ["belief", "rpsr"])
@pytest.mark.parametrize("off", [-1e-3, 1e-3])
def test_a_linear_system_badly_solved_loosens_the_lower_bound_and_no_more(kind, off, monkeypatch):
    pomdp = paper("loadunload")
    model = pomdp.belief_model() if kind == "belief" else rpsr(pomdp)
    truth = solve(model, Reachable()).value
    plain = controller_equations.Equations.solve
    shift = off * np.atleast_1d(model.normalizer)  # a vector of `off` at every corner
    monkeypatch.setattr(
        controller_equations.Equations, "solve", lambda self, clock: plain(self, clock) + shift
    )
    plan = solve(model, Reachable(epsilon=1.0))
    assert plan.value == pytest.approx(truth + off, abs=1e-9)
    assert plan.lower <= truth <= plan.upper
    assert plan.lower == pytest.approx(truth + min(off, 0), abs=1e-9)


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_a_discount_near_one_ends_with_the_best_policy(digits):
    # Two observed states: leave the poor one at once, then earn 1 at every step.
    pomdp = POMDP.from_arrays(
        np.array([np.eye(2), [[0, 1], [0, 1]]]),
        np.stack([np.eye(2)] * 2),
        np.array([[0.9, 0.0], [1.0, 0.0]]),
        start=[1.0, 0.0],
        discount=1 - Fraction(1, 10**digits),
    )
    plan = solve(pomdp, Reachable())
    answer = 10.0**digits - 1
    assert plan.lower <= answer <= plan.upper
    assert plan.value == pytest.approx(answer, rel=1e-6)
    assert plan.gap < 1e-4 * answer


@pytest.mark.parametrize("planner", [Reachable(), ValueIteration(), Enumeration()])
def test_a_discount_that_floats_hardly_tell_from_one_is_refused(planner):
    with pytest.raises(ModelError, match="is too close to 1 for floats"):
        solve(build("tiger").with_discount("0.9999999999999999"), planner)


# ---- values


@pytest.mark.parametrize(("discount", "horizon"), [(0.9, None), (0.9, 7), (1, 7), (None, 3)])
def test_one_state_sums_its_reward(discount, horizon):
    ones = [[[1.0]], [[1.0]]]
    pomdp = POMDP.from_arrays(ones, ones, [[1.0, 2.5]], discount=discount)
    solution = solve(pomdp, Reachable(horizon=horizon))
    d = 1 if discount is None else discount
    expected = 2.5 / (1 - d) if horizon is None else 2.5 * sum(d**k for k in range(horizon))
    assert solution.value == pytest.approx(expected, rel=1e-14)
    assert solution.lower <= expected <= solution.upper


def test_an_infinite_undiscounted_sum_is_refused():
    for discount in (1, None):
        with pytest.raises(ModelError, match="give a horizon or a discount below 1"):
            solve(build("tiger").with_discount(discount), Reachable())


def by_expansion(pomdp, D, belief, steps):
    """The optimal value of a number of steps, by trying all policies."""
    if steps == 0:
        return 0.0
    best = -np.inf
    for a in range(len(pomdp.actions)):
        value = float(belief @ pomdp.R[:, a])
        for o in range(len(pomdp.observations)):
            chance, after = bayes(D, belief, a, o)
            if chance > 0:
                value += pomdp.discount * chance * by_expansion(pomdp, D, after, steps - 1)
        best = max(best, value)
    return best


@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
@settings(max_examples=few(30))
def test_a_horizon_agrees_with_brute_force(seed, horizon, by_edge):
    pomdp = random_exact(seed, Sizes(2, 3, 2), by_edge=by_edge)
    expected = by_expansion(pomdp, dense_process(pomdp), pomdp.start, horizon)
    for model in (pomdp.belief_model(), rotated(pomdp), rpsr(pomdp)):
        solution = solve(model, Reachable(horizon=horizon))
        assert solution.value == pytest.approx(expected, abs=1e-10)
        assert solution.lower <= expected <= solution.upper
        assert len(solution.stages) == horizon


def corridor(seed):
    """A random problem that closes: states in full view, and a reward one cannot see."""
    rng = np.random.default_rng(seed)
    sizes = Sizes(2, 4, 4)
    moves = {(s, a): int(rng.integers(4)) for s in range(4) for a in range(2)}
    rewards = rng.integers(-5, 6, (4, 2))
    return tabulate(
        name=f"corridor-{seed}",
        states=range(sizes.S),
        actions=["a", "b"],
        observations=["o0", "o1"],
        start=dict.fromkeys(range(4), Fraction(1, 4)),
        transition=lambda s, a: {moves[s, "ab".index(a)]: Fraction(1)},
        emission=lambda _a, t: {f"o{t % 2}": Fraction(1)},
        reward=lambda s, a, *_: Fraction(int(rewards[s, "ab".index(a)])),
        discount=Fraction(9, 10),
    )


@given(st.integers(0, 10**6))
@settings(max_examples=few(20))
def test_closed_problems_agree_with_exact_value_iteration(seed):
    pomdp = corridor(seed)
    expected = solve(pomdp, ValueIteration(epsilon=1e-8))
    for model in (pomdp.belief_model(), rotated(pomdp), rpsr(pomdp)):
        solution = solve(model, Reachable())
        assert solution.status is Status.EXACT
        assert expected.lower - 1e-9 <= solution.value <= expected.upper + 1e-9


@pytest.mark.parametrize("name", PAPER)
def test_pomdp_and_rpsr_have_one_value_and_one_first_step(name):
    horizon = 5 if name in ("paint", "line4-2goals") else None
    pomdp = paper(name)
    first = solve(pomdp, Reachable(horizon=horizon))
    second = solve(rpsr(pomdp), Reachable(horizon=horizon))
    assert second.value == pytest.approx(first.value, abs=1e-11)
    assert first.actions[0] == second.actions[0]


@pytest.mark.parametrize(("name", "value"), [("heavenhell", 1.4), ("loadunload", 4.5)])
def test_values_are_those_of_the_paper(name, value):
    # Its returns are of 100 steps, printed with one decimal.
    assert solve(paper(name), Reachable(horizon=100)).value == pytest.approx(value, abs=0.05)


def test_the_paper_prints_less_than_the_value_of_parr():
    # 7.1 with a deviation of 0.0; 100 steps are worth 7.158, which rounds to 7.2.
    assert solve(paper("parr"), Reachable(horizon=100)).value == pytest.approx(7.158, abs=5e-4)


def test_a_psr_plans_for_the_rewards_it_believes_in():
    assert solve(psr(paper("loadunload")), Reachable()).value == pytest.approx(9.14876250, abs=1e-8)
    assert solve(psr(paper("heavenhell")), Reachable()).value == 0


def test_vectors_are_the_values_of_the_states():
    for model in (paper("heavenhell").belief_model(), rpsr(paper("loadunload"))):
        solution = solve(model, Reachable())
        states = explore(model).states
        at_home = (states * solution.vectors).sum(axis=1)
        assert np.allclose(at_home, solution.value_at(states), atol=1e-12)
        assert at_home[0] == solution.value


def test_an_unknown_domain_has_no_upper_bound_but_a_closed_set_needs_none():
    model = replace(paper("parr").belief_model(), domain=Unknown())
    solution = solve(model, Reachable())
    assert solution.upper is None
    assert solution.value == pytest.approx(7.201039921204691, abs=1e-12)
    tiger = replace(build("tiger").belief_model(), domain=Unknown())
    with pytest.raises(ModelError, match="by an unknown amount; use planner pbvi"):
        solve(tiger, Reachable())


@pytest.mark.parametrize("seed", range(12))
def test_bounds_allow_for_rewards_that_cancel_at_a_state(seed):
    """Rewards of 1e9 of either sign, whose mean is small: rounding is relative to their size."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 1000, size=9).tolist()
    chances = {s: Fraction(weight, sum(weights)) for s, weight in enumerate(weights)}
    drawn = [Fraction(number) for number in rng.integers(-(10**9), 10**9, size=9).tolist()]
    mean = sum(chances[s] * drawn[s] for s in chances)
    pomdp = tabulate(
        name="cancelling",
        states=range(9),
        actions=["a"],
        observations=["o"],
        start=chances,
        transition=lambda s, a: chances,
        emission=lambda a, s: {"o": 1},
        reward=lambda s, a, after, o: drawn[s] - mean + Fraction(1, 7),
        discount=Fraction(1, 1000),
    )
    plan = solve(pomdp, "reachable")
    assert Fraction(plan.lower) <= Fraction(1, 7) / (1 - Fraction(1, 1000)) <= Fraction(plan.upper)


def test_a_time_limit_that_is_not_reached_keeps_the_plan_of_a_model_without_corners():
    """A blind policy is also valued then, and is worse."""
    model = replace(build("loadunload").belief_model(), domain=Unknown())
    free, limited = (solve(model, Reachable(time_limit=limit)) for limit in (None, 600.0))
    assert free.value > 4
    assert limited.value == free.value
    assert limited.lower == free.lower


@given(st.integers(0, 10**6))
@settings(max_examples=few(40))
def test_bounds_of_unexplored_states_allow_for_rounding(seed):
    """Values of 1e9 of either sign: products are rounded, and the bound is above the exact one."""
    rng = np.random.default_rng(seed)
    process = corner_process(build("loadunload").belief_model())
    values, states = rng.normal(size=10) * 1e9, rng.dirichlet(np.ones(10), size=3)
    bounds = _seen_at(process, values, states)
    for state, bound in zip(states.tolist(), bounds.tolist(), strict=True):
        exact = sum(Fraction(x) * Fraction(v) for x, v in zip(state, values.tolist(), strict=True))
        assert exact <= Fraction(bound) <= exact + Fraction(1, 10**4)


@pytest.mark.parametrize("rare", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_a_rare_outcome_is_an_edge_and_decides_the_value(rare):
    model = lottery(rare).belief_model()
    assert explore(model).edges.probability.tolist() == pytest.approx([1 - rare, rare, 1])
    solution, exact = solve(model, Reachable()), value_of_lottery(rare)
    assert solution.upper is not None
    assert solution.lower <= exact <= solution.upper
    # The jackpot is worth up to 1e12 times as much, and bounds allow for its rounding.
    assert solution.lower == pytest.approx(float(exact), rel=1e-4)
    assert solution.upper == pytest.approx(float(exact), rel=1e-4)
