"""Memory for reading: sizes as people write them, and what may be taken of a file."""

import tracemalloc

import pytest

from rpsr.errors import InputError
from rpsr.io.allowance import FACTOR, LIMIT, allowance, excess, parse_size, show_size
from rpsr.io.pomdp.reader import CELL_BYTES, parse_pomdp


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("4GiB", 2**32), ("4 gib", 2**32), ("1.5GB", 1_500_000_000), ("2g", 2 * 10**9)),
        *(
            ("500M", 5 * 10**8),
            ("12KiB", 12288),
            ("7", 7),
            ("7B", 7),
            ("1TiB", 2**40),
            ("1e3", 1000),
            (".5K", 500),
        ),
        *(("", None), ("4XB", None), ("-1", None), ("nan", None), ("i", None), ("e3", None)),
        *(("3i", None), ("9" * 31, None)),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


def test_what_may_be_taken(monkeypatch):
    monkeypatch.delenv("RPSR_READ_LIMIT", raising=False)
    assert allowance(0) == allowance(1000) == LIMIT
    assert allowance(2**30) == FACTOR * 2**30
    monkeypatch.setenv("RPSR_READ_LIMIT", "10MB")
    assert allowance(0) == 10**7
    assert excess(10**7, 0) is None
    message = "reading takes 9.6 MiB of memory, the limit is 9.5 MiB (set RPSR_READ_LIMIT"
    assert str(excess(10**7 + 10**5, 0)).startswith(message)
    monkeypatch.setenv("RPSR_READ_LIMIT", "much")
    with pytest.raises(InputError, match="RPSR_READ_LIMIT: read 'much', expected a size such as"):
        allowance(0)
    assert show_size(12) == "12 bytes"


def uniform(states, actions=1):
    lines = f"states: {states}\nactions: {actions}\nobservations: 1\nT: * uniform\nO: * uniform\n"
    return lines.encode()


def test_a_few_lines_that_stand_for_gigabytes_are_refused_unless_allowed(monkeypatch):
    with pytest.raises(InputError, match=r"^f:4:1: 'T' .* 19360000 prob.*: reading .* 3\.2 GiB"):
        parse_pomdp(uniform(4400), place="f", name="f")
    monkeypatch.setenv("RPSR_READ_LIMIT", "1MB")
    with pytest.raises(InputError, match="'T' statements stand for 10000 prob"):
        parse_pomdp(uniform(100), place="f", name="f")
    monkeypatch.setenv("RPSR_READ_LIMIT", "2MB")
    assert len(parse_pomdp(uniform(100), place="f", name="f").transition.indices) == 10_000


def test_repeated_keywords_are_counted_before_they_are_written_out():
    head = "states: 100000\nactions: 1\nobservations: 1\nO: * uniform\n"
    for body in ("T: 0 identity\n", "T: 0 reset\n"):
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match=r"statements stand for .* probabilities: reading"):
                parse_pomdp((head + body * 1000).encode(), place="f", name="f")
            assert tracemalloc.get_traced_memory()[1] < 200 * 10**6
        finally:
            tracemalloc.stop()


def test_a_cell_takes_no_more_than_is_counted():
    tracemalloc.start()
    try:
        record = parse_pomdp(uniform(700), place="f", name="f")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    cells = len(record.transition.indices)
    assert cells == 490_000
    assert peak <= CELL_BYTES * cells
