"""Orthonormal bases of the span of outcomes, three ways, and how far they leak."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.predictive.exact_accuracy import accuracy_in_fractions, pomdps, residual
from tests.predictive.rationals import LiteralSearch, random_pomdp
from tests.predictive.small_models import fair_bets, flaw, mixture
from tests.strategies import few

from rpsr.domains import build, tabulate
from rpsr.errors import ModelError
from rpsr.models.pomdp import POMDP
from rpsr.predictive import core as core_module
from rpsr.predictive import find_core
from rpsr.predictive.rank import certify
from rpsr.predictive.rank.echelon import ModularArithmetic
from rpsr.predictive.rank.modular_search import Spans
from rpsr.predictive.rank.span import (
    block_basis,
    closure_basis,
    leak,
    rational_basis,
    rewards_in_span,
)
from rpsr.predictive.reward_accuracy import reward_errors
from rpsr.sources import load_pomdp

FEW = settings(max_examples=few(25))


def assert_spans(basis, pomdp, *, rewards: bool) -> None:
    """The basis is orthonormal and spans what the paper's search finds, in fractions."""
    search = LiteralSearch(pomdp, rewards=rewards)
    search.breadth_first()
    assert basis.shape == (len(pomdp.states), len(search.vectors))
    assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]), abs=1e-12)
    for column in basis.T:
        left = residual(search.vectors, [Fraction(float(x)) for x in column])
        assert max(abs(float(x)) for x in left) < 1e-9


def assert_same_rows(basis, labels) -> None:
    """Labels are those of equal rows, numbered in order."""
    apart = np.abs(basis[:, None] - basis[None]).max(axis=2)
    assert np.array_equal(apart < 1e-9, labels[:, None] == labels[None])
    assert labels[np.sort(np.unique(labels, return_index=True)[1])].tolist() == [
        *range(labels.max() + 1)
    ]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_blocks_have_an_orthonormal_basis_of_indicators(labels):
    labels = np.unique(np.array(labels), return_inverse=True)[1]
    basis = block_basis(labels)
    assert basis.T @ basis == pytest.approx(np.eye(labels.max() + 1))
    assert (basis > 0).sum(axis=1).tolist() == [1] * len(labels)
    assert (np.argmax(basis, axis=1) == labels).all()


@pytest.mark.parametrize("rewards", [False, True])
@FEW
@given(pomdp=pomdps())
def test_the_basis_from_rationals_spans_the_outcomes(pomdp, rewards):
    basis = rational_basis(Spans.of(pomdp, rewards=rewards))
    assume(basis is not None)
    assert_spans(basis[0], pomdp, rewards=rewards)
    assert_same_rows(*basis[:2])
    assert basis[2] < 1e-10


