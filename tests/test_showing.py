"""How plans, policies and tables show themselves, to a session and to a notebook."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rpsr
from rpsr.cli.shared.output import show as on_terminal
from rpsr.domains import build
from rpsr.evaluation import Estimate, Estimates
from rpsr.evaluation.stochastic import StochasticController
from rpsr.learning import learn
from rpsr.planning import PolicyTree, ProgressRow, StagedPolicy, StoredVectors, extract_controller
from rpsr.report import Table
from rpsr.report.tables import show as on_page
from rpsr.reproduce import Experiment
from rpsr.showing import shown_cell

TIGER = build("tiger")
PLAN = rpsr.solve(TIGER, "vi")
TREE = rpsr.solve(TIGER, "vi", horizon=3)
ROWS = [
    Estimate("sarsop", "pomdp", -1.25, 0.5, 0.125, None, 10, 20, None),
    Estimate("<uniform>", "psr", 10.0, None, None, 9.5, 10, 20, 0.01),
]


def test_a_plan_says_what_it_is_worth_and_how_sure_that_is():
    plan = replace(PLAN, lower=19.25, value=19.5, upper=19.75, epsilon=None, seconds=0.5)
    head, *facts = repr(plan).splitlines()
    assert head == "<plan of vi on the belief model of 'tiger': value 19.5>" == str(plan)
    assert facts == [
        "  value    19.5",
        "  bounds   19.25 to 19.75, 0.5 apart",
        f"  status   {plan.status.value}",
        f"  vectors  {len(plan.vectors)}",
        f"  effort   {plan.iterations} iterations in 0.5 seconds",
    ]
    assert "no upper bound" in repr(replace(plan, upper=None))
    assert str(TREE).startswith("<plan of vi on the belief model of 'tiger' for 3 steps: value ")


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (PLAN.policy(), ["looks one step ahead with", "belief model of 'tiger'", "listen"]),
        (extract_controller(PLAN), ["finite-state controller: ", "open-left (", "node "]),
        (extract_controller(PLAN).policy(), ["follows a controller of", "next action  listen"]),
        (PolicyTree.of(TREE), ["policy tree: 3 steps, 3 actions", "first action", "listen"]),
        (TREE.policy(), ["follows a tree of 3 steps", "steps left   3"]),
        (StagedPolicy.of(TREE), ["for 3 steps", "steps left   3"]),
        (rpsr.UniformPolicy(TIGER, np.random.default_rng(0)), ["uniform policy over 3 actions"]),
        (StoredVectors(PLAN.model, PLAN.value_function), ["value function of", "followed"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_policies_say_what_they_do(shown: Any, said: list[str]):
    for words in said:
        assert words in repr(shown)
    assert len(repr(shown).splitlines()) <= 5
    assert shown._repr_html_().count("<tr>") == len(shown.facts())


def test_a_policy_whose_horizon_is_over_says_so():
    for policy in (TREE.policy(), StagedPolicy.of(TREE)):
        for _ in range(3):
            policy.update(policy.act(), "tiger-left")
        assert "none: the horizon is over" in repr(policy)


def test_a_table_of_returns_is_a_table():
    table = Estimates(ROWS)
    assert repr(table).splitlines() == [
        "<returns of 2 policies by 2 models>",
        "  policy     model   mean  stderr  exact  episodes  steps  cut off",
        "  sarsop     pomdp  -1.25   0.125               10     20",
        "  <uniform>  psr       10            9.5        10     20     0.01",
    ]
    assert str(table) == repr(table)
    shown = table._repr_html_()
    assert "&lt;uniform&gt;" in shown
    assert shown.count("<tr>") == 3
    assert (len(table), table[0].policy) == (2, "sarsop")


def test_a_notebook_draws_the_bounds_where_there_are_some():
    rows = tuple(ProgressRow(0.1 * k, k, lower=float(k), upper=9.0 - k) for k in range(1, 4))
    drawn = replace(PLAN, trace=rows)._repr_html_()
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', drawn)
    assert picture is not None
    assert b"<svg" in b64decode(picture[1])
    unbounded = (rows[0], replace(rows[1], upper=None))
    for few in ((), rows[:1], unbounded):
        assert "<img" not in replace(PLAN, trace=few)._repr_html_()


def test_a_table_without_rows_is_its_title():
    assert repr(rpsr.evaluate(rpsr.load("tiger"), [])) == "<returns of 0 policies by 0 models>"


def test_an_estimate_says_how_sure_it_is():
    assert repr(ROWS[0]).splitlines() == [
        "<estimate of 'sarsop' by 'pomdp': mean return -1.25>",
        "  mean            -1.25",
        "  standard error  0.125",
        "  simulated       10 episodes of 20 steps",
    ]
    assert "exact           9.5" in repr(ROWS[1])
    assert "cut off         at most 0.01" in repr(ROWS[1])
    assert "unknown (one episode)" in repr(ROWS[1])


def test_an_experiment_says_what_each_policy_earns_by_each_model():
    arms = ("uniform", "pomdp"), ("uniform", "psr"), ("vi", "pomdp"), ("vi", "psr")
    means = (-2.0, -2.5, 3.0, 1.0)
    rows = [Estimate(*arm, x, 1.0, 0.1, None, 5, 7) for arm, x in zip(arms, means, strict=True)]
    shown = Experiment("tiger", 0.95, 5, 7, 0, tuple(rows), (), None, 0.0, True)
    assert repr(shown).splitlines() == [
        "<experiment on 'tiger': 5 episodes of 7 steps, discount 0.95>",
        "  mean return  pomdp   psr",
        "  uniform         -2  -2.5",
        "  vi               3     1",
    ]
    assert str(shown) == repr(shown).splitlines()[0]


def test_a_stochastic_controller_says_what_it_does_first():
    uniform = StochasticController.stationary(TIGER)
    assert repr(uniform).splitlines()[:2] == [
        "<stochastic controller: 1 node, 3 actions, 2 observations>",
        "  first         node 0: listen 0.333, open-left 0.333, open-right 0.333",
    ]
    assert "for 4 steps" in str(replace(uniform, horizon=4))


def test_accuracy_cores_and_tables_show_themselves_in_a_notebook():
    measured = rpsr.accuracy(TIGER)
    assert str(measured) == "<PSR of rank 2, R-PSR of rank 2: accurate>"
    assert ("accurate", "yes") in measured.facts()
    assert ("certainty", "certain, by exact arithmetic") in measured.facts()
    assert ("certainty", "decided in floats") in rpsr.accuracy(TIGER, exact=False).facts()
    core = measured.psr
    title = "<psr core: rank 2, 2 states, certain, by exact arithmetic>"
    assert str(core) == title == repr(core).splitlines()[0]
    assert ("rewards in the span", "3 of 3 actions") in core.facts()
    for shown in (measured, core):
        assert shown._repr_html_().count("<tr>") == len(shown.facts())
    table = Table("Values <of> plans", ("model", "value"), (("pomdp", 1.5),))
    assert table._repr_html_() == table.html()
    assert "Values &lt;of&gt; plans" in table._repr_html_()


def test_what_was_learned_says_how_well():
    log = rpsr.simulate(TIGER, "uniform", episodes=60, steps=5, seed=0, rewards=True)
    learned = learn("last-k", log, discount=0.9)
    assert str(learned).endswith(" model learned by last-k from 60 episodes, 300 steps>")
    facts = dict(learned.facts())
    assert facts["dimension"] == str(learned.model.dimension)
    assert facts["held-out log-likelihood"] == f"{learned.heldout.loglik:.6g} per step"
    assert facts["PSR enough"] in ("not tested", "yes", "no", "undecided")
    assert learned._repr_html_().count("<tr>") == len(facts)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.0, "0"),
        (-1e-9, "-1e-09"),
        (np.float64(-0.00004), "-4e-05"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (1 / 3, "0.3333"),
        (Fraction(1, 3), "1/3"),
        (np.int64(7), "7"),
        (True, "yes"),
        (None, ""),
        ("-0", "-0"),
    ],
)
def test_a_cell_is_the_same_text_on_the_terminal_and_on_a_page(value: object, text: str):
    assert shown_cell(value) == on_terminal(value) == text
    if not isinstance(value, Fraction):
        assert on_page(value) == text


def test_control_characters_of_names_are_shown_and_not_sent():
    names = ["\x1b[31mred", "up\u202e"]
    still = np.eye(2)[None]
    pomdp = rpsr.POMDP.from_arrays(
        still, still, np.zeros(2), names={"states": names, "observations": names}, name="\x07bell"
    )
    for text in (repr(pomdp), str(pomdp), repr(pomdp.belief_model()), pomdp._repr_html_()):
        assert not any(mark in text for mark in "\x1b\u202e\x07")
    assert r"\u001b[31mred" in repr(pomdp)
