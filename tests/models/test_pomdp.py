"""The POMDP as a value: what it holds, what follows from it, and that nobody can change it."""

from dataclasses import FrozenInstanceError, fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from tests.models.builders import Sizes, dense_process, pomdps, random_arrays, random_exact

from rpsr import POMDP, InputError, ModelError
from rpsr.domains import build, tabulate

SIZES = Sizes(2, 3, 2)


def one_way_street(*, noise: Fraction = Fraction(0)) -> POMDP:
    """Two states: 'go' leads from the first to the second, where nothing ever happens."""
    return tabulate(
        name="street",
        states=["here", "there"],
        actions=["go"],
        observations=["quiet", "loud"],
        start={"here": 1},
        transition=lambda _s, _a: {"there": 1},
        emission=lambda _a, _t: {"quiet": 1 - noise, "loud": noise},
        reward=lambda s, _a, _t, _o: int(s == "here"),
        discount=Fraction(1, 2),
    )


# ---- immutability


@pytest.mark.parametrize("name", ["record", "R", "D", "start", "outcomes", "digest", "invented"])
def test_no_attribute_can_be_set(name):
    with pytest.raises(FrozenInstanceError):
        setattr(build("tiger"), name, 0)


def test_no_array_can_be_written():
    tiger = build("tiger")
    arrays = [tiger.start, tiger.R, tiger.resets, tiger.absorbing]
    arrays += [getattr(tiger.outcomes, field.name) for field in fields(tiger.outcomes)]
    for matrix in (tiger.transition(0), tiger.emission(0), tiger.D[0][0]):
        arrays += [matrix.data, matrix.indices, matrix.indptr]
    for rows in (tiger.record.start, tiger.record.transition, tiger.record.emission):
        arrays += [rows.values, rows.indices, rows.indptr, rows.weights, rows.digits]
    for array in arrays:
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_arrays_given_stay_the_callers_own():
    T, O, R = random_arrays(0, SIZES)
    before = POMDP.from_arrays(T, O, R)
    digest = before.digest
    T[:], O[:], R[:] = 0, 0, 0
    assert before.R.any()
    assert before.record.digest() == digest


# ---- equality


def test_equal_models_are_equal_and_hash_alike_whatever_their_name():
    one, two = build("tiger"), build("tiger").with_name("other")
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two}) == 1
    assert two.name == "other"


@pytest.mark.parametrize("other", ["tiger:accuracy=0.8", "tiger:discount=0.9", "paint"])
def test_different_models_differ(other):
    assert build("tiger") != build(other)


def test_a_model_is_no_string():
    assert build("tiger") != "tiger"


def test_floats_and_fractions_of_the_same_numbers_are_different_knowledge():
    street = one_way_street()
    T, O = street.transition(0).toarray()[None], street.emission(0).toarray()[None]
    known = {"states": street.states, "actions": street.actions}
    floats = POMDP.from_arrays(
        T, O, street.R, street.start, 0.5, known | {"observations": street.observations}
    )
    assert np.array_equal(floats.R, street.R)
    assert floats != street


def test_repr_names_the_model_and_its_sizes():
    assert str(build("tiger")) == ("<POMDP 'tiger': 2 states, 3 actions, 2 observations, exact>")
    shown = repr(build("tiger"))
    assert "  rewards       -100 to 10" in shown.splitlines()
    table = build("tiger").with_name("<b>")._repr_html_()
    assert "&lt;b&gt;" in table
    assert "<td" in table


# ---- its matrices


@given(pomdps())
def test_the_process_is_the_joint_probability(pomdp):
    D = np.array([[block.toarray() for block in row] for row in pomdp.D])
    assert pytest.approx(dense_process(pomdp), abs=1e-15) == D


@given(pomdps())
def test_the_process_is_canonical(pomdp):
    for row in pomdp.D:
        for block in row:
            assert block.has_canonical_format
            assert block.nnz == 0 or block.data.min() > 0


@given(pomdps())
def test_transitions_follow_from_the_process(pomdp):
    for a in range(len(pomdp.actions)):
        summed = sum(block.toarray() for block in pomdp.D[a])
        assert summed == pytest.approx(pomdp.transition(a).toarray(), abs=1e-15)


@pytest.mark.parametrize("name", ["tiger", "4x3", "hallway"])
def test_the_process_is_transition_times_emission(name):
    pomdp = build(name)
    for a, row in enumerate(pomdp.D):
        T, O = pomdp.transition(a).toarray(), pomdp.emission(a).toarray()
        for o, block in enumerate(row):
            np.testing.assert_allclose(block.toarray(), T * O[:, o], rtol=0, atol=1e-16)


