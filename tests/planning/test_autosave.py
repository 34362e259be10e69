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
from rpsr.planning.planners import PLANNER_NAMES, planner_by_name, planner_options
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import extract_controller
from rpsr.planning.value.trees import PolicyTree
from rpsr.predictive.constructors import rpsr

BEST = 19.3713683  # of tiger
SHORT = {
    "auto": {"max_iterations": 2},
    "vi": {"max_iterations": 2},
    "policy-iteration": {"max_iterations": 3},
    "pbvi": {"max_iterations": 5},
    "perseus": {"max_iterations": 5},
    "hsvi": {"max_iterations": 20},
    "sarsop": {"max_iterations": 20},
}
EVERY = SHORT | {
    "enumeration": {"max_iterations": 3},
    "reachable": {"max_states": 200},
    "qmdp": {"max_states": 100},
    "fib": {"max_states": 100},
    "q-learning": {"max_iterations": 20, "max_states": 20},
}
STEPS = 6
MODELS = {"belief": build("tiger").belief_model(), "rpsr": rpsr(build("tiger"))}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", SHORT)
def test_what_is_kept_holds_and_is_gone_on_from(name, kind):
    model, kept = MODELS[kind], []
    planner = planner_by_name(name, **SHORT[name])
    plan = planner.solve(model, Autosave(kept.append, every=0.0))
    unwatched = planner.solve(model, ignore)
    assert (plan.lower, plan.upper) == (unwatched.lower, unwatched.upper)
    assert np.array_equal(plan.vectors, unwatched.vectors)
    for so_far in kept:
        assert so_far.status is Status.INTERRUPTED
        assert so_far.lower <= BEST + 1e-6 <= so_far.upper + 2e-6
    save_checkpoint(kept[-1], "c.ckpt")
    saved = load_checkpoint("c.ckpt", model)
    assert saved.lower == kept[-1].lower
    once = planner_by_name(name, **dict.fromkeys(SHORT[name], 1))
    alone = once.solve(model, ignore).lower
    assert alone < BEST - 1e-3 or name in ("auto", "policy-iteration")  # one step is enough
    again = resume(model, once, saved, ignore)
    assert saved.lower - 1e-9 <= again.lower <= BEST + 1e-6


def kept_by(planner, model):
    """All that a planner offers, and its plan, which is the plan of a run that keeps nothing."""
    kept = []
    plan = planner.solve(model, Autosave(kept.append, every=0.0))
    unwatched = planner.solve(model, ignore)
    assert (plan.status, plan.lower, plan.upper) == (
        unwatched.status,
        unwatched.lower,
        unwatched.upper,
    )
    assert np.array_equal(plan.vectors, unwatched.vectors)
    assert {so_far.status for so_far in kept} == {Status.INTERRUPTED}
    return kept, plan


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", PLANNER_NAMES)
def test_every_planner_offers_solutions_that_hold_while_it_plans(name, kind):
    model = MODELS[kind]
    kept, _ = kept_by(planner_by_name(name, **EVERY[name]), model)
    for so_far in kept:
        assert so_far.lower <= so_far.value <= BEST + 1e-6 <= so_far.upper + 2e-6
    for so_far in kept[:: max(1, len(kept) // 20)]:
        assert extract_controller(so_far).value(model) >= so_far.lower


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", [n for n in PLANNER_NAMES if "horizon" in planner_options(n)])
def test_every_planner_offers_plans_for_the_whole_horizon_while_it_plans(name, kind):
    model = MODELS[kind]
    kept, plan = kept_by(planner_by_name(name, horizon=STEPS), model)
    assert plan.status is Status.HORIZON
    for so_far in kept:
        tree = PolicyTree.of(so_far)
        assert tree.horizon == STEPS
        assert so_far.lower <= plan.value <= so_far.upper
        assert tree.value(model) >= so_far.lower
    assert len({so_far.lower for so_far in kept}) > 1  # later ones know more


def test_reachable_offers_a_plan_on_what_it_has_explored():
    kept, _ = kept_by(planner_by_name("reachable", max_states=200), MODELS["belief"])
    sizes = [so_far.extras["states"] for so_far in kept]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert kept[-1].lower > kept[0].lower + 1


def test_q_learning_offers_the_policy_that_it_has_learned():
    kept, plan = kept_by(planner_by_name("q-learning", **EVERY["q-learning"]), MODELS["belief"])
    assert len({so_far.iterations for so_far in kept}) > 10
    assert plan.iterations == 20


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
    function = saved.value_function
    boast = replace(saved, value_function=replace(function, vectors=function.vectors + by))
    function = planner_by_name(name, **SHORT[name]).resume(model, ignore, boast)
    assert -20.001 <= function.lower <= BEST + 1e-6 <= function.upper + 2e-6


def test_a_checkpoint_without_successors_is_refused():
    model = MODELS["belief"]
    save_checkpoint(SARSOP(max_iterations=2).solve(model, ignore), "c.ckpt")
    saved = load_checkpoint("c.ckpt", model)
    function = saved.value_function
    unknown = replace(function, successors=np.full_like(function.successors, -1))
    open_ended = replace(saved, value_function=unknown)
    for name in SHORT:
        with pytest.raises(ModelError, match="does not store which vector"):
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
