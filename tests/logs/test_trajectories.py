from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.errors import InputError
from rpsr.learning import PreparedLog
from rpsr.logs import Trajectories, from_arrays


def make(**changes):
    columns = {
        "action_names": ("left", "right"),
        "observation_names": ("dark", "light"),
        "actions": [0, 1, 1, 0, 0],
        "observations": [0, 0, 1, 1, 0],
        "rewards": [0.0, 1.0, -1.0, 0.5, 2.0],
        "offsets": [0, 3, 5],
        "terminated": [True, False],
    }
    return Trajectories(**(columns | changes))


def test_sizes_and_ends():
    log = make()
    assert (log.episodes, log.steps, len(log)) == (2, 5, 2)
    assert log.lengths.tolist() == [3, 2]
    assert log.truncated.tolist() == [False, True]
    assert str(log) == "<2 episodes, 5 steps, with rewards>"
    assert repr(log).splitlines()[-1].endswith("-1 to 2, mean 0.5 per step")
    assert str(from_arrays([[0]], [[0]])) == "<1 episode, 1 step>"
    with pytest.raises(InputError, match=r"read 1\.5, expected a probability above 0, at most 1"):
        from_arrays([[0]], [[0]], propensities=[[1.5]])


@given(
    lengths=st.lists(st.integers(0, 3), max_size=5),
    key=st.one_of(st.slices(5), st.lists(st.integers(-5, 4), max_size=4), st.integers(-5, 4)),
)
def test_a_log_is_indexed_as_the_list_of_its_episodes_is(lengths, key):
    """And what it gives are logs: to be learned from as such, not as streams."""
    log = from_arrays([[0] * n for n in lengths], [[0] * n for n in lengths])
    log = replace(log, rewards=np.arange(log.steps))
    episodes = [episode.rewards.tolist() for episode in log]
    try:
        chosen = np.empty(len(episodes), dtype=object)
        chosen[:] = episodes
        expected = [chosen[key]] if isinstance(key, int) else list(chosen[key])
    except IndexError:
        with pytest.raises(IndexError):
            log[key]
        return
    picked = log[key]
    assert isinstance(picked, Trajectories)
    assert [episode.rewards.tolist() for episode in picked] == expected
    assert len(picked) == len(expected)
    assert list(PreparedLog.of(picked)) == [picked]


def test_episodes_are_chosen_by_a_mask():
    log = make()
    assert log[log.lengths > 2].rewards.tolist() == [0.0, 1.0, -1.0]
    with pytest.raises(IndexError):
        log[np.array([True])]


@pytest.mark.parametrize("key", [None, True, ..., (), [[0]], 1.0, "0"])
def test_what_is_no_index_of_episodes_is_refused(key):
    with pytest.raises(InputError, match="expected numbers, a slice or a mask"):
        make()[key]


def test_selecting_repeats_and_reorders_episodes():
    log = make(states=[0, 1, 2, 3, 4]).select(np.array([1, 0, 1]))
    assert log.states is not None
    assert log.states.tolist() == [3, 4, 0, 1, 2, 3, 4]
    assert log.offsets.tolist() == [0, 2, 5, 7]
    assert log.terminated.tolist() == [False, True, False]
    assert log.propensities is None


def test_iterating_gives_single_episodes():
    first, second = make()
    assert first.actions.tolist() == [0, 1, 1]
    assert second.observations.tolist() == [1, 0]


def test_padded_fills_short_episodes():
    assert make().padded("actions", -1).tolist() == [[0, 1, 1], [0, 0, -1]]
    with pytest.raises(InputError, match="the log has no propensities"):
        make().padded("propensities", 1)


def test_no_episodes_and_an_empty_one():
    none = make(actions=[], observations=[], rewards=[], offsets=[0], terminated=[])
    assert (none.episodes, none.padded("actions", 0).shape) == (0, (0, 0))
    gap = make(offsets=[0, 3, 3, 5], terminated=[True, False, True])
    assert [episode.steps for episode in gap] == [3, 0, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"actions": [0, 1, 1, 2, 0]},
            "episode 1, step 0: actions: read 2, expected an index from 0 to 1",
        ),
        ({"observations": [0, 0, -1, 1, 0]}, "episode 0, step 2: observations: read -1"),
        ({"rewards": [0, 0, 0, 0, np.nan]}, "episode 1, step 1: rewards: read nan"),
        ({"propensities": [1, 0.5, 0, 1, 1]}, "episode 0, step 2: propensities: read 0.0"),
        ({"rewards": [0.0]}, r"rewards: read shape \(1,\), expected \(5,\)"),
        ({"offsets": [0, 3]}, "expected increasing numbers from 0 to 5"),
        ({"offsets": [1, 5]}, "expected the first step"),
        ({"terminated": [True]}, r"terminated: read shape \(1,\), expected \(2,\)"),
    ],
)
def test_errors_name_episode_and_step(changes, message):
    with pytest.raises(InputError, match=message):
        make(**changes)
