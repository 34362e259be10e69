"""Names that hold control characters: terminals and pages see them escaped, JSON has them exact."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from rpsr import POMDP, save
from rpsr.domains import build
from rpsr.report.plots.svg import svg_text

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]")
HOSTILE = POMDP(
    replace(
        build("tiger").record,
        name="n\x1b[31m\u202e",
        states=("s\x1b]0;title\x07", "t\x9b2J"),
        actions=("a\x1b[2J", "b\u202e[red]", "c\n"),
        observations=("x\x7f", "y\u2028"),
    )
)


@pytest.mark.parametrize(
    "words",
    [
        ["info"],
        ["core"],
        ["accuracy"],
        ["solve", "--planner", "qmdp", "-o", "policy.json"],
        ["evaluate", "--episodes", "5"],
        ["simulate", "-o", "log.jsonl", "--episodes", "2"],
        ["convert", "names.pomdp"],
    ],
    ids=" ".join,
)
def test_no_verb_steers_the_terminal(words, say, tmp_path):
    save(HOSTILE, tmp_path / "names.rpsr")
    verb, *rest = words
    _, out, err = say(verb, "names.rpsr", *rest)
    assert not STEERING.search(out + err)
    assert "unexpected" not in err


def test_errors_do_not_either(say, tmp_path):
    (tmp_path / "x\x1b[31m.pomdp").write_bytes("states: a\u202e\u009b\n".encode())
    code, out, err = say("info", "x\x1b[31m.pomdp")
    assert (code, out) == (1, "")
    assert "x\\x1b[31m.pomdp" in err
    assert not STEERING.search(err)


def test_json_is_exact(say, tmp_path):
    save(HOSTILE, tmp_path / "names.rpsr")
    _, out, _ = say("info", "names.rpsr", "--json")
    assert not STEERING.search(out)
    assert json.loads(out)["name"] == HOSTILE.name


def test_pages_show_them_escaped(say, tmp_path):
    save(HOSTILE, tmp_path / "names.rpsr")
    assert say("report", "names.rpsr", "-o", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_bytes().decode()
    assert not STEERING.search(page)
    assert "n\\u001b[31m\\u202e" in page


def test_figures_are_xml_whatever_the_names():
    from matplotlib.figure import Figure

    figure = Figure()
    figure.text(0.5, 0.5, "a\x1b[2J\x9b")
    figure.gca().set_title(HOSTILE.name)
    text = svg_text(figure)
    ElementTree.fromstring(text)
    assert not STEERING.search(text)
