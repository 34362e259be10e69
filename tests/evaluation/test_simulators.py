"""Policies on generative simulators: episodes, their ends, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import rpsr
from rpsr import InputError, ModelError, simulate
from rpsr.planning import PomdpSimulator


class Walk:
    """Five cells; the last one pays 1 and ends the episode."""

    actions = ("left", "right")
    observations = ("dark", "end")
    discount = 0.5
    reward_range = (0, 1)

    def start(self, rng):
        return int(rng.integers(2))

    def step(self, state, action, rng):
        cell = max(0, state + (1 if action == 1 else -1))
        return cell, int(cell == 4), float(cell == 4), cell == 4


class Right:
    """Goes right and notes its interactions."""

    def __init__(self):
        self.interactions = []

    def reset(self):
        self.interactions.append([])

    def act(self):
        return 1

    def update(self, action, observation):
        self.interactions[-1].append((action, observation))


class Unnamed(Walk):
    """Observations are pairs."""

    observations = None

    def step(self, state, action, rng):
        after, seen, reward, done = super().step(state, action, rng)
        return after, ("cell", seen), reward, done


@pytest.mark.parametrize(
    ("simulator", "names", "seen"),
    [(Walk(), ("dark", "end"), 0), (Unnamed(), ("('cell', 0)", "('cell', 1)"), ("cell", 0))],
)
def test_a_policy_runs_until_the_simulator_ends(simulator, names, seen):
    policy = Right()
    log = simulate(simulator, policy, episodes=20, steps=9, seed=0, rewards=True)
    assert (log.action_names, log.observation_names) == (("left", "right"), names)
    assert set(log.lengths.tolist()) == {3, 4}  # from cells 1 and 0
    assert log.terminated.all()
    assert (log.actions == 1).all()
    assert (log.observations == log.rewards).all()
    assert log.rewards.sum() == 20
    assert log.propensities is None
    assert policy.interactions == [[(1, seen)] * (length - 1) for length in log.lengths]


def test_episodes_are_cut_after_their_steps_and_depend_on_the_seed_alone():
    first, again, other = (
        simulate(Walk(), "uniform", episodes=30, steps=3, seed=seed, propensities=True)
        for seed in (1, 1, 2)
    )
    assert (first.actions == again.actions).all()
    assert first.actions.tolist() != other.actions.tolist()
    assert (first.lengths == 3).all()
    assert not first.terminated.all()
    assert (first.propensities == 0.5).all()
    assert first.rewards is None


def test_it_agrees_with_the_simulation_of_the_pomdp():
    tiger = rpsr.load_pomdp("tiger")
    ours = simulate(PomdpSimulator(tiger), "uniform", episodes=400, steps=5, rewards=True)
    theirs = simulate(tiger, "uniform", episodes=400, steps=5, rewards=True)
    assert (ours.action_names, ours.observation_names) == (tiger.actions, tiger.observations)
    # Rewards have a standard deviation below 45; five standard errors of a difference of means.
    assert abs(ours.rewards.mean() - theirs.rewards.mean()) <= 5 * 45 * (2 / 2000) ** 0.5


def test_planning_online_runs_on_its_simulator():
    policy = rpsr.plan_online(Walk(), trials=5, particles=40, scenarios=20)
    said = []
    log = simulate(
        Walk(), policy, episodes=2, steps=9, rewards=True, progress=lambda *of: said.append(of)
    )
    assert log.rewards.sum() == 2
    assert said == [(2, 2)]


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (
            3,
            {},
            "policy: read int, expected a policy (an object with the methods reset, act, update)",
        ),
        (Right, {}, "policy: read the class Right, expected a policy (an object with the methods"),
        (Right(), {"states": True}, "states=True: not possible for a simulator; leave it out"),
        (Right(), {"ends": False}, "ends=False: not possible for a simulator; leave it out"),
        (Right(), {"episodes": 0}, "episodes: read 0, expected a whole number from 1"),
        (
            rpsr.plan_online(PomdpSimulator(rpsr.load_pomdp("tiger")), trials=1, particles=5),
            {},
            "policy: read a policy for the actions listen, open-left, open-right, expected",
        ),
    ],
)
def test_what_does_not_fit_is_refused(policy, options, message):
    with pytest.raises(InputError) as caught:
        simulate(Walk(), policy, **{"episodes": 1, "steps": 1} | options)
    assert message in str(caught.value)


def test_wrong_actions_and_results_are_refused():
    wrong = Right()
    wrong.act = lambda: 2
    with pytest.raises(
        ModelError, match="the policy chose action 2, expected the index of an action, 0"
    ):
        simulate(Walk(), wrong, episodes=1, steps=1)
    walk = Walk()
    walk.step = lambda *_: (0, 0, np.nan, False)
    with pytest.raises(ModelError, match="rewards that are not finite numbers"):
        simulate(walk, Right(), episodes=1, steps=1)


def test_evaluate_says_what_to_do_instead():
    with pytest.raises(
        InputError, match=r"read the simulator Walk, .*simulate\(\.\.\., rewards=True"
    ):
        rpsr.evaluate(Walk(), Right())


def test_a_policy_for_observations_in_another_order_is_refused():
    other = SimpleNamespace(actions=Walk.actions, observations=Walk.observations[::-1])
    policy = Right()
    policy.simulator = other
    with pytest.raises(InputError, match="observations end, dark, expected one for dark, end"):
        simulate(Walk(), policy, episodes=1, steps=1)
