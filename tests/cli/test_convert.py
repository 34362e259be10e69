"""`rpsr convert` between the formats of models and of policies, and the verbs on POMDPX files."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.io.pomdpx import files

from rpsr import load
from rpsr.domains import build
from rpsr.planning.files.policies import load_policy


def vectors(path, model):
    """The vectors of a file with their actions, sorted."""
    stored = load_policy(path, model)
    return sorted(zip(stored.actions.tolist(), stored.vectors.tolist(), strict=True))


@pytest.fixture
def rover():
    Path("rover.pomdpx").write_text(files.ROVER)
    return load("rover.pomdpx")


@pytest.mark.parametrize("target", ["t.pomdpx", "t.pomdpx.gz"])
def test_a_model_to_pomdpx_and_back(succeed, target):
    assert succeed("convert", "tiger", target) == ("", f"rpsr: wrote {target}\n")
    succeed("convert", target, "again.pomdp")
    assert load("again.pomdp") == build("tiger")


def test_a_factored_model_says_what_it_loses(succeed, rover):
    err = succeed("convert", "rover.pomdpx", "rover.pomdp").err.splitlines()
    assert "names with characters other than letters, digits, - and _ (names: 12);" in err[0]
    assert err[1].endswith("this format does not mark state variables as fully observed: rover")
    assert load("rover.pomdp") == rover
    assert load("rover.pomdp").state_variables == ()
    succeed("convert", "rover.pomdpx", "rover.rpsr")
    assert load("rover.rpsr").state_variables == rover.state_variables


def test_observations_that_depend_on_the_state_left(succeed, say):
    name = "loadunload"
    succeed("convert", name, "plain.pomdp")
    text = Path("plain.pomdp").read_text()
    edge = "OO: * : * : * " + ("1 " + "0 " * (len(build(name).observations) - 1)) + "\n"
    Path("edge.pomdp").write_text(text + edge)
    assert load("edge.pomdp").record.emission_by_edge
    code, _, err = say("convert", "edge.pomdp", "edge.pomdpx")
    assert code == 1
    assert "which POMDPX cannot express" in err
    assert not Path("edge.pomdpx").exists()
    assert "OO rows, which only rpsr reads" in succeed("convert", "edge.pomdp", "again.pomdp").err


def test_value_functions_between_all_formats(succeed):
    tiger = build("tiger")
    succeed("solve", "tiger", "--planner", "sarsop", "-o", "z.npz")
    succeed("convert", "z.npz", "a.json", "--for", "tiger")
    wanted = vectors("a.json", tiger)
    chain = ["a.json", "b.alpha", "c.policy", "d.policy.gz", "e.npz", "f.json", "g.policy"]
    for source, target in pairwise(chain):
        err = succeed("convert", source, target, "--for", "tiger").err
        assert ("has no names" in err) == (not target.endswith((".json", ".npz")))
        assert vectors(target, tiger) == wanted


def test_a_controller_becomes_a_value_function(succeed):
    succeed("solve", "tiger", "--planner", "policy-iteration", "-o", "t.pg")
    err = succeed("convert", "t.pg", "t.policy", "--for", "tiger").err
    assert "values of the controller's nodes" in err
    tiger = build("tiger")
    controller = load_policy("t.pg", tiger)
    vectors = load_policy("t.policy", tiger)
    assert float((vectors.vectors @ tiger.start).max()) == pytest.approx(controller.value(tiger))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("t.alpha", "t.policy"),
            "t.alpha: is a policy: add --for MODEL, the model that it was made for",
        ),
        (("tree.json", "t.csv"), "tree.json: is a policy: add --for MODEL, the model"),
        (("tree.json", "t.csv", "--for", "tiger"), "t.csv: has the suffix of a log"),
        (
            ("t.alpha", "t.pg", "--for", "tiger"),
            "does not contain the vector that follows each observation; write the .pg file when "
            "planning: "
            "`rpsr solve ... -o t.pg`",
        ),
        (("t.alpha", "t.pomdp", "--for", "tiger"), "has the suffix of a model"),
        (
            ("t.alpha", "t.xyz", "--for", "tiger"),
            "t.xyz: expected the name of a policy file, which ends in .json, .npz",
        ),
        (
            ("t.alpha", "t.policy", "--for", "tiger", "--plain-names"),
            "--plain-names is for models, not",
        ),
        (("t.alpha", "t.policy", "--for", "paint"), "expected 4"),
        (("tree.json", "t.policy", "--for", "tiger"), "cannot store a finite-horizon plan"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(succeed, say, words, message):
    succeed("solve", "tiger", "--planner", "sarsop", "-o", "t.alpha")
    succeed("solve", "tiger", "--horizon", "2", "-o", "tree.json")
    code, _, err = say("convert", *words)
    assert code == 1
    assert message in err
    assert not Path(words[1]).exists()


def test_a_native_value_function_becomes_no_controller_and_the_advice_works(succeed, say):
    succeed("solve", "tiger", "-o", "t.json")
    code, _, err = say("convert", "t.json", "t.pg", "--for", "tiger")
    assert code == 1
    assert "does not contain the vector that follows each observation" in err
    assert not Path("t.pg").exists()
    assert err.rstrip().endswith("`rpsr solve ... -o t.pg`")
    facts = json.loads(succeed("solve", "tiger", "-o", "t.pg", "--json").out)
    earned = load_policy("t.pg", build("tiger")).value(build("tiger"))
    assert facts["lower"] - 1e-9 <= earned <= facts["upper"] + 1e-9


def test_a_policy_is_no_model_and_no_log(succeed, say):
    succeed("solve", "tiger", "--horizon", "1", "-o", "t.json")
    for words, message in (
        (("info", "t.json"), "rpsr: t.json: is a policy, expected a model\n"),
        (("solve", "t.json"), "rpsr: t.json: is a policy, expected a model\n"),
        (("learn", "t.json", "-o", "l.rpsr", "--discount", "0.9"), "is a policy, expected a log\n"),
    ):
        code, _, err = say(*words)
        assert code == 1
        assert err.endswith(message)


def test_the_help_names_all_that_can_be_converted(succeed):
    said = " ".join(succeed("convert", "--help").out.replace("│", " ").split())
    assert (
        "A model (.pomdp, .pomdpx, .prism, .drn, .rpsr, a domain's name), a log (.jsonl, "
        ".csv, .parquet), or with --for a policy (.json, .npz, .alpha, .pg, .policy)" in said
    )
    assert "--for STR The model (file or domain) that the policy was made for" in said


def test_plain_names_are_for_programs_that_read_no_others(succeed, say, rover):
    """The hint stands beside the names that may be refused; the model is the same."""
    hint = succeed("convert", "rover.pomdpx", "a.pomdp").err
    assert "; --plain-names writes s0, a0, o0 instead; for the SARSOP toolkit, write a" in hint
    hint = succeed("convert", "rover.pomdpx", "b.pomdp", "--plain-names").err
    assert "may refuse" not in hint
    named, plain = load("a.pomdp"), load("b.pomdp")
    assert plain.states == tuple(f"s{i}" for i in range(len(named.states)))
    assert plain.actions == tuple(f"a{i}" for i in range(len(named.actions)))
    assert plain.observations == tuple(f"o{i}" for i in range(len(named.observations)))
    assert plain == named.with_plain_names()
    succeed("convert", "rover.pomdpx", "r.rpsr", "--model", "rpsr")
    code, _, err = say("convert", "r.rpsr", "s.rpsr", "--plain-names")
    assert (code, err) == (1, "rpsr: s.rpsr: plain names: read a rpsr model, expected a POMDP\n")


def test_the_verbs_take_pomdpx(succeed, rover):
    facts = json.loads(succeed("info", "rover.pomdpx", "--json").out)
    assert facts["states"] == 6
    assert facts["state_variables"] == [
        {"name": "rover", "values": 3, "fully_observed": True},
        {"name": "rock", "values": 2, "fully_observed": False},
    ]
    assert "rover (3, fully observed), rock (2)" in succeed("info", "rover.pomdpx").out
    Path("rover.pomdpx.gz").write_bytes(gzip.compress(Path("rover.pomdpx").read_bytes()))
    solved = json.loads(
        succeed("solve", "rover.pomdpx.gz", "--planner", "sarsop", "-o", "r.policy", "--json").out
    )
    stored = load_policy("r.policy", rover)
    np.testing.assert_allclose((stored.vectors @ rover.start).max(), solved["lower"], atol=1e-9)
    rows = json.loads(
        succeed("evaluate", "rover.pomdpx", "--policy", "r.policy", "--steps", "2000", "--json").out
    )["rows"]
    (exact,) = (row["exact"] for row in rows if row["model"] == "pomdp")
    assert solved["lower"] - 1e-9 <= exact <= solved["upper"] + 1e-9
