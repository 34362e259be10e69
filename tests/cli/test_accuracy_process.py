"""`rpsr accuracy` and `rpsr core` as processes: streams, terminals, signals."""

import json
import os
import signal
import subprocess
import sys

import pytest


def test_standard_input_is_a_source():
    text = subprocess.run(
        [sys.executable, "-m", "rpsr", "convert", "tiger", "-"], capture_output=True, check=True
    ).stdout
    done = subprocess.run(
        [sys.executable, "-m", "rpsr", "accuracy", "-", "--json"],
        input=text,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["rows"][0]["states"] == 2


@pytest.mark.parametrize("verb", [["core", "loadunload", "--model", "rpsr"], ["accuracy", "tiger"]])
def test_a_terminal_without_unicode_is_no_error(verb):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "rpsr", *verb]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.isascii()
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
def test_an_interrupt_of_several_processes_leaves_no_traceback(tmp_path):
    sources = [f"loadunload:cells={n}" for n in range(200, 260)]
    record = str(tmp_path / "rows.jsonl")
    words = [sys.executable, "-m", "rpsr", "accuracy", *sources, "--jobs", "2", "-o", record]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        process.communicate(timeout=4)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "rpsr: interrupted\n")
