"""`rpsr solve` stops when told: limits of time and memory, signals."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.cli.documents import PARR

from rpsr.domains import build
from rpsr.planning import (
    load_policy,
)


@pytest.mark.parametrize("planner", ["vi", "reachable"])
def test_a_memory_limit_is_exit_3_or_refused(say, planner):
    words = ("--planner", planner, "--json", "-o", "p.json", "--memory-limit")
    code, out, _ = say("solve", "parr", *words, "3000")
    found = json.loads(out)
    assert (code, found["status"]) == (3, "memory")
    assert found["lower"] <= PARR <= found["upper"]
    assert len(load_policy("p.json", build("parr").belief_model()).vectors) == found["vectors"]
    code, _, err = say("solve", "parr", *words, "50")
    assert code == 1
    assert "but the model alone takes" in err


def test_a_time_limit_of_the_exact_planner_is_exit_3(say):
    code, out, _ = say("solve", "4x3", "--time-limit", "0.3", "--epsilon", "1e-8", "--json")
    found = json.loads(out)
    assert (code, found["status"]) == (3, "time")
    assert found["lower"] <= found["upper"]


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_a_signal_from_outside_is_heeded_in_the_middle_of_work():
    words = ["solve", "4x3", "--epsilon", "1e-9", "--json", "-o", "p.json"]
    program = f"""
import sys
from rpsr.cli.app import main
from rpsr.planning import residual
search = residual.search

def announced(*arguments):  # planning is under way: compiled work begins
    print("busy", file=sys.stderr, flush=True)
    residual.search = search
    return search(*arguments)

residual.search = announced
sys.exit(main({words!r}))
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr.readline() == "busy\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (130, "")
    found = json.loads(out)
    assert found["status"] == "interrupted"
    assert found["lower"] <= 1.88988 <= found["upper"]
    assert len(load_policy("p.json", build("4x3").belief_model()).vectors) == found["vectors"]


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_ctrl_c_leaves_the_best_result_and_exits_130():
    words = ["solve", "4x3", "--epsilon", "1e-8", "--json", "-o", "p.json"]
    program = f"""
import os, signal, sys
from contextlib import contextmanager
import rpsr.cli.solve
from rpsr.cli.app import main

@contextmanager
def interrupting():
    yield lambda row: os.kill(os.getpid(), signal.SIGINT)

rpsr.cli.solve.planning_progress = interrupting
sys.exit(main({words!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (130, "")
    found = json.loads(done.stdout)
    assert found["status"] == "interrupted"
    assert found["lower"] <= found["upper"]
    stored = load_policy("p.json", build("4x3").belief_model())
    assert len(stored.vectors) == found["vectors"]
