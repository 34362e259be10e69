"""Numbers on the command line of `rpsr solve`: precision, memory, counts."""

import json
from pathlib import Path

import pytest
from tests.cli.documents import PARR
from tests.cli.saying import said

from rpsr.planning.portfolio.planner import Auto

KEYS = {
    *("schema", "version", "source", "model", "planner", "discount", "horizon", "status", "value"),
    *("lower", "upper", "gap", "residual", "vectors", "iterations", "seconds", "seed"),
}


def test_ordinary_scales_need_no_epsilon(succeed):
    text = Path("big.pomdp")
    succeed("convert", "parr", str(text))
    text.write_text(text.read_text().replace(" 2\n", " 2e7\n"))
    facts = json.loads(succeed("solve", str(text), "--json").out)
    assert facts["lower"] <= PARR * 1e7 <= facts["upper"]
    assert facts["gap"] <= 1e-9 * facts["value"] * 20
    facts = json.loads(succeed("solve", "tiger", "--discount", "0.9999", "--json").out)
    assert (facts["status"], facts["gap"] < 1e-6 * facts["value"]) == ("solved", True)


def test_an_epsilon_that_floats_cannot_prove_is_met_as_closely_as_they_can(succeed):
    out, err = succeed("solve", "tiger", "--epsilon", "1e-20", "--json")
    facts = json.loads(out)
    assert (facts["status"], facts["gap"] < 1e-9) == ("rounding", True)
    note = (
        f"the value is proven to {facts['epsilon']:.2g} only, not to the given epsilon: rounding "
        "errors of floats are too large"
    )
    assert said(err) == f"rpsr: {note}\n"


@pytest.mark.parametrize("planner", ["vi", "sarsop"])
def test_an_epsilon_may_be_a_percentage(succeed, planner):
    words = ("solve", "4x4", "--planner", planner, "--json", "--epsilon")
    loose, tight = (json.loads(succeed(*words, e).out) for e in ("10%", "0.01%"))
    assert loose["status"] == tight["status"] == "solved"
    assert tight["gap"] <= 1e-4 * tight["value"] < loose["gap"] <= 0.1 * loose["value"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("123456789", 123456789), ("2e9", 2 * 10**9), ("2GB", 2 * 10**9), ("2 gb", 2 * 10**9)),
        *(("2G", 2 * 10**9), ("2GiB", 2**31), ("1.5GiB", 3 * 2**29), ("500MB", 5 * 10**8)),
        *(("500kb", 5 * 10**5), ("1TiB", 2**40), ("64B", 64)),
    ],
)
def test_a_memory_limit_may_have_a_unit(monkeypatch, say, text, number):
    taken = []
    monkeypatch.setattr(Auto, "solve", lambda planner, *_: taken.append(planner))
    say("solve", "tiger", "--memory-limit", text)
    assert [planner.memory_limit for planner in taken] == [number]


@pytest.mark.parametrize(
    "text", ["2XB", "GB", "-1GB", "0", "0.1B", "nan", "1e400", "2GBs", "", "1%"]
)
def test_a_memory_limit_that_is_none(say, text):
    code, out, err = say("solve", "tiger", "--memory-limit", text)
    assert (code, out) == (2, "")
    assert f"--memory-limit: read {text!r}, expected a number of bytes, such as" in err


@pytest.mark.parametrize("text", ["%", "0%", "-1%", "nan%", "1%%", "x", "inf%", "1 percent"])
def test_an_epsilon_that_is_none(say, text):
    code, out, err = say("solve", "tiger", "--epsilon", text)
    assert (code, out) == (2, "")
    assert f"--epsilon: read {text!r}, expected a finite number above 0, or a percentage" in err


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "tiger", "--horizon", "1.5"),
        ("solve", "tiger", "--max-iterations", "1e1"),
        ("solve", "tiger", "--seed", "1.5"),
        ("simulate", "tiger", "-o", "x.jsonl", "--episodes", "1.5"),
        ("evaluate", "tiger", "--steps", "2.7"),
    ],
)
def test_counts_are_whole_numbers(say, words):
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert f"read '{words[-1]}', expected a whole number" in err
