"""`rpsr solve`: what it prints, writes and returns."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.documents import PARR

from rpsr import save
from rpsr.cli.app import main
from rpsr.domains import build
from rpsr.kernels import njit
from rpsr.models.domain import Unknown
from rpsr.planning import (
    PLANNER_NAMES,
    load_policy,
    planner_options,
    read_alpha,
    read_pg,
    solve,
)
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.portfolio import patience
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.solution import ProgressRow, Status
from rpsr.predictive import rpsr

KEYS = {
    *("schema", "version", "source", "model", "planner", "discount", "horizon", "status", "value"),
    *("lower", "upper", "gap", "residual", "vectors", "iterations", "seconds", "seed"),
}


def test_values_that_are_proven_at_the_start_only_are_announced(say):
    said = "the value is proven at the start; at other beliefs, the file has lower bounds"
    assert said in say("solve", "parr", "--planner", "reachable", "-o", "p.alpha")[2]
    assert said in say("solve", "parr", "--planner", "sarsop", "-o", "p.alpha")[2]
    assert said not in say("solve", "parr", "-o", "p.alpha")[2]
    assert said not in say("solve", "parr", "--planner", "sarsop", "-o", "p.json")[2]


@pytest.mark.parametrize("model", ["pomdp", "psr", "rpsr", "ra-psr"])
def test_every_model_is_planned_on(say, model):
    code, out, err = say("solve", "parr", "--planner", "reachable", "--model", model, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found.keys() >= KEYS
    assert (found["schema"], found["model"]) == ("rpsr.solve/1", model)
    assert (found["status"], found["planner"]) == ("exact", "reachable")
    assert (found["discount"], found["horizon"], found["seed"]) == (0.95, None, None)
    assert found["lower"] <= found["value"] <= found["upper"]
    expected = 6.327782646801046 if model == "psr" else PARR
    assert found["value"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "planner", [name for name in PLANNER_NAMES if "horizon" in planner_options(name)]
)
def test_every_planner_of_horizons_can_be_named(say, planner):
    words = ("--planner", planner, "--horizon", "3", "--json", "--seed", "7")
    code, out, _ = say("solve", "parr", *words)
    found = json.loads(out)
    assert code == 0
    assert found["value"] == pytest.approx(0.95**2, abs=1e-9)  # the third step pays
    assert (found["horizon"], found["seed"]) == (3, 7)


@pytest.mark.parametrize("planner", ["hsvi", "sarsop"])
def test_anytime_planners_close_the_gap(say, planner):
    words = ("--planner", planner, "--epsilon", "0.01", "--seed", "7", "-o", "p.alpha", "--json")
    code, out, _ = say("solve", "parr", *words)
    found = json.loads(out)
    assert (code, found["status"], found["seed"]) == (0, "solved", 7)
    assert found["lower"] <= PARR <= found["upper"]
    assert found["gap"] <= 0.01
    assert len(read_alpha("p.alpha", build("parr").belief_model())[0]) == found["vectors"]
    code, out, _ = say("solve", "hallway", "--planner", planner, "--max-iterations", "3", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["iterations"]) == (3, "iterations", 3)


def test_help_names_every_kind_of_policy_file(say):
    words = " ".join(say("solve", "--help")[1].replace("│", " ").split())
    for suffix in (".json", ".npz", ".alpha", ".pg", ".policy", ".gz"):
        assert suffix in words


def test_help_names_every_planner(say):
    words = " ".join(say("solve", "--help")[1].replace("│", " ").split())
    assert f"The planner: {', '.join(PLANNER_NAMES[:-1])} or {PLANNER_NAMES[-1]}." in words


def test_the_default_says_which_planners_proved_its_bounds(say):
    code, out, _ = say("solve", "parr", "--json")
    found = json.loads(out)
    assert (code, found["planner"], found["status"]) == (0, "auto", "exact")
    assert found["proven_by"] == {"lower": "reachable", "upper": "reachable"}
    assert "lower: vi; upper: vi" in say("solve", "tiger")[1]
    named = json.loads(say("solve", "tiger", "--planner", "vi", "--json")[1])
    assert named["proven_by"] is None


def test_the_default_stops_with_a_note_if_waiting_does_not_pay(say, monkeypatch):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    code, out, err = say("solve", "hallway", "--json")
    assert (code, json.loads(out)["status"]) == (3, "stalled")
    assert "--time-limit" in err
    code, out, err = say("solve", "hallway", "--json", "--time-limit", "0.5")
    assert (code, json.loads(out)["status"], err) == (3, "time", "")


def test_a_file_of_vectors_for_every_belief_is_not_of_reachable_ones(say):
    code, out, _ = say("solve", "parr", "-o", "p.alpha", "--json")
    found = json.loads(out)
    assert (code, found["proven_by"]["lower"]) == (0, "vi")
    assert found["lower"] <= PARR <= found["upper"]


def test_people_see_a_table(say):
    code, out, err = say("solve", "parr", "--planner", "reachable")
    assert (code, err) == (0, "")
    message = "solved exactly: finitely many reachable states, solved to machine precision"
    assert message in " ".join(out.split())
    assert "7.2010399212" in out


def test_discount_one_needs_a_horizon(say):
    code, out, err = say("solve", "parr", "--planner", "reachable", "--discount", "1")
    assert (code, out) == (1, "")
    assert "give a discount below 1 or a number of steps" in err
    words = ("--planner", "reachable", "--discount", "1", "--horizon", "4", "--json")
    code, out, _ = say("solve", "parr", *words)
    assert code == 0
    oracle = solve(build("parr").with_discount(1), Enumeration(horizon=4))
    assert json.loads(out)["value"] == pytest.approx(oracle.value, abs=1e-12)


@pytest.mark.parametrize(
    "planner", [name for name in PLANNER_NAMES if "horizon" not in planner_options(name)]
)
def test_planners_without_a_horizon_do_not_ask_for_one(say, planner):
    code, out, err = say("solve", "parr", "--planner", planner, "--discount", "1")
    assert (code, out) == (1, "")
    told = "give a discount below 1 (--discount, in Python model.with_discount); vi plans over a"
    if planner in ("auto", "hsvi", "sarsop"):  # they sum without a discount where that is finite
        told = "the sum of rewards is infinite"
    assert told in err


def test_a_native_model_is_planned_on_as_it_is(say):
    save(rpsr(build("parr")), "m.rpsr")
    code, out, _ = say("solve", "m.rpsr", "--planner", "reachable", "--json")
    found = json.loads(out)
    assert (code, found["model"]) == (0, "rpsr")
    assert found["value"] == pytest.approx(PARR, abs=1e-9)
    code, _, err = say("solve", "m.rpsr", "--planner", "reachable", "--model", "psr")
    assert code == 1
    assert "m.rpsr: holds a rpsr model, expected a POMDP" in err


# ---- what it writes


def test_policies_are_written_in_three_forms(say):
    belief = build("parr").belief_model()
    for name in ("p.alpha", "p.pg", "p.json"):
        words = ("--planner", "reachable", "--model", "rpsr", "-o", name)
        assert say("solve", "parr", *words)[0] == 0
    vectors, _ = read_alpha("p.alpha", belief)
    assert float((vectors @ belief.start).max()) == pytest.approx(PARR, abs=1e-9)
    assert read_pg("p.pg", belief).value(belief) == pytest.approx(PARR, abs=1e-9)
    stored = load_policy("p.json", belief)
    assert float((stored.value_function.vectors @ belief.start).max()) == pytest.approx(
        PARR, abs=1e-9
    )
    assert say("solve", "parr", "--planner", "reachable", "--horizon", "3", "-o", "t.json")[0] == 0
    assert load_policy("t.json", belief).horizon == 3


def test_a_policy_on_standard_output_is_alone_there(capfdbinary):
    assert main(["solve", "parr", "--planner", "reachable", "-o", "-"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert document["format"] == "rpsr-policy"
    assert main(["solve", "parr", "--planner", "reachable", "-o", "-", "--json"]) == 1


# ---- usage


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--planner", "nope"],
            f"no planner is called 'nope'; choose from {', '.join(PLANNER_NAMES)}",
        ),
        (["--horizon", "0"], "read 0, expected a finite number above 0"),
        (["--epsilon", "-1"], "expected a finite number above 0"),
        (["--epsilon", "nan"], "expected a finite number above 0"),
        (["--epsilon", "inf"], "expected a finite number above 0"),
        (["--time-limit", "0"], "expected a finite number above 0"),
        (["--model", "mdp"], "mdp"),
    ],
)
def test_usage(say, words, message):
    code, out, err = say("solve", "parr", *words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--horizon", "3", "-o", "p.pg"], "p.pg: a .pg file cannot store a finite-horizon plan"),
        (["--horizon", "3", "-o", "p.ALPHA"], "p.ALPHA: a .alpha file cannot store"),
        (["-o", "nowhere/p.alpha"], "nowhere/p.alpha: the folder does not exist"),
        (["--checkpoint", "nowhere/c"], "nowhere/c: the folder does not exist"),
        (["-o", "c", "--checkpoint", "./c"], "c: is already an output"),
        (
            ["-o", "p.xyz"],
            "p.xyz: expected a name ending in .json, .npz, .alpha, .pg, .policy for a",
        ),
        (["-o", "p.xyz.gz"], "p.xyz.gz: expected a name ending in .json"),
        (["-o", "p.html"], "p.html: has the suffix of a page, expected another one for a policy"),
        (["-o", "P.RPSR"], "P.RPSR: has the suffix of a model, expected another one for a policy"),
        (["-o", "p.jsonl.gz"], "has the suffix of a log, expected another one for a policy"),
        (["--horizon", "3", "--checkpoint", "c"], "planning a horizon has no checkpoint"),
        (
            ["--planner", "enumeration", "--checkpoint", "c"],
            "planner enumeration has no checkpoint",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_before_planning(say, monkeypatch, words, message):
    for planner in (ValueIteration, Enumeration):
        monkeypatch.setattr(planner, "solve", lambda *_: pytest.fail("planned"))
    code, out, err = say("solve", "parr", *words)
    assert (code, out) == (1, "")
    assert message in err
    assert not any(Path(name).exists() for name in ("p.pg", "nowhere", "c"))


def test_an_option_that_a_planner_lacks_is_not_passed_over_in_silence(say, monkeypatch):
    verb = sys.modules["rpsr.planning.planners"]
    monkeypatch.setattr(verb, "planner_options", lambda name: ("horizon",))
    code, _, err = say("solve", "parr", "--planner", "reachable", "--memory-limit", "1000000")
    assert code == 1
    assert err == "rpsr: planner reachable has no option --memory-limit\n"


# ---- limits, interrupts, progress


def stopping(status):
    """A planner's `solve` that reports a row and stops for a reason."""
    sound = Reachable.solve

    def solve(self, model, progress):
        progress(ProgressRow(0.5, 1, lower=1.0, vectors=8))
        progress(ProgressRow(0.6, 2, lower=1.5))
        found = sound(self, model, lambda row: None)
        return replace(found, status=status, upper=None if "UPPER" in status.name else 9.0)

    return solve


