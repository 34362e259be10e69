"""Rollouts of Gymnasium, and flat arrays as libraries for offline reinforcement learning keep."""

import gymnasium
import numpy as np
import pytest

from rpsr.errors import InputError
from rpsr.logs import from_episodes, from_transitions

FLAT = {
    "observations": np.array([0, 1, 2, 0, 1, 0]),
    "actions": np.array([1, 0, 1, 1, 0, 1]),
    "rewards": np.array([0.0, 0.0, 5.0, 1.0, 2.0, 9.0]),
    "terminals": np.array([0, 0, 1, 0, 0, 0], dtype=bool),
    "timeouts": np.array([0, 0, 0, 0, 1, 0], dtype=bool),
}


def test_what_is_seen_after_each_action_where_the_next_observation_is_unknown():
    """After the end of a task it is `(end)`; where a recording was cut off, the step is dropped."""
    log = from_transitions(FLAT)
    assert log.action_names == ("0", "1")
    assert log.observation_names == ("0", "1", "2", "(end)")
    assert log.lengths.tolist() == [3, 1]
    assert log.actions.tolist() == [1, 0, 1, 1]
    assert log.observations.tolist() == [1, 2, 3, 1]
    assert log.rewards.tolist() == [0, 0, 5, 1]
    assert log.terminated.tolist() == [True, False]
    assert log.truncated.tolist() == [False, True]


def test_with_next_observations_every_step_is_kept():
    following = np.array([1, 2, 2, 1, 2, 1])
    both = FLAT["timeouts"] | FLAT["terminals"]  # the task ended at the last step allowed
    log = from_transitions(FLAT | {"next_observations": following, "timeouts": both})
    assert log.observation_names == ("0", "1", "2")
    assert log.lengths.tolist() == [3, 2, 1]
    assert log.observations.tolist() == following.tolist()
    assert log.rewards.tolist() == FLAT["rewards"].tolist()
    assert log.terminated.tolist() == [True, False, False]
    assert log.truncated.tolist() == [True, True, True]


def test_names_and_other_keys():
    names = np.array(["dark", "light", "dusk"])
    with pytest.warns(
        UserWarning, match="dataset: ignored 'infos/goal'; the names that are read are obs"
    ):
        log = from_transitions(
            FLAT | {"observations": names[FLAT["observations"]], "infos/goal": np.zeros((6, 2))}
        )
    assert log.observation_names == ("(end)", "dusk", "light")  # dark only before first actions
    renamed = from_transitions(
        FLAT, action_names=["stay", "go"], observation_names=["dark", "light", "dusk"]
    )
    assert renamed.action_names == ("stay", "go")
    assert renamed.observation_names == ("dark", "light", "dusk", "(end)")


def test_first_observations_that_differ():
    different = FLAT | {"observations": np.array([0, 1, 2, 2, 1, 0])}
    with pytest.raises(InputError, match="use initial='drop' to drop it"):
        from_transitions(different)
    assert from_transitions(different, initial="drop").steps == 4
    log = from_transitions(different, initial="step")
    assert log.action_names == ("0", "1")  # no action that a planner could misuse
    assert log.actions.tolist() == [1, 1, 0, 1, 0, 1]  # drawn by the numbers of episodes
    assert log.observations.tolist() == [0, 1, 2, 3, 2, 1]
    assert log.rewards.tolist() == [0, 0, 0, 5, 0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": np.zeros((6, 4))}, r"observations: read values of type float64 and shape "
         r"\(6, 4\), expected names or whole numbers, one per step; discretise"),
        ({"actions": np.zeros(6)}, "actions: read values of type float64 .*KBinsDiscretizer"),
        ({"rewards": np.zeros(5)}, "rewards: read 5 values, expected 6"),
        ({"rewards": np.full(6, np.nan)}, "rewards: read nan, expected a finite number"),
        ({"terminals": np.full(6, 2)}, "terminated: expected true or false, one per step"),
        ({"actions": None}, "has no actions; its keys are observations, actions"),
        ({"observations": np.arange(6) - 3}, "read -"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_flat_arrays(change, message):
    with pytest.raises(InputError, match=message):
        from_transitions(FLAT | change, initial="drop")


def test_rollouts_of_a_gymnasium_environment():
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    rng, episodes = np.random.default_rng(0), []
    for seed in range(20):
        seen, _ = env.reset(seed=seed)
        episode = {"observations": [seen], "actions": [], "rewards": []}
        over = cut = False
        while not (over or cut):
            action = int(rng.integers(4))
            seen, reward, over, cut, _ = env.step(action)
            episode["observations"].append(seen)
            episode["actions"].append(action)
            episode["rewards"].append(reward)
        episodes.append(episode | {"terminated": over, "truncated": cut})
    log = from_episodes(episodes)  # every one begins in the same corner
    assert log.lengths.tolist() == [len(episode["actions"]) for episode in episodes]
    assert log.observations.tolist() == [int(o) for e in episodes for o in e["observations"][1:]]
    assert log.terminated.tolist() == [episode["terminated"] for episode in episodes]
    kept = from_episodes(episodes, initial="step")
    assert (kept.steps, kept.action_names) == (log.steps + 20, log.action_names)


def test_names_with_an_extra_first_action():
    one = {"actions": ["go"], "observations": ["x", "y"], "propensities": [0.5]}
    log = from_episodes([one, one | {"observations": ["y", "y"]}], initial="step")
    assert log.action_names == ("go",)
    assert log.observations.tolist() == [0, 1, 1, 1]
    assert log.propensities.tolist() == [1, 0.5, 1, 0.5]  # it is the only action
    flags = {"terminations": np.array([True]), "truncations": [np.True_], "infos": {}}
    with pytest.warns(UserWarning, match="ignored 'infos'"):
        both = from_episodes([one | flags])
    assert (both.terminated.tolist(), both.truncated.tolist()) == ([True], [True])


@pytest.mark.parametrize(
    ("episode", "message"),
    [
        ({"actions": [0], "observations": [0, 1, 2]}, "observations: read 3 values, expected 1"),
        ({"actions": [0]}, "observations: read nothing, expected a list; the keys are actions"),
        ({"actions": [0], "observations": [0.5, 0.5]}, "read 0.5, expected .*; discretise"),
        (3, "episode 0: read int, expected a dictionary"),
        ({"actions": [0], "observations": [[0, 1]]}, r"observation: read \[0, 1\], expected"),
        ({"actions": [0], "observations": [0], "terminated": "yes"}, "expected true or false"),
    ],
)
def test_what_is_wrong_with_episodes(episode, message):
    with pytest.raises(InputError, match=message):
        from_episodes([episode])
