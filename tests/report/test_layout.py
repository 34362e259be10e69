"""The layout of pages in a real browser: colours, widths, links, graphs that can be clicked."""

from __future__ import annotations

import pytest
from tests.report.conftest import DOMAINS

import rpsr
from rpsr.report import write_page
from rpsr.report.model_page import model_page

pytestmark = pytest.mark.xdist_group("browser")  # which shares one page
PHONE = {"width": 390, "height": 844}


def lit(page):
    ids = page.locator(".lit").evaluate_all("all => all.map(each => each.id)")
    return sorted(name.removeprefix("f2-") for name in ids)


def test_a_chosen_node_shows_where_it_leads(visit):
    page = visit()
    assert lit(page) == []
    page.locator("#f2-node-1").click()
    edges = [f"edge-1-{target}{part}" for target in (1, 2) for part in ("", "-label")]
    nodes = [f"node-{node}{part}" for node in (1, 2) for part in ("", "-name")]
    assert lit(page) == edges + nodes
    assert page.locator("#f2-node-1").get_attribute("aria-pressed") == "true"
    page.locator("#f2-node-2").focus()
    page.keyboard.press("Enter")
    assert [name for name in lit(page) if "edge" in name] == ["edge-2-0", "edge-2-0-label"]
    assert page.locator("[aria-pressed=true][id*=node]").count() == 1
    page.keyboard.press("Space")
    assert lit(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light(visit, scheme):
    page = visit(color_scheme=scheme)

    def brightness(what):
        colour = page.evaluate(f"getComputedStyle(document.body).{what}")
        return sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])

    def is_dark():
        return brightness("backgroundColor") < 150 < 500 < brightness("color")

    assert is_dark() == (scheme == "dark")
    page.locator("#theme").click()
    assert is_dark() == (scheme == "light")
    page.locator("#theme").click()
    assert is_dark() == (scheme == "dark")


def test_a_phone_scrolls_tables_and_not_the_page(visit):
    page = visit(viewport=PHONE)
    for domain in DOMAINS:
        page.get_by_label("Domain").select_option(label=domain)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box = page.locator(".table .scroll").first
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")


def test_structure(visit):
    page = visit()
    assert page.title() == "A page <of> tests"
    assert page.locator("h1").count() == 1
    links = page.locator("nav a").evaluate_all(
        "links => links.map(a => !!document.querySelector(a.getAttribute('href')))"
    )
    assert links == [True] * 4
    ids = page.locator("[id]").evaluate_all("all => all.map(each => each.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("svg[role=img]").count() == 1  # a policy graph is a group of buttons
    assert page.locator("svg[role=img]").get_attribute("aria-label") == "rewards"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A whole report, whose rewards have wide heat maps and tables."""
    target = tmp_path_factory.mktemp("report") / "report.html"
    page, _ = model_page(rpsr.load_pomdp("loadunload"), story="A cart.", time_limit=5.0)
    write_page(page, target)
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 820, 1280])
def test_the_verdict_is_visible_without_scrolling_and_nothing_is_cut(visit, report, width, scheme):
    page = visit(report, viewport={"width": width, "height": 844}, color_scheme=scheme)
    for part in (".card .badge", ".card .verdict", ".card dl"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 844, part
        assert box["x"] + box["width"] <= width, part
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.locator("caption, figcaption, .footnotes, h2, .badge").evaluate_all(
        "(all, width) => all.filter(e => e.getBoundingClientRect().right > width + 1).length", width
    )
    assert cut == 0
    drawn = page.locator(".drawing .scroll:visible").first
    assert drawn.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
