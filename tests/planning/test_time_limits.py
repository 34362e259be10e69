"""Every phase of planning looks at the clock, and whatever it is cut off at, bounds hold.

Time is faked: it is the number of times that anybody has looked, so that nothing here depends on
how fast a machine is.
"""

from __future__ import annotations

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.models import POMDP
from rpsr.models.operators import StackedProcess
from rpsr.planning import linear_systems, solve
from rpsr.planning.corners import cheap_bounds
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact import branch_and_bound, enumeration
from rpsr.planning.files.checkpoint import Checkpoint
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.planners import planner_by_name
from rpsr.planning.points import baselines
from rpsr.planning.points.backups import Followers
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.solution import Status
from rpsr.predictive import rpsr

PLANNERS = [
    "vi", "policy-iteration", "enumeration", "reachable", "hsvi", "sarsop", "pbvi", "perseus",
    "qmdp", "fib", "q-learning",
]  # fmt: skip
CUTS = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]
LATE = 40  # looks after the deadline, at most: what is made of what was found by then


class Looks:
    """A clock's seconds: how often it was looked at."""

    def __init__(self) -> None:
        self.count = 0

    def __get__(self, clock: Clock | None, kind: type | None = None) -> float:
        self.count += 1
        return float(self.count)


@pytest.fixture
def looks(monkeypatch) -> Looks:
    counted = Looks()
    monkeypatch.setattr(Clock, "seconds", counted)
    # Systems of any size are solved as large ones are.
    monkeypatch.setattr(linear_systems, "SMALL", 0)
    monkeypatch.setattr(cheap_bounds, "SMALL", 0)
    monkeypatch.setattr("rpsr.planning.value.controller_equations.SMALL", 0)
    return counted


def bracket(model) -> tuple[float, float]:
    plan = solve(model, planner_by_name("sarsop", epsilon=1e-4))
    assert plan.status.reached_goal
    return plan.lower, plan.upper


@pytest.mark.parametrize("kind", ["belief", "rpsr"])
@pytest.mark.parametrize("planner", PLANNERS)
def test_bounds_hold_wherever_the_clock_cuts_a_planner_off(planner, kind, looks, monkeypatch):
    pomdp = build("loadunload").with_discount("0.9")
    model = pomdp.belief_model() if kind == "belief" else rpsr(pomdp)
    with monkeypatch.context() as real:
        real.undo()
        low, high = bracket(model)
    for cut in CUTS:
        looks.count = 0
        plan = solve(model, planner_by_name(planner, time_limit=cut + 0.5))
        assert plan.lower <= high
        assert plan.upper is not None
        assert plan.upper >= low
        assert np.isfinite([plan.lower, plan.upper]).all()
        if plan.status is Status.TIME:
            assert looks.count <= cut + LATE
        else:
            assert plan.status.reached_goal or plan.status is Status.SETTLED


@pytest.mark.parametrize("planner", PLANNERS)
def test_nothing_that_cannot_be_stopped_is_begun_under_a_time_limit(planner, looks, monkeypatch):
    def refused(*arguments):
        raise AssertionError("a factorisation that no clock can stop")

    monkeypatch.setattr(linear_systems, "factorised", refused)
    monkeypatch.setattr("rpsr.planning.value.controller_equations.splu", refused)
    model = build("tiger").belief_model()
    plan = solve(model, planner_by_name(planner, time_limit=200.5))
    assert plan.lower <= 19.3714 <= plan.upper + 1e-3


@pytest.mark.parametrize("cut", CUTS)
def test_starting_bounds_are_bounds_however_little_time_they_have(cut, looks):
    pomdp = build("hallway")
    process = corner_process(pomdp.belief_model())
    truth = cheap_bounds.mdp_values(process)
    blind = cheap_bounds.blind_values(process)
    informed = cheap_bounds.fast_informed_values(process)
    for function, best, sign in (
        (cheap_bounds.mdp_values, truth, 1),
        (cheap_bounds.blind_values, blind, -1),
        (lambda p, c: cheap_bounds.fast_informed_values(p, clock=c), informed, 1),
    ):
        looks.count = 0
        bounds = function(process, Clock(lambda row: None, cut + 0.5))
        assert (sign * (bounds - best) >= -1e-9).all()
        assert looks.count <= cut + LATE


