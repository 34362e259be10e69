"""The error probability of an answer about reachable states."""

import pytest
from tests.predictive.small_models import fair_bets

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
