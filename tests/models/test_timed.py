"""A POMDP that ends after a number of steps has the values of that horizon."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.anytime.test_undiscounted import game
from tests.strategies import few

import rpsr
from rpsr.domains.rules import tabulate
from rpsr.errors import ModelError
from rpsr.models.timed import timed


@pytest.mark.parametrize("name", ["tiger", "4x3", "line4-2goals"])
def test_values_are_those_of_the_horizon(name):
    pomdp = rpsr.load(name).with_discount(1)
    whole = rpsr.solve(pomdp, "vi", horizon=3)
    plan = rpsr.solve(timed(pomdp, 3), "sarsop", epsilon=1e-6)
    assert plan.lower <= whole.value + 1e-9
    assert plan.upper >= whole.value - 1e-9
    assert plan.lower == pytest.approx(whole.value, abs=1e-5)


@settings(max_examples=few(5))
@given(st.data())
def test_objectives_within_steps(data):
    """`game` has rewards by outcome in its task, and states that are entered late."""
    objective = rpsr.reach("goal", avoiding="pit", within=3)
    pomdp = game(data.draw)
    whole = rpsr.solve(pomdp, objective=objective)
    plan = rpsr.solve(pomdp, "hsvi", objective=objective, epsilon=1e-6)
    assert plan.lower <= whole.value + 1e-9
    assert plan.upper >= whole.value - 1e-9
    assert plan.gap <= 1e-6
    assert objective.timed_task(pomdp).exact


def test_rewards_and_observations_by_edge():
    """Rewards of a step are those of the POMDP; staying after the last one earns nothing."""
    tiger = rpsr.load("tiger")
    clock = timed(tiger, 2)
    first = [s for s, name in enumerate(clock.states) if name.endswith("@0")]
    last = [s for s, name in enumerate(clock.states) if name.endswith("@2")]
    assert (clock.R[first] == tiger.R).all()
    assert (clock.R[last] == 0).all()
    assert clock.exact


def test_a_clock_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("rpsr.models.timed.MOST_MOVES", 1000)
    with pytest.raises(ModelError, match="plan with vi or reachable"):
        timed(rpsr.load("tiger"), 10**9)


def test_a_state_whose_start_is_below_the_range_of_floats_is_possible():
    tiny = Fraction(1, 10**330)
    pomdp = tabulate(
        name="underflow",
        states=("safe", "pit"),
        actions=("wait",),
        observations=("nothing",),
        start={"safe": 1 - tiny, "pit": tiny},
        transition=lambda state, action: {state: Fraction(1)},
        emission=lambda action, state: {"nothing": Fraction(1)},
        reward=lambda state, action, after, seen: Fraction(-(10**100) if state == "pit" else 0),
        discount=Fraction(1),
    )
    assert timed(pomdp, 1).states == ("safe@0", "pit@0", "safe@1", "pit@1")