def test_blind_policies_are_worth_something_before_their_systems_are_solved(monkeypatch):
    # To the right in RockSample is the exit; no other single action earns anything.
    process = corner_process(build("rock-sample:n=5,k=2").belief_model())
    best = float((cheap_bounds.blind_values(process) @ process.start).max())
    # A large system, and no time for it: what it begins with is what it ends with.
    monkeypatch.setattr(cheap_bounds, "SMALL", 0)
    monkeypatch.setattr(
        cheap_bounds, "solve_discounted", lambda moves, rewards, clock, guess: guess
    )
    monkeypatch.setattr(Clock, "seconds", 0.0)
    blind = cheap_bounds.blind_values(process, Clock(lambda row: None, 1.0))
    assert float((blind @ process.start).max()) >= best - 1e-9


def test_more_time_means_tighter_starting_bounds(looks):
    process = corner_process(build("hallway").belief_model())

    def after(cut: float) -> np.ndarray:
        looks.count = 0
        return cheap_bounds.mdp_values(process, Clock(lambda row: None, cut + 0.5))

    little, some, much = after(2), after(40), after(4000)
    assert (some <= little + 1e-9).all()
    assert some.max() < 0.9 * little.max()
    assert np.allclose(much, cheap_bounds.mdp_values(process), atol=1e-9)


def test_large_systems_are_solved_as_exactly_as_small_ones(monkeypatch):
    for name in ("hallway2", "rock-sample:n=3,k=3"):
        process = corner_process(build(name).belief_model())
        small = [cheap_bounds.blind_values(process), cheap_bounds.fast_informed_values(process)]
        with monkeypatch.context() as patched:
            patched.setattr(linear_systems, "SMALL", 0)
            large = [cheap_bounds.blind_values(process), cheap_bounds.fast_informed_values(process)]
        for one, other in zip(small, large, strict=True):
            assert np.allclose(one, other, rtol=0, atol=1e-10 * np.abs(one).max())


def test_a_slow_system_is_factorised_in_the_end_if_nobody_waits(monkeypatch):
    monkeypatch.setattr(linear_systems, "SMALL", 0)
    n, discount = 300, 1 - 1e-6
    moves = np.zeros((n, n))
    moves[np.arange(n), (np.arange(n) + 1) % n] = discount  # a ring: each product moves one step
    rewards = np.random.default_rng(0).normal(size=n)
    values = linear_systems.solve_discounted(
        linear_systems.sp.csr_array(moves), rewards, Clock(lambda row: None)
    )
    assert np.allclose(values, np.linalg.solve(np.eye(n) - moves, rewards), rtol=1e-9)


def test_an_unfinished_graph_has_nodes_for_what_its_policy_meets_and_one_for_the_rest():
    model = build("hallway").belief_model()
    plan = solve(model, Reachable(max_states=300))
    assert plan.status is Status.SIZE
    assert len(plan.vectors) < plan.extras["states"]
    assert plan.lower <= 1.02
    from rpsr.planning import extract_controller

    assert extract_controller(plan).value(model) == pytest.approx(plan.value, abs=1e-9)


def many_observations(n: int) -> POMDP:
    transitions = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    emissions = np.zeros((2, 2, n))
    emissions[:, 0, 7], emissions[:, 0, n - 2] = 0.8, 0.2
    emissions[:, 1, 7], emissions[:, 1, n - 2] = 0.2, 0.8
    rewards = np.array([[1.0, 0.0], [0.0, 1.0]])
    return POMDP.from_arrays(transitions, emissions, rewards, discount="0.9")


def test_a_process_with_very_many_observations_is_one_table():
    few, many = many_observations(20), many_observations(20_000)
    assert isinstance(many.D, StackedProcess)
    assert not isinstance(few.D, StackedProcess)
    assert (many.D[1][7] != few.D[1][7]).nnz == 0
    assert many.D[0][-2].nnz == 4
    with pytest.raises(IndexError):
        many.D[2]
    with pytest.raises(IndexError):
        many.D[0][20_000]


