"""`rpsr accuracy`: one row a source, in JSON and for people, and its exit codes."""

import json
import re
import sys
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from tests.models.builders import rarely_seen

from rpsr import deadline, save
from rpsr.domains import build
from rpsr.parallel import Processes
from rpsr.predictive import survey

KEYS = {
    *("domain", "states", "actions", "observations", "psr_rank", "rpsr_rank", "accurate"),
    *("accurate_reachable", "d_inf", "rel_d_inf", "d_inf_reachable", "rpsr_d_inf", "certified"),
    *("error_probability", "margin", "seconds", "note", "error"),
}


def test_rows_have_every_key(say):
    code, out, err = say("accuracy", "tiger", "loadunload", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["schema"] == "rpsr.accuracy/1"
    assert facts["source"] == ["tiger", "loadunload"]
    assert [row["domain"] for row in facts["rows"]] == ["tiger", "loadunload"]
    assert all(row.keys() >= KEYS for row in facts["rows"])
    assert [row["accurate"] for row in facts["rows"]] == [True, False]


def test_an_unreadable_source_is_a_row_and_the_exit_code_after_all_rows(say):
    Path("bad.pomdp").write_text("nonsense\n")
    code, out, err = say("accuracy", "tigre", "bad.pomdp", "paint", "--json")
    rows = json.loads(out)["rows"]
    assert (code, err) == (1, "")
    assert [row["domain"] for row in rows] == ["tigre", "bad", "paint"]
    assert [row["error"] is None for row in rows] == [False, False, True]
    assert rows[1]["error"].startswith("bad.pomdp:1:1: ")
    assert {key for key, value in rows[1].items() if value is not None} == {
        *("domain", "source", "seconds", "error", "stamp"),
    }
    assert rows[2]["d_inf"] == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "and exact arithmetic would take too long"),
        (("--float",), "use exact arithmetic (leave out --float; exact=True in Python)"),
    ],
)
def test_an_error_that_is_not_known_says_why(say, monkeypatch, options, reason):
    save(rarely_seen(Fraction(1, 10**8)), "rare.rpsr")
    known = json.loads(say("accuracy", "rare.rpsr", "--json")[1])["rows"][0]
    assert known["d_inf_reachable"] is not None
    assert known["note"] is None
    monkeypatch.setattr(sys.modules["rpsr.predictive.reward_accuracy"], "EXACT_WORK", 0)
    code, out, err = say("accuracy", "rare.rpsr", "--json", *options)
    (row,) = json.loads(out)["rows"]
    assert (code, err, row["error"]) == (0, "", None)
    assert row["d_inf_reachable"] is None
    assert row["note"].startswith("d_inf_reachable is unknown: floats cannot determine")
    assert row["note"].endswith(reason)
    code, out, err = say("accuracy", "rare.rpsr", *options)
    assert code == 0
    assert f"rare.rpsr: {row['note']}" in " ".join(err.split())


def test_people_read_a_table_and_errors_below_it(say):
    Path("bad.pomdp").write_text("nonsense\n")
    code, out, err = say("accuracy", "paint", "bad.pomdp", "tiger")
    assert code == 1
    assert err.startswith("rpsr: bad.pomdp:1:1: ")
    assert err.count("\n") == 1
    lines = [line.split() for line in out.splitlines()]
    assert ["paint", "4", "4", "2", "2", "4", "no", "no", "1.333", "1.333", "1.333"] in [
        line[:11] for line in lines
    ]
    assert ["tiger", "2", "3", "2", "2", "2", "yes", "yes", "0", "0", "0"] in [
        line[:11] for line in lines
    ]
    assert "Of 2 PSRs, 1 is not accurate." in out
    assert ["bad", "error"] in lines
    code, out, err = say("accuracy", "bad.pomdp")
    assert (code, out, err.partition("1:1: ")[0]) == (1, "", "rpsr: bad.pomdp:")
    code, out, err = say("accuracy", "bad.pomdp", "nowhere.pomdp")
    assert ["nowhere", "error"] in [line.split() for line in out.splitlines()]
    assert (code, err.count("rpsr: ")) == (1, 2)


