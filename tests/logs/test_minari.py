"""Minari datasets: stand-ins with the attributes of the real ones, and a real one."""

from types import SimpleNamespace

import minari
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from minari.data_collector import EpisodeBuffer

from rpsr.errors import InputError
from rpsr.logs import read_minari
from rpsr.logs.minari import BEGIN


def dataset(first=(0, 0), start=0):
    episodes = [
        SimpleNamespace(
            actions=[1, 0],
            observations=[first[0], 1, 2],
            rewards=[0.0, 1.0],
            terminations=[False, True],
            truncations=[False, False],
        ),
        SimpleNamespace(
            actions=[0],
            observations=[first[1], 1],
            rewards=[2.0],
            terminations=[False],
            truncations=[True],
        ),
    ]
    for episode in episodes:
        columns = {name: np.array(column) for name, column in vars(episode).items()}
        vars(episode).update(columns, observations=columns["observations"] + start)
    return SimpleNamespace(
        action_space=SimpleNamespace(n=2, start=0),
        observation_space=SimpleNamespace(n=np.int64(3), start=np.int64(start)),
        iterate_episodes=lambda: iter(episodes),
    )


def test_observations_follow_actions():
    log = read_minari(dataset(), action_names=["stay", "go"])
    assert log.action_names == ("stay", "go")
    assert log.actions.tolist() == [1, 0, 0]
    assert log.observations.tolist() == [1, 2, 1]
    assert log.terminated.tolist() == [True, False]


def test_first_observations_that_differ_are_not_dropped_silently():
    with pytest.raises(InputError, match="initial='drop'"):
        read_minari(dataset(first=(0, 2)))
    with pytest.raises(InputError, match="initial: read 'forget', expected None, 'drop' or"):
        read_minari(dataset(first=(0, 2)), initial="forget")
    assert read_minari(dataset(first=(0, 2)), initial="drop").steps == 3
    kept = read_minari(dataset(first=(0, 2)), initial="step")
    assert kept.action_names[-1] == BEGIN
    assert kept.observations.tolist() == [0, 1, 2, 2, 1]
    assert kept.rewards is not None
    assert kept.rewards.tolist() == [0, 0, 1, 0, 2]


def test_a_space_that_counts_from_one():
    log = read_minari(dataset(start=1))
    assert log.observation_names == ("1", "2", "3")
    assert log.observations.tolist() == [1, 2, 1]


def test_spaces_that_are_not_discrete():
    wrong = dataset()
    wrong.action_space = "Box(2,)"  # it has neither n nor start
    with pytest.raises(InputError, match=r"action_space: read Box\(2,\), expected a discrete"):
        read_minari(wrong)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "minari", None)
    with pytest.raises(InputError, match=r"needs minari: pip install 'rpsr\[data\]'"):
        read_minari("some/dataset-v0")


@pytest.mark.filterwarnings("ignore")  # other packages' own
def test_a_real_dataset(tmp_path, monkeypatch):
    """Three places in a ring; the third ends the task and pays 1."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    steps = [  # observations, actions, rewards, whether it terminated
        ([0, 1, 0, 1, 2], [1, 0, 1, 1], [0, 0, 0, 1], True),
        ([0, 2], [0], [1], True),
        ([0, 1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0], False),
    ]
    episodes = [
        EpisodeBuffer(
            id=number,
            observations=np.array(observations),
            actions=np.array(actions),
            rewards=np.array(rewards, dtype=np.float64),
            terminations=np.array([*[False] * (len(actions) - 1), terminated]),
            truncations=np.array([*[False] * (len(actions) - 1), not terminated]),
        )
        for number, (observations, actions, rewards, terminated) in enumerate(steps)
    ]
    made = minari.create_dataset_from_buffers(
        "ring/test-v0",
        episodes,
        action_space=Discrete(2),
        observation_space=Discrete(3),
        algorithm_name="by hand",
    )
    for given in (made, "ring/test-v0"):
        log = read_minari(given)
        assert log.lengths.tolist() == [4, 1, 4]
        assert log.actions.tolist() == [1, 0, 1, 1, 0, 1, 0, 1, 0]
        assert log.observations.tolist() == [1, 0, 1, 2, 2, 1, 0, 1, 0]
        assert log.rewards is not None
        assert log.rewards.tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0]
        assert log.terminated.tolist() == [True, True, False]
    with pytest.raises(InputError, match="no such local Minari dataset"):
        read_minari("ring/other-v0")
