"""Without a discount: what is tiny but not 0 is not lost on the way to a PSR or an R-PSR."""

from fractions import Fraction

import numpy as np
import pytest

import rpsr
from rpsr.domains.rules import tabulate
from rpsr.errors import ModelError
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.reward_signs import TINY, exact_rewards, with_exact_signs

ONE = Fraction(1)
VIEWS = {"pomdp": lambda task: task, "rpsr": rpsr.rpsr, "psr": rpsr.psr}


def gamble(leaves=Fraction(0), earns=Fraction(0), wins=ONE):
    """Action x leaves s for the goal with a tiny probability or earns a tiny reward; y may fail."""

    def move(s, a):
        if s != "s":
            return {s: ONE}
        if a == "x":
            return {"s": 1 - leaves, "goal": leaves} if leaves else {"s": ONE}
        return {"s": ONE / 4, "goal": ONE / 2, "pit": ONE / 4}

    return tabulate(
        name="gamble",
        states=("s", "goal", "pit"),
        actions=("x", "y"),
        observations=("o", "p"),
        start={"s": ONE},
        transition=move,
        emission=lambda a, s: {"o": ONE} if s == "s" else {"p": ONE},
        reward=lambda s, a, after, o: (earns if a == "x" else wins) if s == "s" else 0 * ONE,
        discount=Fraction(1, 2),
    )


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("planner", ["sarsop", "vi"])
def test_a_probability_too_small_for_floats_is_refused(view, planner):
    """Action x, repeated, reaches the goal with probability 1; without that move, 2/3 is best."""
    task = rpsr.reach("goal", avoiding="pit").task(gamble(leaves=ONE / 10**330))
    with pytest.raises(ModelError, match="is too small for floats"):
        rpsr.solve(VIEWS[view](task), planner, time_limit=5)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("digits", [16, 18, 400])
def test_a_tiny_reward_in_a_loop_has_an_infinite_sum(view, digits):
    task = rpsr.total_reward("goal,pit").task(gamble(earns=ONE / 10**digits))
    with pytest.raises(ModelError, match="the sum of rewards is infinite"):
        rpsr.solve(VIEWS[view](task), "sarsop", time_limit=5)


@pytest.mark.parametrize("view", VIEWS)
def test_a_tiny_cost_in_a_loop_is_a_cost(view):
    task = rpsr.total_reward("goal,pit").task(gamble(earns=-ONE / 10**18))
    with pytest.raises(ModelError, match="some rewards are negative and some positive"):
        rpsr.solve(VIEWS[view](task), "sarsop", time_limit=5)


def test_signs_are_those_of_the_fractions():
    task = rpsr.total_reward("goal,pit").task(gamble(earns=-ONE / 10**400, wins=ONE / 3))
    process = corner_process(rpsr.rpsr(task))
    rewards = with_exact_signs(process, exact_rewards(process)).rewards
    first = np.unique(process.corner_of, return_index=True)[1]
    states = [task.states[s] for s in first]
    assert rewards[:, states.index("s")].tolist() == [-TINY, 1 / 3]
    assert not np.delete(rewards, states.index("s"), axis=1).any()


def test_rewards_of_another_model_are_not_the_pomdps():
    task = rpsr.total_reward("goal,pit").task(gamble())
    model = rpsr.rpsr(task)
    assert exact_rewards(corner_process(model)) is not None
    assert exact_rewards(corner_process(model.with_rewards(2 * model.rewards))) is None


def test_states_that_floats_cannot_tell_apart_are_refused_if_one_alone_earns():
    """State t is s, but for a reward of 1e-18 when x is chosen, which earns without end."""
    pomdp = tabulate(
        name="twins",
        states=("s", "t", "goal"),
        actions=("x", "y"),
        observations=("o", "p"),
        start={"s": ONE / 2, "t": ONE / 2},
        transition=lambda s, a: {s: ONE} if a == "x" or s == "goal" else {"goal": ONE},
        emission=lambda a, s: {"p" if s == "goal" else "o": ONE},
        reward=lambda s, a, after, o: (
            ONE / 10**18 if (s, a) == ("t", "x") else ONE * (a == "y" and s != "goal")
        ),
        discount=1,
    )
    for model in (rpsr.rpsr(pomdp), rpsr.psr(pomdp)):
        with pytest.raises(ModelError, match=r"have different signs|the sum of rewards is inf"):
            rpsr.solve(model, "sarsop", time_limit=5)


@pytest.mark.parametrize("view", VIEWS)
def test_a_start_too_unlikely_for_floats_is_refused(view):
    """From the pit, which is possible at the start, costs are infinite."""
    tiny = ONE / 10**330
    pomdp = tabulate(
        name="trap",
        states=("s", "goal", "pit"),
        actions=("x",),
        observations=("o",),
        start={"s": 1 - tiny, "pit": tiny},
        transition=lambda s, a: {"goal" if s == "s" else s: ONE},
        emission=lambda a, s: {"o": ONE},
        reward=lambda s, a, after, o: 0 * ONE if s == "goal" else -ONE,
        discount=1,
    )
    with pytest.raises(ModelError, match="is too small for floats"):
        rpsr.solve(VIEWS[view](pomdp), "sarsop", time_limit=5)
