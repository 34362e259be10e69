"""Minari datasets, through stand-ins with the attributes that the format documents."""

from types import SimpleNamespace

import pytest

from rpsr.errors import InputError
from rpsr.logs import read_minari
from rpsr.logs.minari import BEGIN


def dataset(first=(0, 0)):
    episodes = [
        SimpleNamespace(
            actions=[1, 0],
            observations=[first[0], 1, 2],
            rewards=[0.0, 1.0],
            terminations=[False, True],
        ),
        SimpleNamespace(
            actions=[0], observations=[first[1], 1], rewards=[2.0], terminations=[False]
        ),
    ]
    return SimpleNamespace(
        action_space=SimpleNamespace(n=2, start=0),
        observation_space=SimpleNamespace(n=3, start=0),
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
    assert read_minari(dataset(first=(0, 2)), initial="drop").steps == 3
    kept = read_minari(dataset(first=(0, 2)), initial="step")
    assert kept.action_names[-1] == BEGIN
    assert kept.observations.tolist() == [0, 1, 2, 2, 1]
    assert kept.rewards is not None
    assert kept.rewards.tolist() == [0, 0, 1, 0, 2]


def test_spaces_that_are_not_discrete():
    wrong = dataset()
    wrong.action_space = "Box(2,)"
    with pytest.raises(InputError, match=r"action_space: read Box\(2,\), expected a discrete"):
        read_minari(wrong)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "minari", None)
    with pytest.raises(InputError, match=r"needs minari: pip install 'rpsr\[data\]'"):
        read_minari("some/dataset-v0")
