"""Every file of the third-party corpus, against the naive reader, which shares no code with it."""

from pathlib import Path

import pytest
from tests import naive_reader
from tests.conftest import corpus_files
from tests.io.oracle import assert_reads_like

from rpsr.errors import InputError
from rpsr.io.pomdp.reader import parse_pomdp, read_pomdp
from rpsr.io.pomdp.writer import format_pomdp

NEEDS_NORMALIZE = {"ejs7.POMDP"}
FILES = [pytest.param(path, id=path.name) for path in corpus_files()] or [
    pytest.param(None, id="no-corpus", marks=pytest.mark.skip("corpus: RPSR_CORPUS is not set"))
]


@pytest.mark.parametrize("path", FILES)
def test_reads_what_the_file_says_and_writes_it_back(path: Path):
    normalize = path.name in NEEDS_NORMALIZE
    record = read_pomdp(path, normalize=normalize)
    assert_reads_like(record, naive_reader.read(path))

    text = format_pomdp(record)
    again = parse_pomdp(text.encode(), place="again", name=record.name)
    assert again.digest() == record.digest()
    for rows in ("start", "transition", "emission"):
        assert getattr(again, rows).values.tobytes() == getattr(record, rows).values.tobytes()
    assert (again.resets == record.resets).all()


def test_a_row_that_sums_to_more_is_refused_at_its_line(corpus: Path):
    with pytest.raises(InputError) as refused:
        read_pomdp(corpus / "ejs7.POMDP")
    assert str(refused.value) == (
        f"{corpus / 'ejs7.POMDP'}:22:1: the 'O' row of action '1' and next state '1' sums to 1.1, "
        "expected 1 (--normalize rescales it)"
    )


def test_what_was_rescaled_is_said_once(corpus: Path):
    assert read_pomdp(corpus / "tiger.95.POMDP").warnings == ()
    (warning,) = read_pomdp(corpus / "baseball.POMDP.gz").warnings
    assert warning == "5120 rows were rescaled to sum to 1 (largest deviation 1e-06)"


def test_costs_are_turned_into_rewards_and_said(corpus: Path):
    record = read_pomdp(corpus / "ejs3.POMDP")
    assert "values: cost" in record.warnings[0]
