"""Logs of Gymnasium environments, ours and others'."""

import gymnasium
import numpy as np
import pytest
from tests.envs.worlds import Machine, stairs

import rpsr
from rpsr import InputError
from rpsr.envs import NamedDiscrete, PredictiveState, make, record
from rpsr.learning import LastKTable


def test_a_log_of_our_environment_has_the_models_names():
    tiger = rpsr.load("tiger")
    log = record(make(tiger), "uniform", 5, steps=7, seed=1)
    assert (log.action_names, log.observation_names) == (tiger.actions, tiger.observations)
    assert (log.episodes, log.steps) == (5, 35)
    assert log.propensities == pytest.approx(np.full(35, 1 / 3))
    assert log.truncated.all()
    again = record(make(tiger), "uniform", 5, steps=7, seed=1)
    assert np.array_equal(log.observations, again.observations)
    assert np.array_equal(log.actions, again.actions)


def test_ends_and_rewards_are_recorded():
    log = record(make(stairs()), lambda _observation: 0, 2)
    assert log.rewards.tolist() == [3, 2, 1] * 2
    assert log.terminated.tolist() == [True, True]
    assert [log.observation_names[o] for o in log.observations[:3]] == ["high", "low", "over"]
    assert log.propensities is None


def test_a_limit_of_the_environment_truncates():
    log = record(make(stairs(), max_episode_steps=2), lambda _: 0, 1)
    assert (log.steps, log.terminated.tolist()) == (2, [False])


@pytest.mark.parametrize("form", ["plan", "policy", "controller", "uniform policy"])
def test_policies_of_rpsr_play(form):
    """Down three times is optimal, whatever the policy is given as."""
    plan = rpsr.solve(stairs(), "vi")
    controller = rpsr.planning.extract_controller(plan)
    given = {"plan": plan, "policy": plan.policy(), "controller": controller}
    if form == "uniform policy":
        policy = rpsr.UniformPolicy(stairs(), np.random.default_rng(0))
        assert set(record(make(stairs()), policy, 9).actions.tolist()) == {0, 1}
    else:
        assert record(make(stairs()), given[form], 1).rewards.tolist() == [3, 2, 1]


def test_an_rpsr_policy_is_as_good_as_in_a_simulation():
    pomdp = rpsr.load("loadunload")
    plan = rpsr.solve(rpsr.rpsr(pomdp), "vi")
    log = record(make(pomdp), plan, 200, steps=60, seed=3)
    value = (log.padded("rewards", 0) * 0.95 ** np.arange(60)).sum(axis=1)
    rest = 0.95**60 / 0.05 / 4  # a reward every fourth step
    assert abs(value.mean() + rest - plan.value) <= 5 * value.std() / np.sqrt(200) + 0.1


def test_tuples_are_named_and_only_those_that_occur():
    log = record(gymnasium.make("Blackjack-v1"), "uniform", 200, initial="step", seed=4)
    assert log.action_names == ("0", "1")
    first = log.offsets[:-1]
    assert set(log.actions[first]) == {0, 1}  # without effect
    assert (log.rewards[first] == 0).all()
    assert (log.lengths >= 2).all()
    assert log.terminated.all()
    hands = [tuple(map(int, name.split(","))) for name in log.observation_names]
    assert hands == sorted(hands)
    assert set(np.unique(log.observations)) == set(range(len(hands)))


def test_first_observations_that_differ_must_be_chosen():
    with pytest.raises(InputError, match="use initial='drop'"):
        record(gymnasium.make("Blackjack-v1"), "uniform", 20)
    log = record(gymnasium.make("Blackjack-v1"), "uniform", 20, initial="drop")
    assert log.action_names == ("0", "1")
    with pytest.raises(InputError, match="initial: read 'keep', expected"):
        record(gymnasium.make("Blackjack-v1"), initial="keep")


@pytest.mark.parametrize("initial", ["drop", "step"])
def test_a_learned_policy_plays(initial):
    """FrozenLake without slipping, seen whole: the learned plan takes the shortest way."""
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=100)
    log = record(lake, "uniform", 1500, initial=initial, seed=0)
    learned = rpsr.learning.LastKTable(discount=0.95, k=1).fit(log)
    plan = rpsr.solve(learned.model_, "pbvi")
    played = record(lake, plan, 2, initial=initial, seed=1)
    assert played.rewards[played.ends].tolist() == [1.0] * 2
    assert played.lengths.tolist() == [6 + (initial == "step")] * 2


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match=r"observation_space: read Box.*discretiser"):
        record(gymnasium.make("CartPole-v1"))
    with pytest.raises(InputError, match=r"action_space: read Box.*discretise the actions"):
        record(gymnasium.make("Pendulum-v1"))
    with pytest.raises(InputError, match="episodes: read 0, expected a whole number from 1"):
        record(make("tiger"), episodes=0)
    with pytest.raises(InputError, match="expected a single gymnasium"):
        record(make("tiger", num_envs=2))
    with pytest.raises(InputError, match="policy: read 'best', expected 'uniform'"):
        record(make("tiger"), "best", 1)
    with pytest.raises(InputError, match="the environment has no action 'n' of the policy"):
        record(make("tiger"), rpsr.solve(rpsr.load("4x3"), "qmdp"), 1, steps=3)


def test_an_episode_without_end_is_noticed(monkeypatch):
    monkeypatch.setattr("rpsr.envs.recording.LONGEST", 50)
    with pytest.raises(InputError, match="has not ended after 50 steps; give steps"):
        record(make("tiger"), "uniform", 1)


def test_an_environment_without_names_is_told_how_to_get_them():
    """A policy that knows names does not play blindly where there are only numbers."""
    log = record(Machine(), "uniform", 100, seed=0)
    plan = rpsr.solve(LastKTable(discount=0.9, k=1).fit(log).model_, "pbvi")
    assert record(Machine(), plan, 3, seed=1).action_names == ("run", "repair")
    env = Machine(named=False)
    with pytest.raises(InputError, match="actions are 0, 1; if the actions are the same") as caught:
        record(env, plan, 1)
    message = "name the environment's, in its order: action_space = rpsr.envs.NamedDiscrete("
    assert f"{message}['run', 'repair'])" in str(caught.value)
    env.action_space = NamedDiscrete(["run", "repair"])
    message = "has none of the policy's observations; the environment's observations are 0, 1; if"
    with pytest.raises(InputError, match=message) as caught:
        record(env, plan, 1)
    assert "observation_space = rpsr.envs.NamedDiscrete(['bad', 'good'])" in str(caught.value)
    with pytest.raises(InputError, match=r"observation_space = rpsr.envs.NamedDiscrete\("):
        PredictiveState(env, plan.model)
