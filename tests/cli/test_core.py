"""`rpsr core`: tables for people, the JSON contract, and what it refuses."""

from itertools import count

import numpy as np
import pytest
from tests.cli.documents import document
from tests.models.builders import Sizes, random_arrays

from rpsr import POMDP, deadline, save
from rpsr.cli.app import main
from rpsr.domains import build
from rpsr.predictive import find_core, outcomes_of, parse_future

KEYS = {
    *("schema", "version", "source", "model", "search", "rank", "core", "condition_number"),
    *("margin", "certified", "error_probability", "seconds"),
}


# ---- JSON


@pytest.mark.parametrize("model", ["psr", "rpsr", "ra-psr"])
@pytest.mark.parametrize("search", ["bfs", "dfs"])
def test_the_document_has_every_key(succeed, model, search):
    out, err = succeed("core", "loadunload", "--model", model, "--search", search, "--json")
    facts = document(out)
    assert facts.keys() >= KEYS
    assert (facts["schema"], facts["model"], facts["search"]) == ("rpsr.core/1", model, search)
    assert facts["rank"] == len(facts["core"]) == {"psr": 5, "rpsr": 9, "ra-psr": 10}[model]
    assert facts["certified"] is True
    assert err == ""


def test_members_are_told_by_their_parts(succeed):
    tests = document(succeed("core", "loadunload", "--json").out)["core"]
    assert tests[3] == {
        "text": "right travel, left loading",
        "interactions": [["right", "travel"], ["left", "loading"]],
        "action": None,
        "token": False,
    }
    intents = document(succeed("core", "loadunload", "--model", "rpsr", "--json").out)["core"]
    assert [(i["interactions"], i["action"], i["token"]) for i in intents[:2]] == [
        ([], None, True),
        ([], "right", False),
    ]
    for member in (*tests, *intents):
        assert str(parse_future(member["text"])) == member["text"]


def test_outcomes_come_with_matrix_only(succeed):
    assert "outcomes" not in document(succeed("core", "loadunload", "--json").out)
    facts = document(succeed("core", "loadunload", "--json", "--matrix").out)
    futures = [parse_future(member["text"]) for member in facts["core"]]
    assert np.array_equal(np.array(facts["outcomes"]).T, outcomes_of(build("loadunload"), futures))


def test_a_number_that_does_not_exist_is_null(succeed):
    facts = document(succeed("core", "tiger", "--float", "--json").out)
    assert (facts["certified"], facts["error_probability"]) == (False, None)
    assert facts["margin"]["smallest_accepted"] > 0.1


def test_the_answer_is_the_librarys(succeed):
    facts = document(succeed("core", "iff", "--search", "dfs", "--json").out)
    core = find_core(build("iff"), "psr", search="dfs")
    assert [member["text"] for member in facts["core"]] == [str(m) for m in core.members]
    assert facts["condition_number"] == pytest.approx(core.condition_number, rel=1e-6)


# ---- people


def test_core_intents_of_load_unload_for_a_talk(succeed):
    out, err = succeed("core", "loadunload", "--model", "rpsr")
    assert err == ""
    lines = [line.split("  ") for line in out.splitlines()]
    assert out.startswith("The R-PSR of loadunload has rank 9; the POMDP has 10 states\n")
    for row in ("ε; ζ", "right travel, left loading; ζ"):
        assert any(row in [cell.strip() for cell in line] for line in lines)
    assert "0 0 0 1 0 0 0 0 0 0" in out
    assert "condition number of the outcome matrix: 8.99" in out
    assert "ε: the empty test" in " ".join(out.split())
    assert "accurate, as in every R-PSR: linear functions of its state" in out
    assert "wrong with probability at most" in out


def test_a_psr_says_which_rewards_it_cannot_hold(succeed):
    out = succeed("core", "paint").out
    assert (
        "not accurate; no linear function of the PSR's state gives the rewards of ship, reject"
        in out
    )
    assert "rewards: accurate" in succeed("core", "tiger").out
    assert "rank: certain, by exact arithmetic" in succeed("core", "tiger").out
    assert "rank: decided in floats" in succeed("core", "tiger", "--float").out


def test_long_outcomes_are_left_out_unless_asked_for(succeed):
    assert "outcome in states" not in succeed("core", "tiger-grid").out
    assert "outcome in states 0 to 35" in succeed("core", "tiger-grid", "--matrix").out


def test_warnings_go_to_standard_error(succeed):
    T, O, R = random_arrays(0, Sizes(2, 3, 2))
    save(POMDP.from_arrays(T * (1 + 1e-6), O, R), "off.rpsr")
    out, err = succeed("core", "off.rpsr")
    assert "rescaled" in err
    assert "rescaled" not in out


# ---- what is refused


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["core", "floats.rpsr", "--exact"], 1, "known only in floats"),
        (["core", "belief.rpsr"], 1, "holds a belief model, expected a POMDP"),
        (["core", "tigre"], 1, "no domain is called 'tigre'"),
        (["core", "tiger", "--exact", "--float"], 2, "Mutually exclusive"),
        (["core", "tiger", "--model", "mdp"], 2, "mdp"),
        (["core", "tiger", "--search", "best"], 2, "best"),
        (["core"], 2, "'rpsr core' needs SOURCE"),
    ],
)
def test_an_error_is_one_line(capsys, words, code, message):
    save(POMDP.from_arrays(*random_arrays(0, Sizes(2, 3, 2))), "floats.rpsr")
    save(build("tiger").belief_model(), "belief.rpsr")
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rpsr: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_limit_on_time_is_one_line_and_exit_code_3(capsys, monkeypatch):
    ticks = count()
    monkeypatch.setattr(deadline, "now", lambda: float(next(ticks)))
    assert main(["core", "paint", "--time-limit", "3.5"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "the time limit of 3.5 seconds was reached while searching for core tests" in err
    assert err.count("\n") == 1
