"""Anytime planners: exact values between their bounds, limits, the uncompiled search."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, random_exact, rotated
from tests.planning.plans import ignore
from tests.planning.traces import digest
from tests.strategies import few

from rpsr import POMDP, InputError, ModelError, kernels, solve
from rpsr.domains import build
from rpsr.models import Unknown, episodic
from rpsr.planning.anytime import (
    belief_graph,
    decomposition,
    lower_bound,
    point_policies,
    schedule,
    search_arrays,
    sweeps,
    walks,
)
from rpsr.planning.anytime.planners import HSVI, SARSOP
from rpsr.planning.comparing.joint_runs import policy_value
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import extract_controller
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.predictive.constructors import psr, rpsr
from rpsr.sources import load_pomdp
from rpsr.testing import check_planner

PLANNERS = [HSVI, SARSOP]


def searched(model, trials, *, selective=True, epsilon=1e-3):
    """A search after a number of trials."""
    search = schedule.Schedule(corner_process(model), Clock(ignore), epsilon, selective, 0)
    for _ in range(trials):
        search.sample()
        search.back_up()
        search.tighten()
    return search


# ---- bounds


@pytest.mark.parametrize("planner", PLANNERS)
def test_conformance(planner):
    check_planner(planner(epsilon=1e-7))


@given(
    st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.booleans()
)
@settings(max_examples=few(4))
def test_bounds_bracket_the_optimum_on_every_model(seed, A, S, O, by_edge):
    pomdp = random_exact(seed, Sizes(A, S, O), by_edge=by_edge).with_discount("0.7")
    for model in (pomdp.belief_model(), rotated(pomdp), psr(pomdp), rpsr(pomdp)):
        exact = ValueIteration(epsilon=1e-4, time_limit=1).solve(model, ignore)
        for planner in PLANNERS:
            for trials in (0, 2, 300):
                plan = planner(epsilon=1e-3, max_iterations=trials).solve(model, ignore)
                assert plan.lower <= exact.upper
                assert exact.lower <= plan.upper
            assert plan.status is Status.SOLVED
            assert plan.gap <= 1e-3


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", ["tiger", "paint", "loadunload", "heavenhell", "cheese", "4x3"])
@pytest.mark.parametrize("kind", [POMDP.belief_model, rpsr])
def test_domains_are_solved_and_their_policies_earn_the_lower_bound(planner, name, kind):
    model = kind(build(name).with_discount("0.9"))
    exact = ValueIteration(epsilon=1e-4).solve(model, ignore)
    plan = planner().solve(model, ignore)
    assert plan.status is Status.SOLVED
    assert plan.gap <= goal_of(None, CLOSED, model, 10.0).least
    assert max(plan.lower, exact.lower) <= min(plan.upper, exact.upper)
    least, most = policy_value(AlphaPolicy.of(plan), model, limit=300)
    assert most >= plan.lower
    if most - least < 1e-9:  # the policy's states close: this is its value
        assert least >= plan.lower - 1e-9


def test_rows_never_cross_and_never_lose_ground():
    rows = []
    SARSOP(time_limit=60).solve(build("4x3").belief_model(), rows.append)
    assert all(row.lower <= row.upper for row in rows)
    gaps = [row.gap for row in rows]
    assert gaps == sorted(gaps, reverse=True)
    assert all(row.vectors and row.points for row in rows)


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_little_or_no_future(discount):
    model = build("tiger").with_discount(str(discount)).belief_model()
    exact = Reachable().solve(model, ignore) if discount == 0 else None
    plan = HSVI(epsilon=1e-6).solve(model, ignore)
    assert plan.status is Status.SOLVED
    if exact is not None:
        assert plan.lower <= exact.value <= plan.upper


def test_a_vector_goes_on_with_vectors_of_the_solution():
    model = build("4x3").belief_model()
    plan = SARSOP().solve(model, ignore)
    for vector, a, after in zip(plan.vectors, plan.actions, plan.successors, strict=True):
        backup = model.rewards[:, a] + model.discount * sum(
            model.operators.right(plan.vectors[i][None], int(a), o)[0] for o, i in enumerate(after)
        )
        assert (vector <= backup + 1e-12).all()


# ---- what the search keeps


@pytest.mark.parametrize("name", ["4x3", "tiger-grid", "hallway"])
def test_weights_add_up_to_their_beliefs_and_prove_their_bounds(name):
    search = searched(build(name).belief_model(), 12)
    graph, k = search.state.graph, search.process.k
    beliefs = np.zeros((graph.counts["nodes"], k))
    for i, row in enumerate(beliefs):
        span = slice(graph.node[i]["begin"], graph.node[i]["begin"] + graph.node[i]["length"])
        row[graph.corner[span]] = graph.share[span]
    assert beliefs.sum(axis=1) == pytest.approx(1, abs=1e-12)
    nodes = graph.point["node"][: graph.counts["points"]]
    shrunk = 0
    for i, belief in enumerate(beliefs):
        span = slice(graph.node[i]["held"], graph.node[i]["held"] + graph.node[i]["weights"])
        points, weights = graph.corner[span], graph.share[span]
        assert (weights >= 0).all()
        assert np.abs(weights @ beliefs[nodes[points]] - belief).sum() <= 1e-12
        shrunk += bool((points >= k).any())
        if graph.node[i]["point"] < 0:
            proven = (weights @ graph.value[0, points]).max()
            assert graph.bound[i]["upper"] >= proven - 1e-9
    assert shrunk > 0  # some use points, not corners alone


def test_trials_by_the_lower_bound_raise_it_where_the_bounds_stay_far_apart(monkeypatch):
    """Other trials meet few beliefs of good policies there."""
    model = load_pomdp("hallway", discount="0.99").belief_model()
    lower, upper = searched(model, 8).bounds
    monkeypatch.setattr(schedule, "GREEDY_SHARE", 0.0)
    without, _ = searched(model, 8).bounds
    assert without < lower < upper


def test_trials_by_the_lower_bound_that_change_nothing_do_not_follow_one_another():
    """Such a trial may end at the start and cost hardly anything, so that hundreds would be due."""
    rng = np.random.default_rng(7)
    moves, emissions = rng.dirichlet(np.full(5, 0.3), (3, 5)), np.ones((3, 5, 1))
    rewards = rng.integers(-5, 6, size=(5, 3)).astype(float)
    model = POMDP.from_arrays(moves, emissions, rewards, discount=0.95).belief_model()
    search = searched(model, 0, selective=False)
    vain = [False]
    for _ in range(100):
        before, greedy = search._progress, search._greedy
        search.sample()
        vain.append(search._greedy > greedy and search._progress == before)
        search.back_up()
        search.tighten()
    assert any(vain)
    assert not any(one and other for one, other in pairwise(vain))


def test_a_sweep_that_hardly_lowers_the_start_waits_for_more_points(monkeypatch):
    search, sweeps = searched(build("hallway").belief_model(), 4), []
    monkeypatch.setattr(search, "_run", lambda which, *_: sweeps.append(which) or True)
    search._spent[:2] = 1e9  # many are due
    search._points_awaited = 0.0
    search.tighten()
    search.tighten()
    assert sweeps == [2]
    search.state.graph.counts["points"] *= 2
    search._spent[:2] = 2e9
    search.tighten()
    assert sweeps == [2, 2]


# ---- the uncompiled search


def test_kernels_agree_with_their_python():
    """The same search, line by line in Python: bit by bit the same but for the order of sums."""
    model = build("4x3").belief_model()
    kernels = (belief_graph, decomposition, lower_bound, point_policies, walks, sweeps)
    compiled = searched(model, 6)
    with pytest.MonkeyPatch.context() as patch:
        for module in (*kernels, search_arrays, schedule):
            for name, value in vars(module).items():
                if hasattr(value, "py_func"):
                    patch.setattr(module, name, value.py_func)
        plain = searched(model, 6)
    assert plain.state.bounds == pytest.approx(compiled.state.bounds, rel=1e-12)
    counts = compiled.state.graph.counts
    assert plain.state.graph.counts.tolist() == counts.tolist()


@pytest.mark.parametrize(("name", "trials"), [("network", 6), ("4x3", 60)])
def test_interpreted_kernels_do_the_same_work_as_compiled_ones(name, trials, monkeypatch):
    """So equal seeds give equal plans, however fast the machine leaves the interpreter."""
    plans = set[str]()
    for patience in (np.inf, -1.0):
        monkeypatch.setattr(kernels, "PATIENCE", patience)
        plans.add(digest(solve(build(name), SARSOP(max_iterations=trials))))
    assert len(plans) == 1


# ---- limits


@pytest.mark.parametrize("planner", PLANNERS)
def test_the_same_trials_give_the_same_result(planner):
    model = build("hallway").belief_model()
    first, second = (planner(max_iterations=8, seed=3).solve(model, ignore) for _ in range(2))
    assert first.status is Status.ITERATIONS
    assert first.iterations == 8
    assert first.seed == 3
    assert (first.lower, first.upper) == (second.lower, second.upper)
    assert np.array_equal(first.vectors, second.vectors)


def test_a_deadline_keeps_the_best_so_far():
    model = build("hallway").belief_model()
    plan = HSVI(time_limit=0.2).solve(model, ignore)
    assert plan.status is Status.TIME
    assert plan.lower < plan.upper
    assert AlphaPolicy.of(plan).act() in range(5)


def test_too_little_memory_is_said_up_front_and_otherwise_ends_the_search():
    model = build("hallway").belief_model()
    with pytest.raises(InputError, match="memory limit: read 1000 bytes, but planning on hallway"):
        SARSOP(memory_limit=1000).solve(model, ignore)
    plan = SARSOP(memory_limit=8_000_000).solve(model, ignore)
    assert plan.status is Status.MEMORY
    assert plan.lower < plan.upper


def test_arrays_and_their_larger_copies_stay_within_the_limit():
    model, limit = build("hallway").belief_model(), 20_000_000
    SARSOP(max_iterations=1).solve(model, ignore)  # compiles
    tracemalloc.start()
    try:
        plan = SARSOP(memory_limit=limit).solve(model, ignore)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert plan.status is Status.MEMORY
    assert limit / 4 < peak <= limit


@pytest.mark.parametrize("planner", PLANNERS)
def test_it_ends_where_floats_can_prove_no_more(planner):
    plan = planner(epsilon=1e-15).solve(build("tiger").belief_model(), ignore)
    assert plan.status is Status.ROUNDING
    assert 1e-15 < plan.gap < 1e-7


@pytest.mark.parametrize("after", [1, 5, 40])  # the first ones are in the set-up
def test_an_interrupt_keeps_the_best_so_far(monkeypatch, after):
    calls = []

    def interrupt(self):
        calls.append(1)
        if len(calls) == after:
            raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "check", interrupt)
    model = build("hallway").belief_model()
    plan = HSVI().solve(model, ignore)
    assert plan.status is Status.INTERRUPTED
    assert plan.lower < plan.upper
    assert extract_controller(plan).value(model) >= plan.lower - 1e-12


def test_a_limit_inside_a_trial_leaves_valid_bounds(monkeypatch):
    model = build("4x3").belief_model()
    exact = ValueIteration(epsilon=1e-4).solve(model, ignore)
    monkeypatch.setattr(schedule, "CHUNK", 50)
    checks = []

    def stop(self):
        checks.append(1)
        if len(checks) == 37:
            raise LimitReached(Status.TIME)

    monkeypatch.setattr(Clock, "check", stop)
    plan = SARSOP().solve(model, ignore)
    assert plan.lower <= exact.upper
    assert exact.lower <= plan.upper


def test_small_chunks_leave_valid_bounds(monkeypatch):
    model = build("4x3").belief_model()
    whole = SARSOP(max_iterations=20).solve(model, ignore)
    monkeypatch.setattr(schedule, "CHUNK", 100)
    pieces = SARSOP(max_iterations=20).solve(model, ignore)
    assert max(pieces.lower, whole.lower) <= min(pieces.upper, whole.upper)


# ---- kinds of problems


COSTS = """discount: 0.9
values: cost
states: 2
actions: 2
observations: 1
start: 1 0
T: 0
identity
T: 1
0 1
0 1
O: *
1
1
R: * : 0 : * : * 3
R: * : 1 : * : * 1
"""


def test_costs_are_paid_and_not_earned(tmp_path):
    file = tmp_path / "costs.pomdp"
    file.write_text(COSTS)
    plan = SARSOP(epsilon=1e-6).solve(load_pomdp(file).belief_model(), ignore)
    assert plan.status is Status.SOLVED
    assert plan.lower <= -12 <= plan.upper  # 3 now, then 1 at every step: 3 + 0.9 * 10
    assert plan.gap <= 1e-6


@pytest.mark.parametrize(("view", "worth"), [(lambda pomdp: pomdp, -30), (episodic, -3)])
def test_an_episode_ends_or_begins_again(tmp_path, view, worth):
    file = tmp_path / "episodes.pomdp"
    file.write_text(COSTS.replace("T: 1\n0 1\n0 1\n", "T: 1\nreset\n"))
    plan = HSVI(epsilon=1e-6).solve(view(load_pomdp(file)).belief_model(), ignore)
    assert plan.status is Status.SOLVED
    assert plan.lower <= worth <= plan.upper


def test_a_sparse_domain_stays_sparse():
    plan = SARSOP(max_iterations=3, memory_limit=64_000_000).solve(
        build("tag").belief_model(), ignore
    )
    assert plan.status is Status.ITERATIONS
    assert -20 <= plan.lower < plan.upper <= 1


# ---- refusals


@pytest.mark.parametrize("planner", PLANNERS)
def test_what_cannot_be_certified_is_refused_with_the_reason(planner):
    model = build("tiger").belief_model()
    with pytest.raises(ModelError, match="the valid states of this belief model are unknown"):
        planner().solve(replace(model, domain=Unknown()), ignore)
    with pytest.raises(ModelError, match="discount below 1"):
        planner().solve(model.with_discount(1), ignore)
    with pytest.raises(InputError, match="epsilon"):
        planner(epsilon=0).solve(model, ignore)
