"""Edges of controllers that can be taken, and controllers with fewer nodes that act alike."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpsr
from rpsr.domains import tabulate
from rpsr.planning import FiniteStateController, extract_controller
from rpsr.planning.value.controller_graphs import merged, reachable_edges

TWO = FiniteStateController(
    ("right", "left"),
    ("loading", "unloading", "travel"),
    np.array([0, 1]),
    np.array([[0, 1, 0], [0, 1, 1]]),
)


@pytest.fixture(scope="module")
def loadunload():
    return rpsr.load("loadunload")


def test_edges_that_cannot_be_taken_do_not_count(loadunload):
    assert reachable_edges(TWO, None) == [
        (0, 0, (0, 2)),
        (0, 1, (1,)),
        (1, 0, (0,)),
        (1, 1, (1, 2)),
    ]
    # Moving right never ends at the loading end, nor left at the other.
    kept = reachable_edges(TWO, loadunload.belief_model())
    assert sorted(kept) == [(0, 0, (2,)), (0, 1, (1,)), (1, 0, (0,)), (1, 1, (2,))]
    assert sorted(reachable_edges(TWO, rpsr.psr(loadunload))) == sorted(kept)


def test_the_plan_of_load_unload_has_two_nodes(loadunload):
    """Right until the cart is unloaded, left until it is loaded, in every belief."""
    plan = rpsr.solve(loadunload, "reachable")
    whole = extract_controller(plan)
    small = merged(whole, loadunload.belief_model())
    assert small is not None
    assert len(small) == 2 < len(whole)
    assert small.value(loadunload) == pytest.approx(whole.value(loadunload), rel=1e-12)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(
    st.lists(st.integers(0, 1), min_size=n, max_size=n),
    st.lists(st.tuples(*[st.integers(-1, n - 1)] * 2), min_size=n, max_size=n),
)))  # fmt: skip
def test_a_merged_controller_acts_alike_after_every_history(drawn):
    """Nodes of two controllers with n nodes each that differ do so within 2 n - 1 observations."""
    actions, successors = drawn
    whole = FiniteStateController(("a", "b"), ("x", "y"), np.array(actions), np.array(successors))
    small = merged(whole, None)
    assert small is not None
    assert len(small) <= len(whole)
    for history in product(range(2), repeat=2 * len(whole) - 1):
        node, other = whole.first, small.first
        for o in history:
            assert whole.actions[node] == small.actions[other]
            node, other = whole.after(node, o), small.after(other, o)
        assert whole.actions[node] == small.actions[other]


def test_too_many_nodes_are_not_merged(loadunload):
    assert merged(TWO, loadunload.belief_model(), most=1) is None
    assert merged(TWO, loadunload.belief_model(), most=2) is not None


def test_a_rare_observation_has_a_successor():
    """A jackpot shows itself once in a thousand steps; then "claim" pays a million at every step.

    With discount 1/2, V = (RARE J + (1 - RARE) V) / 2 with J = 2 * 10^6, because claiming without
    one costs a million. The plan has no successors, so the controller is found by looking ahead.
    """
    rare, paid = Fraction(1, 1000), 10**6
    pomdp = tabulate(
        name="lottery",
        states=("poor", "rich"),
        actions=("wait", "claim"),
        observations=("nothing", "jackpot"),
        start={"poor": 1},
        transition=lambda state, _: (
            {"poor": 1 - rare, "rich": rare} if state == "poor" else {"rich": 1}
        ),
        emission=lambda _, state: {"nothing" if state == "poor" else "jackpot": 1},
        reward=lambda state, action, *_: (
            0 if action == "wait" else paid if state == "rich" else -paid
        ),
        discount=Fraction(1, 2),
    )
    plan = rpsr.solve(pomdp, "vi", epsilon=1e-6)
    bare = replace(plan.value_function, successors=np.full_like(plan.successors, -1))
    value = extract_controller(replace(plan, value_function=bare)).value(pomdp)
    assert value == pytest.approx(float(rare * paid / (1 - (1 - rare) / 2)), rel=1e-9)
