"""Tables say the same thing in every form, and survive whatever stands in a cell."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.errors import InputError
from rpsr.evaluation import Estimate
from rpsr.printable import from_cell
from rpsr.report import Table

ESTIMATE = Estimate("uniform", "pomdp", -1.25, 0.1, None, None, episodes=4, steps=9)
TABLE = Table(
    "Errors & returns",
    ("domain", "d_inf", "return", "accurate"),
    (("load_unload", 0.5, ESTIMATE, False), ("x|y", -1e-9, None, True)),
    formats=("", ".3f", ".1f", ""),
    bold=frozenset({(0, 1)}),
    footnotes=("About 5% of ε.",),
)


def test_text():
    assert TABLE.text().splitlines() == [
        "Errors & returns",
        " domain        d_inf      return  accurate",
        " ─────────────────────────────────────────",
        " load_unload  *0.500  -1.2 ± 0.1  no",
        " x|y           0.000              yes",
        "About 5% of ε.",
    ]


def test_markdown():
    assert TABLE.markdown().splitlines() == [
        "**Errors & returns**",
        "",
        "| domain       |    d\\_inf |     return | accurate |",
        "| :----------- | --------: | ---------: | :------- |",
        "| load\\_unload | **0.500** | -1.2 ± 0.1 | no       |",
        "| x\\|y         |     0.000 |            | yes      |",
        "",
        "About 5% of ε.",
    ]


def test_latex():
    lines = TABLE.latex().splitlines()
    assert "  \\begin{tabular}{lrrl}" in lines
    assert "    load\\_unload & \\textbf{0.500} & $-$1.2 $\\pm$ 0.1 & no \\\\" in lines
    assert "    x\\textbar{}y & 0.000 &  & yes \\\\" in lines
    assert "  \\caption{Errors \\& returns}" in lines
    assert "  \\par\\footnotesize About 5\\% of $\\varepsilon$." in lines


def test_csv_keeps_every_digit_and_splits_estimates():
    assert TABLE.csv().splitlines() == [
        "domain,d_inf,return,return std,accurate",
        "load_unload,0.5,-1.25,0.1,no",
        "x|y,-1e-09,,,yes",
    ]


def test_numbers_of_numpy_are_numbers():
    table = Table("", ("i", "x"), ((np.int64(123456), np.float64(1 / 3)),))
    assert table.text().splitlines()[-1] == " 123456  0.3333"
    assert table.csv().splitlines()[-1] == f"123456,{1 / 3!r}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": ((1,),)}, "row 0: read 1 cells, expected 2"),
        ({"align": "lx"}, "align: read 'lx', expected 2 of the letters l, c, r"),
        ({"formats": (".1f",)}, "formats: read 1, expected one per column, 2"),
        ({"bold": {(1, 0)}}, "bold: read .*, expected the row"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        Table(**({"caption": "", "columns": ("a", "b"), "rows": ((1, 2),)} | change))


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows, self.depth, self.caption = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.depth.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.depth.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.depth):
            self.rows[-1][-1] += data
        if "caption" in self.depth:
            self.caption += data


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(words, st.lists(st.tuples(words, numbers), max_size=4))
def test_html_and_csv_hold_what_the_table_holds(caption, rows):
    table = Table(caption, ("name", "<number>"), tuple(rows), formats=("", ".17g"))
    reader = Reader()
    reader.feed(table.html())
    assert reader.depth == []
    assert reader.caption == caption
    assert reader.rows[0] == ["name", "<number>"]
    shown = [(name, float(number.replace("\u2212", "-"))) for name, number in reader.rows[1:]]
    assert shown == rows
    read = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert [(from_cell(name), float(number)) for name, number in read[1:]] == rows
    assert not any(name.startswith(("=", "@")) for name, _ in read)  # no formula


@given(words)
def test_latex_has_no_bare_special_character(word):
    line = Table("", ("a",), ((word,),)).latex().splitlines()[6]
    content = line.strip().removesuffix("\\\\")
    bare = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\$[^$]*\$|\\dots\{\}", "", content)
    assert not set(bare) & set("&%$#_{}~^\\")


def test_a_group_is_named_once_to_people_and_always_in_csv():
    table = Table("", ("a", "b"), (("x", 1), ("x", 2), ("y", 3), ("x", 4)), grouped=True)
    assert [line[1:2] for line in table.text().splitlines()[2:]] == ["x", " ", "y", "x"]
    assert table.csv().splitlines()[1:] == ["x,1", "x,2", "y,3", "x,4"]


def test_sentences_carry_their_titles_for_narrow_screens_and_numbers_a_minus_sign():
    long = "a sentence that needs the whole width of a phone to be read"
    prose = Table("t", ("name", "says", "finds"), (("x", long, long),)).html()
    assert 'class="table prose"' in prose
    assert prose.count('data-title="says"') == 1
    numbers = Table("t", ("name", "range"), (("a-1", "-1.5 to 2"),), align="lr").html()
    assert "prose" not in numbers
    assert "data-title" not in numbers
    assert ">a-1<" in numbers
    assert ">\N{MINUS SIGN}1.5 to 2<" in numbers


def test_verdicts_are_badges_on_a_page_and_words_elsewhere():
    table = Table(
        "t",
        ("what", "verdict"),
        (("a", "agrees"), ("b", "agrees, barely (1)"), ("c", "unheard of")),
        footnotes=("Run `rpsr solve`.",),
        badges=(("agrees", "good"), ("agrees, barely", "barely")),
    )
    shown = table.html()
    assert '<span class="badge good">agrees</span></td>' in shown
    assert '<span class="badge barely">agrees, barely</span> (1)</td>' in shown
    assert ">unheard of</td>" in shown
    assert "<p>Run <code>rpsr solve</code>.</p>" in shown
    assert "badge" not in table.text() + table.markdown() + table.latex() + table.csv()


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_control_characters_are_shown_and_not_sent(form):
    """A spreadsheet has them as they are: its cells are data."""
    steering = "a\x1b[31m\u202e\x9b"
    table = Table(steering, (steering,), ((steering,),), footnotes=(steering,))
    made = getattr(table, form)()
    assert not any(c in made for c in "\x1b\u202e\x9b")
    assert made.count("u001b") >= 4
    assert table.csv().count(steering) == 2
