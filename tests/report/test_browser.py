"""The page in a real browser: it computes what Python computes, and works for everybody.

Needs Chromium, on the path or named by RPSR_CHROMIUM; skipped by name where there is none.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import rpsr
from rpsr.planning import FiniteStateController
from rpsr.report import (
    Figure,
    Page,
    Section,
    Stepper,
    Steps,
    Table,
    Text,
    plot_policy_graph,
    write_page,
)
from rpsr.report import plot_reconstruction as heat_map
from rpsr.report.model_page import model_page

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]
PHONE = {"width": 390, "height": 844}
RING = FiniteStateController(
    ("go", "stop"), ("o", "p"), np.array([0, 1, 0]), np.array([[1, 2], [2, 1], [0, 0]])
)
DOMAINS = ("loadunload", "4x3", "iff")


@pytest.fixture(scope="module")
def browser():
    found = os.environ.get("RPSR_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("browser: no Chromium on the path, and RPSR_CHROMIUM is not set")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def steps():
    """The domains to step through; the first has plans on its three models."""
    found = {name: Steps.of(rpsr.load_pomdp(name)) for name in DOMAINS}
    first = found["loadunload"]
    models = {"POMDP": first.pomdp, "PSR": first.psr, "R-PSR": first.rpsr}
    plans = {name: rpsr.solve(model, "vi") for name, model in models.items()}
    return {**found, "loadunload": replace(first, plans=plans)}


@pytest.fixture(scope="module")
def path(steps, tmp_path_factory):
    pomdp = steps["loadunload"].pomdp
    wide = Table(
        "A wide table", tuple("abcdefghij"), (tuple(f"cell number {i}" for i in range(10)),)
    )
    page = Page(
        "A page <of> tests",
        (
            Section("First", (Text("Some *words*."), wide)),
            Section("Drawn", (Figure(heat_map(pomdp, rpsr.accuracy(pomdp)), alt="rewards"),)),
            Section("Policy", (Figure(plot_policy_graph(RING), alt="policy"),)),
            Section("Step", (Stepper(tuple(steps.values())),)),
        ),
    )
    target = tmp_path_factory.mktemp("page") / "page.html"
    write_page(page, target)
    return target


@pytest.fixture
def visit(browser, path):
    """Open the page; whatever it complains of or asks the network for fails the test."""
    complaints, contexts = [], []

    def open_page(target=path, **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:")) or complaints.append(request.url)
            ),
        )
        page.goto(target.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def values(page, selector):
    cells = page.locator(f"{selector} [data-value]").all()
    return [float(cell.get_attribute("data-value")) for cell in cells]


def panel(page, model, n):
    """The numbers of a panel, zeros filled in where the page does not list them."""
    rows = page.locator(f'.panel[data-model="{model}"] tr[data-index]')
    pairs = rows.evaluate_all(
        "rows => rows.map(r => [+r.dataset.index, +r.querySelector('[data-value]').dataset.value])"
    )
    numbers = [0.0] * n
    for index, value in pairs:
        numbers[int(index)] = value
    return numbers


def click(page, action, observation):
    page.get_by_role("group", name="Choose an action").get_by_role(
        "button", name=action, exact=True
    ).click()
    page.locator("fieldset").nth(1).locator("button", has_text=observation).first.click()


def taken(page):
    return page.locator(".history li").all_text_contents()


def walk(steps, length, seed):
    """A random history that the POMDP allows."""
    rng = np.random.default_rng(seed)
    filter_ = steps.pomdp.belief_model().filter()
    history = []
    for _ in range(length):
        action = int(rng.integers(len(steps.pomdp.actions)))
        chances = filter_.predict(action)
        observation = int(rng.choice(len(chances), p=chances / chances.sum()))
        filter_.update(action, observation)
        history.append((action, observation))
    return history


@pytest.mark.parametrize("domain", DOMAINS)
def test_stepping_gives_the_numbers_of_the_filters(visit, steps, domain):
    page = visit()
    page.get_by_label("Domain").select_option(label=domain)
    chosen = steps[domain]
    models = {"POMDP": chosen.pomdp.belief_model(), "PSR": chosen.psr, "R-PSR": chosen.rpsr}
    filters = {name: model.filter() for name, model in models.items()}
    groups = page.locator("fieldset")
    for action, observation in [(None, None), *walk(chosen, 6, seed=1)]:
        if action is not None:
            groups.nth(0).locator("button").nth(action).click()
            shown = (
                groups.nth(1)
                .locator("button")
                .evaluate_all("buttons => buttons.map(b => [+b.dataset.value, b.disabled])")
            )
            expected = filters["POMDP"].predict(action)
            assert [p for p, _ in shown] == pytest.approx(expected.tolist(), abs=1e-9)
            assert [off for _, off in shown] == (expected <= 0).tolist()
            groups.nth(1).locator("button").nth(observation).click()
            for filter_ in filters.values():
                filter_.update(action, observation)
        rewards = values(page, ".rewards tbody")
        for k, (name, filter_) in enumerate(filters.items()):
            model = models[name]
            state = (
                filter_.state if model.coordinates is None else filter_.state @ model.coordinates
            )
            assert panel(page, name, len(state)) == pytest.approx(state.tolist(), abs=1e-9)
            earned = model.expected_rewards(filter_.state).tolist()
            assert rewards[k::4] == pytest.approx(earned, abs=1e-9)


def test_what_is_wrong_is_marked_and_said(visit):
    page = visit()
    assert page.locator(".wrong").count() == 0
    assert "expect the same rewards" in page.locator(".status").text_content()
    assert page.locator(".status").get_attribute("aria-live") == "polite"
    click(page, "left", "loading")
    assert page.locator(".wrong").count() == 4  # two actions, the reward and its error
    assert "wrong about the reward of right by 0.25" in page.locator(".status").text_content()


def test_nothing_is_chosen_at_first(visit):
    page = visit()
    assert page.locator(".stepper [aria-pressed=true]").count() == 0
    observations = page.locator("fieldset").nth(1)
    assert observations.locator("button:visible").count() == 0
    assert "after an action" in observations.text_content()
    page.locator("fieldset").nth(0).locator("button").first.click()
    assert observations.locator("button:visible").count() == 3


def test_a_step_can_be_chosen_and_continued_differently(visit):
    page = visit()
    click(page, "left", "loading")
    once = values(page, ".panels")
    click(page, "right", "travel")
    page.locator(".history button").nth(1).click()
    assert values(page, ".panels") == once
    assert taken(page) == ["start", "left → loading", "right → travel"]
    assert page.locator(".history [aria-current]").text_content() == "left → loading"
    click(page, "left", "loading")
    assert taken(page) == ["start", "left → loading", "left → loading"]


def test_best_actions_and_values_are_those_of_the_plans(visit, steps):
    page = visit()
    chosen = steps["loadunload"]
    models = {"POMDP": chosen.pomdp.belief_model(), "PSR": chosen.psr, "R-PSR": chosen.rpsr}
    filters = {name: model.filter() for name, model in models.items()}
    click(page, "left", "loading")
    click(page, "right", "travel")
    for action, observation in (("left", "loading"), ("right", "travel")):
        for filter_ in filters.values():
            filter_.update(action, observation)
    for name, solution in chosen.plans.items():
        row = page.locator(f'.best tr[data-model="{name}"]')
        state = filters[name].state
        best = int((solution.vectors @ state).argmax())
        assert (
            row.locator("td").first.text_content()
            == models[name].actions[int(solution.actions[best])]
        )
        value = float(row.locator("[data-value]").get_attribute("data-value"))
        assert value == pytest.approx(float(solution.value_at(state)[0]), abs=1e-9)


@pytest.mark.parametrize("kind", ["Random", "Optimal"])
def test_a_walk_is_a_possible_history(visit, steps, kind):
    page = visit()
    page.get_by_role("button", name=f"{kind} walk").click()
    pairs = [each.split(" → ") for each in taken(page)[1:]]
    assert len(pairs) == 8
    filter_ = steps["loadunload"].pomdp.belief_model().filter()
    plan = steps["loadunload"].plans["POMDP"]
    for action, observation in pairs:
        if kind == "Optimal":
            values_ = plan.vectors @ filter_.state
            best = values_ >= values_.max() - 1e-9
            assert action in {plan.model.actions[int(a)] for a in plan.actions[best]}
        filter_.update(action, observation)  # an impossible observation is an error
    page.get_by_label("Domain").select_option(label="4x3")
    assert page.get_by_role("button", name="Optimal walk").count() == 0  # it has no plan


def test_negative_numbers_point_the_other_way_and_rewards_have_their_own_scale(visit, steps):
    page = visit()
    page.get_by_label("Domain").select_option(label="4x3")  # rewards of -1, -0.04 and 1
    rewards = page.locator('.panel[data-model="R-PSR"] tbody[data-kind=reward]')
    drawn = rewards.locator("tr[data-index]").evaluate_all(
        """rows => rows.map(row => {
            const [cell, bar] = [row.querySelector('.bar'), row.querySelector('.bar span')];
            const [box, inner] = [cell.getBoundingClientRect(), bar.getBoundingClientRect()];
            const style = getComputedStyle(cell);
            const width = cell.clientWidth - parseFloat(style.paddingRight);
            const value = +row.querySelector('[data-value]').dataset.value;
            return [value, inner.left - box.left - width / 2, inner.width / width,
                    getComputedStyle(bar).backgroundColor];
        })"""
    )
    scale = max(float(np.abs(steps["4x3"].pomdp.R).max()), max(abs(row[0]) for row in drawn))
    assert {np.sign(value) for value, *_ in drawn} >= {-1.0}
    for value, left, width, _ in drawn:
        assert width == pytest.approx(0.5 * abs(value) / scale, abs=0.02)
        if abs(value) > 0.01:
            assert (left < -0.5) == (value < 0)
    colours = {np.sign(value): colour for value, *_, colour in drawn if value}
    assert len(set(colours.values())) == len(colours)
    chances = page.locator('.panel[data-model="R-PSR"] tbody[data-kind=probability] .bar.signed')
    assert chances.count() == 0


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


def test_undo_and_reset(visit):
    page = visit()
    begin = values(page, ".panels")
    undo, reset = (page.get_by_role("button", name=name) for name in ("Undo", "Reset"))
    assert undo.is_disabled()
    assert reset.is_disabled()
    click(page, "left", "loading")
    once = values(page, ".panels")
    click(page, "right", "travel")
    assert taken(page) == ["start", "left → loading", "right → travel"]
    undo.click()
    assert values(page, ".panels") == once != begin
    click(page, "right", "travel")
    reset.click()
    assert values(page, ".panels") == begin
    assert taken(page) == ["start"]


def test_another_domain_begins_anew(visit, steps):
    page = visit()
    click(page, "left", "loading")
    page.get_by_label("Domain").select_option(label="iff")
    assert page.locator("fieldset").nth(0).locator("button").count() == 4
    assert page.locator("fieldset").nth(1).locator("button").count() == 22
    assert page.get_by_role("button", name="Undo").is_disabled()


def test_the_keyboard_is_enough(visit):
    page = visit()
    page.locator("fieldset").nth(0).locator("button").nth(1).focus()
    page.keyboard.press("Space")  # action left: loading or travel
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert taken(page) == ["start", "left → loading"]
    for _ in range(3):  # at the end of the corridor, left gives loading at every step
        page.keyboard.press("Enter")
    assert len(taken(page)) == 5
    page.locator("fieldset").nth(0).locator("button").nth(0).focus()
    page.keyboard.press("Enter")
    page.locator("fieldset").nth(1).locator("button:enabled").focus()
    for _ in range(4):  # right to the other end, where the pressed button becomes impossible
        page.keyboard.press("Enter")
    focused = page.evaluate("[document.activeElement.tagName, document.activeElement.disabled]")
    assert focused == ["BUTTON", False]


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