@pytest.mark.parametrize("planner", ["vi", "policy-iteration"])
def test_very_many_observations_that_all_come_are_a_limit_and_not_the_end_of_memory(planner):
    transitions = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    emissions, rewards = np.full((2, 2, 12_000), 1 / 12_000), np.eye(2)
    plan = solve(
        POMDP.from_arrays(transitions, emissions, rewards, discount="0.9"),
        planner_by_name(planner),
    )
    # Observations tell nothing: staying and moving at random both earn a half per step.
    assert plan.status is Status.SIZE
    assert plan.lower <= 5 <= plan.upper


def test_a_program_over_very_many_corners_is_not_begun_where_it_would_take_too_long(monkeypatch):
    def refused(*arguments):
        raise AssertionError("a program that no clock can stop")

    monkeypatch.setattr(Clock, "seconds", 0.0)
    vectors, little, much = np.zeros((2000, 3)), 0.01, 10.0  # 2000 corners, squared, times pivots
    assert branch_and_bound.rise(vectors, 2, 1e-9, Clock(lambda row: None, much)) == 0
    monkeypatch.setattr(branch_and_bound, "best_gain", refused)
    with pytest.raises(LimitReached):
        branch_and_bound.rise(vectors, 2, 1e-9, Clock(lambda row: None, little))


@pytest.mark.parametrize("planner", ["qmdp", "fib"])
def test_following_a_rule_further_is_not_begun_where_it_would_take_too_long(planner, monkeypatch):
    plain, work = baselines.followed, [0]

    def followed(model, rule, blind, limit, **options):
        work[0] += limit
        return plain(model, rule, blind, limit, **options)

    monkeypatch.setattr(baselines, "followed", followed)
    monkeypatch.setattr(Clock, "seconds", property(lambda clock: float(work[0])))
    plan = solve(build("hallway"), planner_by_name(planner, time_limit=300.0))
    assert plan.status is Status.TIME
    assert work[0] == 64 + 128  # and 256 more would be too long


@pytest.mark.parametrize(
    "planner", ["sarsop", "pbvi", "reachable", "qmdp", "fib", "vi", "policy-iteration"]
)
def test_observations_that_never_come_change_nothing(planner):
    # A sum over more observations rounds differently, so ties may be broken differently: bounds of
    # the same value, each within the goal, agree up to twice the gap that is left.
    options = {"max_points": 20} if planner == "pbvi" else {}
    if planner in ("sarsop", "vi", "policy-iteration"):
        options = {"epsilon": 1e-7}
    few, many = (solve(many_observations(n), planner, **options) for n in (20, 20_000))
    assert many.status == few.status
    assert many.lower == pytest.approx(few.lower, abs=1e-6)
    assert many.upper == pytest.approx(few.upper, abs=1e-6)


def test_an_earlier_plan_is_evaluated_again_while_time_is_left(monkeypatch):
    model, sweeps = build("tiger").belief_model(), []
    earlier = solve(model, "pbvi")
    checkpoint = Checkpoint("pbvi", earlier.value_function, earlier.lower, earlier.upper, 3, 0.0)
    follow = Followers.__call__

    def counted(self, vectors, clock=None):
        value = follow(self, vectors, clock)
        sweeps.append(1)
        return value

    monkeypatch.setattr(Followers, "__call__", counted)
    planner = planner_by_name("pbvi", time_limit=1e-9)
    plan = planner.resume(model, None, checkpoint)
    assert plan.status is Status.TIME
    assert not sweeps
    assert plan.lower == pytest.approx(earlier.lower, abs=1e-6)  # and not -20, a blind policy's


def test_enumeration_has_no_initial_bound_without_a_clock(monkeypatch):
    clocks = []

    def watched(bound):
        def compute(process, clock=None):
            clocks.append(clock)
            return bound(process, clock)

        return compute

    for bound in (cheap_bounds.blind_values, cheap_bounds.mdp_values):
        monkeypatch.setattr(enumeration, bound.__name__, watched(bound))
    plan = solve(build("tiger"), "enumeration", time_limit=1e-9)
    assert plan.status is Status.TIME
    assert [clock.over for clock in clocks] == [True, True]
    assert plan.lower <= 19.37 <= plan.upper
