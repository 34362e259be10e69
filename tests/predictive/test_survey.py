"""Many sources: one row each, whatever goes wrong with one, over processes, and resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rpsr import save
from rpsr.domains import build
from rpsr.errors import InputError
from rpsr.parallel import workers
from rpsr.predictive import survey as survey_module
from rpsr.predictive.survey import (
    Options,
    Row,
    domain_name,
    expand_sources,
    survey,
    survey_row,
)

SOURCES = ["tiger", "loadunload", "paint", "line4-2goals", "1d"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def done(monkeypatch):
    """The sources that were really worked on."""
    worked: list[str] = []
    work = survey_row

    def watched(source, options):
        worked.append(source)
        return work(source, options)

    monkeypatch.setattr(survey_module, "survey_row", watched)
    return worked


def without_time(row: Row) -> dict:
    return {key: value for key, value in row.items() if key != "seconds"}


# ---- rows


def test_a_row_answers_everything():
    row = survey_row("loadunload")
    assert (row["domain"], row["states"], row["actions"], row["observations"]) == (
        *("loadunload", 10, 2, 3),
    )
    assert (row["psr_rank"], row["rpsr_rank"]) == (5, 9)
    assert (row["accurate"], row["accurate_reachable"]) == (False, False)
    assert (row["d_inf"], row["rel_d_inf"], row["d_inf_reachable"]) == (0.5, 0.5, 0.5)
    assert row["d_inf_by_action"] == {"right": 0.5, "left": 0.5}
    assert row["rpsr_d_inf"] == pytest.approx(0, abs=1e-12)
    assert row["history_error"] is not None
    assert 0 < row["history_error"]["mean"] <= row["history_error"]["max"] < 0.5 + 1e-12
    assert row["merged_states"] == 10
    assert len(row["merges"] or []) == 2
    assert row["certified"]
    assert row["error"] is None
    missing = {key for key, value in row.items() if value is None}
    assert missing == {"note", "limit", "error"}


def test_a_row_is_plain_json():
    assert json.loads(json.dumps(survey_row("paint"), allow_nan=False)) == survey_row("paint") | {
        "seconds": pytest.approx(0, abs=60)
    }


def test_a_source_that_cannot_be_read_is_a_row_with_its_error():
    Path("bad.pomdp").write_text("states: 2\nactions: go\nobservations: 1\nT: go : * 0.5 0.6\n")
    save(build("tiger").belief_model(), "belief.rpsr")
    sources = ["tigre", "bad.pomdp", "missing.pomdp", "belief.rpsr", "x" * 300, "tiger"]
    rows = {row["source"]: row for row in survey(sources)}
    errors = [rows[source]["error"] for source in sources]
    assert errors[0].startswith("tigre: no such file, and no domain")
    assert errors[1].startswith("bad.pomdp:4:")
    assert errors[2] == "missing.pomdp: no such file"
    assert errors[3] == "belief.rpsr: holds a belief model, expected a POMDP"
    assert errors[4].endswith("File name too long")
    assert errors[5] is None
    assert rows["bad.pomdp"]["accurate"] is None
    assert rows["bad.pomdp"]["states"] is None


def test_what_nobody_foresaw_is_in_the_row_too(monkeypatch):
    def fail(pomdp, **_options):
        if pomdp.name == "paint":
            raise MemoryError("too large")
        return work(pomdp, **_options)

    work = survey_module.accuracy
    monkeypatch.setattr(survey_module, "accuracy", fail)
    errors = {row["source"]: row["error"] for row in survey(["paint", "tiger"])}
    assert errors == {"paint": "unexpected MemoryError: too large", "tiger": None}


def test_options_reach_every_source():
    rows = list(survey(["tiger", "1d"], Options(exact=False)))
    assert [row["certified"] for row in rows] == [False, False]
    assert "discount" in (survey_row("tiger", Options(discount="2"))["error"] or "")


# ---- processes


def test_two_processes_say_what_one_says_and_leave_the_environment_alone(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    surveys = []
    for jobs in (1, 2):
        with workers(jobs) as executor:
            rows = survey([*SOURCES, "tigre"], executor=executor)
            surveys.append({row["source"]: without_time(row) for row in rows})
    alone, together = surveys
    assert alone == together
    assert len(alone) == 6
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


# ---- the record


def test_rows_are_recorded_as_they_come(done):
    record = Path("rows.jsonl")
    rows = survey(SOURCES, record=record)
    for count in range(1, 4):
        row = next(rows)
        lines = record.read_text().splitlines()
        assert len(lines) == count == len(done)
        assert json.loads(lines[-1]) == row


def test_an_interrupted_survey_goes_on_where_it_stopped(done):
    record = Path("rows.jsonl")
    rows = survey(SOURCES, record=record)
    first = [next(rows), next(rows)]
    rows.close()
    done.clear()
    again = list(survey(SOURCES, record=record))
    assert done == SOURCES[2:]
    assert again[:2] == first
    assert [row["source"] for row in again] == SOURCES
    done.clear()
    assert list(survey(SOURCES, record=record)) == again
    assert done == []


@pytest.mark.parametrize("cut", [1, 5, 100, -2])
def test_a_row_cut_off_at_the_end_is_done_again(done, cut):
    record = Path("rows.jsonl")
    list(survey(SOURCES[:3], record=record))
    *whole, last = record.read_text().splitlines(keepends=True)
    record.write_text("".join(whole) + last[:cut])
    done.clear()
    assert [row["source"] for row in survey(SOURCES[:4], record=record)] == SOURCES[:4]
    assert done == SOURCES[2:4]
    # The record is whole again, and stays usable.
    assert [json.loads(line)["source"] for line in record.read_text().splitlines()] == SOURCES[:4]
    done.clear()
    list(survey(SOURCES[:4], record=record))
    assert done == []


def test_a_source_with_an_error_is_tried_again(done):
    record = Path("rows.jsonl")
    list(survey(["m.pomdp", "tiger"], record=record))
    save(build("tiger"), "m.pomdp")
    done.clear()
    rows = {row["source"]: row for row in survey(["m.pomdp", "tiger"], record=record)}
    assert done == ["m.pomdp"]
    assert rows["m.pomdp"]["error"] is None


def test_a_row_is_not_reused_for_another_question(done):
    record = Path("rows.jsonl")
    save(build("tiger"), "m.pomdp")
    list(survey(["m.pomdp", "1d"], Options(exact=False), record=record))
    done.clear()
    assert all(row["certified"] for row in survey(["m.pomdp", "1d"], record=record))
    assert done == ["m.pomdp", "1d"]
    save(build("paint"), "m.pomdp")
    done.clear()
    rows = list(survey(["m.pomdp", "1d"], record=record))
    assert done == ["m.pomdp"]
    assert {row["source"]: row["states"] for row in rows} == {"m.pomdp": 4, "1d": 4}


@pytest.mark.parametrize(
    ("text", "line"),
    [("hello\n", 1), ("hello", 1), ("[1, 2]\n", 1), ('{"source": "tiger"}\n', 1), ("\n", 1)],
)
def test_a_file_that_is_no_record_is_refused_and_left_alone(text, line):
    Path("notes.txt").write_text(text)
    wrong = rf"^notes.txt:{line}: not (a|the beginning of a) row of results"
    with pytest.raises(InputError, match=wrong):
        list(survey(["tiger"], record=Path("notes.txt")))
    assert Path("notes.txt").read_text() == text


def test_a_record_that_cannot_be_written_is_told_before_any_work(done):
    with pytest.raises(InputError, match=r"^nowhere/rows\.jsonl: cannot be written"):
        list(survey(["tiger"], record=Path("nowhere/rows.jsonl")))
    assert done == []


def test_two_surveys_that_take_turns_write_each_row_once():
    record, missing = Path("rows.jsonl"), "none.pomdp"
    sources = [*SOURCES, missing]
    first, second = survey(sources, record=record), survey(sources[::-1], record=record)
    for _ in sources:
        next(first)
        next(second)
    written = [json.loads(line)["source"] for line in record.read_text().splitlines()]
    assert sorted(written) == sorted(sources)


def test_two_processes_write_each_row_once():
    words = [sys.executable, "-m", "rpsr", "accuracy", *SOURCES, "-o", "rows.jsonl", "--json"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(2)]
    for process in running:
        out, _ = process.communicate(timeout=120)
        assert [row["source"] for row in json.loads(out)["rows"]] == SOURCES
    written = [json.loads(line)["source"] for line in Path("rows.jsonl").read_text().splitlines()]
    assert sorted(written) == sorted(SOURCES)


# ---- names


FOUND = ("a.pomdp", "b.POMDP", "c.pomdp.gz", "d.drn.gz", "d.rpsr")


def test_a_folder_stands_for_the_models_in_it():
    Path("models").mkdir()
    others = ("README.md", "log.csv", "e.pomdp.txt")
    for name in ("b.POMDP", "a.pomdp", "c.pomdp.gz", "d.drn.gz", "d.rpsr", *others):
        (Path("models") / name).write_text("")
    assert expand_sources(["tiger", "models"]) == [
        "tiger",
        *(str(Path("models") / name) for name in FOUND),
    ]
    Path("empty").mkdir()
    with pytest.raises(
        InputError, match=r"^empty: the folder contains no model file; .*\.drn, \.rpsr"
    ):
        expand_sources(["empty"])


def test_a_domain_is_named_without_folder_and_suffixes():
    Path("x.POMDP.gz").write_text("")
    assert domain_name(str(Path("x.POMDP.gz").absolute())) == "x"
    assert domain_name("loadunload:cells=7") == "loadunload:cells=7"
    assert domain_name("y" * 300) == "y" * 300
