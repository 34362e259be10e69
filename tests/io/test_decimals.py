"""Rows of rationals as decimals: the reader must get the floats and the rationals back."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rpsr.errors import InputError
from rpsr.io.decimals import (
    decimal,
    finite_digits,
    float_probabilities,
    number,
    probabilities,
    reads_as,
    shortest,
)

WEIGHTS = st.lists(st.integers(1, 10**30), min_size=1, max_size=6)


def assert_reads_back(texts: list[str], weights: list[int], values: list[float]) -> None:
    """As the reader does it, dividing by the sum; and as one that does not divide."""
    exact = [Fraction(text) for text in texts]
    assert abs(sum(exact) - 1) <= Fraction(1, 10**12)
    assert [float(text) for text in texts] == values
    total = sum(weights)
    assert [p / sum(exact) for p in exact] == [Fraction(w, total) for w in weights]


@given(WEIGHTS)
def test_any_row_of_rationals_reads_back(weights):
    values = [w / sum(weights) for w in weights]
    assert_reads_back(probabilities(weights, values, -1), weights, values)


@given(st.lists(st.floats(1e-300, 1.0), min_size=1, max_size=6))
def test_a_row_of_floats_that_is_a_rounded_distribution_reads_back(weights):
    total = sum(map(Fraction, weights))
    values = [float(Fraction(w) / total) for w in weights]
    assume(min(values) > 1e-300)
    texts = float_probabilities(values)
    assert reads_as(texts, values)
    assert abs(sum(map(Fraction, texts)) - 1) <= Fraction(1, 10**12)


def test_a_row_of_floats_that_is_none_is_printed_as_it_is():
    values = [0.3333333333333, 0.3333333333333, 0.3333333333333]
    texts = float_probabilities(values)
    assert [float(text) for text in texts] == values
    assert not reads_as(texts, values)


def test_thirds_need_no_more_digits_than_a_float():
    assert probabilities([1, 2], [1 / 3, 2 / 3], -1) == ["0.3333333333333333", "0.6666666666666666"]


def test_finite_decimals_are_printed_as_they_are():
    assert probabilities([3, 5], [0.375, 0.625], -1) == ["0.375", "0.625"]
    assert probabilities([9, 15], [0.375, 0.625], -1) == ["0.375", "0.625"]


def test_printed_decimals_are_printed_again():
    assert probabilities([333333, 666666], [1 / 3, 2 / 3], 6) == ["0.333333", "0.666666"]
    assert probabilities([50, 50], [0.5, 0.5], 2) == ["0.5", "0.5"]


def test_decimals_that_only_normalizing_accepted_are_not():
    assert probabilities([5, 6], [5 / 11, 6 / 11], 1) != ["0.5", "0.6"]
    assert_reads_back(probabilities([5, 6], [5 / 11, 6 / 11], 1), [5, 6], [5 / 11, 6 / 11])


def test_a_value_half_way_between_two_floats_is_rounded_as_it_was():
    # (2**53 + 3) / 2**54 lies half-way, and rounds up to even: from below it would round down.
    half_way, whole = 3 * (2**53 + 3), 3 * 2**54
    weights = [half_way, 1, whole - half_way - 1]
    values = [w / whole for w in weights]
    assert_reads_back(probabilities(weights, values, -1), weights, values)


def test_a_row_that_no_decimals_can_say_is_refused():
    with pytest.raises(InputError, match="cannot be written as decimals that read back"):
        probabilities([1, 2], [0.25, 0.75], -1)


def test_plain_decimals():
    assert decimal(-1250, 3) == "-1.25"
    assert decimal(5, 3) == "0.005"
    assert decimal(700, 0) == "700"
    assert decimal(0, 4) == "0"


@pytest.mark.parametrize(
    ("denominator", "digits"), [(1, 0), (8, 3), (50, 2), (3, None), (2**400, 400), (2**401, None)]
)
def test_finite_digits(denominator, digits):
    assert finite_digits(denominator) == digits


def test_numbers():
    assert number(Fraction(-3, 8)) == "-0.375"
    assert number(Fraction(10**30)) == "1" + "0" * 30
    assert number(Fraction(1, 3)) == "0.3333333333333333"
    assert float(number(Fraction(1, 2**500))) == 2.0**-500
    assert shortest(1.0) == "1"
    assert shortest(0.1) == "0.1"
