"""`POMDP.from_arrays`: every shape that people have, at any size."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.models.builders import Sizes, random_arrays, random_rows

from rpsr import POMDP, InputError, ModelError, find_core, load, psr, save

SIZES = Sizes(2, 3, 4)
A, S, O = SIZES.A, SIZES.S, SIZES.O


def transition_of(pomdp):
    return np.array([pomdp.transition(a).toarray() for a in range(len(pomdp.actions))])


def process_of(pomdp):
    return np.array([[block.toarray() for block in row] for row in pomdp.D])


# ---- shapes


def list_of(kind):
    return lambda T: [kind(block) for block in T]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda T: T, id="(A, S, S)"),
        pytest.param(lambda T: T.transpose(1, 0, 2), id="(S, A, S)"),
        pytest.param(lambda T: T.tolist(), id="nested lists"),
        pytest.param(lambda T: T.astype(object), id="objects"),
        pytest.param(list_of(np.asarray), id="list of arrays"),
        pytest.param(list_of(sp.csr_array), id="list of csr"),
        pytest.param(list_of(sp.csc_matrix), id="list of csc"),
        pytest.param(lambda T: tuple(map(sp.coo_array, T)), id="tuple of coo"),
        pytest.param(lambda T: [sp.csr_array(T[0]), T[1]], id="sparse and dense"),
    ],
)
def test_transitions_in_every_form(form):
    T, seen, R = random_arrays(0, SIZES)
    assert np.array_equal(transition_of(POMDP.from_arrays(form(T), seen, R)), T)


def test_observations_by_next_state():
    T, seen, R = random_arrays(1, SIZES)
    pomdp = POMDP.from_arrays(T, seen, R)
    assert np.array_equal([pomdp.emission(a).toarray() for a in range(A)], seen)
    expected = np.einsum("ast,ato->aost", T, seen)
    np.testing.assert_allclose(process_of(pomdp), expected, atol=1e-16)


def test_observations_by_edge():
    T, seen, R = random_arrays(2, SIZES, by_edge=True)
    pomdp = POMDP.from_arrays(T, seen, R)
    assert pomdp.record.emission_by_edge
    expected = np.einsum("ast,sato->aost", T, seen)
    np.testing.assert_allclose(process_of(pomdp), expected, atol=1e-16)


def test_observations_of_impossible_edges_do_not_matter():
    T, seen, R = random_arrays(2, SIZES, by_edge=True)
    broken = np.where((T.transpose(1, 0, 2) > 0)[..., None], seen, 7.0)
    assert POMDP.from_arrays(T, broken, R) == POMDP.from_arrays(T, seen, R)


@pytest.mark.parametrize(
    "axes", ["s", "sa", "as", "ast", "sat", "asto", "sato"], ids=lambda axes: f"({axes})"
)
@pytest.mark.parametrize("by_edge", [False, True])
def test_rewards_of_every_rank(axes, by_edge):
    T, seen, _ = random_arrays(3, SIZES, by_edge=by_edge)
    sizes = {"s": S, "a": A, "t": S, "o": O}
    R = np.random.default_rng(3).normal(size=[sizes[axis] for axis in axes])
    pomdp = POMDP.from_arrays(T, seen, R)
    full = np.einsum(f"{axes},s,a,t,o->sato", R, *(np.ones(sizes[axis]) for axis in "sato"))
    earned = pomdp.outcomes
    at = (earned.state, earned.action, earned.next_state, earned.observation)
    assert np.array_equal(earned.reward, full[at])
    np.testing.assert_allclose(
        pomdp.R, np.einsum("aost,sato->sa", process_of(pomdp), full), atol=1e-14
    )


def test_where_two_readings_fit_the_first_documented_one_is_taken():
    square = Sizes(3, 3, 2)
    T, seen, R = random_arrays(4, square)
    pomdp = POMDP.from_arrays(T, seen, R[:, :, 0, 0])
    assert np.array_equal(transition_of(pomdp), T)
    np.testing.assert_allclose(pomdp.R, R[:, :, 0, 0], atol=1e-15)


def test_start_is_uniform_or_given():
    T, seen, R = random_arrays(5, SIZES)
    assert POMDP.from_arrays(T, seen, R).start.tolist() == [1 / 3] * 3
    assert POMDP.from_arrays(T, seen, R, start=[0, 0.5, 0.5]).start.tolist() == [0, 0.5, 0.5]


def test_names_are_numbers_unless_given():
    T, seen, R = random_arrays(5, SIZES)
    assert POMDP.from_arrays(T, seen, R).states == ("0", "1", "2")
    names = {"actions": ["l", "r"], "states": "abc"}
    with pytest.raises(InputError, match="states: read 'abc', expected a list of 3 names"):
        POMDP.from_arrays(T, seen, R, names=names)
    pomdp = POMDP.from_arrays(T, seen, R, names=names | {"states": ["a", "b", "c"]}, name="walk")
    assert (pomdp.name, pomdp.actions, pomdp.states) == ("walk", ("l", "r"), ("a", "b", "c"))
    assert pomdp.observations == ("0", "1", "2", "3")


def test_what_is_given_in_floats_is_known_in_floats():
    pomdp = POMDP.from_arrays(*random_arrays(5, SIZES), discount=0.95)
    assert not pomdp.exact
    assert pomdp.record.discount == Fraction(19, 20)
    assert not pomdp.resets.any()


def test_sparse_matrices_given_are_not_changed():
    T, seen, R = random_arrays(0, Sizes(1, 3, 4))
    block = sp.csr_array(T[0])
    block.data[0] += 3e-6
    before = block.data.copy()
    pomdp = POMDP.from_arrays([block], seen, R)
    assert pomdp.warnings
    assert np.array_equal(block.data, before)


# ---- size


def test_thousands_of_states_are_never_made_dense():
    n, actions, observations = 5000, 2, 3
    rng = np.random.default_rng(8)
    columns = rng.integers(n, size=(actions, n, 4))
    indptr = np.arange(0, 4 * n + 1, 4)
    T = [
        sp.csr_array((np.full(4 * n, 0.25), columns[a].ravel(), indptr), shape=(n, n))
        for a in range(actions)
    ]
    seen = random_rows(rng, actions, n, observations)
    tracemalloc.start()
    try:
        pomdp = POMDP.from_arrays(T, seen, rng.normal(size=(n, actions)), discount=0.9)
        model = pomdp.belief_model()
        x = model.filter().update(0, int(np.argmax(model.predict(model.start, 0))))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert x.sum() == pytest.approx(1)
    assert pomdp.R.shape == (n, actions)
    assert peak < n * n * 8 / 4  # a single dense S x S array would be four times that


# ---- floats read as the decimals they print as


def thirds(**options):
    """Rows of tenths and of thirds, and a reward of a tenth."""
    moves = [[[0.1, 0.9], [1 / 3, 2 / 3]]]
    seen = [[[0.7, 0.3], [0.2, 0.8]]]
    return POMDP.from_arrays(moves, seen, [[0.1], [-3]], discount=0.9, **options)


def test_floats_are_read_as_the_decimals_they_print_as():
    pomdp = thirds(exact=True, name="thirds")
    assert pomdp.exact
    assert pomdp.name == "thirds"
    assert pomdp.warnings == ()
    assert pomdp.record.transition.fractions(0) == {0: Fraction(1, 10), 1: Fraction(9, 10)}
    # Sixteen threes and sixteen sixes, divided by their sum, are thirds to the last bit.
    assert pomdp.record.transition.fractions(1) == {0: Fraction(1, 3), 1: Fraction(2, 3)}
    assert pomdp.record.start.fractions(0) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert pomdp.exact_rewards() == ((Fraction(1, 10),), (Fraction(-3),))
    assert np.array_equal(pomdp.R, thirds().R)


def test_an_exact_model_of_arrays_is_the_one_that_its_file_holds(tmp_path):
    pomdp = thirds(exact=True)
    save(pomdp, tmp_path / "thirds.pomdp")
    again = load(tmp_path / "thirds.pomdp").record
    for kind in ("start", "transition", "emission"):
        mine, theirs = getattr(pomdp.record, kind), getattr(again, kind)
        assert all(mine.fractions(r) == theirs.fractions(r) for r in range(mine.height))
    assert again.rewards.exact == pomdp.record.rewards.exact


def test_a_core_of_the_users_own_needs_an_exact_model():
    core = find_core(thirds(exact=True), "psr").members
    assert psr(thirds(exact=True), core=core).rank == len(core)
    way_out = r"known only in floats: .*from_arrays\(\.\.\., exact=True\)"
    with pytest.raises(ModelError, match=way_out):
        psr(thirds(), core=core)
    with pytest.raises(ModelError, match=way_out):
        thirds().exact_rewards()


def test_single_precision_is_read_as_it_prints():
    moves = np.array([[[0.1, 0.9], [0.3, 0.7]]], dtype=np.float32)
    for given in (moves, [sp.csr_array(block) for block in moves]):
        pomdp = POMDP.from_arrays(given, np.ones((1, 2, 1)), [0, 1], exact=True)
        assert pomdp.record.transition.fractions(1) == {0: Fraction(3, 10), 1: Fraction(7, 10)}


def test_observations_by_edge_are_exact_too():
    seen = np.array([[[[0.1, 0.9], [0.5, 0.5]]], [[[1.0, 0.0], [0.3, 0.7]]]])
    pomdp = POMDP.from_arrays([[[0.5, 0.5], [0.5, 0.5]]], seen, [0, 1], exact=True)
    assert pomdp.exact
    assert pomdp.record.emission.fractions(3) == {0: Fraction(3, 10), 1: Fraction(7, 10)}


@pytest.mark.parametrize(
    ("reward", "read"),
    [(Fraction(1, 3), r"Fraction\(1, 3\)"), (2**53 + 1, "9007199254740993")],
)
def test_what_floats_do_not_hold_is_not_made_exact(reward, read):
    with pytest.raises(InputError, match=f"R: read {read}, expected a number .*tabulate"):
        POMDP.from_arrays([[[1.0]]], [[[1.0]]], [[reward]], exact=True)


def test_rows_that_are_off_are_judged_exactly():
    pomdp = POMDP.from_arrays([[[0.333333] * 3] * 3], np.ones((1, 3, 1)), [0] * 3, exact=True)
    assert pomdp.record.transition.fractions(0) == dict.fromkeys(range(3), Fraction(1, 3))
    assert pomdp.warnings == ("3 rows were rescaled to sum to 1 (largest deviation 1e-06)",)
    with pytest.raises(InputError, match=r"T\[a=0, s=0\]: the row sums to 0\.9"):
        POMDP.from_arrays([[[0.9]]], [[[1.0]]], [0], exact=True)
