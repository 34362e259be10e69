"""`rpsr report`: what it writes, and when it writes nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from rpsr.cli.app import main
from rpsr.domains import build
from rpsr.errors import ModelError
from rpsr.planning import Reachable, solve
from rpsr.planning.solution import Status
from rpsr.report.model_page import condition
from rpsr.report.verdict_card import _with_precision

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
        cells = dict(zip(head, row, strict=True))
        assert cells["status"] in ("solved", "exact")
        assert float(cells["lower"]) <= float(cells["value"]) <= float(cells["upper"])
        if cells["model"] != "PSR":
            assert float(cells["value"]) == pytest.approx(optimum, rel=1e-5)
            assert float(cells["earns"]) == pytest.approx(optimum, rel=1e-5)
        else:
            assert float(cells["earns"]) < optimum < float(cells["value"])


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
        "rpsr: 4x3: planning on POMDP, PSR, R-PSR was stopped early; the bounds hold, and a "
        "longer --time-limit narrows them\n"
    )
    assert [row[1] for row in rows("Value at the start")[1:]] == ["time"] * 3


def card() -> str:
    """The text of the verdict."""
    match = re.search(r'<div class="card.*?</div>\n', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    return unescape(re.sub("<.*?>", " ", unspanned(match[0])))


def unspanned(text: str) -> str:
    """A page without the spans around the options of commands."""
    return re.sub("</?span[^>]*>", "", text)


def test_the_verdict_comes_first_with_what_to_do(say):
    assert say("report", "loadunload", "-o", "page.html")[0] == 0
    text = PAGE.read_text(encoding="utf-8")
    assert text.index('class="card bad"') < text.index("<nav") < text.index("<table")
    words = card()
    assert "confuses states loaded-0 and empty-0 (and 1 more group of states)" in words
    assert "gets rewards wrong by up to 0.5" in words
    assert "rpsr solve loadunload -o policy.json" in words
    optimum = solve(build("loadunload"), Reachable()).value
    value, precision = re.search(r"([\d.]+), proven to ([\d.e-]+)", words).groups()
    assert abs(float(value) - optimum) <= float(precision) < 1e-4
    assert "earns 0.6339; the PSR expects 9.149" in words  # of the PSR's policy
    assert "(50 % of the largest reward)" in text
    assert "their own observations" not in text


@pytest.mark.parametrize(
    ("value", "lower", "upper", "words"),
    [
        (1.88987995801, 1.88987995801, 1.88991748557, "1.88988, proven to 4e-05"),
        (1 / 3, 1 / 3, 1 / 3, "0.33333, proven to 1e-05"),
        (-1e-9, -1e-9, 1e-9, "0.00000, proven to 1e-05"),
        (-0.61451, -0.61451, -0.614, "\u22120.6145, proven to 0.0006"),
        (4567.25, 4567, 4569.9, "4567, proven to 3"),
        (1e7, 1e7, 1e7 + 40, "10000000, proven to 40"),
    ],
)
def test_a_value_is_shown_with_what_is_proven_of_it(value, lower, upper, words):
    assert _with_precision(value, lower, upper) == words


def test_states_that_their_own_observations_would_tell_apart(say):
    # Arriving at b or c is seen; afterwards nothing tells them apart, but they pay differently.
    Path("m.pomdp").write_text(
        "discount: 0.9\nvalues: reward\nstates: a b c\nactions: go\nobservations: x y\nstart: a\n"
        "T: go\n0 .5 .5\n1 0 0\n1 0 0\nO: go\n.9 .1\n1 0\n0 1\nR: go : c : * : * 1\n"
    )
    assert say("report", "m.pomdp", "-o", "page.html")[0] == 0
    words = "confuses states b and c (observations on entering these states differ, but the state"
    assert words in PAGE.read_text(encoding="utf-8")
    out = say("accuracy", "m.pomdp")[1]
    assert (
        "1 in c (observations on entering these states differ, but the state of a PSR predicts only"
        in out
    )
    assert "group" not in out  # the sentence names the only one


def test_the_verdict_is_undecided_where_floats_cannot_tell(say, monkeypatch):
    def accuracy(pomdp, *, seed):
        raise ModelError("floats cannot determine the span of the tests")

    monkeypatch.setattr("rpsr.report.model_page.accuracy", accuracy)
    assert say("report", "tiger", "-o", "page.html")[0] == 0
    assert "undecided" in card()
    assert "floats cannot determine the span of the tests" in card()
    assert [row[0] for row in rows("Value at the start")[1:]] == ["POMDP"]


def test_a_task_without_a_discount_is_planned_where_its_sums_converge(say):
    assert say("report", "line4-2goals", "-o", "page.html")[0] == 0
    head, *planned = rows("Value at the start")
    by_model = {row[0]: dict(zip(head, row, strict=True)) for row in planned}
    discounted = solve(build("line4-2goals").with_discount(1 - 1e-9), Reachable()).value
    for model in ("POMDP", "R-PSR"):
        assert float(by_model[model]["value"]) == pytest.approx(discounted, rel=1e-5)
    text = unspanned(unescape(PAGE.read_text(encoding="utf-8")))
    assert "PSR" not in by_model  # by its rewards, staying pays at every step
    assert "No plan was made on the PSR: " in text
    assert "rpsr report line4-2goals --discount 0.95 -o page.html" in text
    assert "Its state of 1 core test does not" in text


def test_what_is_not_drawn_has_a_reason(say, monkeypatch):
    monkeypatch.setattr("rpsr.report.planning_section.MOST_EQUATIONS", 1)
    assert say("report", "loadunload", "-o", "page.html")[0] == 0
    text = unescape(PAGE.read_text(encoding="utf-8"))
    assert "The value function is not drawn: " in text
    for name in ("POMDP", "PSR", "R-PSR"):
        assert f"The graph of the policy found on the {name} is not drawn: " in text
    assert "Earns: empty if the policy" in text


def test_curves_and_repeated_graphs_are_explained(say):
    assert say("report", "loadunload", "-o", "page.html")[0] == 0
    text = unescape(PAGE.read_text(encoding="utf-8"))
    assert re.search(r"Why the curves end: POMDP: the .* after \d+ iteration", text)
    assert "The policy found on the R-PSR earns the same as the POMDP's, 4.563" in text
    assert "`" not in re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("number", "words"),
    [(3.0, "determine the state well"), (2e9, "about 9 of 16 digits"), (2e18, "all digits")],
)
def test_a_condition_number_says_what_it_means(number, words):
    assert words in condition(number)


def test_what_cannot_be_planned_is_said(say, monkeypatch):
    assert say("report", "parr", "-o", "page.html", "--discount", "1")[0] == 0
    text = unspanned(PAGE.read_text(encoding="utf-8"))
    assert "No plans were made: " in text
    assert "rpsr solve parr --horizon 20" in text
    monkeypatch.setattr("rpsr.report.planning_section.MOST_STATES", 1)
    monkeypatch.setattr("rpsr.report.stepper.LARGEST", 1)
    assert say("report", "tiger", "-o", "page.html")[0] == 0
    text = PAGE.read_text(encoding="utf-8")
    assert "No plans were made: the POMDP has 2 states" in text
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
    status, out, err = say("report", *words)
    assert (status, out) == (code, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_standard_output(capfdbinary):
    assert main(["report", "tiger", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<!DOCTYPE html>")