def resumable(monkeypatch, resume):
    """Planner `reachable` that can continue a run, as a class of its own."""
    going = type("Going", (Reachable,), {"resume": resume})
    monkeypatch.setattr("rpsr.planning.reachable.planner.Reachable", going)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.TIME, 3),
        (Status.MEMORY, 3),
        (Status.ITERATIONS, 3),
        (Status.SIZE, 3),
        (Status.NO_UPPER_BOUND, 0),
        (Status.INTERRUPTED, 130),
        (Status.SOLVED, 0),
    ],
)
def test_where_it_stopped_decides_the_exit_code_and_the_best_is_written(
    say, monkeypatch, status, code
):
    monkeypatch.setattr(Reachable, "solve", stopping(status))
    resumable(monkeypatch, Reachable.solve)
    words = ("--planner", "reachable", "--json", "-o", "p.json", "--checkpoint", "c.ckpt")
    given, out, err = say("solve", "parr", *words)
    found = json.loads(out)
    assert (given, err) == (code, "")
    assert (found["status"], found["message"]) == (status.name.lower(), status.value)
    assert (found["upper"] is None) == (found["gap"] is None) == (status is Status.NO_UPPER_BOUND)
    assert len(load_policy("p.json", build("parr").belief_model()).value_function) == 8
    assert Path("c.ckpt").exists()