def test_a_narrow_terminal_cuts_no_digits_off(say, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = [line.split() for line in say("accuracy", "paint", "tiger")[1].splitlines()]
    assert ["paint", "4", "4", "2", "2", "4", "no", "no", "1.333", "1.333", "1.333"] in lines
    assert ["tiger", "2", "3", "2", "2", "2", "yes", "yes", "0", "0", "0"] in lines


def test_one_source_is_told_with_its_costly_merges(say):
    out = say("accuracy", "loadunload")[1]
    assert "no test distinguishes states loaded-0 and empty-0, but the reward of actions" in out
    assert (
        "There are 5 groups of states that no test distinguishes. The groups with different" in out
    )
    assert "groups" not in say("accuracy", "loadunload", "tiger")[1]


@pytest.mark.parametrize(
    ("domain", "answer"),
    [
        ("tiger", "A PSR is enough for tiger: its state determines the rewards."),
        ("paint", "A PSR is not enough for paint: its state does not determine the rewards."),
        ("reach.pomdp", "A PSR is enough for reach, but only at reachable beliefs."),
    ],
)
def test_the_question_is_answered_in_words(say, domain, answer):
    # States b and c look alike but pay differently, and neither is ever reached.
    Path("reach.pomdp").write_text(
        "discount: 0.9\nvalues: reward\nstates: a b c\nactions: go\nobservations: seen\n"
        "start: a\nT: * identity\nO: * uniform\nR: * : c : * : * 1\n"
    )
    out = say("accuracy", domain)[1]
    assert answer in out
    assert re.search(
        r"The verdict is (certain, by|decided by) exact arithmetic", " ".join(out.split())
    )


def test_a_folder_stands_for_its_files(say):
    Path("models").mkdir()
    for name in ("tiger", "paint"):
        save(build(name), f"models/{name}.pomdp")
    rows = json.loads(say("accuracy", "models", "--json")[1])["rows"]
    assert [row["domain"] for row in rows] == ["paint", "tiger"]


def test_a_source_named_twice_is_one_row(say):
    assert len(json.loads(say("accuracy", "tiger", "tiger", "--json")[1])["rows"]) == 1


def test_floats_are_not_certified(say):
    (row,) = json.loads(say("accuracy", "tiger", "--float", "--json")[1])["rows"]
    assert (row["certified"], row["error_probability"]) == (False, None)


def test_rows_are_shown_in_the_order_asked_for(say, monkeypatch):
    rows = [survey.survey_row(source) for source in ("tiger", "paint", "1d")]
    calls = []

    def finished(sources, options, *, executor, record, shard):
        calls.append((type(executor), record, options.exact))
        return iter(rows)

    monkeypatch.setattr(survey, "survey", finished)
    shown = json.loads(say("accuracy", "1d", "tiger", "paint", "--jobs", "2", "--json")[1])["rows"]
    assert [row["domain"] for row in shown] == ["1d", "tiger", "paint"]
    assert calls == [(Processes, None, None)]


def test_rows_are_kept_and_not_done_again(say, monkeypatch):
    first = say("accuracy", "tiger", "paint", "--json", "-o", "rows.jsonl")
    assert len(Path("rows.jsonl").read_text().splitlines()) == 2
    monkeypatch.setattr(survey, "survey_row", None)  # nothing is left to do
    assert say("accuracy", "tiger", "paint", "--json", "--output", "rows.jsonl") == first


def test_options_that_every_source_has(say):
    code, out, _ = say("accuracy", "tiger", "--discount", "0.5", "--normalize")
    assert code == 0
    assert "tiger" in out
    assert say("accuracy", "tiger", "--discount", "2")[0] == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["accuracy"], 2, "'rpsr accuracy' needs SOURCE"),
        (["accuracy", "tiger", "--jobs", "0"], 2, "--jobs"),
        (
            ["accuracy", "."],
            1,
            ".: the folder contains no model file; expected files ending in .pomdp",
        ),
        (["accuracy", "tiger", "-o", "no/where.jsonl"], 1, "cannot be written"),
        (["accuracy", "tiger", "-o", "rows.csv"], 1, "rows.csv: has the suffix of a table"),
        (["merge", "a.jsonl", "-o", "rows.CSV"], 1, "rows.CSV: has the suffix of a table"),
        (["accuracy", "tiger", "-o", "page.html"], 1, "page.html: has the suffix of a page"),
        (["accuracy", "tiger", "-o", "rows.jsonl.gz"], 1, "expected a name ending in .jsonl"),
    ],
)
def test_an_error_of_the_whole_is_one_line(say, words, code, message):
    status, out, err = say(*words)
    assert (status, out) == (code, "")
    assert err.startswith("rpsr: ")
    assert err.count("\n") == 1
    assert message in err


def test_an_interrupt_shows_the_rows_so_far(say, monkeypatch):
    work = survey.survey_row

    def interrupted(source, options):
        if source == "paint":
            raise KeyboardInterrupt
        return work(source, options)

    monkeypatch.setattr(survey, "survey_row", interrupted)
    code, out, err = say("accuracy", "tiger", "paint", "1d", "--json")
    assert (code, err) == (130, "rpsr: interrupted\n")
    assert [row["domain"] for row in json.loads(out)["rows"]] == ["tiger"]


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that advances by a second whenever it is read."""
    ticks = count()
    monkeypatch.setattr(deadline, "now", lambda: float(next(ticks)))


def test_a_limit_on_time_is_a_row_and_exit_code_3(say, slow_clock):
    code, out, err = say("accuracy", "paint", "--time-limit", "2.5")
    assert (code, out) == (3, "")
    assert err.startswith("rpsr: paint: the time limit of 2.5 seconds was reached while ")


def test_a_source_at_fault_outweighs_a_limit(say, slow_clock):
    code, out, _ = say("accuracy", "paint", "nowhere.pomdp", "--time-limit", "2.5", "--json")
    assert code == 1
    limits = [row["limit"] for row in json.loads(out)["rows"]]
    assert limits == ["time", None]


def test_a_limit_that_is_no_time_is_usage(say):
    code, _, err = say("accuracy", "tiger", "--time-limit", "0")
    assert code == 2
    assert "expected a finite number above 0" in err
