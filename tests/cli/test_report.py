"""`rpsr report`: what it writes, and when it writes nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rpsr.cli.app import main
from rpsr.domains import build
from rpsr.planning import Reachable, solve
from rpsr.planning.solution import Status

PAGE = Path("page.html")


def rows(caption: str) -> list[list[str]]:
    """The cells of the table with a caption."""
    text = PAGE.read_text(encoding="utf-8")
    table = re.search(rf"<caption>{re.escape(caption)}.*?</caption>(.*?)</table>", text, re.DOTALL)
    assert table is not None, caption
    lines = re.findall(r"<tr>(.*?)</tr>", table[1])
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]
    return [[re.sub("<.*?>", "", cell).replace("\u2212", "-") for cell in row] for row in cells]


def test_a_built_in_domain(say):
    assert say("report", "loadunload", "-o", "page.html") == (0, "", "rpsr: wrote page.html\n")
    text = PAGE.read_text(encoding="utf-8")
    assert "<h1>Report on loadunload</h1>" in text
    assert "A PSR is not enough." in text
    assert "A cart fetches goods" in text
    facts = dict(rows("The POMDP loadunload")[1:])
    assert (facts["PSR rank (core tests)"], facts["R-PSR rank (core intents)"]) == ("5", "9")
    wrong = rows("Rewards that the PSR gets wrong")
    assert wrong[1:] == [
        ["loaded-0", "0", "0.5", "0", "0.5"],
        ["empty-0", "1", "0.5", "1", "0.5"],
        ["loaded-4", "1", "0.5", "1", "0.5"],
        ["empty-4", "0", "0.5", "0", "0.5"],
    ]
    assert "ε: the empty test" in text
    tests = rows("Core tests of the PSR")
    assert tests[1] == ["right unloading", "0.4", *"0000001111"]
    head, *planned = rows("Value at the start")
    optimum = solve(build("loadunload"), Reachable()).value
    for row in planned:
        found = dict(zip(head, row, strict=True))
        assert found["status"] == "solved"
        assert float(found["lower"]) <= float(found["value"]) <= float(found["upper"])
        if found["model"] != "PSR":
            assert float(found["value"]) == pytest.approx(optimum, rel=1e-5)
            assert float(found["earns"]) == pytest.approx(optimum, rel=1e-5)
        else:
            assert float(found["earns"]) < optimum < float(found["value"])


def test_a_file_and_its_name(say):
    assert say("convert", "tiger", "my-tiger.pomdp")[0] == 0
    assert say("report", "my-tiger.pomdp", "-o", "page.html", "--discount", "0.5")[:2] == (0, "")
    text = PAGE.read_text(encoding="utf-8")
    assert "<h1>Report on my-tiger</h1>" in text
    assert "A PSR is enough." in text
    assert dict(rows("The POMDP my-tiger")[1:])["discount"] == "0.5"


def test_a_limit_is_said_on_the_page(say):
    code, out, err = say("report", "4x3", "-o", "page.html", "--time-limit", "1e-9")
    assert (code, out) == (3, "")
    assert err == (
        "rpsr: wrote page.html\n"
        "rpsr: 4x3: planning on POMDP, PSR, R-PSR reached the time limit; the bounds hold\n"
    )
    assert [row[-1] for row in rows("Value at the start")[1:]] == ["time"] * 3


def test_what_cannot_be_planned_is_said(say, monkeypatch):
    assert say("report", "parr", "-o", "page.html", "--discount", "1")[0] == 0
    assert "Planning is left out: " in PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr("rpsr.report.planning_section.MOST_STATES", 1)
    monkeypatch.setattr("rpsr.report.stepper.LARGEST", 1)
    assert say("report", "tiger", "-o", "page.html")[0] == 0
    text = PAGE.read_text(encoding="utf-8")
    assert "Planning is left out: the POMDP has 2 states" in text
    assert "Stepping through tiger is left out" in text


def test_nothing_is_written_on_ctrl_c(say, monkeypatch):
    PAGE.write_text("before")

    def interrupted(model, planner):
        return replace(solve(model, Reachable()), status=Status.INTERRUPTED)

    monkeypatch.setattr("rpsr.report.planning_section.solve", interrupted)
    assert say("report", "tiger", "-o", "page.html") == (130, "", "rpsr: interrupted\n")
    assert PAGE.read_text() == "before"
    assert [path.name for path in Path().iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["tiger"], 2, "--output"),
        (["tiger", "-o", "x.html", "--time-limit", "0"], 2, "above 0"),
        (["nothing", "-o", "x.html"], 1, "no such file"),
        (["tiger", "-o", "page.pdf"], 1, "page.pdf: expected a name ending in .html or .htm"),
        (["tiger", "-o", "page"], 1, "page: expected a name ending in .html or .htm"),
        (["tiger", "-o", "none/x.html"], 1, "none/x.html: the folder does not exist"),
    ],
)
def test_bad_words(say, words, code, message):
    found, out, err = say("report", *words)
    assert (found, out) == (code, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_standard_output(capfdbinary):
    assert main(["report", "tiger", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<!DOCTYPE html>")
