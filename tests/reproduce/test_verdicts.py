"""The rule by which a printed number agrees: rounding, noise, ranges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.reproduce.paper import Cell
from rpsr.reproduce.verdicts import Verdict, half_a_unit, judge, rounds_to, standard_error

ROOT = math.sqrt(1000)


def test_decimals_say_how_far_a_number_may_be_from_its_print():
    assert half_a_unit("1.33") == pytest.approx(0.005)
    assert half_a_unit("65.0") == pytest.approx(0.05)
    assert half_a_unit("7") == 0.5


def test_rounding_goes_both_ways_at_a_tie():
    assert rounds_to(0.25, "0.2")
    assert rounds_to(0.25, "0.3")
    assert not rounds_to(0.2501, "0.2")
    assert rounds_to(-0.04, "-0.0")


def test_a_deviation_printed_as_zero_is_less_than_a_twentieth():
    assert standard_error(Cell("7.1", "0.0", bold=False)) == pytest.approx(0.05 / ROOT)


@given(st.floats(-100, 100), st.floats(0, 50))
def test_what_rounds_to_the_print_agrees_whatever_the_noise(value, std):
    cell = Cell(f"{value:.1f}", f"{std:.1f}", bold=False)
    judgement = judge(cell, value, value)
    assert (judgement.verdict, judgement.distance, judgement.reason) == (Verdict.AGREES, 0.0, "")


@given(st.floats(-10, 10), st.floats(0, 5), st.floats(-10, 10))
def test_anything_in_the_range_of_optimal_policies_agrees(low, width, value):
    printed = f"{min(max(value, low), low + width):.1f}"
    assert judge(Cell(printed, "0.0", bold=False), low, low + width).verdict is Verdict.AGREES


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        (1.99, Verdict.AGREES),
        (2.01, Verdict.CHANCE),
        (2.99, Verdict.CHANCE),
        (3.01, Verdict.DIFFERS),
    ],
)
def test_distance_is_counted_in_standard_errors_beyond_rounding(errors, verdict):
    cell = Cell("5.0", "1.0", bold=False)
    exact = 5.0 + 0.05 + errors * 1.05 / ROOT
    judgement = judge(cell, exact, exact, reason="because")
    assert judgement.verdict is verdict
    assert judgement.distance == pytest.approx(errors, rel=1e-6)
    assert judgement.reason == ("" if verdict is Verdict.AGREES else "because")


def test_noise_of_our_own_counts_too():
    cell = Cell("5.0", "1.0", bold=False)
    theirs = standard_error(cell)
    assert judge(cell, 5.3, 5.3, stderr=theirs).distance == pytest.approx(
        judge(cell, 5.3, 5.3).distance / math.sqrt(2)
    )


def test_a_difference_without_a_reason_says_so():
    assert judge(Cell("5.0", "0.0", bold=False), 6, 6).reason == "no reason is known"
