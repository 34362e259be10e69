"""States that are the last observations: as a start, and in the search of EM."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import memory_log

from rpsr.learning import EMRPSR, Search, diagnose
from rpsr.learning.em.fitted_pomdp import Encoded
from rpsr.learning.em.window_start import window_start

FEW = {"sizes": (2,), "starts": 1, "descents": 1, "memories": 0, "largest": 2}


def test_states_are_sequences_of_kinds_whose_rewards_they_know():
    log = Encoded.of(memory_log(3, 300, 20, seed=0, symbols=3))
    start = window_start(log, np.array([0, 1, 2]), 3, 27)
    assert (start.size, start.end) == (27, -1)
    # nine sequences pay for action 0, nine for action 1; a start is smoothed a little
    for action in (0, 1):
        assert np.sum(start.means[action] > 0.9) == 9
        assert np.sum(start.means[action] < 0.1) == 18
    assert window_start(log, np.array([0, 1, 1]), 3, 27).size == 8
    assert window_start(log, np.array([0, 1, 2]), 3, 26) is None
    assert window_start(log, np.array([0, 1, 2]), 20, 10**6) is None  # no step comes after that


def test_moves_shift_the_sequence():
    """After three of the same observation, any other one leads to one other state."""
    log = Encoded.of(memory_log(3, 300, 20, seed=0))
    start = window_start(log, np.array([0, 1]), 3, 8)
    assert np.all(np.sum(start.moves > 0.3, axis=2) == 2)
    assert np.all(np.sum(start.moves > 0.3, axis=1) == 2)


def test_states_with_few_steps_move_like_others():
    """Nine steps for each of 64 states and 2 actions: smoothing must not outweigh them."""
    log = Encoded.of(memory_log(6, 200, 12, seed=0))
    start = window_start(log, np.array([0, 1]), 6, 64)
    assert start.size == 64
    assert np.sort(start.moves, axis=2)[..., -2:].sum(axis=2).mean() > 0.8


def test_a_task_that_ends_moves_to_its_end():
    log = memory_log(2, 300, 4, seed=0)
    log = replace(log, terminated=np.arange(300) < 150)
    start = window_start(Encoded.of(log), np.array([0, 1]), 2, 4)
    assert (start.size, start.end) == (4, 4)
    # of the 600 steps after two observations, the last ones of 150 episodes end the task
    assert start.moves[:, :4, 4].mean() == pytest.approx(0.25, abs=0.05)


def test_em_learns_a_long_memory_if_its_limit_of_states_allows_it():
    log, unseen = (memory_log(4, 300, 20, seed) for seed in (0, 1))
    lines = []
    enough = EMRPSR(discount=0.9, search=Search(**FEW, most=16), progress=lines.append).fit(log)
    assert enough.candidates_[0].states == 16
    assert "start of 16 states, for the last 4 observations" in lines
    assert enough.findings().at_largest is None
    short = EMRPSR(discount=0.9, search=Search(**FEW, most=15)).fit(log)
    assert short.candidates_[0].states <= 3
    after = [diagnose(one.fitted_, unseen) for one in (enough, short)]
    # the first four of 20 rewards depend on symbols from before the log
    assert after[0].reward_rmse < 0.55 * after[0].reward_std
    assert after[1].reward_rmse > 0.95 * after[1].reward_std
