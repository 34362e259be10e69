"""Objectives on the command line: `solve` and `convert` with --goal, --avoid and the others."""

import json
from pathlib import Path

import pytest

MODEL = """pomdp
observables
  o
endobservables
module m
  s : [0..4] init 0;
  o : [0..2] init 0;
  [try] s=0 -> 0.5 : (s'=1) & (o'=1) + 0.5 : (s'=2) & (o'=1);
  [wait] s=0 -> 1.0 : (s'=0) & (o'=0);
  [left] s=1 -> 1.0 : (s'=3) & (o'=2);
  [right] s=1 -> 1.0 : (s'=4) & (o'=2);
  [left] s=2 -> 0.25 : (s'=3) & (o'=2) + 0.75 : (s'=4) & (o'=2);
  [right] s=2 -> 1.0 : (s'=3) & (o'=2);
  [over] s=3 -> 1.0 : (s'=3) & (o'=2);
  [over] s=4 -> 1.0 : (s'=4) & (o'=2);
endmodule
label "goal" = s=3;
label "fine" = s=0 | s=1 | s=2 | s=3;
rewards "steps"
  [try] s=0 : 1;
  [wait] s=0 : 1;
  [left] s=1 : 1;
  [right] s=1 : 1;
  [left] s=2 : 1;
  [right] s=2 : 1;
endrewards
"""


@pytest.fixture
def model():
    Path("m.prism").write_text(MODEL)
    return "m.prism"


def plan(succeed, *words):
    return json.loads(succeed("solve", *words, "--json").out)


@pytest.mark.parametrize("avoid", [(), ("--avoid", "!fine"), ("--avoid", "4")])
def test_the_largest_probability_of_a_goal(succeed, model, avoid):
    if avoid == ("--avoid", "4"):
        avoid = ("--avoid", "state:4")
    solution = plan(succeed, model, "--goal", "goal", *avoid, "--epsilon", "1e-6")
    assert solution["planner"] == "auto"
    assert solution["status"] == "exact"
    assert solution["discount"] == 1
    # left: 1/2 + 1/2 * 1/4; right: 1/2.
    assert solution["lower"] == pytest.approx(0.625, abs=1e-6)
    assert solution["upper"] == pytest.approx(0.625, abs=1e-6)
    assert solution["objective"].startswith("largest probability of reaching goal")


def test_within_a_number_of_steps(succeed, model):
    assert plan(succeed, model, "--goal", "goal", "--within", "1")["value"] == 0
    solution = plan(succeed, model, "--goal", "goal", "--within", "2")
    assert solution["value"] == pytest.approx(0.625, abs=1e-12)
    assert solution["horizon"] == 2


@pytest.mark.parametrize("planner", ["sarsop", "hsvi", "pbvi", "policy-iteration"])
def test_planners_without_a_horizon_get_a_task_with_a_clock(succeed, model, planner):
    words = ("--goal", "goal", "--within", "2", "--planner", planner, "--epsilon", "1e-6")
    solution = plan(succeed, model, *words, "-o", "p.json")
    assert solution["lower"] <= 0.625 <= solution["upper"]
    assert solution["lower"] == pytest.approx(0.625, abs=1e-6)
    succeed("convert", model, "task.rpsr", "--goal", "goal")
    words = ("evaluate", "task.rpsr", "--policy", "p.json", "--steps", "2", "--json")
    rows = json.loads(succeed(*words).out)["rows"]
    assert {row["exact"] for row in rows if row["model"] == "pomdp"} == {0.625}


def test_costs_are_shown_as_costs(succeed, model):
    words = ("--minimise", "cost", "--goal", "goal,state:4")
    solution = plan(succeed, model, *words, "--within", "5")
    assert solution["value"] == pytest.approx(2.0, abs=1e-12)
    assert solution["lower"] <= solution["value"] <= solution["upper"]


def test_the_first_upper_bound_on_rewards_is_a_lower_one_on_costs(succeed, model):
    words = ("--minimise", "cost", "--goal", "goal,state:4", "--planner", "sarsop")
    solution = plan(succeed, model, *words)
    first = solution["first_lower_bound"]
    assert solution["first_upper_bound"] is None
    assert (first["name"], first["beside"]) == ("fast informed", [])
    assert 0 < first["value"] <= solution["lower"]
    assert "first_lower_bound" in succeed("solve", model, *words).out


