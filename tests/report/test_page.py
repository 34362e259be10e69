"""Pages: one file, the same bytes every time, nothing fetched, numbers of the models."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

import rpsr
from rpsr.errors import InputError
from rpsr.models.domain import Corners
from rpsr.report import (
    Figure,
    Page,
    Section,
    Stepper,
    Steps,
    Table,
    Text,
    plot_reconstruction,
    png_bytes,
    svg_text,
    write_page,
)
from rpsr.report.histories import first_wrong_history
from rpsr.report.model_page import model_page
from rpsr.report.plots.style import COLOURS


def page_of(pomdp):
    drawing = plot_reconstruction(pomdp, rpsr.accuracy(pomdp))
    return Page(
        "T & T",
        (
            Section("Same", (Text("words"), Table("c", ("a",), ((1,),)))),
            Section("Same", (Figure(drawing, alt='a "b"'), Figure(drawing, alt="again"))),
            Section("Step", (Stepper((Steps.of(pomdp),)),)),
        ),
    )


def test_the_same_page_gives_the_same_bytes(loadunload, tmp_path):
    for name in ("one.html", "two.html"):
        write_page(page_of(loadunload), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_nothing_is_fetched_and_no_id_is_there_twice(loadunload):
    text = page_of(loadunload).html()
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert not re.findall(r"@import|url\((?!#)", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    used = re.findall(r'href="#([^"]+)"', text) + re.findall(r"url\(#([^)]+)\)", text)
    assert set(used) <= set(ids)
    assert text.count("<style") == 1  # the page's own: one of a figure would reach all of it
    assert "<title>T &amp; T</title>" in text
    assert 'aria-label="a &quot;b&quot;"' in text


def test_a_page_that_cannot_be_written_leaves_nothing(loadunload, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_page(page_of(loadunload), tmp_path / "none" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_figures_have_the_same_bytes_and_no_date(loadunload):
    measured = rpsr.accuracy(loadunload)
    one, two = (plot_reconstruction(loadunload, measured) for _ in range(2))
    assert svg_text(one) == svg_text(one) == svg_text(two)
    assert "<dc:date>" not in svg_text(one)
    assert png_bytes(one) == png_bytes(two)


# ---- stepping


def dense(matrix):
    array = np.zeros(matrix["shape"])
    for i in range(matrix["shape"][0]):
        here = slice(matrix["starts"][i], matrix["starts"][i + 1])
        array[i, matrix["columns"][here]] = matrix["data"][here]
    return array


def test_what_a_page_holds_is_the_models(loadunload):
    steps = Steps.of(loadunload)
    read = json.loads(json.dumps(steps.document()))
    for a in range(2):
        for o in range(3):
            block = dict(read["process"][a][o], shape=(10, 10))
            block["data"] = [read["values"][i] for i in block["data"]]
            assert np.array_equal(dense(block), loadunload.D[a][o].toarray())
    for document, model in zip(read["models"][1:], (steps.psr, steps.rpsr), strict=True):
        assert isinstance(model.domain, Corners)
        assert np.array_equal(dense(document["basis"]), model.domain.points)
        assert np.array_equal(dense(document["coordinates"]), model.coordinates)
        assert np.array_equal(dense(document["rewards"]), model.rewards)
        assert document["labels"] == list(model.core)


def test_a_name_cannot_end_the_data_early():
    pomdp = rpsr.POMDP.from_arrays(
        np.ones((1, 1, 1)),
        np.ones((1, 1, 1)),
        np.ones((1, 1)),
        names={"states": ["</script><b>"], "actions": ["a"], "observations": ["o"]},
    )
    text = Stepper((Steps.of(pomdp),)).html("s")
    assert "</script><b>" not in text
    held = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert held is not None
    assert json.loads(held[1])[0]["states"] == ["</script><b>"]


class Elements(HTMLParser):
    """The elements of a page, and the attributes of all of them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = Counter(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}


def pomdp_named(states, actions, observations, name):
    """Three states that only rewards tell apart, so that the report has all its parts."""
    move = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    pomdp = rpsr.POMDP.from_arrays(
        np.stack([move, np.eye(3)]),
        np.full((2, 3, 2), 0.5),
        np.array([[0.0, 1.0], [2.0, 0.0], [5.0, -1.0]]),
        discount=0.9,
        names={"states": states, "actions": actions, "observations": observations},
    )
    return pomdp.with_name(name)


def test_hostile_names_are_text_in_every_part_of_a_report():
    plain = pomdp_named(["s", "t", "u"], ["a", "b"], ["x", "y"], "name")
    hostile = pomdp_named(
        ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{0}"],
        ["$x^2_{$ </style>", "a'\"&amp; `c` **b** [l](http://x)"],
        ["<!-- ${1} -->", "]]>\\ $\\frac$"],
        '<script>alert("x")</script> $a_{$ {title}',
    )
    seen = [Elements(model_page(pomdp, story=pomdp.name)[0].html()) for pomdp in (plain, hostile)]
    for elements in seen:
        for glyphs in ("use", "g", "path", "defs"):  # other letters
            del elements.tags[glyphs]
    assert seen[0].tags == seen[1].tags
    assert seen[1].attributes <= seen[0].attributes


def test_what_is_too_large_is_left_out_and_said(loadunload, monkeypatch):
    monkeypatch.setattr("rpsr.report.stepper.LARGEST", 10)
    text = Stepper((Steps.of(loadunload),)).html("s")
    assert "Stepping through loadunload is left out" in text
    assert "<script" not in text


def test_the_first_wrong_history(loadunload):
    belief, psr = loadunload.belief_model(), rpsr.psr(loadunload)
    # At the start both ends are as likely loaded as empty. After left and loading, three of the
    # four states that lead there arrive loaded.
    assert first_wrong_history(belief, psr) == (("right", "unloading"),)
    assert first_wrong_history(belief, rpsr.rpsr(loadunload)) is None


# ---- contrast, as the Web Content Accessibility Guidelines define it


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("text", "background", "least"),
    [
        ("ink", "paper", 7),
        ("muted", "paper", 4.5),
        ("muted", "panel", 4.5),
        ("accent", "paper", 4.5),
        ("wrong", "wrong-panel", 4.5),
        ("good", "good-panel", 4.5),
        ("barely", "barely-panel", 4.5),
        *((f"series-{i}", "paper", 3) for i in range(1, 8)),
    ],
)
def test_colours_stand_out_in_light_and_in_dark(text, background, least):
    style = (files("rpsr.report") / "assets" / "page.css").read_text(encoding="utf-8")
    colours = {
        name: (light, dark)
        for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", style)
    }
    for one, other in zip(colours[text], colours[background], strict=True):
        dim, bright = sorted((luminance(one), luminance(other)))
        assert (bright + 0.05) / (dim + 0.05) >= least


def test_the_page_and_the_figures_have_one_palette():
    style = (files("rpsr.report") / "assets" / "page.css").read_text(encoding="utf-8")
    light = re.findall(r"--series-\d: light-dark\((#\w+),", style)
    assert tuple(light) == COLOURS
