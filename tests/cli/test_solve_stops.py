"""`rpsr solve` stops at limits of time and memory and at signals."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.cli.documents import PARR
from tests.cli.saying import said
from tests.learning.worlds import simulate

import rpsr.cli.solve  # noqa: F401 - the module, which a verb of that name hides
from rpsr.domains import build
from rpsr.errors import InputError
from rpsr.learning import SpectralRPSR
from rpsr.models.store import save_native
from rpsr.planning import load_policy
from rpsr.planning import solve as plan_on
from rpsr.planning.files import checkpoint, policies
from rpsr.planning.files.checkpoint import load_checkpoint
from rpsr.planning.solution import Status
from rpsr.sources import load


@pytest.mark.parametrize("planner", ["vi", "reachable"])
def test_a_memory_limit_is_exit_3_or_refused(say, planner):
    words = ("--planner", planner, "--json", "-o", "p.json", "--memory-limit")
    code, out, _ = say("solve", "parr", *words, "3000")
    facts = json.loads(out)
    assert (code, facts["status"]) == (3, "memory")
    assert facts["lower"] <= PARR <= facts["upper"]
    assert len(load_policy("p.json", build("parr").belief_model()).vectors) == facts["vectors"]
    code, _, err = say("solve", "parr", *words, "50")
    assert code == 1
    assert "but the model alone takes" in err


@pytest.mark.parametrize(("source", "planner"), [("hallway", "auto"), ("4x3", "vi")])
def test_a_time_limit_is_exit_3(say, source, planner):
    words = ("solve", source, "--planner", planner, "--epsilon", "1e-8", "--json")
    code, out, _ = say(*words, "--time-limit", "0.3")
    facts = json.loads(out)
    assert (code, facts["status"]) == (3, "time")
    assert facts["lower"] <= facts["upper"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
def test_a_signal_from_outside_is_heeded_in_the_middle_of_work():
    words = ["solve", "4x3", "--planner", "vi", "--epsilon", "1e-9", "--json", "-o", "p.json"]
    program = f"""
import sys
from rpsr.cli.app import main
from rpsr.planning.exact import branch_and_bound
search = branch_and_bound.search

def announced(*arguments):  # planning is under way: compiled work begins
    print("busy", file=sys.stderr, flush=True)
    branch_and_bound.search = search
    return search(*arguments)

