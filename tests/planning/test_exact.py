"""Exact value iteration: analytic answers, enumeration, three representations, certificates."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, pomdps, random_exact, rotated

from rpsr import POMDP, InputError, ModelError
from rpsr.domains import build
from rpsr.models import Unknown
from rpsr.planning import lp_kernels, pruning, residual, warm
from rpsr.planning.checkpoint import Checkpoint
from rpsr.planning.enumeration import Enumeration
from rpsr.planning.exact import ValueIteration
from rpsr.planning.faces import maximal_faces
from rpsr.planning.policies import action_values
from rpsr.planning.process import corner_process
from rpsr.planning.reachable import Reachable
from rpsr.planning.solution import Status
from rpsr.predictive.constructors import psr, rpsr


def ignore(row):
    pass


def vi(model, **options):
    return ValueIteration(**options).solve(model, ignore)


def one_state(discount):
    return POMDP.from_arrays(
        np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.array([[1.0, 2.5]]), discount=discount
    ).belief_model()


# ---- answers one can write down


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("horizon", [1, 3, 10])
def test_one_state_sums_its_best_reward(discount, horizon):
    found = vi(one_state(discount), horizon=horizon)
    answer = 2.5 * sum(discount**t for t in range(horizon))
    assert found.lower <= answer <= found.upper
    assert found.value == pytest.approx(answer, rel=1e-13)
    assert found.status is Status.HORIZON


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95])
def test_one_state_for_ever(discount):
    found = vi(one_state(discount), epsilon=1e-9)
    assert found.lower <= 2.5 / (1 - discount) <= found.upper
    assert found.gap <= 2.1e-9
    assert found.status is Status.SOLVED


def test_a_chain_that_pays_at_its_end():
    moves = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    rewards = np.array([[0.0], [0.0], [1.0]])
    chain = POMDP.from_arrays(
        moves, np.ones((1, 3, 1)), rewards, start=np.array([1.0, 0.0, 0.0]), discount=0.9
    )
    found = vi(chain.belief_model(), epsilon=1e-10)
    assert found.lower <= 0.81 / 0.1 <= found.upper
    assert found.value == pytest.approx(8.1, abs=1e-10)


# ---- finite horizons


@given(pomdps(), st.integers(1, 3))
@settings(max_examples=25)
def test_incremental_pruning_equals_enumeration(pomdp, horizon):
    model = pomdp.belief_model()
    try:
        oracle = Enumeration(horizon=horizon).solve(model, ignore)
    except ModelError:  # too many trees to list
        return
    found = vi(model, horizon=horizon)
    points = np.random.default_rng(0).dirichlet(np.ones(model.dimension), size=100)
    for ours, theirs in zip(found.stages, oracle.stages, strict=True):
        values = [(points @ stage[0].T).max(axis=1) for stage in (ours, theirs)]
        assert values[0] == pytest.approx(values[1], abs=1e-10)
    assert found.lower - 1e-12 <= oracle.value <= found.upper + 1e-12


def test_undiscounted_horizons_are_allowed():
    model = build("tiger").with_discount(1).belief_model()
    assert vi(model, horizon=3).status is Status.HORIZON


@pytest.mark.parametrize("name", ["tiger", "paint", "loadunload", "heavenhell"])
@pytest.mark.parametrize("kind", [psr, rpsr])
def test_representations_agree_step_by_step(name, kind):
    pomdp = build(name)
    if kind is psr:
        pomdp_model = pomdp.belief_model()
        model = psr(pomdp)
        basis = model.domain.points
        pomdp_model = pomdp_model.with_rewards(basis @ (basis.T @ pomdp.R))
    else:
        pomdp_model, model = pomdp.belief_model(), rpsr(pomdp)
    ours, theirs = vi(model, horizon=4), vi(pomdp_model, horizon=4)
    for stage, other in zip(ours.stages, theirs.stages, strict=True):
        assert len(stage[0]) == len(other[0])
        value, answer = (stage[0] @ model.start).max(), (other[0] @ pomdp.start).max()
        assert value == pytest.approx(answer, abs=1e-9)


def in_fractions(model, horizon):
    """The best value of so many steps, every float of the model taken as the fraction it is."""
    as_fractions = np.vectorize(Fraction, otypes=[object])
    shape = model.operators.shape[:2]
    moves = {(a, o): as_fractions(model.operators.matrix(a, o)) for a, o in np.ndindex(shape)}
    rewards, discount = as_fractions(model.rewards), Fraction(model.discount)

    def best(x, steps):  # x need not be normalised: values are linear along a ray
        if steps == 0:
            return Fraction(0)
        ahead = [
            [best(x @ moves[a, o], steps - 1) for o in range(shape[1])] for a in range(shape[0])
        ]
        return max(x @ rewards[:, a] + discount * sum(ahead[a]) for a in range(shape[0]))

    return best(as_fractions(model.start), horizon)


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=15)
@pytest.mark.parametrize("planner", [ValueIteration, Enumeration, Reachable])
def test_bounds_of_a_horizon_hold_to_the_last_bit(planner, seed, horizon):
    model = random_exact(seed, Sizes(2, 3, 2)).belief_model()
    found = planner(horizon=horizon).solve(model, ignore)
    assert Fraction(found.lower) <= in_fractions(model, horizon) <= Fraction(found.upper)


# ---- infinite horizons


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=30)
def test_the_proven_interval_holds_the_optimum(seed, A, S, O):
    model = random_exact(seed, Sizes(A, S, O)).with_discount("0.5").belief_model()
    found, finer = vi(model, epsilon=1e-4, time_limit=5), vi(model, epsilon=1e-7, time_limit=5)
    assert found.status is Status.SOLVED
    assert found.epsilon <= 1e-4
    assert max(found.lower, finer.lower) <= min(found.upper, finer.upper)
    points = np.random.default_rng(0).dirichlet(np.ones(S), size=50)
    if finer.status is Status.SOLVED:
        assert np.abs(found.value_at(points) - finer.value_at(points)).max() <= 1.002e-4


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_infinite_horizons_agree_with_enumeration(seed):
    model = random_exact(seed, Sizes(2, 2, 2)).with_discount("0.3").belief_model()
    found, oracle = vi(model, epsilon=1e-6), Enumeration(epsilon=1e-3).solve(model, ignore)
    assert max(found.lower, oracle.lower) <= min(found.upper, oracle.upper)
    points = np.random.default_rng(0).dirichlet(np.ones(2), size=50)
    assert np.abs(found.value_at(points) - oracle.value_at(points)).max() <= 1.01e-3


@pytest.mark.parametrize("name", ["tiger", "paint", "loadunload", "parr", "cheese", "stand-tiger"])
def test_an_rpsr_is_worth_what_its_pomdp_is(name):
    pomdp = build(name).with_discount("0.9")
    plain, reduced = vi(pomdp.belief_model(), epsilon=1e-9), vi(rpsr(pomdp), epsilon=1e-9)
    assert plain.status is reduced.status is Status.SOLVED
    assert reduced.value == pytest.approx(plain.value, abs=2e-9)
    assert plain.gap <= 2.1e-9
    assert max(plain.lower, reduced.lower) <= min(plain.upper, reduced.upper) + 1e-12


def test_coordinates_do_not_matter():
    pomdp = random_exact(7, Sizes(2, 4, 3))
    plain, turned = vi(pomdp.belief_model(), epsilon=1e-9), vi(rotated(pomdp), epsilon=1e-9)
    assert turned.value == pytest.approx(plain.value, abs=2e-9)


@pytest.mark.parametrize("name", ["heavenhell", "loadunload", "parr", "stand-tiger"])
def test_the_finite_problem_of_reachable_states_has_the_same_value(name):
    model = build(name).with_discount("0.95").belief_model()
    found, exact = vi(model, epsilon=1e-9), Reachable().solve(model, ignore)
    assert found.status is Status.SOLVED
    assert found.lower - 1e-12 <= exact.value <= found.upper + 1e-12


def test_every_vector_is_at_most_its_backup():
    model = build("stand-tiger").belief_model()
    found = vi(model, epsilon=1e-9)
    for vector, a, after in zip(found.vectors, found.actions, found.successors, strict=True):
        backup = model.rewards[:, a] + model.discount * sum(
            model.operators.right(found.vectors[i][None], int(a), o)[0] for o, i in enumerate(after)
        )
        assert (vector <= backup + 1e-9 * (1 - model.discount)).all()


def test_the_bellman_residual_at_random_states_is_within_the_proven_one():
    model = build("tiger").belief_model()
    found = vi(model, epsilon=1e-6)
    for x in np.random.default_rng(0).dirichlet(np.ones(2), size=200):
        best = -np.inf
        for a in range(len(model.actions)):
            total = float(x @ model.rewards[:, a])
            for o in range(len(model.observations)):
                after = model.operators.left(x[None], a, o)[0]
                total += model.discount * float((found.vectors @ after).max())
            best = max(best, total)
        assert best - float(found.value_at(x)[0]) <= found.residual + 1e-12


# ---- faces


def test_faces_are_the_states_that_can_follow():
    process = corner_process(build("heavenhell").belief_model())
    faces = maximal_faces(process)
    assert max(map(len, faces)) == 2
    assert sorted({s for face in faces for s in face.tolist()}) == list(range(process.k))


def test_where_nothing_counts_after_the_first_step_the_face_is_everything():
    model = build("tiger").with_discount(0).belief_model()
    assert [len(face) for face in maximal_faces(corner_process(model))] == [2]
    assert vi(model, faces=True).value == -1  # listening


def test_looking_at_faces_gives_the_same_value():
    model = build("cheese").belief_model()
    whole = vi(model, epsilon=1e-9, faces=False)
    faces = vi(model, epsilon=1e-9, faces=True)
    assert whole.extras["faces"] is None
    assert max(map(len, faces.extras["faces"])) == 3
    assert faces.status is Status.SOLVED
    assert faces.value == pytest.approx(whole.value, abs=2e-9)
    assert max(faces.lower, whole.lower) <= min(faces.upper, whole.upper)


def test_one_step_ahead_of_faces_is_right_everywhere():
    model = build("cheese").belief_model()
    whole, faces = vi(model, epsilon=1e-9, faces=False), vi(model, epsilon=1e-9, faces=True)
    points = np.random.default_rng(0).dirichlet(np.ones(model.dimension), size=50)
    ahead = action_values(model, points, faces.vectors).max(axis=1)
    assert np.abs(ahead - whole.value_at(points)).max() <= 2e-9


def test_many_vectors_make_it_look_at_faces():
    found = vi(build("heavenhell").with_discount("0.95").belief_model(), epsilon=1e-9)
    assert found.status is Status.SOLVED
    assert found.extras["faces"] is not None


# ---- refusals and limits


def test_an_unknown_domain_is_refused_with_the_reason():
    model = replace(build("tiger").belief_model(), domain=Unknown())
    with pytest.raises(ModelError, match="domain of this belief model is unknown"):
        vi(model)


@pytest.mark.parametrize("discount", [1, None])
def test_discount_one_needs_a_horizon(discount):
    model = build("tiger").with_discount(discount).belief_model()
    with pytest.raises(ModelError, match="give a horizon"):
        vi(model)


def test_epsilon_must_be_positive_and_provable():
    model = build("tiger").belief_model()
    with pytest.raises(InputError, match="above 0"):
        vi(model, epsilon=0.0)
    with pytest.raises(ModelError, match="floats can prove no less"):
        vi(model, epsilon=1e-17)


def test_a_time_limit_leaves_bounds_that_hold():
    model = build("4x3").belief_model()
    found = vi(model, epsilon=1e-9, time_limit=0.3)
    assert found.status is Status.TIME
    assert found.lower < 1.88989 < found.upper
    assert found.residual is None
    assert found.epsilon is None


def test_an_iteration_limit_leaves_bounds_that_hold():
    model = build("tiger").belief_model()
    found, full = vi(model, max_iterations=1, epsilon=1e-9), vi(model, epsilon=1e-9)
    assert found.status is Status.ITERATIONS
    assert found.lower <= full.value <= found.upper


@pytest.mark.parametrize("options", [{"horizon": 6}, {"epsilon": 1e-9}])
def test_a_memory_limit_leaves_bounds_that_hold(options):
    model = build("tiger").belief_model()
    answer = vi(model, **options)
    found = vi(model, memory_limit=2_000, **options)
    assert found.status is Status.MEMORY
    assert found.lower <= answer.value <= found.upper
    assert vi(model, memory_limit=10**6, **options).status is answer.status
    size = corner_process(model).nbytes
    with pytest.raises(InputError, match=f"read {size - 1}, but the model alone takes {size}"):
        vi(model, memory_limit=size - 1, **options)


@pytest.mark.parametrize("name", ["4x3", "network"])
def test_a_memory_limit_bounds_what_numpy_allocates(name):
    model, limit = build(name).belief_model(), 500_000
    vi(model, memory_limit=limit, epsilon=1e-9)  # kernels are loaded, caches filled
    tracemalloc.start()
    found = vi(model, memory_limit=limit, epsilon=1e-9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.status is Status.MEMORY
    assert len(found.vectors) > 20
    assert peak < limit
    assert found.lower <= found.upper


def test_a_program_that_does_not_decide_adds_its_vector(monkeypatch):
    model = build("tiger").belief_model()
    plain = residual.search

    def stuck_once(*arguments):
        if not calls:
            u, stack, depth, child = arguments[0], arguments[7], arguments[8], arguments[6]
            for o in range(stack.shape[1]):
                while child[stack[depth - 1, o], 0] >= 0:
                    stack[depth - 1, o] = child[stack[depth - 1, o], 0]
            calls.append(len(u))
            return residual.STUCK, arguments[1], depth, 1, -np.inf
        return plain(*arguments)

    calls = []
    monkeypatch.setattr(residual, "search", stuck_once)
    found = vi(model, epsilon=1e-9)
    assert found.extras["undecided"] == 1
    monkeypatch.undo()
    assert found.status is Status.SOLVED
    assert found.value == pytest.approx(vi(model, epsilon=1e-9).value, abs=2e-9)


def checkpoint_of(found):
    return Checkpoint(
        planner=found.planner,
        vectors=found.vectors,
        actions=found.actions,
        successors=found.successors,
        lower=found.lower,
        upper=found.upper,
        iterations=found.iterations,
        seconds=found.seconds,
    )


@pytest.mark.parametrize("kind", ["belief", "rpsr"])
def test_a_search_can_go_on(kind):
    pomdp = build("stand-tiger")
    model = pomdp.belief_model() if kind == "belief" else rpsr(pomdp)
    full, short = vi(model, epsilon=1e-9), vi(model, epsilon=1e-4)
    planner = ValueIteration(epsilon=1e-9)
    found = planner.resume(model, ignore, checkpoint_of(short))
    assert found.status is Status.SOLVED
    assert found.value == pytest.approx(full.value, abs=2e-9)
    with pytest.raises(ModelError, match="planned anew"):
        ValueIteration(horizon=2).resume(model, ignore, checkpoint_of(short))
    with pytest.raises(ModelError, match="does not say how"):
        planner.resume(model, ignore, checkpoint_of(vi(model, horizon=1)))


def test_a_false_checkpoint_is_not_believed():
    model = build("tiger").belief_model()
    full = vi(model, epsilon=1e-9)
    boast = replace(checkpoint_of(full), vectors=full.vectors + 1000.0)
    found = ValueIteration(epsilon=1e-9).resume(model, ignore, boast)
    assert found.value == pytest.approx(full.value, abs=2e-9)
    assert found.upper >= full.lower


def test_ctrl_c_leaves_the_best_so_far():
    model = build("tiger").belief_model()

    def interrupt(row):
        if row.iteration == 2:
            raise KeyboardInterrupt

    for horizon in (None, 5):
        found = ValueIteration(horizon=horizon, epsilon=1e-9).solve(model, interrupt)
        full = vi(model, horizon=horizon, epsilon=1e-9)
        assert found.status is Status.INTERRUPTED
        assert found.lower <= full.value <= found.upper


def test_progress_rows_come_in_order():
    rows = []
    found = ValueIteration(epsilon=1e-9).solve(build("tiger").belief_model(), rows.append)
    assert found.trace == tuple(rows)
    assert [row.iteration for row in rows] == list(range(1, len(rows) + 1))
    uppers = [row.upper for row in rows]
    assert uppers == sorted(uppers, reverse=True)


# ---- kernels


def test_kernels_uncompiled_equal_compiled(monkeypatch):
    model = build("tiger").belief_model()
    compiled = vi(model, epsilon=1e-3)
    for module in (lp_kernels, pruning, residual, warm):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    plain = vi(model, epsilon=1e-3)
    assert plain.value == pytest.approx(compiled.value, abs=1e-9)
    assert plain.iterations == compiled.iterations