def test_a_policy_for_a_task_earns_its_bound(succeed, model):
    succeed("solve", model, "--goal", "goal", "--epsilon", "1e-6", "-o", "p.json")
    succeed("convert", model, "task.rpsr", "--goal", "goal")
    rows = json.loads(
        succeed("evaluate", "task.rpsr", "--policy", "p.json", "--steps", "10", "--json").out
    )["rows"]
    assert {row["model"]: row["exact"] for row in rows if row["model"] != "psr"} == {
        "pomdp": 0.625,
        "rpsr": 0.625,
    }
    assert (
        json.loads(succeed("accuracy", "task.rpsr", "--json").out)["rows"][0]["accurate"] is False
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--goal", "gaol"), "goal: no label, state or observation is called 'gaol'"),
        (("--goal", "goal", "--avoid", "state:0"), "avoid: the states to avoid contain the start"),
        (("--avoid", "goal"), "--avoid: expected with --goal"),
        (("--within", "3"), "--within: expected with --goal"),
        (("--maximise", "probability"), "expected with --goal, which is missing"),
        (("--maximise", "reward", "--minimise", "cost"), "expected only one of the two"),
        (
            ("--maximise", "reward", "--avoid", "goal"),
            "--avoid: expected without --maximise reward",
        ),
        (("--goal", "goal", "--within", "2", "--horizon", "2"), "expected only one of the two"),
        (("--goal", "goal", "--discount", "0.9"), "--discount: expected without --goal"),
        (("--goal", "goal", "--planner", "pbvi"), "plan with sarsop, hsvi or reachable"),
        (("--maximise", "reward"), "the sum of rewards is infinite"),
        (("--goal", "goal", "-o", "p.alpha"), "p.alpha: a .alpha file cannot store a plan without"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(say, model, words, message):
    code, out, err = say("solve", model, *words)
    assert code == 1
    assert message in err
    assert not out


def test_an_objective_needs_a_pomdp(say, succeed):
    succeed("convert", "tiger", "t.rpsr", "--model", "psr")
    code, _, err = say("solve", "t.rpsr", "--goal", "0")
    assert code == 1
    assert "need a POMDP, and the file holds a psr model" in err


def test_compression_keeps_the_probability(succeed, model):
    solution = plan(succeed, model, "--goal", "goal", "--epsilon", "1e-6", "--compress")
    assert solution["lower"] == pytest.approx(0.625, abs=1e-6)
    assert solution["upper"] == pytest.approx(0.625, abs=1e-6)
    assert solution["compressed"] is not None


@pytest.mark.parametrize("kind", ["rpsr", "ra-psr"])
def test_predictive_models_of_a_task_have_its_value(succeed, model, kind):
    solution = plan(succeed, model, "--goal", "goal", "--epsilon", "1e-6", "--model", kind)
    assert solution["lower"] == pytest.approx(0.625, abs=1e-6)
    assert solution["upper"] == pytest.approx(0.625, abs=1e-6)


def test_whether_a_goal_is_certain_and_how(succeed, say, model):
    facts = json.loads(succeed("almost-sure", model, "--goal", "goal", "--json").out)
    assert (facts["possible"], facts["supports"], facts["winning"]) == (False, 3, 0)
    facts = json.loads(succeed("almost-sure", model, "--goal", "goal, 4", "--json").out)
    assert facts["possible"]
    assert facts["rows"][0] == {"support": ["0"], "actions": ["try", "wait"]}
    shown = succeed("almost-sure", model, "--goal", "goal").out
    assert "no, not with probability one" in shown
    code, out, err = say("almost-sure", model, "--goal", "gaol")
    assert (code, out) == (1, "")
    assert "no label, state or observation is called 'gaol'" in err


def test_every_verb_on_a_model_takes_an_objective(succeed, say, model):
    """Each answers for the task, as it does for the file that `convert` writes."""
    goal = ("--goal", "goal", "--within", "2")
    succeed("convert", model, "task.rpsr", *goal)
    row = json.loads(succeed("accuracy", model, *goal, "--json").out)["rows"][0]
    converted = json.loads(succeed("accuracy", "task.rpsr", "--json").out)["rows"][0]
    assert row["accurate"] is False
    assert row["rpsr_rank"] == converted["rpsr_rank"]
    core = json.loads(succeed("core", model, *goal, "--model", "rpsr", "--json").out)
    assert core["rank"] == row["rpsr_rank"]
    succeed("solve", model, *goal, "-o", "p.json")
    words = ("evaluate", model, *goal, "--policy", "p.json", "--steps", "5", "--json")
    rows = json.loads(succeed(*words).out)["rows"]
    assert {row["exact"] for row in rows if row["model"] == "pomdp"} == {0.625}
    words = ("simulate", model, *goal, "--policy", "p.json", "--episodes", "3", "--steps", "4")
    succeed(*words, "-o", "log.jsonl")
    assert len(Path("log.jsonl").read_text().splitlines()) >= 3
    succeed("solve", model, *goal, "--certificate", "c.cert")
    proven = json.loads(succeed("verify", model, "c.cert", *goal, "--json").out)
    assert proven["lower"] <= 0.625 <= proven["upper"]
    for verb in ("accuracy", "core", "evaluate"):
        code, out, err = say(verb, model, "--goal", "goal", "--discount", "0.9")
        assert (code, out) == (1, "")
        assert "--discount: expected without --goal" in err


def test_a_report_on_a_task(succeed, model):
    succeed("report", model, "--goal", "goal", "--time-limit", "1", "-o", "page.html")
    assert "0.625" in Path("page.html").read_text()
