"""Every reader ends in a value or in one line, on inputs that once failed and on new ones.

CONTRIBUTING.md says how to fuzz for longer.
"""

import gzip
import io
import os
import random
from itertools import islice
from pathlib import Path

import pyarrow as arrow
import pytest
from pyarrow import parquet
from tests.fuzz.__main__ import NAMES, main
from tests.fuzz.limits import ENFORCED, TooSlow, ending, limits
from tests.fuzz.loop import endings, run
from tests.fuzz.mutations import LARGEST, damage_table, grow
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.seeds import DATA, LAMP, kept_inputs

from rpsr.errors import LONGEST, InputError

INPUTS = 25  # damaged files per reader
linux = pytest.mark.skipif(not ENFORCED, reason="the system does not enforce the limits")


def test_every_reader_can_be_named():
    assert tuple(READERS) == NAMES
    assert {path.name for path in DATA.iterdir()} <= set(NAMES)


@pytest.fixture
def memory_only(monkeypatch):
    """No test depends on a clock."""
    monkeypatch.setattr("tests.fuzz.limits.SECONDS", 60.0)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_end_in_a_value_or_in_one_line(name, tmp_path):
    reader = READERS[name]
    for seed in reader.seeds:
        path = tmp_path / f"seed{reader.suffix}"
        path.write_bytes(seed)
        assert ending(reader, path, limited=False).key.startswith("value"), seed
    for _, ended in islice(endings(reader, 0, tmp_path, limited=False), 2 * INPUTS):
        assert ended.failure is None


@pytest.mark.parametrize(
    ("name", "path"), [(n, p) for n in NAMES for p in kept_inputs(n)], ids=lambda v: Path(v).name
)
def test_inputs_that_are_kept(name, path, tmp_path, memory_only):
    reader = READERS[name]
    seed = tmp_path / f"seed{reader.suffix}"
    seed.write_bytes(reader.seeds[0])
    ending(reader, seed, limited=False)  # imports what is imported on first use
    copy = tmp_path / path.name  # a survey that continues its file changes it
    copy.write_bytes(path.read_bytes())
    assert ending(reader, copy).failure is None


def test_every_reader_has_inputs_that_are_kept():
    assert {path.name for path in DATA.iterdir()} == set(NAMES)


@linux
def test_inputs_are_collected_by_their_endings(tmp_path, capsys):
    arguments = ["timings", "--collect", "2", "--seconds", "1", "--keep", str(tmp_path)]
    assert main(arguments) == 0
    assert "timings: 2 written" in capsys.readouterr().out
    first, second = (tmp_path / "timings").glob("value-*.json")
    assert ending(READERS["timings"], first).key != ending(READERS["timings"], second).key


def reader_that(read):
    return Reader("pomdp", ".pomdp", read)


def of(read, tmp_path):
    path = tmp_path / "input.pomdp"
    path.write_bytes(b"text")
    return ending(reader_that(read), path).failure


def raising(error):
    def read(path):
        raise error

    return read


def test_what_counts_as_a_failure(tmp_path):
    assert of(lambda path: "3 states", tmp_path) is None
    assert of(raising(InputError("a\nb\u2028c\x1b[31m" + "d" * 5000)), tmp_path) is None
    assert "ValueError" in of(raising(ValueError("x")), tmp_path)

    class Lines(InputError):
        __str__ = Exception.__str__

    assert "several lines" in of(raising(Lines("a\nb")), tmp_path)
    assert "characters" in of(raising(Lines("a" * 5000)), tmp_path)


def test_errors_are_one_line_of_limited_length():
    text = str(InputError("a\nb\u2028c\x1b[31m" + "d" * 10**6 + " do this", place="x\ny"))
    assert text.startswith(r"x y: a b c\x1b[31mdd")
    assert text.endswith("d do this")
    assert len(text.splitlines()) == 1
    assert len(text) < LONGEST + 10


@linux
def test_memory_that_a_reader_may_not_take_is_a_failure_though_it_says_so(tmp_path):
    def hungry(path):
        try:
            return str(len(bytearray(2**40)))
        except MemoryError as error:
            raise InputError(f"not readable: {error}") from None

    assert "MemoryError" in of(hungry, tmp_path)


@linux
def test_a_reader_that_does_not_end_is_interrupted():
    def endless():
        while True:
            pass

    with pytest.raises(TooSlow), limits(seconds=0.05):
        endless()


@linux
def test_an_input_that_ends_the_process_is_kept(tmp_path, capfd):
    def fatal(path):
        if b"broken" not in path.read_bytes():
            os._exit(11)
        return "3 states"

    tally = run(reader_that(fatal), seed=0, seconds=60, count=1, keep=tmp_path)
    assert tally.failures["crash"] >= 1
    (kept,) = (tmp_path / "pomdp").glob("crash*")
    assert b"broken" not in kept.read_bytes()


@linux
def test_the_command_counts(capfd):
    assert main(["drn", "--count", "40"]) == 0
    assert "40 inputs, 0 kinds of failure" in capfd.readouterr().out


PROMISES = {
    "rewards.pomdp.gz": (
        "pomdp",
        LAMP.encode() + b"R: * : * : * : * 1\n" * 400_000,
    ),
    "columns.csv": ("csv", ",".join(f"c{i}" for i in range(100_000)).encode() + b"\n"),
    "nested.policy": ("sarsop", b"<a>" * 300_000),
}


@linux
@pytest.mark.parametrize("limit", ["128MiB", "256MiB"])
@pytest.mark.parametrize("name", PROMISES)
def test_small_files_that_stand_for_much_keep_within_the_promise(
    name, limit, tmp_path, monkeypatch, memory_only
):
    reader, content = PROMISES[name]
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    seed = tmp_path / f"seed{READERS[reader].suffix}"
    seed.write_bytes(READERS[reader].seeds[0])
    ending(READERS[reader], seed, limited=False)  # imports what is imported on first use
    monkeypatch.setenv("RPSR_READ_LIMIT", limit)
    assert path.stat().st_size < 2**20
    assert ending(READERS[reader], path).failure is None


def test_grown_files_have_about_a_megabyte():
    for seed in range(20):
        grown = grow(random.Random(seed), LAMP.encode())
        assert LARGEST / 2 < len(grown) <= LARGEST or len(grown) == len(LAMP)


def test_a_table_without_columns_is_damaged_too():
    buffer = io.BytesIO()
    parquet.write_table(arrow.table({"a": [1]}), buffer)
    for seed in range(200):
        rng = random.Random(seed)
        once = damage_table(rng, buffer.getvalue(), b"x")
        assert isinstance(damage_table(rng, once or b" ", b"y"), bytes)
