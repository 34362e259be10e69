"""Stepping through a page in a real browser: it computes what Python computes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.conftest import DOMAINS

pytestmark = pytest.mark.xdist_group("browser")  # which shares one page


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
    pairs = [row.split(" → ") for row in taken(page)[1:]]
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
