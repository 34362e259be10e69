"""Is a PSR enough? The paper's table, exact oracles, reachability, and named merges."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.models.builders import Sizes, random_arrays, rarely_seen
from tests.predictive.exact_accuracy import accuracy_in_fractions, pomdps
from tests.predictive.rationals import random_pomdp
from tests.predictive.small_models import (
    HALF,
    balanced_walk,
    blind,
    fair_bets,
    fuse,
    hidden_coin,
    loaded_coin,
    with_a_cellar,
)
from tests.strategies import few, records

from rpsr.domains import NAMES, build
from rpsr.errors import ModelError
from rpsr.models.pomdp import POMDP
from rpsr.predictive import accuracy, find_core, reachable_rank, reachable_states
from rpsr.predictive.reward_accuracy import Merge, costly_merges, reward_errors

FEW = settings(max_examples=few(25))
PAPER = {  # d_inf and relative d_inf as printed
    "4x3": ("1.0", "1.0"),
    "heavenhell": ("1.0", "1.0"),
    "iff": ("48.93", "0.75"),
    "line4-2goals": ("0.6", "0.75"),
    "loadunload": ("0.5", "0.5"),
    "paint": ("1.33", "1.33"),
    "parr": ("1.0", "0.5"),
    "stand-tiger": ("65.0", "0.65"),
}


def printed(number: float, like: str) -> str:
    """A number with as many decimals as another one was printed with."""
    return f"{number:.{len(like.partition('.')[2])}f}"


# ---- the paper's table


@pytest.mark.parametrize("name", PAPER)
def test_the_errors_of_the_eight_domains_are_the_papers(name):
    answer = accuracy(build(name))
    assert not answer.accurate
    assert not answer.accurate_reachable
    assert (
        printed(answer.d_inf, PAPER[name][0]),
        printed(answer.rel_d_inf, PAPER[name][1]),
    ) == PAPER[name]
    assert answer.rpsr_d_inf <= 1e-15 * np.abs(build(name).R).max() * 10
    assert answer.certified
    assert answer.error_probability < 1e-8


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PAPER)))
def test_every_other_built_in_domain_is_accurate(name):
    answer = accuracy(build(name))
    assert answer.accurate
    assert answer.accurate_reachable
    assert answer.psr.rank == answer.rpsr.rank
    assert (answer.d_inf, answer.d_inf_reachable, answer.history_error) == (0, 0, (0, 0))
    assert answer.merges == ()


def test_errors_are_told_by_action_too():
    answer = accuracy(build("paint"))
    assert answer.d_inf == answer.d_inf_by_action.max()
    by_action = dict(zip(build("paint").actions, answer.d_inf_by_action, strict=True))
    assert by_action == pytest.approx({"paint": 0, "inspect": 0, "ship": 4 / 3, "reject": 2 / 3})


def test_d_inf_is_the_largest_entry():
    gap = np.abs(build("loadunload").R - accuracy(build("loadunload")).reconstruction)
    assert gap.max() == pytest.approx(0.5)  # as printed
    assert gap.sum(axis=1).max() == pytest.approx(1)  # the operator norm would be another number


SMALLEST = {"iff": 32.5, "line4-2goals": 0.4, "paint": 1.0}


@pytest.mark.parametrize("name", PAPER)
def test_least_squares_are_not_the_smallest_d_inf(name):
    pomdp, answer = build(name), accuracy(build(name))
    labels = answer.psr.labels
    assert answer.psr.rank == labels.max() + 1  # any values that are constant on blocks will do
    ranges = [np.ptp(pomdp.R[labels == block], axis=0).max() for block in np.unique(labels)]
    assert max(ranges) / 2 == pytest.approx(SMALLEST.get(name, answer.d_inf))


# ---- against fractions


@FEW
@given(pomdp=pomdps())
def test_everything_is_what_fractions_say(pomdp):
    measured, truth = accuracy(pomdp), accuracy_in_fractions(pomdp)
    assert (measured.psr.rank, measured.accurate) == (truth.psr_rank, truth.accurate)
    assert measured.accurate_reachable == truth.accurate_reachable
    size = float(np.abs(pomdp.R).max())
    assert measured.d_inf == pytest.approx(float(truth.d_inf), abs=1e-9 * size)
    assert measured.d_inf_reachable == pytest.approx(float(truth.d_inf_reachable), abs=1e-9 * size)
    assert (measured.d_inf == 0) == measured.accurate


CANCELLING = st.sampled_from([Fraction(v) for v in (0, 1, 7000001, -3000000, 10**15, -(10**15))])


@FEW
@given(record=records(exact=True, rewards=CANCELLING))
def test_errors_of_rewards_that_cancel_are_what_fractions_say(record):
    pomdp = POMDP(record)
    measured, truth = accuracy(pomdp), accuracy_in_fractions(pomdp)
    assert measured.d_inf == pytest.approx(float(truth.d_inf), rel=1e-12)
    assert measured.d_inf_reachable == pytest.approx(float(truth.d_inf_reachable), rel=1e-12)


def test_probabilities_of_a_millionth_of_a_millionth_fit_rewards():
    pomdp = rarely_seen(Fraction(1, 10**12))
    measured, truth = accuracy(pomdp), accuracy_in_fractions(pomdp)
    assert (truth.accurate_reachable, truth.d_inf_reachable) == (True, 0)
    assert (measured.accurate_reachable, measured.d_inf_reachable) == (True, 0)


def test_errors_that_neither_floats_nor_fractions_tell_are_none(monkeypatch):
    monkeypatch.setattr(sys.modules[accuracy.__module__], "EXACT_WORK", 0)
    noisy = np.linalg.qr(np.array([[1, 1, 1.0], [0, 1e-10, 0.5]]).T)[0]
    pomdp = hidden_coin()
    core = replace(find_core(pomdp, "psr"), certified=False)
    states = np.arange(len(pomdp.states)) < 2
    basis = np.vstack([noisy, np.zeros((len(states), 2))])[: len(states)]
    assert reward_errors(pomdp, replace(core, basis=basis), states) is None


@FEW
@given(pomdp=pomdps())
def test_what_can_be_visited_is_a_model_of_its_own(pomdp):
    # The reachable states alone are a POMDP, and d_inf_reachable is its d_inf.
    visited = np.flatnonzero(reachable_states(pomdp))
    D = np.stack([[d.toarray()[np.ix_(visited, visited)] for d in row] for row in pomdp.D])
    assert D.sum(axis=(1, 3)) == pytest.approx(1)
    T, R = D.sum(axis=1), pomdp.R[visited]
    seen = np.divide(D, T[:, None], where=T[:, None] > 0, out=np.zeros_like(D))
    seen[:, 0] += T == 0  # observations in impossible transitions have no effect
    alone = POMDP.from_arrays(T, seen.transpose(2, 0, 3, 1), R, start=pomdp.start[visited])
    errors = reward_errors(pomdp, find_core(pomdp, "psr"), reachable_states(pomdp))
    try:
        answer = accuracy(alone)
    except ModelError:
        reject()  # the rank is not clear in floats
    assert answer.d_inf == pytest.approx(errors.max(), abs=1e-7 * np.abs(pomdp.R).max())


@pytest.mark.parametrize("seed", range(12))
def test_floats_agree_where_their_margin_is_clear(seed):
    pomdp = random_pomdp(seed, ["any", "merged", "mixed"][seed % 3], 3 + seed % 4)
    floats, exact = accuracy(pomdp, exact=False), accuracy(pomdp)
    assert (floats.certified, floats.error_probability) == (False, None)
    for key in ("accurate", "accurate_reachable", "d_inf", "d_inf_reachable"):
        assert getattr(floats, key) == pytest.approx(getattr(exact, key), abs=1e-9)
    assert (floats.psr.rank, floats.rpsr.rank) == (exact.psr.rank, exact.rpsr.rank)


def test_floats_do_not_fit_rewards_with_rounding_errors():
    # Of two blocks, one is never visited: on the others' states the basis is singular, up to
    # rounding, and what rounding leaves must not be used to fit them.
    pomdp = blind(
        4,
        move=lambda s, _: {0: HALF, 1: HALF} if s < 2 else {s: 1},
        reward=lambda s, _: (0, 1, 0, 0)[s],
        start={0: 1},
    )
    core, rng = find_core(pomdp, "psr"), np.random.default_rng(0)
    basis = np.linalg.qr(np.array([[1, 1, 1, 1], [0, 0, 0, 1.0]]).T)[0]
    noisy = replace(
        core, certified=False, error=1e-11, basis=basis + 1e-12 * rng.normal(size=basis.shape)
    )
    errors = reward_errors(pomdp, noisy, np.array([True, True, False, False]))
    assert errors.max() == pytest.approx(0.5)


def test_a_model_known_only_in_floats_has_no_exact_answer():
    pomdp = POMDP.from_arrays(*random_arrays(0, Sizes(2, 3, 2)))
    assert not accuracy(pomdp).certified
    with pytest.raises(ModelError, match="known only in floats"):
        accuracy(pomdp, exact=True)


# ---- reachability


@pytest.mark.parametrize("make", [hidden_coin, balanced_walk])
def test_every_state_is_reachable_and_yet_the_condition_is_not_needed(make):
    pomdp = make()
    answer = accuracy(pomdp)
    assert reachable_states(pomdp).all()
    assert not answer.accurate
    assert answer.accurate_reachable
    assert answer.d_inf_reachable == answer.d_inf > 0
    assert answer.history_error == pytest.approx((0, 0), abs=1e-12)


def test_hidden_coins_keep_beliefs_in_a_hyperplane():
    pomdp = balanced_walk()
    assert accuracy(pomdp).rpsr.rank == len(pomdp.states) == 6
    assert reachable_rank(pomdp, find_core(pomdp, "rpsr"))[0] == 3


def test_rewards_that_cancel_in_every_belief_need_no_more_than_a_psr():
    # Beliefs have denominators, so that residues modulo a prime are large numbers.
    pomdp = loaded_coin()
    answer = accuracy(pomdp)
    assert (answer.psr.rank, answer.rpsr.rank) == (1, 3)
    assert not answer.accurate
    assert answer.accurate_reachable
    assert reachable_rank(pomdp, find_core(pomdp, "rpsr"))[0] == 1


def test_states_that_are_never_visited_do_not_count_for_d_inf_reachable():
    answer = accuracy(with_a_cellar())
    assert reachable_states(with_a_cellar()).tolist() == [True, True, False]
    assert (answer.d_inf, answer.d_inf_reachable) == (3, 0.5)
    assert not answer.accurate_reachable


def test_errors_along_histories_are_those_of_beliefs():
    # Blind, and never twice in the same state: every belief is a corner.
    answer = accuracy(build("line4-2goals"), seed=3)
    assert 0 < answer.history_error[0] <= answer.history_error[1] <= answer.d_inf


# ---- merges


def test_costly_merges_are_named():
    merges = [str(merge) for merge in accuracy(hidden_coin()).merges]
    assert merges == [
        "no test distinguishes states 0 and 1, but the reward of action go is 0 in 0, 1 in 1"
    ]
    first, last = accuracy(build("loadunload")).merges
    assert str(first) == (
        "no test distinguishes states loaded-0 and empty-0, "
        "but the reward of actions right and left is 0 in loaded-0, 1 in empty-0"
    )
    assert last.states == ("loaded-4", "empty-4")


def test_merges_that_cost_nothing_are_counted_and_not_named():
    answer = accuracy(build("loadunload"))
    assert (answer.merged_states, answer.merged_groups) == (10, 5)
    assert {s for merge in answer.merges for s in merge.states} == {
        "loaded-0", "empty-0", "loaded-4", "empty-4"
    }  # fmt: skip


@pytest.mark.parametrize(("entered", "apart"), [([0, 0.5, 0.5], True), ([0, 1, 0], False)])
def test_only_observations_that_can_be_made_tell_states_apart(entered, apart):
    # Without an entry, what would be observed on arrival says nothing.
    transitions = np.array([[entered, [1, 0, 0], [1, 0, 0]]])
    emissions = np.array([[[0.5, 0.5], [1, 0], [0, 1]]])
    pomdp = POMDP.from_arrays(transitions, emissions, np.array([[0], [0], [1]]))
    (merge,) = costly_merges(pomdp, np.array([0, 1, 1]))
    assert merge.seen_apart == apart
    assert merge.remark.startswith(" (observations on entering these states differ") == apart


def test_rounding_is_no_cost():
    answer = accuracy(fair_bets())
    assert answer.accurate
    assert not fair_bets().R[:, 0].any()  # what is 0 on average is 0
    assert answer.merges == ()
    assert costly_merges(fair_bets(), np.array([0, 0])) == ()


@pytest.mark.parametrize(("paid", "costly"), [(1.0, False), (1.001, True)])
def test_a_fair_bet_costs_no_more_than_none_in_floats(paid, costly):
    rewards = np.full((1, 2, 2, 3), paid)
    rewards[0, 0] = 1 + np.array([3e6, 2e6, -1e6])
    emissions = np.tile([0.1, 0.2, 0.7], (1, 2, 1))
    pomdp = POMDP.from_arrays(np.eye(2)[None], emissions, rewards)
    assert pomdp.R[0, 0] not in (1, paid)  # a rounding error
    assert bool(costly_merges(pomdp, np.array([0, 0]))) == costly


def test_a_merge_of_many_states_is_told_briefly_and_without_contradiction():
    many = Merge(tuple("abcdefg"), ("go",), (1, 1, 1, 1, 1, 1, 2))
    assert str(many) == (
        "no test distinguishes states a, b, c and 4 more, "
        "but the reward of action go is 1 in a, b, c and 3 more, 2 in g"
    )
    close = Merge(("a", "b", "c"), ("go",), (0.1 + 0.2, 0.3, 0.3000001))
    assert str(close).endswith("the reward of action go is 0.3 in a and b, 0.3000001 in c")


def test_outcomes_that_underflow_do_not_spoil_the_answer():
    answer = accuracy(fuse())
    assert (answer.psr.rank, answer.rpsr.rank) == (40, 41)
    assert answer.d_inf == 0.5


def test_the_margin_is_that_of_the_less_clear_core():
    """Tests and intents are accepted and rejected by different margins; the worse ones count."""
    pomdp = build("loadunload")
    measured = accuracy(pomdp, exact=False)
    tests, intents = (find_core(pomdp, kind, exact=False).margin for kind in ("psr", "rpsr"))
    assert tests[0] != intents[0]
    assert tests[1] != intents[1]
    assert measured.margin == (min(tests[0], intents[0]), max(tests[1], intents[1]))