def test_a_model_without_a_domain_is_planned_on_from_below(say):
    model = rpsr(build("parr"))
    save(replace(model, domain=Unknown(), core=(), coordinates=None), "learned.rpsr")
    code, out, _ = say("solve", "learned.rpsr", "--json", "-o", "p.json")
    found = json.loads(out)
    assert (code, found["planner"], found["status"]) == (0, "pbvi", "no_upper_bound")
    assert (found["lower"], found["upper"]) == (None, None), "nothing is proven there"
    assert PARR - 1e-3 <= found["value"] <= PARR + 1e-9  # the planner's epsilon below, no more
    assert Path("p.json").exists()


def test_a_checkpoint_is_gone_on_from(say, monkeypatch):
    given = []

    def resume(self, model, progress, checkpoint):
        given.append(checkpoint.value_function.vectors.shape)
        return self.solve(model, progress)

    words = ("solve", "parr", "--planner", "reachable", "--checkpoint", "c.ckpt")
    resumable(monkeypatch, resume)
    assert say(*words)[0] == 0
    assert given == []
    assert say(*words)[0] == 0
    assert given == [(8, 7)]


def test_a_checkpoint_is_named_where_the_policy_goes_to_standard_output(capfdbinary):
    words = ["solve", "tiger", "-o", "-", "--checkpoint", "c.ckpt"]
    assert main(words) == 0
    out, err = capfdbinary.readouterr()
    assert json.loads(out)["format"] == "rpsr-policy"
    assert err == b"rpsr: wrote c.ckpt\n"


