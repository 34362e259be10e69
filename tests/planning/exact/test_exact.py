"""Exact value iteration: analytic answers, enumeration, three representations, certificates."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, pomdps, random_exact, rotated
from tests.planning.plans import ignore, vi
from tests.strategies import few

from rpsr import POMDP, ModelError
from rpsr.domains import build
from rpsr.planning import solve
from rpsr.planning.corners import covering, moves, point_backups, pruning, simplex_method
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact import branch_and_bound, projections
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.faces import maximal_faces
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.solution import Status
from rpsr.planning.value.value_function import action_values
from rpsr.predictive.constructors import psr, rpsr


def one_state(discount):
    return POMDP.from_arrays(
        np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.array([[1.0, 2.5]]), discount=discount
    ).belief_model()


# ---- answers one can write down


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("horizon", [1, 3, 10])
def test_one_state_sums_its_best_reward(discount, horizon):
    plan = vi(one_state(discount), horizon=horizon)
    answer = 2.5 * sum(discount**t for t in range(horizon))
    assert plan.lower <= answer <= plan.upper
    assert plan.value == pytest.approx(answer, rel=1e-13)
    assert plan.status is Status.HORIZON


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95])
def test_one_state_with_an_infinite_horizon(discount):
    plan = vi(one_state(discount), epsilon=1e-9)
    assert plan.lower <= 2.5 / (1 - discount) <= plan.upper
    assert plan.gap <= 2.1e-9
    assert plan.status is Status.SOLVED


def test_a_chain_that_pays_at_its_end():
    moves = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    rewards = np.array([[0.0], [0.0], [1.0]])
    chain = POMDP.from_arrays(
        moves, np.ones((1, 3, 1)), rewards, start=np.array([1.0, 0.0, 0.0]), discount=0.9
    )
    plan = vi(chain.belief_model(), epsilon=1e-10)
    assert plan.lower <= 0.81 / 0.1 <= plan.upper
    assert plan.value == pytest.approx(8.1, abs=1e-10)


# ---- finite horizons


@given(pomdps(), st.integers(1, 3))
@settings(max_examples=few(25))
def test_incremental_pruning_equals_enumeration(pomdp, horizon):
    model = pomdp.belief_model()
    try:
        oracle = Enumeration(horizon=horizon).solve(model, ignore)
    except ModelError:  # too many trees to list
        return
    plan = vi(model, horizon=horizon)
    points = np.random.default_rng(0).dirichlet(np.ones(model.dimension), size=100)
    for ours, theirs in zip(plan.stages, oracle.stages, strict=True):
        values = [stage.at(points) for stage in (ours, theirs)]
        assert values[0] == pytest.approx(values[1], abs=1e-10)
    assert plan.lower - 1e-12 <= oracle.value <= plan.upper + 1e-12


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
        assert len(stage) == len(other)
        value, answer = stage.at(model.start[None])[0], other.at(pomdp.start[None])[0]
        assert value == pytest.approx(answer, abs=1e-9)


def in_fractions(model, horizon):
    """The optimal value of a number of steps, with every float read as a fraction."""
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
@settings(max_examples=few(15))
@pytest.mark.parametrize("planner", [ValueIteration, Enumeration, Reachable])
def test_bounds_of_a_horizon_hold_to_the_last_bit(planner, seed, horizon):
    model = random_exact(seed, Sizes(2, 3, 2)).belief_model()
    plan = planner(horizon=horizon).solve(model, ignore)
    assert Fraction(plan.lower) <= in_fractions(model, horizon) <= Fraction(plan.upper)


# ---- infinite horizons


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=few(30))
def test_the_proven_interval_holds_the_optimum(seed, A, S, O):
    model = random_exact(seed, Sizes(A, S, O)).with_discount("0.5").belief_model()
    plan, finer = vi(model, epsilon=1e-4, time_limit=5), vi(model, epsilon=1e-7, time_limit=5)
    assert plan.status is Status.SOLVED
    assert plan.epsilon <= 1e-4
    assert max(plan.lower, finer.lower) <= min(plan.upper, finer.upper)
    points = np.random.default_rng(0).dirichlet(np.ones(S), size=50)
    if finer.status is Status.SOLVED:
        assert np.abs(plan.value_at(points) - finer.value_at(points)).max() <= 1.002e-4


@given(st.integers(0, 10**6))
@settings(max_examples=few(10))
def test_infinite_horizons_agree_with_enumeration(seed):
    model = random_exact(seed, Sizes(2, 2, 2)).with_discount("0.3").belief_model()
    plan, oracle = vi(model, epsilon=1e-6), Enumeration(epsilon=1e-3).solve(model, ignore)
    assert max(plan.lower, oracle.lower) <= min(plan.upper, oracle.upper)
    points = np.random.default_rng(0).dirichlet(np.ones(2), size=50)
    assert np.abs(plan.value_at(points) - oracle.value_at(points)).max() <= 1.01e-3


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
    plan, exact = vi(model, epsilon=1e-9), Reachable().solve(model, ignore)
    assert plan.status is Status.SOLVED
    assert plan.lower - 1e-12 <= exact.value <= plan.upper + 1e-12


def test_every_vector_is_at_most_its_backup():
    model = build("stand-tiger").belief_model()
    plan = vi(model, epsilon=1e-9)
    for vector, a, after in zip(plan.vectors, plan.actions, plan.successors, strict=True):
        backup = model.rewards[:, a] + model.discount * sum(
            model.operators.right(plan.vectors[i][None], int(a), o)[0] for o, i in enumerate(after)
        )
        assert (vector <= backup + 1e-9 * (1 - model.discount)).all()


def test_the_bellman_residual_at_random_states_is_within_the_proven_one():
    model = build("tiger").belief_model()
    plan = vi(model, epsilon=1e-6)
    for x in np.random.default_rng(0).dirichlet(np.ones(2), size=200):
        best = -np.inf
        for a in range(len(model.actions)):
            total = float(x @ model.rewards[:, a])
            for o in range(len(model.observations)):
                after = model.operators.left(x[None], a, o)[0]
                total += model.discount * float((plan.vectors @ after).max())
            best = max(best, total)
        assert best - float(plan.value_at(x)[0]) <= plan.residual + 1e-12


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
    plan = vi(build("heavenhell").with_discount("0.95").belief_model(), epsilon=1e-9)
    assert plan.status is Status.SOLVED
    assert plan.extras["faces"] is not None


# ---- kernels


def test_kernels_uncompiled_equal_compiled(monkeypatch):
    model = build("tiger").belief_model()
    compiled = vi(model, epsilon=1e-3)
    for module in (
        point_backups,
        covering,
        simplex_method,
        moves,
        pruning,
        projections,
        branch_and_bound,
    ):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    plain = vi(model, epsilon=1e-3)
    assert plain.value == pytest.approx(compiled.value, abs=1e-9)
    assert plain.iterations == compiled.iterations


@pytest.mark.parametrize("planner", [ValueIteration, Enumeration])
def test_every_step_of_a_horizon_adds_its_rounding_errors_to_the_bounds(planner):
    model = build("tiger").with_discount(None)
    plans = [solve(model, planner(horizon=steps)) for steps in range(1, 6)]
    assert np.all(np.diff([plan.value - plan.lower for plan in plans]) > 0)
    assert np.all(np.diff([plan.upper - plan.value for plan in plans]) > 0)
