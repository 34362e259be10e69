"""Core sets: found or given by a user, checked, and read in their own coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, random_arrays
from tests.predictive.exact_accuracy import pomdps
from tests.predictive.rationals import LiteralSearch
from tests.predictive.small_models import fuse
from tests.strategies import few

from rpsr.domains import build
from rpsr.errors import InputError, ModelError
from rpsr.models.pomdp import POMDP
from rpsr.predictive import (
    CoreView,
    Test,
    approximate_rewards,
    expect,
    find_core,
    future_vector,
    given_core,
    pomdp_rewards,
    psr,
    reachable_restriction,
    reconstruct,
    rpsr,
    state_after,
)
from rpsr.predictive.core import as_future

LOAD_UNLOAD = build("loadunload")
TABLE = {  # the paper's core tests of load/unload with their outcomes, as printed
    "left loading": "1111000000",
    "right travel": "1111110000",
    "right unloading": "0000001111",
    "right travel, left loading": "1100000000",
    "left travel, right travel": "0000111100",
}
PRINTED = [0.5, -0.5, -0.5, 0.5, 0.5]
OURS = [-0.5, 0.5, 0.5, 0.5, -0.5]


def table() -> np.ndarray:
    return np.array([[int(digit) for digit in row] for row in TABLE.values()]).T


# ---- the paper's case study


def test_the_papers_core_tests_have_the_papers_outcomes():
    core = given_core(LOAD_UNLOAD, "psr", TABLE)
    assert [str(member) for member in core.members] == list(TABLE)
    assert np.array_equal(core.outcomes, table())
    assert core.certified
    assert core.error_probability == 0
    assert not core.accurate


def test_the_reconstruction_is_the_papers():
    core = given_core(LOAD_UNLOAD, "psr", TABLE)
    half = np.array([0.5, 0.5, 0, 0, 0, 0, 0, 0, 0.5, 0.5])
    rebuilt = reconstruct(core, LOAD_UNLOAD.R)
    assert rebuilt == pytest.approx(np.stack([half, half], axis=1), abs=1e-14)


def test_the_reward_vector_in_the_tables_order_is_ours_not_the_printed_one():
    rewards = CoreView(psr(LOAD_UNLOAD, core=TABLE)).R
    assert rewards == pytest.approx(np.array([OURS, OURS]).T, abs=1e-14)
    assert (table() @ PRINTED)[8:].tolist() == [-0.5, -0.5]
    assert (table() @ OURS).tolist() == [0.5, 0.5, 0, 0, 0, 0, 0, 0, 0.5, 0.5]


def test_the_printed_reward_vector_fits_the_tests_in_another_order():
    order = [3, 4, 0, 2, 1]
    names = [list(TABLE)[i] for i in order]
    assert approximate_rewards(given_core(LOAD_UNLOAD, "psr", names), LOAD_UNLOAD.R)[
        :, 0
    ] == pytest.approx(PRINTED)


@pytest.mark.parametrize(
    ("order", "last"),
    [
        (["loading", "travel", "unloading"], "left travel, right travel"),
        (["loading", "unloading", "travel"], "left travel, right unloading"),
    ],
)
def test_the_papers_core_tests_are_found_with_observations_in_another_order(order, last):
    search = LiteralSearch(LOAD_UNLOAD, rewards=False)
    indices = [LOAD_UNLOAD.observations.index(name) for name in order]
    search.steps = [(a, o) for a in range(2) for o in indices]
    core = {str(as_future(LOAD_UNLOAD, member, "psr")) for member in search.breadth_first()}
    assert core == {*list(TABLE)[:4], last}


# ---- cores given by a user


def test_futures_may_be_given_as_values_too():
    core = given_core(LOAD_UNLOAD, "psr", [Test.parse(text) for text in TABLE])
    assert np.array_equal(core.outcomes, table())


def test_the_empty_test_may_be_a_member():
    core = given_core(
        LOAD_UNLOAD, "psr", ["ε", *(text for text in TABLE if text != "right travel")]
    )
    assert core.rank == 5
    assert (core.outcomes[:, 0] == 1).all()


@pytest.mark.parametrize(
    ("kind", "futures", "message"),
    [
        (
            "psr",
            list(TABLE)[:4],
            "core: the set is not maximal: left travel, right travel is linearly",
        ),
        ("psr", [], "core: the set is not maximal: right unloading is linearly independent"),
        ("psr", ["ε", *TABLE], "core: the outcome of right unloading depends linearly on"),
        ("psr", [*TABLE, "left travel"], "core: the outcome of left travel depends linearly on"),
        ("psr", [*TABLE, "left loading"], "core: read left loading twice"),
        (
            "psr",
            ["right loading", *TABLE],
            "core: the outcome of right loading depends linearly on",
        ),
        ("psr", ["left loading; ζ"], "core: read the intent left loading; ζ, expected tests"),
        ("rpsr", list(TABLE), "core: read the test left loading, expected intents"),
        ("rpsr", ["ε; ζ"], "core: the set is not maximal: ε; right is linearly independent"),
        ("psr", ["left nowhere"], "no observation is called 'nowhere'"),
        ("psr", ["jump travel"], "no action is called 'jump'"),
        ("rpsr", ["ε; jump"], "no action is called 'jump'"),
        ("psr", ["left"], "'left': expected pairs"),
    ],
)
def test_a_wrong_set_is_refused_and_what_is_wrong_is_named(kind, futures, message):
    with pytest.raises(InputError) as caught:
        given_core(LOAD_UNLOAD, kind, futures)
    assert message in str(caught.value)


def test_a_given_core_needs_an_exact_model():
    pomdp = POMDP.from_arrays(*random_arrays(0, Sizes(2, 3, 2)))
    with pytest.raises(ModelError, match="known only in floats"):
        given_core(pomdp, "psr", ["0 0"])


@pytest.mark.parametrize("kind", ["psr", "rpsr"])
@settings(max_examples=few(25))
@given(pomdp=pomdps(), seed=st.integers(0, 2**32 - 1))
def test_what_a_search_finds_is_a_core_in_any_order(pomdp, kind, seed):
    searched = find_core(pomdp, kind, search="dfs")
    order = np.random.default_rng(seed).permutation(searched.rank)
    core = given_core(pomdp, kind, [str(searched.members[i]) for i in order])
    assert np.array_equal(core.outcomes, searched.outcomes[:, order])
    assert core.accurate == searched.accurate
    if core.rank > 1:
        with pytest.raises(InputError, match="not maximal"):
            given_core(pomdp, kind, core.members[1:])


# ---- the core's own coordinates


def test_views_are_the_papers_matrices():
    model = psr(LOAD_UNLOAD, core=TABLE)
    view = CoreView(model)
    U = table()
    pinv = np.linalg.pinv(U)
    outcomes = view.U
    assert outcomes == pytest.approx(U, abs=1e-12)
    assert view.condition_number == pytest.approx(np.linalg.cond(U))
    for a in range(2):
        for o in range(3):
            assert view.M(a, o) == pytest.approx(pinv @ (LOAD_UNLOAD.D[a][o] @ U), abs=1e-12)
    test = "left travel, left travel, left loading"
    assert view.m(test) == pytest.approx(
        pinv @ [1 if s in (6, 7) else 0 for s in range(10)], abs=1e-12
    )
    start = state_after(model, ())
    assert view.state(start) == pytest.approx(U.mean(axis=0))


def test_predictions_after_a_history_are_counted_by_hand():
    # After "left loading" the cart is at the loading end, loaded for sure or having just arrived.
    for model in (psr(LOAD_UNLOAD), rpsr(LOAD_UNLOAD), psr(LOAD_UNLOAD, core=TABLE)):
        assert expect(model, "left loading") == pytest.approx(0.4)
        assert expect(model, "right travel, right travel", "left loading") == pytest.approx(1)
        assert expect(model, "right unloading", [("left", "loading")]) == pytest.approx(0)
        assert expect(model, "ε", [(1, 0)]) == pytest.approx(1)
    # Four carts: (0, loaded), (0, empty), (1, loaded) arrive loaded, (1, empty) arrives empty.
    assert expect(rpsr(LOAD_UNLOAD), "ε; left", "left loading") == pytest.approx(1 / 4)
    assert expect(psr(LOAD_UNLOAD), "ε; left", "left loading") == pytest.approx(1 / 2)


def test_the_vector_of_a_future_is_its_outcome_seen_from_the_model():
    model = rpsr(LOAD_UNLOAD)
    core = find_core(LOAD_UNLOAD, "rpsr")
    for i, member in enumerate(core.members):
        vector = future_vector(model, member)
        assert core.basis @ vector == pytest.approx(core.outcomes[:, i], abs=1e-12)
    assert model.coordinates == pytest.approx(
        np.stack([future_vector(model, text) for text in model.core], axis=1)
    )


def test_the_margin_says_how_clear_the_decisions_were():
    core = find_core(LOAD_UNLOAD, "psr")
    assert core.margin[0] > 0.5
    assert core.margin[1] < 1e-14


def test_outcomes_that_underflow_are_told_and_do_not_end_in_a_traceback():
    core = find_core(fuse(), "psr")
    assert core.rank == 40
    assert core.condition_number == np.inf
    with pytest.raises(ModelError, match="too large for core coordinates in floats"):
        _ = CoreView(psr(fuse(), core=core)).R
    with pytest.raises(ModelError, match="too large for core coordinates in floats"):
        approximate_rewards(core, fuse().R)


def test_a_model_without_corners_or_core_has_no_such_view():
    with pytest.raises(ModelError, match="has no core set, so no"):
        CoreView(reachable_restriction(rpsr(LOAD_UNLOAD)).model)


# ---- rewards of the user's own


def test_weights_say_which_states_matter():
    core = find_core(LOAD_UNLOAD, "psr")
    weights = np.ones(10)
    weights[1] = 3
    rebuilt = reconstruct(core, LOAD_UNLOAD.R, weights)
    assert rebuilt[:, 0] == pytest.approx([0.75, 0.75, 0, 0, 0, 0, 0, 0, 0.5, 0.5], abs=1e-12)
    fitted = pomdp_rewards(core, approximate_rewards(core, LOAD_UNLOAD.R, weights))
    assert fitted == pytest.approx(rebuilt, abs=1e-12)


def test_states_of_no_weight_are_left_alone():
    weights = np.zeros(10)
    weights[1] = 1
    rebuilt = reconstruct(find_core(LOAD_UNLOAD, "psr"), LOAD_UNLOAD.R, weights)
    assert rebuilt[:, 0] == pytest.approx([1, 1] + 8 * [0], abs=1e-12)


@pytest.mark.parametrize("weights", [np.ones(9), -np.ones(10), np.zeros(10), np.full(10, np.nan)])
def test_weights_that_are_none_are_refused(weights):
    core = find_core(LOAD_UNLOAD, "psr")
    with pytest.raises(InputError, match="expected 10 non-negative numbers, not all zero"):
        reconstruct(core, LOAD_UNLOAD.R, weights)


def test_rewards_of_another_size_are_refused():
    core = find_core(LOAD_UNLOAD, "psr")
    with pytest.raises(InputError, match=r"rewards: read shape \(10,\), expected \(10, A\)"):
        reconstruct(core, LOAD_UNLOAD.R[:, 0])