def test_progress_is_drawn_on_a_terminal_only(say, monkeypatch):
    monkeypatch.setattr(Reachable, "solve", stopping(Status.SOLVED))
    words = ("solve", "parr", "--planner", "reachable")
    assert say(*words)[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _, _, err = say(*words)
    head, *rows = err.splitlines()
    names = ["seconds", "iteration", "lower", "upper", "gap", "residual", "vectors", "points"]
    assert head.split() == [*names, "programs"]
    assert [row.split() for row in rows] == [["0.5", "1", "1", "8"]]  # the second came too soon


def test_compiling_is_announced_once_where_it_happens(say, monkeypatch):
    plain, kernels = Reachable.solve, [0, 2]

    def compiling(self, model, progress):
        for _ in range(kernels.pop()):
            njit()(lambda x: x + 1)(1)
        return plain(self, model, lambda row: None)

    monkeypatch.setattr(Reachable, "solve", compiling)
    monkeypatch.setattr("rpsr.kernels.PATIENCE", 0.0)
    words = ("solve", "parr", "--planner", "reachable")
    assert say(*words)[2].count("rpsr: compiling kernels (first run only)\n") == 1
    assert "compiling" not in say(*words)[2]


def test_compressed_planning_says_what_it_saved_and_answers_for_the_pomdp(say):
    first = json.loads(say("solve", "loadunload", "--json")[1])
    second = json.loads(say("solve", "loadunload", "--compress", "--json")[1])
    assert second["value"] == pytest.approx(first["value"], abs=2e-6)
    assert (second["dimension"], second["compressed"]["dimension"]) == (10, 9)
    assert first["compressed"] is None
    assert "dimension 9" in say("solve", "loadunload", "--compress")[1]


def test_only_a_pomdp_is_compressed(say):
    code, _, err = say("solve", "tiger", "--compress", "--model", "rpsr")
    assert code == 1
    assert "--compress needs a POMDP" in err


# ---- precision and memory, as people write them
