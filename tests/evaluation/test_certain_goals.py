"""Reaching a goal with probability one, against a naive fixpoint and exact values of strategies."""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpsr
from rpsr.domains.rules import tabulate
from rpsr.errors import InputError, ModelError
from rpsr.evaluation import exact_return
from rpsr.models import POMDP

ONE, HALF = Fraction(1), Fraction(1, 2)


def doors(listening=True):
    """The goal is behind one of two doors, the pit behind the other; listening tells which."""

    def move(state, action):
        if state in ("goal", "pit") or action == "listen":
            return {state: ONE}
        return {"goal" if (state, action) in (("l", "left"), ("r", "right")) else "pit": ONE}

    def emission(action, state):
        heard = {"l": {"left?": ONE}, "r": {"right?": ONE}}
        return heard[state] if action == "listen" and listening and state in heard else {"-": ONE}

    return tabulate(
        name="doors",
        states=("l", "r", "goal", "pit"),
        actions=("left", "right", "listen"),
        observations=("left?", "right?", "-"),
        start={"l": HALF, "r": HALF},
        transition=move,
        emission=emission,
        reward=lambda *outcome: Fraction(0),
        discount="0.9",
    )


def test_a_goal_is_reached_for_certain_exactly_if_the_right_door_can_be_known():
    answer = rpsr.almost_sure(doors(), "goal", avoiding="pit")
    assert answer.possible
    assert answer.supports[0] == ("l", "r")
    assert answer.winning[0] == ("listen",)
    assert not rpsr.almost_sure(doors(listening=False), "goal", avoiding="pit").possible
    # Without hearing anything, the goal is not certain even if pits are no matter: pits absorb.
    assert not rpsr.almost_sure(doors(listening=False), "goal").possible


def test_a_strategy_may_need_chance():
    """Two hidden states, each left by its own action; nothing is observed."""

    def move(state, action):
        return {"goal": ONE} if state == "goal" or action == f"leave-{state}" else {state: ONE}

    pomdp = tabulate(
        name="chance",
        states=("a", "b", "goal"),
        actions=("leave-a", "leave-b"),
        observations=("-",),
        start={"a": HALF, "b": HALF},
        transition=move,
        emission=lambda action, state: {"-": ONE},
        reward=lambda *outcome: Fraction(0),
        discount="0.9",
    )
    answer = rpsr.almost_sure(pomdp, "goal")
    assert answer.winning[0] == ("leave-a", "leave-b")
    assert exact_return(rpsr.reach("goal").task(pomdp), answer.strategy) == pytest.approx(1)


def test_more_supports_than_the_limit_are_refused_with_the_limit():
    with pytest.raises(ModelError, match="more than 2 supports of beliefs"):
        rpsr.almost_sure(doors(), "goal", limit=2)
    with pytest.raises(InputError, match="expected a number of supports of at least 1"):
        rpsr.almost_sure(doors(), "goal", limit=0)


def test_a_start_in_the_goal_is_won_and_one_to_avoid_is_lost():
    assert rpsr.almost_sure(doors(), "l, r").possible
    assert not rpsr.almost_sure(doors(), "goal", avoiding="l").possible


@st.composite
def small(draw):
    """A random POMDP of four states with few outcomes, state 3 being the goal, 2 to be avoided."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    states, actions, observations = 4, 2, 2

    def rows(shape, width):
        masks = rng.random((*shape, width)) < 0.4
        masks[..., 0] |= ~masks.any(axis=-1)
        return masks / masks.sum(axis=-1, keepdims=True)

    return POMDP.from_arrays(
        rows((actions, states), states),
        rows((actions, states), observations),
        np.zeros((states, actions)),
        discount="0.9",
    )


def naive(pomdp, goal, avoid):
    """Whether the goal is almost surely reached, by the definition, over all sets of states."""
    n = len(pomdp.states)
    sets = [
        frozenset(members)
        for members in chain.from_iterable(combinations(range(n), k) for k in range(n + 1))
        if goal not in members
    ]

    chances = [
        [pomdp.D[a][o].toarray() for o in range(len(pomdp.observations))]
        for a in range(len(pomdp.actions))
    ]

    def after(support, a, o):
        return frozenset(int(t) for s in support for t in np.flatnonzero(chances[a][o][s]))

    seen = range(len(pomdp.observations))
    allowed = {
        (b, a)
        for b in sets
        for a in range(len(pomdp.actions))
        if avoid not in b and not any(avoid in after(b, a, o) for o in seen)
    }
    kept = set(sets)
    while True:
        usable = {
            (b, a)
            for b, a in allowed
            if b in kept
            and all(
                after(b, a, o) - {goal} in kept
                for o in range(len(pomdp.observations))
                if after(b, a, o)
            )
        }
        good, size = set(), -1
        while len(good) > size:
            size = len(good)
            for b, a in usable:
                for s in b:
                    for o in seen:
                        following = after({s}, a, o)
                        b2 = after(b, a, o) - {goal}
                        if goal in following or any((b2, t) in good for t in following):
                            good.add((b, s))
        lost = {b for b in kept if any((b, s) not in good for s in b)}
        if not lost:
            start = frozenset(np.flatnonzero(pomdp.start > 0).tolist()) - {goal}
            return start in kept
        kept -= lost


@given(small())
def test_the_answer_is_that_of_the_definition_and_the_strategy_reaches_the_goal(pomdp):
    answer = rpsr.almost_sure(pomdp, 3, avoiding=2)
    assert answer.possible == naive(pomdp, 3, 2)
    if answer.possible:
        task = rpsr.reach(3, avoiding=2).task(pomdp)
        assert exact_return(task, answer.strategy) == pytest.approx(1, abs=1e-9)
