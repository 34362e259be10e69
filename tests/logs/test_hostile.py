"""Logs that unpack to far more than they are, and Parquet that is not what it says."""

import gzip
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from rpsr import InputError
from rpsr.logs import from_records, read_logs, stream_logs

MEGABYTE = 10**6


def refused(path, act):
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            act(path)
        assert caught.value.place == str(path)
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def passed_through(path):
    return sum(chunk.steps for chunk in stream_logs(path))


@pytest.mark.parametrize("body", [b"[],", b"0,", b'"aaaaaaaa",', b" "], ids=repr)
def test_an_episode_that_unpacks_to_more_than_the_limit(tmp_path, monkeypatch, body):
    monkeypatch.setenv("RPSR_READ_LIMIT", "30MB")
    path = tmp_path / "log.jsonl.gz"
    line = b'{"actions": [' + body * (12 * MEGABYTE // len(body)) + b"0], "
    path.write_bytes(gzip.compress(b'{"actions": [0], "observations": [0]}\n' + line + b"\n"))
    said, peak = refused(path, passed_through)
    assert ":2: an episode of " in said
    assert "RPSR_READ_LIMIT" in said
    assert peak < 30 * MEGABYTE


@pytest.mark.parametrize(("body", "cost"), [(b"[],", 20), (b"0,", 20), (b" ", 1)], ids=repr)
def test_an_episode_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, body, cost):
    """Where values take most of the memory, few bytes of text are unpacked."""
    monkeypatch.setenv("RPSR_READ_LIMIT", "30MB")
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"actions": [' + body * (12 * MEGABYTE // len(body))))
    _, peak = refused(path, passed_through)
    assert peak < 30 * MEGABYTE / cost


def test_what_is_allowed_is_enough_for_the_worst_line(tmp_path, monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "30MB")
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"actions": [' + b"[]," * 400_000 + b"0]}\n"))
    said, peak = refused(path, passed_through)
    assert "observations: read nothing" in said
    assert peak < 36 * MEGABYTE


def test_a_long_log_of_short_episodes_is_passed_through_whatever_its_size(tmp_path, monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "1MB")
    path = tmp_path / "log.jsonl.gz"
    line = b'{"actions": [0, 1], "observations": [1, 0], "rewards": [0, 1]}\n'
    path.write_bytes(gzip.compress(line * 20_000))
    assert path.stat().st_size < 5_000
    assert passed_through(path) == 40_000
    said, _ = refused(path, read_logs)  # all at once is another matter
    assert "steps or more: reading takes" in said
    plain = tmp_path / "log.jsonl"
    plain.write_bytes(line * 2_000)  # a file that is as large as what it holds
    assert read_logs(plain).steps == 4_000


# ---- Parquet


@pytest.fixture
def write(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def made(rows=2, **columns):
        given = {
            "episode": pa.array(np.zeros(rows, dtype=np.int64)),
            "step": pa.array(np.arange(rows)),
            "action": pa.array(["a"] * rows),
            "observation": pa.array(["x"] * rows),
        } | columns
        names = [name.removesuffix("_again") for name in given]
        table = pa.table(list(given.values()), names=names)
        pq.write_table(table, tmp_path / "log.parquet")
        return tmp_path / "log.parquet"

    return made


@pytest.mark.parametrize("name", ["episode", "step", "action", "observation"])
def test_a_column_that_is_there_twice(write, name):
    pa = pytest.importorskip("pyarrow")
    path = write(**{f"{name}_again": pa.array([0, 1])})
    said, _ = refused(path, read_logs)
    assert said == f"{path}: has 2 columns {name!r}, expected one"


@pytest.mark.parametrize("name", ["episode", "step", "action", "observation", "reward"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_column_that_is_not_text(write, name, packed):
    pa = pytest.importorskip("pyarrow")
    ends = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32).tobytes())
    bad = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"\xff\xfe")])
    path = write(**{name: bad.dictionary_encode() if packed else bad})
    said, _ = refused(path, read_logs)
    assert said == f"{path}: not UTF-8: a string has the bytes b'\\xff'"


def test_an_episode_of_more_rows_than_the_limit(write, monkeypatch):
    path = write(rows=300_000)
    monkeypatch.setenv("RPSR_READ_LIMIT", "10MB")
    monkeypatch.setattr("rpsr.io.allowance.FACTOR", 4)  # steps are written out in the file
    said, _ = refused(path, passed_through)
    assert "rows up to the end of an episode: reading takes" in said
    monkeypatch.setenv("RPSR_READ_LIMIT", "100MB")
    assert passed_through(path) == 300_000


def test_rows_are_counted_before_any_is_read(write, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    path = write(rows=10**6, step=pa.nulls(10**6), episode=pa.array(np.arange(10**6) // 4))
    monkeypatch.setenv("RPSR_READ_LIMIT", "30MB")
    monkeypatch.setattr("rpsr.io.allowance.FACTOR", 0)  # as if the file had few bytes
    said, peak = refused(path, read_logs)
    assert "1,000,000 rows: reading takes" in said
    assert peak < 3 * MEGABYTE


@pytest.mark.parametrize("name", ["episode", "step", "action", "observation", "reward"])
def test_a_long_text_in_every_row_is_held_once(write, name):
    """The file has the text once; one copy per row would be 4 GB."""
    pa = pytest.importorskip("pyarrow")
    rows = 40_000
    again = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * 100_000])
    path = write(rows=rows, **{name: again})
    pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with suppress(InputError):  # no reward, and no step
            read_logs(path)
    finally:
        pa.set_memory_pool(usual)
    assert 0 < pool.max_memory() < 100 * MEGABYTE


def test_a_column_that_unpacks_to_more_than_the_limit(write, monkeypatch):
    path = write(rows=300_000)
    monkeypatch.setenv("RPSR_READ_LIMIT", "1MB")
    monkeypatch.setattr("rpsr.io.allowance.FACTOR", 1)
    said, _ = refused(path, passed_through)
    assert "column 'step' unpacks to" in said


def test_records_in_memory_are_no_long_episode(monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "1M")
    steps = [
        {"episode": i // 5, "action": "go", "observation": "dark", "reward": 0.0}
        for i in range(10_000)
    ]
    assert len(from_records(steps).lengths) == 2000
