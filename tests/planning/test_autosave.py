"""Solutions are saved while planning, survive a kill, and planning continues from them."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.planning.plans import ignore

from rpsr.domains import build
from rpsr.errors import ModelError
from rpsr.planning.anytime.planners import HSVI, SARSOP
from rpsr.planning.autosave import Autosave
from rpsr.planning.files.checkpoint import load_checkpoint, resume, save_checkpoint
from rpsr.planning.planners import planner_by_name
from rpsr.planning.solution import Status
from rpsr.predictive.constructors import rpsr

BEST = 19.3713683  # of tiger
SHORT = {
    "vi": {"max_iterations": 2},
    "policy-iteration": {"max_iterations": 3},
    "pbvi": {"max_iterations": 5},
    "perseus": {"max_iterations": 5},
    "hsvi": {"max_iterations": 20},
    "sarsop": {"max_iterations": 20},
}
MODELS = {"belief": build("tiger").belief_model(), "rpsr": rpsr(build("tiger"))}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", SHORT)
def test_what_is_kept_holds_and_is_gone_on_from(name, kind):
    model, kept = MODELS[kind], []
    planner = planner_by_name(name, **SHORT[name])
    found = planner.solve(model, Autosave(kept.append, every=0.0))
    unwatched = planner.solve(model, ignore)
    assert (found.lower, found.upper) == (unwatched.lower, unwatched.upper)
    assert np.array_equal(found.vectors, unwatched.vectors)
    for so_far in kept:
        assert so_far.status is Status.INTERRUPTED
        assert so_far.lower <= BEST + 1e-6 <= so_far.upper + 2e-6
    save_checkpoint(kept[-1], "c.ckpt")
    saved = load_checkpoint("c.ckpt", model)
    assert saved.lower == kept[-1].lower
    once = planner_by_name(name, **dict.fromkeys(SHORT[name], 1))
    assert once.solve(model, ignore).lower < BEST - 1e-3 or name == "policy-iteration"
    again = resume(model, once, saved, ignore)
    assert saved.lower - 1e-9 <= again.lower <= BEST + 1e-6


def test_nothing_is_kept_before_the_period_has_passed():
    kept = []
    SARSOP(max_iterations=5).solve(MODELS["belief"], Autosave(kept.append, every=1e9))
    assert kept == []


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("planner", [HSVI, SARSOP])
def test_the_lower_bound_at_once_is_the_checkpoint_s(planner, kind):
    model, rows = MODELS[kind], []
    save_checkpoint(planner(max_iterations=60).solve(model, ignore), "c.ckpt")
    saved = load_checkpoint("c.ckpt", model)
    planner(max_iterations=1).resume(model, rows.append, saved)
    assert rows[0].iteration == 0
    assert saved.lower - 1e-9 <= rows[0].lower <= BEST + 1e-6


@pytest.mark.parametrize("by", [1e3, 1e300, -1e300])
@pytest.mark.parametrize("name", SHORT)
def test_a_false_checkpoint_is_not_believed(name, by):
    model = MODELS["belief"]
    save_checkpoint(SARSOP(max_iterations=20).solve(model, ignore), "c.ckpt")
    saved = load_checkpoint("c.ckpt", model)
    found = saved.value_function
    boast = replace(saved, value_function=replace(found, vectors=found.vectors + by))
    found = planner_by_name(name, **SHORT[name]).resume(model, ignore, boast)
    assert -20.001 <= found.lower <= BEST + 1e-6 <= found.upper + 2e-6


def test_a_checkpoint_without_successors_is_refused():
    model = MODELS["belief"]
    save_checkpoint(SARSOP(max_iterations=2).solve(model, ignore), "c.ckpt")
    saved = load_checkpoint("c.ckpt", model)
    found = saved.value_function
    unknown = replace(found, successors=np.full_like(found.successors, -1))
    open_ended = replace(saved, value_function=unknown)
    for name in SHORT:
        with pytest.raises(ModelError, match="does not store the successors"):
            planner_by_name(name).resume(model, ignore, open_ended)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
@pytest.mark.parametrize("name", ["sarsop", "vi"])
def test_a_kill_leaves_a_readable_checkpoint(name):
    program = f"""
from rpsr.domains import build
from rpsr.planning.files.checkpoint import save_checkpoint
from rpsr.planning.autosave import Autosave
from rpsr.planning.planners import solve

def keep(so_far):
    save_checkpoint(so_far, "c.ckpt")
    print("kept", flush=True)

solve(build("hallway"), {name!r}, epsilon=1e-9, progress=Autosave(keep, every=0.0))
"""
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    for _ in range(3):
        assert running.stdout.readline() == b"kept\n"
    running.kill()
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    model = build("hallway").belief_model()
    saved = load_checkpoint("c.ckpt", model)
    again = SARSOP(max_iterations=1).resume(model, ignore, saved)
    assert saved.lower - 1e-9 <= again.lower <= again.upper