branch_and_bound.search = announced
sys.exit(main({words!r}))
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr.readline() == "busy\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (130, "")
    facts = json.loads(out)
    assert facts["status"] == "interrupted"
    assert facts["lower"] <= 1.88988 <= facts["upper"]
    assert len(load_policy("p.json", build("4x3").belief_model()).vectors) == facts["vectors"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
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
    assert (done.returncode, said(done.stderr)) == (130, "")
    facts = json.loads(done.stdout)
    assert facts["status"] == "interrupted"
    assert facts["lower"] <= facts["upper"]
    stored = load_policy("p.json", build("4x3").belief_model())
    assert len(stored.value_function.vectors) == facts["vectors"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
@pytest.mark.parametrize("planner", ["sarsop", "vi"])
def test_sigterm_is_handled_like_ctrl_c_and_exits_143(planner):
    words = ["solve", "4x3", "--planner", planner, "--epsilon", "1e-8", "--json"]
    words += ["-o", "p.json", "--checkpoint", "c.ckpt"]
    program = f"""
import os, signal, sys
from contextlib import contextmanager
import rpsr.cli.solve
from rpsr.cli.app import main

@contextmanager
def terminating():
    seen = []

    def terminate(row):  # at the first row only: the last one comes after planning
        seen.append(row)
        if len(seen) == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    yield terminate

rpsr.cli.solve.planning_progress = terminating
sys.exit(main({words!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, said(done.stderr)) == (143, "")
    facts, model = json.loads(done.stdout), build("4x3").belief_model()
    assert facts["status"] == "interrupted"
    assert facts["lower"] <= 1.88988 <= facts["upper"]
    assert len(load_policy("p.json", model).vectors) == facts["vectors"]
    assert load_checkpoint("c.ckpt", model).lower == facts["lower"]


def test_sigterm_is_left_alone_after_a_command(say):
    before = signal.getsignal(signal.SIGTERM)
    assert say("info", "tiger")[0] == 0
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("words", [(), ("--compress",)])
def test_files_are_written_while_planning(say, monkeypatch, words):
    """The last of the writes is at the end: those before it are counted."""
    monkeypatch.setattr("rpsr.planning.autosave.EVERY", 0.0)
    written, checkpoints = [], []
    write, save = policies.save_policy, checkpoint.save_checkpoint

    def write_policy(solution, target):
        write(solution, target)
        written.append(solution.status.name)

    def save_checkpoint(solution, target):
        save(solution, target)
        checkpoints.append(load_checkpoint(target, solution.model).lower)

    monkeypatch.setattr(policies, "save_policy", write_policy)
    monkeypatch.setattr(checkpoint, "save_checkpoint", save_checkpoint)
    files = ("-o", "p.json", "--checkpoint", "c.ckpt")
    code, _, err = say(
        "solve", "tiger", "--planner", "sarsop", "--max-iterations", "5", *files, *words
    )
    assert (code, said(err)) == (3, "rpsr: wrote p.json\nrpsr: wrote c.ckpt\n")
    assert len(written) == len(checkpoints) > 2
    assert written == ["INTERRUPTED"] * (len(written) - 1) + ["ITERATIONS"]


@pytest.mark.parametrize(
    "words",
    [
        ("--planner", "reachable"),
        ("--planner", "enumeration", "--max-iterations", "2"),
        ("--planner", "q-learning", "--max-iterations", "5"),
        ("--planner", "qmdp"),
        ("--planner", "vi", "--horizon", "4"),
        ("--planner", "reachable", "--horizon", "4"),
    ],
)
def test_the_policy_so_far_is_written_by_planners_without_a_checkpoint(say, monkeypatch, words):
    monkeypatch.setattr("rpsr.planning.autosave.EVERY", 0.0)
    written, write = [], policies.save_policy

    def write_policy(solution, target):
        write(solution, target)
        load_policy(target, build("tiger").belief_model())
        written.append(solution.status.name)

    monkeypatch.setattr(policies, "save_policy", write_policy)
    assert say("solve", "tiger", *words, "-o", "p.json")[0] in (0, 3)
    assert written[0] == "INTERRUPTED" != written[-1]
    code, _, err = say("solve", "tiger", *words, "--checkpoint", "c.ckpt")
    assert (code, "--checkpoint does not work with" in err) == (1, True)


def test_a_full_disk_while_planning_is_reported_once_and_planning_continues(say, monkeypatch):
    monkeypatch.setattr("rpsr.planning.autosave.EVERY", 0.0)
    save, tries = checkpoint.save_checkpoint, []

    def full(solution, target):
        tries.append(target)
        if solution.status is Status.INTERRUPTED:
            raise InputError("cannot be written: No space left on device", place=str(target))
        save(solution, target)

    monkeypatch.setattr(checkpoint, "save_checkpoint", full)
    words = ("--planner", "sarsop", "--max-iterations", "5", "--checkpoint", "c.ckpt")
    code, out, err = say("solve", "tiger", *words)
    assert (code, "lower" in out, len(tries) > 3) == (3, True, True)
    said = "c.ckpt: cannot be written: No space left on device; planning continues"
    assert err == f"rpsr: {said}\nrpsr: wrote c.ckpt\n"


@pytest.mark.skipif(
    not os.path.exists("/dev/null"),
    reason="this system has no /dev/null",
)
def test_a_device_is_not_written_to_while_planning(say, monkeypatch):
    monkeypatch.setattr("rpsr.planning.autosave.EVERY", 0.0)
    written = []
    monkeypatch.setattr(policies, "save_policy", lambda *given: written.append(given))
    assert say("solve", "tiger", "-o", "/dev/null")[0] == 0
    assert len(written) == 1


def learned_model():
    """A learned model of the tiger, in a file."""
    log = simulate("tiger", 80, 10, seed=0)
    save_native(SpectralRPSR(rank=2, discount=0.9).fit(log).model_, "m.rpsr")


def test_an_interruption_while_a_plan_is_simulated_does_not_lose_it(say, monkeypatch):
    learned_model()

    def interrupted(*_given, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("rpsr.learning.plan_choice.plausibility.play_out", interrupted)
    code, _, _ = say("solve", "m.rpsr", "-o", "p.json", "--checkpoint", "c.ckpt")
    assert code == 130
    assert len(load_policy("p.json", load("m.rpsr")).vectors) > 0
    assert load_checkpoint("c.ckpt", load("m.rpsr")).lower != 0


def test_an_interrupted_plan_is_not_simulated(monkeypatch):
    """Whoever presses Ctrl-C does not wait for a simulation."""
    learned_model()
    plan = plan_on(load("m.rpsr"), "pbvi")
    played = sys.modules["rpsr.cli.solve"]._played
    assert played(plan).doubt == ""
    monkeypatch.setattr("rpsr.learning.plan_choice.plausibility.play_out", None)
    assert played(replace(plan, status=Status.INTERRUPTED)) is None
