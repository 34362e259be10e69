"""Minari datasets: stand-ins with the attributes of the real ones, and real ones."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import minari
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from minari.data_collector import EpisodeBuffer

from rpsr.errors import InputError
from rpsr.logs import Trajectories, from_arrays, read_minari, write_minari
from rpsr.logs.minari import START


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
    assert kept.action_names == ("0", "1")
    assert kept.actions.tolist() == [1, 1, 0, 0, 0]  # the extra ones are drawn
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


RECORDED = """
import json, warnings
warnings.simplefilter("ignore")
import gymnasium, minari
import numpy as np

env = minari.DataCollector(gymnasium.make("FrozenLake-v1", max_episode_steps=7), record_infos=True)
rng, told = np.random.default_rng(0), []
for seed in range(12):
    env.reset(seed=seed)
    steps, over, cut = [], False, False
    while not (over or cut):
        action = int(rng.integers(4))
        seen, reward, over, cut, _ = env.step(action)
        steps.append([action, int(seen), float(reward)])
    told.append([steps, bool(over), bool(cut)])
env.create_dataset("lake/random-v0", algorithm_name="random")
print(json.dumps(told))
"""


def test_a_dataset_that_its_data_collector_has_recorded(tmp_path, monkeypatch):
    """In a process of its own, because importing jax starts threads."""
    if find_spec("jax") is None:
        pytest.skip("jax is not installed, which Minari's DataCollector needs")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", RECORDED],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout.splitlines()[-1])
    with pytest.warns(
        UserWarning, match="lake/random-v0: ignored 'infos/prob'; the names that are"
    ):
        log = read_minari("lake/random-v0")
    assert log.action_names == ("0", "1", "2", "3")
    assert len(log.observation_names) == 16
    assert log.lengths.tolist() == [len(steps) for steps, _, _ in recorded]
    rows = np.stack([log.actions, log.observations, log.rewards], axis=1)
    assert rows.tolist() == [row for steps, _, _ in recorded for row in steps]
    assert log.terminated.tolist() == [over for _, over, _ in recorded]
    assert log.truncated.tolist() == [cut for _, _, cut in recorded]
    assert log.terminated.any()
    assert not log.terminated.all()


@pytest.fixture
def _store(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


@pytest.mark.usefixtures("_store")
def test_a_written_dataset_is_read_by_its_own_loader():
    log = Trajectories(
        action_names=("stay", "go"),
        observation_names=("dark", "light", "never"),
        actions=[1, 0, 1],
        observations=[1, 1, 0],
        rewards=[0.5, -1, 2],
        propensities=[0.5, 0.25, 1],
        offsets=[0, 2, 3],
        terminated=[True, False],
        truncated=[True, True],
    )
    write_minari(log, "some/log-v0", description="by hand")
    loaded = minari.load_dataset("some/log-v0")
    assert (loaded.total_episodes, loaded.total_steps) == (2, 3)
    assert (loaded.action_space.n, loaded.observation_space.n) == (2, 4)
    first, second = loaded.iterate_episodes()
    assert first.observations.tolist() == [3, 1, 1]  # the first one stands for none
    assert first.actions.tolist() == [1, 0]
    assert first.rewards.tolist() == [0.5, -1]
    assert first.terminations.tolist() == first.truncations.tolist() == [False, True]
    assert (second.terminations.tolist(), second.truncations.tolist()) == ([False], [True])
    assert loaded.storage.metadata["description"] == "by hand"
    again = read_minari("some/log-v0")
    assert again.action_names == log.action_names
    assert again.observation_names == log.observation_names
    assert again.propensities.tolist() == [0.5, 0.25, 1]
    assert START in read_minari("some/log-v0", initial="step").observation_names


@pytest.mark.usefixtures("_store")
def test_an_extra_first_action_is_written_as_any_other():
    log = read_minari(dataset(first=(0, 2)), initial="step")
    write_minari(log, "some/log-v0")
    again = read_minari("some/log-v0")
    assert again.action_names == log.action_names
    assert again.actions.tolist() == log.actions.tolist()
    assert again.observations.tolist() == log.observations.tolist()
    assert again.rewards.tolist() == log.rewards.tolist()


@pytest.mark.usefixtures("_store")
@pytest.mark.parametrize(
    ("log", "name", "message"),
    [
        (from_arrays([[0]], [[0]]), "a/b-v0", "a/b-v0: the log has no rewards"),
        (from_arrays([[0], []], [[0], []], [[1], []]), "a/b-v0", "episode 1 has no step"),
        (from_arrays([[0]], [[0]], [[1]]), "a b", "a b: Minari cannot write this dataset: "),
    ],
)
def test_what_cannot_be_written(tmp_path, log, name, message):
    with pytest.raises(InputError, match=message) as caught:
        write_minari(log, name)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("*.hdf5"))
