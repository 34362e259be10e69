"""`rpsr solve`: what it prints, writes and returns."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.documents import PARR
from tests.planning.points.test_points import noisy

from rpsr import load, save
from rpsr.cli.app import main
from rpsr.domains import build
from rpsr.kernels import njit
from rpsr.learning import play_out
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
    said = (
        "the value is proven at the start only; at other beliefs, the values in the policy file "
        "are lower bounds"
    )
    assert said in say("solve", "parr", "--planner", "reachable", "-o", "p.alpha")[2]
    assert said in say("solve", "parr", "--planner", "sarsop", "-o", "p.alpha")[2]
    assert said not in say("solve", "parr", "-o", "p.alpha")[2]
    assert said not in say("solve", "parr", "--planner", "sarsop", "-o", "p.json")[2]


@pytest.mark.parametrize("model", ["pomdp", "psr", "rpsr", "ra-psr"])
def test_every_model_is_planned_on(say, model):
    code, out, err = say("solve", "parr", "--planner", "reachable", "--model", model, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts.keys() >= KEYS
    assert (facts["schema"], facts["model"]) == ("rpsr.solve/1", model)
    assert (facts["status"], facts["planner"]) == ("exact", "reachable")
    assert (facts["discount"], facts["horizon"], facts["seed"]) == (0.95, None, None)
    assert facts["lower"] <= facts["value"] <= facts["upper"]
    expected = 6.327782646801046 if model == "psr" else PARR
    assert facts["value"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "planner", [name for name in PLANNER_NAMES if "horizon" in planner_options(name)]
)
def test_every_planner_of_horizons_can_be_named(say, planner):
    words = ("--planner", planner, "--horizon", "3", "--json", "--seed", "7")
    code, out, _ = say("solve", "parr", *words)
    facts = json.loads(out)
    assert code == 0
    assert facts["value"] == pytest.approx(0.95**2, abs=1e-9)  # the third step pays
    assert (facts["horizon"], facts["seed"]) == (3, 7)


@pytest.mark.parametrize("planner", ["hsvi", "sarsop"])
def test_anytime_planners_close_the_gap(say, planner):
    words = ("--planner", planner, "--epsilon", "0.01", "--seed", "7", "-o", "p.alpha", "--json")
    code, out, _ = say("solve", "parr", *words)
    facts = json.loads(out)
    assert (code, facts["status"], facts["seed"]) == (0, "solved", 7)
    assert facts["lower"] <= PARR <= facts["upper"]
    assert facts["gap"] <= 0.01
    assert len(read_alpha("p.alpha", build("parr").belief_model())[0]) == facts["vectors"]
    code, out, _ = say("solve", "hallway", "--planner", planner, "--max-iterations", "3", "--json")
    facts = json.loads(out)
    assert (code, facts["status"], facts["iterations"]) == (3, "iterations", 3)


def test_help_names_every_kind_of_policy_file(say):
    words = " ".join(say("solve", "--help")[1].replace("│", " ").split())
    for suffix in (".json", ".npz", ".alpha", ".pg", ".policy", ".gz"):
        assert suffix in words


def test_help_names_every_planner(say):
    words = " ".join(say("solve", "--help")[1].replace("│", " ").split())
    assert f"The planner: {', '.join(PLANNER_NAMES[:-1])} or {PLANNER_NAMES[-1]}." in words


def test_the_default_says_which_planners_proved_its_bounds(say):
    code, out, _ = say("solve", "parr", "--json")
    facts = json.loads(out)
    assert (code, facts["planner"], facts["status"]) == (0, "auto", "exact")
    assert facts["proven_by"] == {"lower": "reachable", "upper": "reachable"}
    assert "lower: vi; upper: vi" in say("solve", "tiger")[1]
    named = json.loads(say("solve", "tiger", "--planner", "vi", "--json")[1])
    assert named["proven_by"] is None


def test_the_first_upper_bound_is_named_with_its_value_and_seconds(say):
    words = ("hallway", "--planner", "sarsop", "--epsilon", "10")
    first = json.loads(say("solve", *words, "--json")[1])["first_upper_bound"]
    assert set(first) == {"name", "value", "seconds", "beside"}
    (beside,) = first["beside"]
    assert (first["name"], beside["name"]) == ("tighter informed", "fast informed")
    assert 1.18 < first["value"] < 1.19 < 1.28 < beside["value"] < 1.30
    out = " ".join(say("solve", *words)[1].split())
    assert re.search(
        r"first_upper_bound 1\.188 by the tighter informed bound, after [\d.e-]+ s "
        r"\(others: 1\.289 by fast informed\)",
        out,
    )
    other = say("solve", "tiger", "--planner", "vi")[1]
    assert "first_upper_bound" not in other
    assert (
        json.loads(say("solve", "tiger", "--planner", "vi", "--json")[1])["first_upper_bound"]
        is None
    )


def test_the_default_stops_with_a_note_if_waiting_does_not_pay(say, monkeypatch):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    code, out, err = say("solve", "hallway", "--json")
    assert (code, json.loads(out)["status"]) == (3, "stalled")
    assert "--time-limit" in err
    _, out, err = say("solve", "hallway")
    assert ((out + err).count("set a time limit"), err) == (1, "")  # said once
    code, out, err = say("solve", "hallway", "--json", "--time-limit", "0.5")
    assert (code, json.loads(out)["status"], err) == (3, "time", "")


def test_a_file_of_vectors_for_every_belief_is_not_of_reachable_ones(say):
    code, out, _ = say("solve", "parr", "-o", "p.alpha", "--json")
    facts = json.loads(out)
    assert (code, facts["proven_by"]["lower"]) == (0, "vi")
    assert facts["lower"] <= PARR <= facts["upper"]


def test_people_see_a_table(say):
    code, out, err = say("solve", "parr", "--planner", "reachable")
    assert (code, err) == (0, "")
    message = "solved exactly: only finitely many states are reachable, and the problem over them"
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
    message = "plan with sarsop, hsvi or reachable, or with vi for a horizon (--horizon)"
    if planner in ("auto", "hsvi", "sarsop"):  # they sum without a discount where that is finite
        message = "the sum of rewards is infinite"
    assert message in err


def test_a_native_model_is_planned_on_as_it_is(say):
    save(rpsr(build("parr")), "m.rpsr")
    code, out, _ = say("solve", "m.rpsr", "--planner", "reachable", "--json")
    facts = json.loads(out)
    assert (code, facts["model"]) == (0, "rpsr")
    assert facts["value"] == pytest.approx(PARR, abs=1e-9)
    code, _, err = say("solve", "m.rpsr", "--planner", "reachable", "--model", "psr")
    assert code == 1
    assert "m.rpsr: holds a rpsr model, expected a POMDP for --model psr" in err


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
        (["--horizon", "0"], "for --horizon: read 0, expected a whole number of at least 1"),
        (["--epsilon", "-1"], "expected a finite number above 0"),
        (["--epsilon", "nan"], "expected a finite number above 0"),
        (["--epsilon", "inf"], "expected a finite number above 0"),
        (["--time-limit", "0"], "for --time-limit: read 0.0, expected a finite number above 0"),
        (["--model", "mdp"], "read 'mdp', expected pomdp, psr, rpsr or ra-psr"),
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
            "p.xyz: expected the name of a policy file, which ends in .json, .npz, .alpha",
        ),
        (["-o", "p.xyz.gz"], "p.xyz.gz: expected the name of a policy file"),
        (["-o", "p.html"], "p.html: has the suffix of a page, expected the name of a policy"),
        (["-o", "P.RPSR"], "P.RPSR: has the suffix of a model, expected the name of a policy"),
        (["-o", "p.jsonl.gz"], "has the suffix of a log, expected the name of a policy"),
        (["--horizon", "3", "--checkpoint", "c"], "--checkpoint does not work with --horizon"),
        (
            ["--planner", "enumeration", "--checkpoint", "c"],
            "does not work with planner enumeration",
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
    assert err == (
        "rpsr: planner reachable has no option --memory-limit: leave it out, or choose another "
        "--planner\n"
    )


# ---- limits, interrupts, progress


def stopping(status):
    """A planner's `solve` that reports a row and stops for a reason."""
    sound = Reachable.solve

    def solve(self, model, progress):
        progress(ProgressRow(0.5, 1, lower=1.0, vectors=8))
        progress(ProgressRow(0.6, 2, lower=1.5))
        plan = sound(self, model, lambda row: None)
        return replace(plan, status=status, upper=None if "UPPER" in status.name else 9.0)

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
    facts = json.loads(out)
    assert (given, err) == (code, "")
    assert (facts["status"], facts["message"]) == (status.name.lower(), status.value)
    assert (facts["upper"] is None) == (facts["gap"] is None) == (status is Status.NO_UPPER_BOUND)
    assert len(load_policy("p.json", build("parr").belief_model()).value_function) == 8
    assert Path("c.ckpt").exists()


