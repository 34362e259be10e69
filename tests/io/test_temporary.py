"""Temporary files of killed processes go; those of living ones, and of others, stay."""

import os
import subprocess
import sys

import pytest

from rpsr.io import temporary
from rpsr.io.files import write_bytes

WRITER = """
import sys, time
from rpsr.io.files import write_whole

def write(stream):
    stream.write(b"half of it")
    print("writing", flush=True)
    sys.stdin.read()

write_whole(sys.argv[1], write)
"""


def writer(target):
    """A process that is in the middle of writing a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"writing\n"
    return process


@pytest.mark.skipif(os.name == "nt", reason="nothing can be asked of a process there")
@pytest.mark.parametrize("name", ["plan.json", "ζ" * 120, "[a]*.json"])
def test_the_temporary_file_of_a_killed_writer_goes_and_of_a_living_one_stays(tmp_path, name):
    target, other = tmp_path / name, tmp_path / f"{name[:100]}2"
    killed, elsewhere, living = writer(target), writer(other), writer(target)
    assert len(list(tmp_path.iterdir())) == 3
    for process in (killed, elsewhere):
        process.kill()
        process.communicate()
    write_bytes(target, b"whole")
    left = {path.name for path in tmp_path.iterdir()} - {target.name}
    assert sorted(f".{living.pid}." in name_left for name_left in left) == [False, True]
    assert any(f".{elsewhere.pid}." in name_left for name_left in left)
    living.communicate(b"")
    assert target.read_bytes() == b"half of it"  # whole, as far as its writer goes
    write_bytes(other, b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([target, other])


def test_a_file_of_another_host_stays(tmp_path, monkeypatch):
    target = tmp_path / "plan.json"
    monkeypatch.setattr(temporary, "_alive", lambda process: False)
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    handle, there = temporary.temporary_beside(target)
    os.close(handle)
    monkeypatch.setattr("platform.node", lambda: "here")
    write_bytes(target, b"whole")
    assert os.path.exists(there)
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    write_bytes(target, b"whole")
    assert os.listdir(tmp_path) == [target.name]
