"""Random files: read as the naive reader reads them, and written back to the same model."""

from pathlib import Path

import pytest
from hypothesis import event, given, settings
from tests import naive_reader
from tests.io.oracle import assert_reads_like
from tests.io.pomdp.test_writer_properties import assert_survives
from tests.io.texts import texts
from tests.strategies import few

from rpsr.errors import InputError
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.records import Record


def complete(naive: naive_reader.NaivePOMDP) -> bool:
    """Whether every row that matters has a positive entry."""
    pairs = [(a, s) for a in range(len(naive.actions)) for s in range(len(naive.states))]
    if not all(naive.T.get(pair) for pair in pairs):
        return False
    if not naive.OO:
        return all(naive.O.get(pair) for pair in pairs)
    return all(naive.observation_row(a, s, t) for a, s in pairs for t in naive.T[a, s])


def read_naively(content: str, folder: Path) -> naive_reader.NaivePOMDP:
    path = folder / "random.pomdp"
    path.write_text(content, encoding="utf-8", newline="")
    return naive_reader.read(path)


def read(content: str) -> Record:
    return parse_pomdp(content.encode(), place="f", name="f", normalize=True)


@settings(max_examples=few(300))
@given(text=texts())
def test_random_files_are_read_as_the_naive_reader_reads_them(tmp_path_factory, text):
    naive = read_naively(text.content, tmp_path_factory.getbasetemp())
    event(f"complete: {complete(naive)}")
    if complete(naive):
        record = read(text.content)
        assert_reads_like(record, naive)
        assert_survives(record)
    else:
        with pytest.raises(InputError, match=r"is missing|sums to 0, expected 1"):
            read(text.content)