def test_a_plan_that_its_learned_model_does_not_play_out_is_doubted(say):
    """Where a model contradicts itself, the value of the planner is not what the policy earns."""
    truth = replace(build("tiger").belief_model(), domain=Unknown(), estimator="SpectralRPSR")
    save(truth, "right.rpsr")
    save(noisy(truth, 0.3, 0), "wrong.rpsr")
    code, _, err = say("solve", "right.rpsr")
    assert (code, "inconsistent" in err) == (0, False)
    code, out, err = say("solve", "wrong.rpsr", "--json")
    document = json.loads(out)
    assert code == 0
    played = play_out(solve(load("wrong.rpsr"), "pbvi"))
    assert f"earns {played.mean:.4g} when simulated in its own model" in err
    assert f"the planner's value is {document['value']:.4g}: the model is inconsistent" in err
    assert "rpsr learn --plan --ensemble compares several models" in err


def test_a_model_without_a_domain_is_planned_on_from_below(say):
    model = rpsr(build("parr"))
    save(replace(model, domain=Unknown(), core=(), coordinates=None), "learned.rpsr")
    code, out, _ = say("solve", "learned.rpsr", "--json", "-o", "p.json")
    facts = json.loads(out)
    assert (code, facts["planner"], facts["status"]) == (0, "pbvi", "no_upper_bound")
    assert (facts["lower"], facts["upper"]) == (None, None), "nothing is proven there"
    assert PARR - 1e-3 <= facts["value"] <= PARR + 1e-9  # the planner's epsilon below, no more
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
    assert "making" not in err


@pytest.mark.parametrize("verb", ["solve", "info", "core", "evaluate"])
def test_making_a_model_of_a_given_size_is_announced_on_a_terminal(say, monkeypatch, verb):
    words = (verb, "loadunload:cells=3")
    assert "making" not in say(*words)[2]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    code, _, err = say(*words)
    assert code == 0
    assert "making loadunload:cells=3" in err


def test_compiling_is_announced_once_where_it_happens(capsys, monkeypatch):
    plain, kernels = Reachable.solve, [0, 2]

    def compiling(self, model, progress):
        for _ in range(kernels.pop()):
            njit()(lambda x: x + 1)(1)
        return plain(self, model, lambda row: None)

    monkeypatch.setattr(Reachable, "solve", compiling)
    monkeypatch.setattr("rpsr.kernels.PATIENCE", 0.0)
    for times in (1, 0):
        assert main(["solve", "parr", "--planner", "reachable"]) == 0
        noted = capsys.readouterr().err
        assert noted.count("rpsr: compiling kernels (first run only)\n") == times


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