@pytest.mark.parametrize("rewards", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_basis_by_closure_spans_the_outcomes(seed, rewards):
    pomdp = random_pomdp(seed, ["any", "merged", "mixed"][seed % 3], 3 + seed % 4)
    basis, labels, (kept, dropped) = closure_basis(pomdp, rewards=rewards)
    assert kept > 1e-3
    assert dropped < 1e-12
    assert_spans(basis, pomdp, rewards=rewards)
    assert_same_rows(basis, labels)


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_what_only_a_rare_observation_shows_is_as_clear_as_anything(digits):
    pomdp = flaw(Fraction(1, 10**digits))
    basis, _, (kept, _) = closure_basis(pomdp, rewards=False)
    assert kept > 0.1
    assert_spans(basis, pomdp, rewards=False)


def test_small_rationals_are_found_and_large_ones_are_not_guessed():
    small, large = mixture(Fraction(1, 3)), mixture(Fraction("0.314159265359"))
    basis = rational_basis(Spans.of(small, rewards=False))
    assert basis is not None
    assert leak(small, basis[0]) < 1e-15
    assert rational_basis(Spans.of(large, rewards=False)) is None


@pytest.mark.parametrize("k", range(20))
def test_no_basis_is_wrong_whatever_the_weights(k):
    pomdp = mixture(Fraction(123456789 + k * 31337, 10**12))
    core = find_core(pomdp, "psr")
    assert core.rank == 2
    assert_spans(core.basis, pomdp, rewards=False)


@pytest.fixture
def searched(monkeypatch):
    """The primes modulo which outcome vectors are searched, one after another."""
    primes: list[int] = []
    begin = ModularArithmetic.__init__

    def noted(self, operators, base, shape, prime, rng):
        primes.append(prime)
        begin(self, operators, base, shape, prime, rng)

    monkeypatch.setattr(ModularArithmetic, "__init__", noted)
    return primes


@pytest.mark.parametrize("search", ["bfs", "dfs"])
def test_a_prime_is_searched_once_for_certificate_and_basis(searched, search):
    core = find_core(mixture(Fraction(1, 3)), "psr", search=search)
    assert (core.rank, core.certified) == (2, True)
    assert len(searched) == len(set(searched)) == 3


def test_longer_fractions_use_more_primes_after_the_earlier_ones(searched):
    pomdp = mixture(Fraction("0.314159265359"))
    core = find_core(pomdp, "psr")
    assert not core.accurate
    searched.clear()
    errors = reward_errors(pomdp, core)
    assert errors is not None
    assert errors.max() == pytest.approx(float(accuracy_in_fractions(pomdp).d_inf), rel=1e-12)
    assert len(searched) == len(set(searched)) > 3


def test_a_leak_is_measured():
    pomdp = build("loadunload")
    core = find_core(pomdp, "rpsr")
    assert leak(pomdp, core.basis) < 1e-14
    assert leak(pomdp, core.basis[:, 1:]) > 0.01


def test_rewards_that_cancel_are_in_the_span():
    basis, _, _ = closure_basis(fair_bets(), rewards=False)
    assert basis.shape == (2, 1)
    assert rewards_in_span(fair_bets(), basis).tolist() == [True, True]
    loaded = build("loadunload")
    assert rewards_in_span(loaded, closure_basis(loaded, rewards=False)[0]).tolist() == [False] * 2


def test_rewards_that_cancel_are_no_direction_for_floats():
    assert find_core(fair_bets(), "rpsr", exact=False).rank == 1


@pytest.mark.parametrize("file", ["saci-s100-a10-z31.POMDP", "aloha.30.POMDP.gz", "mit.POMDP"])
def test_floats_find_the_rank_where_long_tests_are_nearly_dependent(corpus, file):
    pomdp = load_pomdp(corpus / file)
    floats, exact = find_core(pomdp, "psr", exact=False, named=False), find_core(pomdp, "psr")
    assert floats.rank == exact.rank
    assert floats.margin[0] > 0.01
    assert exact.condition_number > 1e6


def rare_move(chance: Fraction) -> POMDP:
    """Two states that only a rare move tells apart."""
    half = Fraction(1, 2)
    return tabulate(
        name="rare-move",
        states=[0, 1, 2],
        actions=["wait"],
        observations=["x", "y"],
        start={1: 1},
        transition=lambda s, _a: {0: chance, 1: 1 - chance} if s == 1 else {s: 1},
        emission=lambda _a, t: {"x": 1} if t == 0 else {"x": half, "y": half},
        reward=lambda s, *_: int(s == 2),
        discount=None,
    )


@pytest.mark.parametrize("digits", range(1, 7))
def test_floats_see_a_rare_move(digits):
    pomdp = rare_move(Fraction(1, 10**digits))
    assert find_core(pomdp, "psr", exact=False, named=False).rank == 3


@pytest.mark.parametrize("digits", range(7, 13))
def test_floats_say_that_a_move_is_too_rare_for_them(digits):
    pomdp = rare_move(Fraction(1, 10**digits))
    with pytest.raises(ModelError, match="floats cannot decide the rank"):
        find_core(pomdp, "psr", exact=False, named=False)
    assert find_core(pomdp, "psr").rank == 3


def test_a_rank_that_the_most_primes_do_not_prove_is_refused(monkeypatch):
    pomdp = mixture(Fraction(1, 3))  # whose rank is not that of blocks
    assert find_core(pomdp, "psr").certified
    monkeypatch.setattr(certify, "_MOST_PRIMES", 1)
    with pytest.raises(ModelError, match=r"denominators of .* are too large to certify the rank"):
        find_core(pomdp, "psr")


def test_a_basis_of_another_rank_is_refused(monkeypatch):
    pomdp = mixture(Fraction("0.314159265359"))
    whole = np.eye(3), np.arange(3), (1.0, 0.0)
    monkeypatch.setattr(core_module, "closure_basis", lambda *_, **__: whole)
    with pytest.raises(
        ModelError, match="the rank is 2, but rounding errors prevent a basis of that size"
    ):
        find_core(pomdp, "psr")


def test_probabilities_whose_squares_underflow():
    one = np.ones((1, 1, 1))
    rare = POMDP.from_arrays(one, np.array([[[1e-300, 1.0]]]), [[1.0]], discount=0.5)
    assert leak(rare, np.ones((1, 1))) == 0.0
