"""Files written part by part: never held as a whole, and never left half written."""

import gzip
import tracemalloc

import pytest

from rpsr.io.files import write_parts

PART = b"0123456789" * 10_000
COUNT = 100


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
def test_parts_are_written_one_by_one(tmp_path, name):
    tracemalloc.start()
    try:
        write_parts(tmp_path / name, (bytes(bytearray(PART)) for _ in range(COUNT)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(PART)  # of 100 parts
    content = (tmp_path / name).read_bytes()
    assert (gzip.decompress(content) if name.endswith("gz") else content) == COUNT * PART


def test_a_failure_half_way_leaves_the_file_as_it_was(tmp_path):
    def parts():
        yield PART
        raise ValueError("half way")

    (tmp_path / "out.gz").write_bytes(b"before")
    with pytest.raises(ValueError, match="half way"):
        write_parts(tmp_path / "out.gz", parts())
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_standard_output(capsysbinary):
    write_parts("-", iter([b"one ", b"two"]))
    assert capsysbinary.readouterr().out == b"one two"
