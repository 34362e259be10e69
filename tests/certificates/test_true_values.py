"""What damaged certificates are judged by, against values by hand and the bracket."""

from fractions import Fraction

import pytest
from tests.certificates.true_values import controller_value, meant, optimal_value, ranks_of
from tests.differential.oracle import Oracle

from rpsr.domains import build


def test_the_tiger_has_its_known_value():
    """Optimal is to listen until one side was heard twice more often than the other, then open."""
    discount, again = Fraction("0.95"), Fraction("0.745")  # .85^2 + .15^2: heard on that side again
    right = Fraction("0.7225") / again
    opening = 10 * right - 100 * (1 - right)
    returns = discount**2 * (again * discount + 1 - again)
    value = (-1 - discount + discount**2 * again * opening) / (1 - returns)
    assert optimal_value(build("tiger")) == (value, value)


@pytest.mark.parametrize("name", ["1d", "loadunload", "parr", "shuttle"])
def test_values_are_known_exactly_and_lie_in_the_bracket(name):
    value = optimal_value(build(name))
    assert value.lower == value.upper
    low, high = Oracle(meant(build(name))).optimal(100)
    assert low <= value.lower <= high


def test_two_steps_of_tiger_are_two_costs():
    """Two steps of listening cost 2, and no belief after one of them is worth opening a door."""
    assert optimal_value(build("tiger"), 2) == (-2, -2)


def test_listening_costs_one_at_every_step():
    line = {"actions": [0], "successors": [[0, 0]], "first": 0}
    assert controller_value(meant(build("tiger")), line) == -20


def test_ranks_by_elimination():
    assert ranks_of(build("loadunload")) == (5, 9, False)
    assert ranks_of(build("tiger")) == (2, 2, True)
