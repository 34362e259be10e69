"""Exact value iteration: what it refuses, limits, checkpoints, Ctrl-C and progress."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.planning.plans import ignore, vi

from rpsr import InputError, ModelError
from rpsr.domains import build
from rpsr.models import Unknown
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact import branch_and_bound
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.files.checkpoint import Checkpoint
from rpsr.planning.solution import Status
from rpsr.predictive.constructors import rpsr


def test_an_unknown_domain_is_refused_with_the_reason():
    model = replace(build("tiger").belief_model(), domain=Unknown())
    with pytest.raises(ModelError, match="valid states of this belief model are unknown"):
        vi(model)


@pytest.mark.parametrize("discount", [1, None])
def test_discount_one_needs_a_horizon(discount):
    model = build("tiger").with_discount(discount).belief_model()
    with pytest.raises(ModelError, match="planner vi then needs a discount below 1"):
        vi(model)


def test_epsilon_must_be_positive():
    model = build("tiger").belief_model()
    with pytest.raises(InputError, match="above 0"):
        vi(model, epsilon=0.0)


def test_a_time_limit_leaves_bounds_that_hold():
    model = build("4x3").belief_model()
    plan = vi(model, epsilon=1e-9, time_limit=0.3)
    assert plan.status is Status.TIME
    assert plan.lower < 1.88989 < plan.upper
    assert plan.residual is None
    assert plan.epsilon is None


def test_work_that_would_not_fit_into_the_time_left_is_named(monkeypatch):
    model = build("tiger").belief_model()
    monkeypatch.setattr("rpsr.planning.limits.OPERATIONS_A_SECOND", 1e-3)
    plan = Enumeration(time_limit=60).solve(model)
    assert plan.status is Status.TIME
    said = "stopped before the time limit: one linear program would not fit into the time left"
    assert plan.message.startswith(said)
    assert ("status", plan.message) in plan.facts()
    monkeypatch.undo()
    plan = Enumeration(time_limit=1e-9).solve(model)
    assert plan.message == Status.TIME.value


def test_an_iteration_limit_leaves_bounds_that_hold():
    model = build("tiger").belief_model()
    plan, full = vi(model, max_iterations=1, epsilon=1e-9), vi(model, epsilon=1e-9)
    assert plan.status is Status.ITERATIONS
    assert plan.lower <= full.value <= plan.upper


@pytest.mark.parametrize("options", [{"horizon": 6}, {"epsilon": 1e-9}])
def test_a_memory_limit_leaves_bounds_that_hold(options):
    model = build("tiger").belief_model()
    answer = vi(model, **options)
    plan = vi(model, memory_limit=2_000, **options)
    assert plan.status is Status.MEMORY
    assert plan.lower <= answer.value <= plan.upper
    assert vi(model, memory_limit=10**6, **options).status is answer.status
    size = corner_process(model).nbytes
    refusal = f"read {size - 1} bytes, but the model alone takes {size}"
    with pytest.raises(InputError, match=refusal):
        vi(model, memory_limit=size - 1, **options)


@pytest.mark.parametrize("name", ["4x3", "network"])
def test_a_memory_limit_bounds_what_numpy_allocates(name):
    model, limit = build(name).belief_model(), 500_000
    vi(model, memory_limit=limit, epsilon=1e-9)  # kernels are loaded, caches filled
    tracemalloc.start()
    plan = vi(model, memory_limit=limit, epsilon=1e-9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert plan.status is Status.MEMORY
    assert len(plan.vectors) > 20
    assert peak < limit
    assert plan.lower <= plan.upper


def test_a_program_that_does_not_decide_adds_its_vector(monkeypatch):
    model = build("tiger").belief_model()
    plain = branch_and_bound.search

    def stuck_once(storage, count, r, trees, stack, depth, wanted, budget):
        if not calls:
            for o in range(stack.shape[1]):
                while trees.child[stack[depth - 1, o], 0] >= 0:
                    stack[depth - 1, o] = trees.child[stack[depth - 1, o], 0]
            calls.append(len(storage.u))
            return branch_and_bound.STUCK, count, depth, 1, -np.inf
        return plain(storage, count, r, trees, stack, depth, wanted, budget)

    calls = []
    monkeypatch.setattr(branch_and_bound, "search", stuck_once)
    plan = vi(model, epsilon=1e-9)
    assert plan.extras["undecided"] == 1
    monkeypatch.undo()
    assert plan.status is Status.SOLVED
    assert plan.value == pytest.approx(vi(model, epsilon=1e-9).value, abs=2e-9)


def checkpoint_of(plan):
    return Checkpoint(
        planner=plan.planner,
        value_function=plan.value_function,
        lower=plan.lower,
        upper=plan.upper,
        iterations=plan.iterations,
        seconds=plan.seconds,
    )


@pytest.mark.parametrize("kind", ["belief", "rpsr"])
def test_a_search_can_continue(kind):
    pomdp = build("stand-tiger")
    model = pomdp.belief_model() if kind == "belief" else rpsr(pomdp)
    full, short = vi(model, epsilon=1e-9), vi(model, epsilon=1e-4)
    planner = ValueIteration(epsilon=1e-9)
    plan = planner.resume(model, ignore, checkpoint_of(short))
    assert plan.status is Status.SOLVED
    assert plan.value == pytest.approx(full.value, abs=2e-9)
    with pytest.raises(ModelError, match="for a horizon cannot resume from a checkpoint"):
        ValueIteration(horizon=2).resume(model, ignore, checkpoint_of(short))
    with pytest.raises(ModelError, match="does not store which vector follows"):
        planner.resume(model, ignore, checkpoint_of(vi(model, horizon=1)))


def test_a_false_checkpoint_is_not_believed():
    model = build("tiger").belief_model()
    full = vi(model, epsilon=1e-9)
    high = replace(full.value_function, vectors=full.vectors + 1000.0)
    boast = replace(checkpoint_of(full), value_function=high)
    plan = ValueIteration(epsilon=1e-9).resume(model, ignore, boast)
    assert plan.value == pytest.approx(full.value, abs=2e-9)
    assert plan.upper >= full.lower


def test_ctrl_c_leaves_the_best_so_far():
    model = build("tiger").belief_model()

    def interrupt(row):
        if row.iteration == 2:
            raise KeyboardInterrupt

    for horizon in (None, 5):
        plan = ValueIteration(horizon=horizon, epsilon=1e-9).solve(model, interrupt)
        full = vi(model, horizon=horizon, epsilon=1e-9)
        assert plan.status is Status.INTERRUPTED
        assert plan.lower <= full.value <= plan.upper


def test_progress_rows_come_in_order():
    rows = []
    plan = ValueIteration(epsilon=1e-9).solve(build("tiger").belief_model(), rows.append)
    assert plan.trace == tuple(rows)
    assert [row.iteration for row in rows] == list(range(1, len(rows) + 1))
    uppers = [row.upper for row in rows]
    assert uppers == sorted(uppers, reverse=True)
