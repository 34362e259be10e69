"""`check_env` passes for the environments of this package and names what a broken one breaks."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from tests.envs.worlds import Machine, stairs

import rpsr
from rpsr.envs import POMDPEnv, POMDPVectorEnv, make, record
from rpsr.learning import LastKTable
from rpsr.testing import check_env


@pytest.mark.parametrize("source", ["tiger", "4x3", "hallway", "rock-sample", stairs()])
def test_our_environments_obey(source):
    check_env(make(source), source)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_our_vector_environments_obey(mode):
    check_env(make(stairs(), num_envs=4, autoreset_mode=mode), stairs())
    check_env(make("hallway", num_envs=3, max_episode_steps=9, autoreset_mode=mode), "hallway")


def test_a_model_of_the_same_process_passes():
    check_env(make("tiger"), rpsr.psr(rpsr.load("tiger")))


def test_gymnasiums_own_sync_environments_obey():
    envs = gymnasium.make_vec(
        "rpsr/POMDP-v0", num_envs=3, vectorization_mode="sync", source=stairs()
    )
    check_env(envs, stairs())


def test_a_model_learned_from_an_environment_that_ends_anywhere_passes():
    """Its end is an observation of its own, which the environment does not have."""
    log = record(Machine(), "uniform", 200, seed=0)
    model = LastKTable(discount=0.9, k=1).fit(log).model_
    assert "(end)" in model.observations
    check_env(Machine(), model)
    with pytest.raises(AssertionError, match="terminated is True at observation"):
        check_env(Machine(), replace(model, final=()))


def test_another_model_is_noticed():
    with pytest.raises(AssertionError, match="the model has no reward"):
        check_env(make("tiger"), other_rewards())
    with pytest.raises(AssertionError, match="terminated is True at observation 'over'"):
        check_env(make(stairs()), rpsr.psr(stairs()))  # which has no final observations
    with pytest.raises(AssertionError, match="terminated is False at observation 'over'"):
        check_env(make(stairs(), ends=False), stairs())
    with pytest.raises(AssertionError, match="which has probability 0 in the model"):
        check_env(make(stairs({3: 1})), stairs({1: 1}))


def other_rewards():
    tiger = rpsr.load("tiger")
    return rpsr.POMDP.from_arrays(
        np.stack([tiger.transition(a).toarray() for a in tiger.actions]),
        np.stack([tiger.emission(a).toarray() for a in tiger.actions]),
        tiger.R + 1,
        discount=0.9,
        names={"actions": tiger.actions, "observations": tiger.observations},
    )


class Restless(POMDPEnv):
    """Does not use its seed."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.np_random = np.random.default_rng()
        return super().reset()


class Crooked(POMDPVectorEnv):
    """Returns rewards of another shape."""

    def step(self, actions):
        seen, paid, *rest = super().step(actions)
        return seen, paid[:, None], *rest


def test_broken_environments_are_noticed():
    with pytest.raises(AssertionError, match="Gymnasium's check fails"):
        check_env(Restless("tiger"))
    with pytest.raises(AssertionError, match=r"reward has shape \(2, 1\)"):
        check_env(Crooked("tiger", num_envs=2))
    silent = make("tiger", num_envs=2)
    silent.metadata = {}
    with pytest.raises(AssertionError, match="metadata has no autoreset_mode"):
        check_env(silent)
    with pytest.raises(AssertionError, match="observation_space: read Box"):
        check_env(gymnasium.make("MountainCar-v0"))
