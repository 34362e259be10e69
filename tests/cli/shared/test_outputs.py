"""Files that verbs write: refused before the work where that can be known, and else no loss."""

import json
import os
import stat
from pathlib import Path

import pytest
from tests.cli.documents import PARR

from rpsr.cli.app import main

REACHABLE = ("solve", "parr", "--planner", "reachable")
NO_SPACE = "cannot be written: No space left on device\n"


@pytest.fixture
def full(tmp_path):
    """A name below which nothing can be written, as if the disk were full, with any suffix."""

    def name(suffix):
        link = tmp_path / f"full{suffix}"
        link.symlink_to("/dev/full")
        return link.name

    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full: only Linux has a device that is always full")
    return name


@pytest.fixture
def idle(monkeypatch):
    """Nothing is to be read, which is where every verb's work begins."""

    def work(*_arguments, **_options):
        raise AssertionError("the work began")

    for name in ("sources.load", "sources.load_pomdp", "domains.build", "logs.open_logs"):
        monkeypatch.setattr(f"rpsr.{name}", work)


VERBS = (
    ("solve", "parr", "-o", "{}/p.json"),
    ("solve", "parr", "--checkpoint", "{}/p.ckpt"),
    ("simulate", "parr", "-o", "{}/log.jsonl"),
    ("learn", "log.jsonl", "--discount", ".9", "-o", "{}/m.rpsr"),
    ("report", "parr", "-o", "{}/page.html"),
    ("convert", "parr", "{}/m.pomdp"),
    ("domains", "export", "parr", "-o", "{}/m.pomdp"),
)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_a_target_that_cannot_be_is_refused_before_the_work(say, words):
    *words, target = words
    Path("log.jsonl").write_text("{}\n")
    name = target.format("here")
    Path(name).mkdir(parents=True)
    refusal = f"rpsr: {name}: is a folder, expected the name of a file\n"
    assert say(*words, name) == (1, "", refusal)
    missing = target.format("nowhere")
    assert say(*words, missing) == (1, "", f"rpsr: {missing}: the folder does not exist\n")
    if os.name != "nt" and os.geteuid() != 0:
        Path("locked").mkdir(mode=0o500)
        locked = target.format("locked")
        refusal = f"rpsr: {locked}: cannot be written: no permission to write into the folder\n"
        assert say(*words, locked) == (1, "", refusal)


def test_a_full_disk_does_not_lose_a_plan(say, full):
    target = full(".json")
    code, out, err = say(*REACHABLE, "-o", target)
    assert (code, err) == (1, f"rpsr: {target}: {NO_SPACE}")
    assert f"{PARR:.12g}" in out
    assert "solved exactly" in out


def test_a_full_disk_does_not_lose_a_document(say, full):
    target = full(".json")
    code, out, err = say(*REACHABLE, "-o", target, "--json")
    assert (code, err) == (1, f"rpsr: {target}: {NO_SPACE}")
    assert json.loads(out)["value"] == pytest.approx(PARR, abs=1e-9)


def test_one_file_that_fails_does_not_keep_others_from_being_written(say, full):
    target = full(".json")
    words = ("solve", "parr", "-o", target, "--checkpoint", "p.ckpt")
    code, out, err = say(*words)
    assert (code, err) == (1, f"rpsr: wrote p.ckpt\nrpsr: {target}: {NO_SPACE}")
    assert "solved" in out
    Path(target).unlink()
    assert say(*words[:-1], "p.ckpt")[0] == 0  # continues from it


def test_standard_output_that_fails_does_not_keep_a_policy_from_being_written(monkeypatch):
    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rpsr.cli.solve.print_facts", fail)
    assert main([*REACHABLE, "-o", "p.json"]) == 1
    assert json.loads(Path("p.json").read_text())["format"] == "rpsr-policy"


def test_a_full_disk_does_not_lose_what_was_learned(say, log, full):
    target, page = full(".rpsr"), full(".html")
    code, out, err = say(
        *("learn", str(log), "--discount", ".9", "--estimator", "last-k", "--rank", "1"),
        *("-o", target, "--plan", "p.json", "--report", page),
    )
    assert code == 1
    assert "log-likelihood" in out
    assert err.endswith(f"rpsr: wrote p.json\nrpsr: {target}: {NO_SPACE}rpsr: {page}: {NO_SPACE}")
    assert json.loads(Path("p.json").read_text())["format"] == "rpsr-policy"


def test_a_full_disk_does_not_lose_the_bounds_of_a_report(say, full):
    target = full(".html")
    code, out, err = say("report", "parr", "-o", target)
    assert (code, err) == (1, f"rpsr: {target}: {NO_SPACE}")
    assert out.split()[:4] == ["model", "value", "lower", "upper"]
    assert {"POMDP", "PSR", "R-PSR"} <= set(out.split())


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_full_disk_does_not_lose_rows_of_a_survey(say, monkeypatch, form):
    from rpsr.errors import InputError
    from rpsr.row_file import RowFile

    def append(self, row, **_):
        raise InputError("cannot be written: No space left on device", place=str(self.path))

    monkeypatch.setattr(RowFile, "append", append)
    code, out, err = say("accuracy", "tiger", "parr", "-o", "rows.jsonl", *form)
    assert (code, err) == (1, f"rpsr: rows.jsonl: {NO_SPACE}")
    assert "tiger" in out
    assert "parr" in out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in the file system")
def test_rows_of_a_survey_go_through_a_pipe(succeed):
    os.mkfifo("rows.jsonl")
    reader = os.open("rows.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    succeed("accuracy", "tiger", "-o", "rows.jsonl")
    assert json.loads(os.read(reader, 2**16))["domain"] == "tiger"
    os.close(reader)
    assert stat.S_ISFIFO(Path("rows.jsonl").stat().st_mode)


@pytest.mark.parametrize("verb", [(*REACHABLE, "-o"), ("convert", "tiger"), ("report", "1d", "-o")])
def test_the_device_of_standard_output_is_standard_output(succeed, verb):
    first, second = (succeed(*verb, name).out for name in ("-", "/dev/stdout"))
    assert first == second != ""


def test_two_results_may_go_to_nowhere(succeed):
    if not Path("/dev/null").exists():
        pytest.skip("this system has no /dev/null")
    succeed("solve", "1d", "-o", "/dev/null", "--checkpoint", "/dev/null")
    assert not Path("/dev/null").is_file()
