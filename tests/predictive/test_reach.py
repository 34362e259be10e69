"""The error probability of an answer about reachable states."""

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from tests.predictive.rationals import FANO, determinant
from tests.predictive.small_models import fair_bets

from rpsr import POMDP
from rpsr.domains import tabulate
from rpsr.predictive import find_core, reach
from rpsr.predictive.rank.integer_sizes import chance_of_dividing


def test_a_prime_may_divide_any_of_three_minors(monkeypatch):
    """Of the beliefs, of the outcomes, and of their products: each of them may be the unlucky one.

    With one prime, the error probability is thus at least three times that of one minor.
    """
    monkeypatch.setattr(reach, "ERROR", 1.0)  # one prime is enough
    pomdp = fair_bets()
    intents = find_core(pomdp, "rpsr")
    blocks = len(set(intents.blocks.tolist()))
    one = chance_of_dividing(reach._bits(pomdp, intents, blocks - 1))
    _, error = reach.reachable_rank(pomdp, intents)
    assert one > 0
    assert error >= 3 * one
    assert error == pytest.approx(3 * one, rel=1e-3)  # candidates add a few times 1e-19


def test_a_product_of_beliefs_and_outcomes_has_minors_larger_than_its_entries():
    """Every number is 0 or 1, and yet a minor is 32. Each action moves to the next state, so that
    histories reach all seven, and action i shows bit i of the next one.
    """
    moves = np.repeat(np.roll(np.eye(7), 1, axis=1)[None], 7, axis=0)
    seen = np.stack([1 - FANO.T, FANO.T], axis=-1)  # [a, s', o]
    pomdp = POMDP.from_arrays(moves, seen, np.ones(7), np.eye(7)[0], 0.9, exact=True)
    outcomes = np.column_stack([pomdp.D[a][1].toarray().sum(axis=1) for a in range(7)])
    assert abs(determinant(outcomes)) == 32
    assert reach._bits(pomdp, find_core(pomdp, "psr"), 6) >= log2(32)


def test_the_start_has_a_denominator():
    """States that stay are seen. Of the start (98/101, 3/101) and of what follows when the first
    state was seen, cleared of the denominator 101, the minor is 98 * 3.
    """
    start = np.array([98 / 101, 3 / 101])
    pomdp = tabulate(
        name="two",
        states=(0, 1),
        actions=("stay",),
        observations=("x", "y"),
        start={0: Fraction(98, 101), 1: Fraction(3, 101)},
        transition=lambda state, _: {state: 1},
        emission=lambda _, state: {"x" if state == 0 else "y": 1},
        reward=lambda *_: 1,
        discount=Fraction(9, 10),
    )
    outcomes = np.column_stack([pomdp.D[0][o].toarray().sum(axis=1) for o in range(2)])
    beliefs = np.stack([start, start @ pomdp.D[0][0].toarray()]) * 101
    minor = determinant(np.round(beliefs @ outcomes, 9))
    assert abs(minor) == 98 * 3
    assert reach._bits(pomdp, find_core(pomdp, "psr"), 1) >= log2(98 * 3)


def test_every_start_after_an_unlucky_prime_may_err(monkeypatch):
    """The first prime disagrees with all others: the answer is that of the second start."""
    monkeypatch.setattr(reach, "ERROR", 0.2)
    pomdp = fair_bets()
    intents = find_core(pomdp, "rpsr")
    given = iter([7, 2, 2, 2])
    asked = reach._Question(pomdp, intents, intents)
    assert reach._agreed(asked, lambda *_: (next(given), 0.3), seed=0) == (2, 2 * 0.3**2)