def test_actions_are_named_or_numbered():
    tiger = build("tiger")
    assert (tiger.transition("listen") != tiger.transition(tiger.actions.index("listen"))).nnz == 0
    for action in ("lissen", -1, 3, 1.0):
        with pytest.raises(InputError, match="action"):
            tiger.transition(action)
        with pytest.raises(InputError, match="action"):
            tiger.emission(action)


def test_an_emission_by_edge_has_no_matrix_per_next_state():
    pomdp = random_exact(1, SIZES, by_edge=True)
    with pytest.raises(ModelError, match=r"depend on \(s, a, s'\)"):
        pomdp.emission(0)


def test_start_is_a_dense_distribution():
    pomdp = random_exact(5, SIZES)
    exact = pomdp.record.start.fractions(0)
    assert pomdp.start.shape == (3,)
    assert pomdp.start.tolist() == [float(exact.get(s, 0)) for s in range(3)]


# ---- rewards


@given(pomdps())
def test_expected_rewards_by_the_definition(pomdp):
    D, R = dense_process(pomdp), np.zeros((len(pomdp.states), len(pomdp.actions)))
    o = pomdp.outcomes
    full = np.zeros(D.shape)
    full[o.action, o.observation, o.state, o.next_state] = o.reward
    for a in range(len(pomdp.actions)):
        R[:, a] = (D[a] * full[a]).sum(axis=(0, 2))
    assert pytest.approx(R, abs=1e-14) == pomdp.R


@given(pomdps())
def test_exact_rewards_agree_with_the_floats(pomdp):
    table = pomdp.exact_rewards()
    assert all(isinstance(value, Fraction) for row in table for value in row)
    rounded = np.array([[float(value) for value in row] for row in table])
    assert rounded == pytest.approx(pomdp.R, abs=1e-14)


def test_exact_rewards_are_exact():
    noisy = one_way_street(noise=Fraction(1, 3))
    assert noisy.exact_rewards() == ((1,), (0,))
    assert build("4x3").exact_rewards()[0][0] == Fraction(-1, 25)


def test_a_constant_reward_is_not_rounded_by_averaging():
    pomdp = build("4x3")  # every step costs 0.04, under probabilities 0.1, 0.8, 0.1
    assert -0.04 in pomdp.R[:, 0].tolist()


def test_a_reward_too_small_for_a_float_still_counts_exactly():
    tiny = Fraction(1, 10**400)
    pomdp = tabulate(
        name="tiny",
        states=[0],
        actions=["a"],
        observations=["o"],
        start={0: 1},
        transition=lambda *_: {0: 1},
        emission=lambda *_: {"o": 1},
        reward=lambda *_: tiny,
        discount=None,
    )
    assert pomdp.exact_rewards() == ((tiny,),)


def test_floats_have_no_exact_rewards():
    pomdp = POMDP.from_arrays(*random_arrays(0, SIZES))
    assert not pomdp.exact
    with pytest.raises(ModelError, match="known only in floats"):
        pomdp.exact_rewards()


# ---- ends, resets and discounts


def test_absorbing_states_neither_move_nor_earn():
    assert one_way_street().absorbing.tolist() == [False, True]
    assert not build("tiger").absorbing.any()


def test_a_state_that_earns_is_not_absorbing():
    O = np.ones((1, 2, 1))
    pomdp = POMDP.from_arrays(np.eye(2)[None], O, np.array([0.0, 1.0]))
    assert pomdp.absorbing.tolist() == [True, False]


def test_resets_are_kept_apart_from_moves():
    pomdp = build("tiger")
    assert pomdp.resets.shape == (3, 2)
    assert not pomdp.resets.any()


@pytest.mark.parametrize(
    ("discount", "value"),
    [(0.95, Fraction(19, 20)), ("1/3", Fraction(1, 3)), (1, 1), (None, None), ("0", 0)],
)
def test_a_discount_is_the_fraction_it_says(discount, value):
    pomdp = build("tiger").with_discount(discount)
    assert pomdp.record.discount == value
    assert pomdp.discount == (None if value is None else float(value))


@pytest.mark.parametrize(
    "discount", [-0.1, 1.1, float("nan"), "x", "", "1/0", True, [1], "1e-999999999"]
)
def test_a_bad_discount_is_refused(discount):
    with pytest.raises(InputError, match=r"discount: read .*, expected a number in \[0, 1\]"):
        build("tiger").with_discount(discount)


def test_a_new_discount_changes_nothing_else():
    tiger = build("tiger")
    other = tiger.with_discount(0.5)
    assert other != tiger
    assert other.with_discount(0.95) == tiger
    assert other.name == tiger.name
