"""Plain records: exact rows, correctly rounded quotients, and a fingerprint of what matters."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io.reading import NAMES, REST, read
from tests.strategies import exact_rows, float_rows, records

from rpsr.io.records import Record, Rows, frozen, integers, ratios

MODEL = NAMES + REST


@given(st.lists(st.tuples(st.integers(0, 10**40), st.integers(1, 10**40)), max_size=5))
def test_ratios_are_correctly_rounded(pairs):
    numerators, denominators = integers([n for n, _ in pairs]), integers([d for _, d in pairs])
    expected = [float(Fraction(n, d)) for n, d in pairs]
    assert ratios(numerators, denominators).tolist() == expected


def test_ratios_just_beyond_what_floats_count_exactly():
    numerators, denominators = np.array([2**53 + 1]), np.array([2**53 + 3])
    assert ratios(numerators, denominators).tolist() == [(2**53 + 1) / (2**53 + 3)]


def test_integers_are_small_where_their_sum_is():
    assert integers([2**61, 1]).dtype == object
    assert integers([2**60, 1]).dtype == np.int64
    assert integers([10**30]).tolist() == [10**30]
    assert integers([]).dtype == np.int64


def test_a_frozen_array_is_nobodys_view():
    source = np.arange(6)
    kept = frozen(source[::2])
    source[0] = 9
    assert kept.tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1


def test_rows_known_only_in_floats_have_no_fractions():
    rows = float_rows([((0, 1), (1, 2), -1)], 2)
    with pytest.raises(ValueError, match="only in floats"):
        rows.fractions(0)
    with pytest.raises(ValueError, match="only in floats"):
        rows.totals()


@given(records())
def test_outcomes_are_the_products_of_transitions_and_emissions(record: Record):
    edge, entry = record.outcome_entries()
    row_of_edge = record.emission_row_of_edge()
    expected = [
        (e, k)
        for e, row in enumerate(row_of_edge.tolist())
        for k in range(int(record.emission.indptr[row]), int(record.emission.indptr[row + 1]))
    ]
    assert list(zip(edge.tolist(), entry.tolist(), strict=True)) == expected
    assert len(record.rewards.index) == len(expected) == record.outcomes_of_edge().sum()
    n, cells = len(record.states), record.outcome_cells(edge, entry)
    sources, targets = record.transition.row_of_entry(), record.transition.indices
    assert list(zip(*(indices.tolist() for indices in cells), strict=True)) == [
        (*divmod(int(sources[e]), n), targets[e], record.emission.indices[k]) for e, k in expected
    ]


# ---- the fingerprint


def test_the_fingerprint_is_of_the_model_and_not_of_how_it_was_printed():
    one = read(MODEL + "T: a : s .5 .5\nR: a : s : s : x 1.50")
    other = read("# other\n" + MODEL + "T: a : s 0.50 .500\nR: a : 0 : 0 : 0 15e-1")
    assert one.digest() == other.digest()
    assert one.digest() == replace(one, name="n", warnings=("w",)).digest()
    assert read(MODEL + "T: b : t : t 0.9999999999999").digest() == read(MODEL).digest()


@pytest.mark.parametrize(
    "statement",
    ["discount: 0.9", "start: s", "T: a : s .5 .5", "O: a : s .4 .6", "R: a : s : s : x 1",
     "T: b : t 1e-13 0.9999999999999", "OO: * : * : * uniform", "T: * uniform", "T: * reset"],
)  # fmt: skip
def test_any_difference_of_the_model_shows(statement):
    assert read(MODEL + statement).digest() != read(MODEL).digest()


def test_reset_rows_are_told_from_rows_that_look_like_them():
    same = "start: .5 .5\n"
    assert (
        read(MODEL + same + "T: a : s reset").digest()
        != read(MODEL + same + "T: a : s uniform").digest()
    )


def test_the_fingerprint_does_not_depend_on_how_wide_integers_are_kept():
    rows = exact_rows([((0, 1), (1, 2), -1)] * 4, 2)
    assert rows.weights is not None
    wide = Rows(2, rows.indptr, rows.indices, rows.values, rows.weights.astype(object) * 10**30)
    record = read(NAMES + "T: * uniform\nO: * uniform")
    assert replace(record, transition=wide).digest() == replace(record, transition=rows).digest()
