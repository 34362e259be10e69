"""Pieces that verify what they answer."""

from types import SimpleNamespace

import pytest

from rpsr.domains import build
from rpsr.reproduce import tables
from rpsr.reproduce.pieces import Piece, _verified, answer


@pytest.fixture(scope="module")
def row():
    return answer(Piece("errors", "loadunload"))[0]


def test_ranks_and_accuracy_are_verified_by_a_certificate(row):
    assert row["verified"] is True
    assert (row["psr_rank"], row["rpsr_rank"], row["accurate"]) == (5, 9, False)


def test_a_row_that_the_certificate_contradicts_is_not_verified(row):
    assert _verified(build("loadunload"), row)
    assert not _verified(build("loadunload"), row | {"psr_rank": 6})
    assert not _verified(build("tiger"), row)


def test_the_table_says_how_many_were_verified(row):
    everything = SimpleNamespace(
        errors={"loadunload": row, "4x3": row | {"verified": False}},
        right_errors={"loadunload": (True, True), "4x3": (True, True)},
    )
    said = " ".join(tables.errors(everything).footnotes)
    assert "prove the ranks and the accuracy of 1 of 2 domains" in said
