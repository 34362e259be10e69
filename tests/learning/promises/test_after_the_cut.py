"""Returns after the last recorded step: tasks that may end do not earn rewards without end."""

from dataclasses import replace

import numpy as np
import pytest

import rpsr
from rpsr.evaluation import simulate
from rpsr.learning.promises.after_the_cut import returns_of
from rpsr.learning.promises.by_models import value_in
from rpsr.learning.promises.make_promise import behaviour_promise
from rpsr.logs import Trajectories

ALIVE = """discount: 0.999
values: reward
states: alive dead
actions: wait
observations: on off
start: 1 0
T: wait : alive : alive 0.995
T: wait : alive : dead 0.005
T: wait : dead : dead 1
O: * : alive : on 1
O: * : dead : off 1
R: * : alive : * : * 1
R: * : dead : * : * 0
"""
TRUTH = 1 / (1 - 0.999 * 0.995)  # reward 1 at every step until the end, hazard .005


@pytest.fixture(scope="module")
def alive(tmp_path_factory):
    path = tmp_path_factory.mktemp("alive") / "alive.POMDP"
    path.write_text(ALIVE)
    return rpsr.load_pomdp(path)


def episodes(rewards, terminated):
    lengths = [len(row) for row in rewards]
    steps = sum(lengths)
    return Trajectories(
        action_names=("wait",),
        observation_names=("on",),
        actions=np.zeros(steps, dtype=np.int64),
        observations=np.zeros(steps, dtype=np.int64),
        rewards=np.concatenate([np.array(row, dtype=float) for row in rewards]),
        offsets=np.append(0, np.cumsum(lengths)),
        terminated=np.array(terminated),
    )


def test_a_simulated_task_ends_after_the_simulation_too(alive):
    model = replace(alive.belief_model(), final=("off",))
    for seed in range(3):
        value, error = value_in(model, "uniform", 0.999, seed=seed)
        assert abs(value - TRUTH) < 4 * error
        assert error < 0.1 * TRUTH


def test_a_recorded_task_ends_after_the_recording_too(alive):
    for seed in range(3):
        log = simulate(alive, "uniform", episodes=400, steps=100, seed=seed, rewards=True)
        promise = behaviour_promise(log, 0.999)
        assert promise.value == pytest.approx(TRUTH, rel=0.15)


def test_the_rest_is_that_of_the_formula():
    log = episodes([[1, 1, 2, 4], [1, 1, 1, 7], [5]], [False, True, True])
    hazard, rate = 1 / 4, 3 / 4 * 3 + 1 / 4 * 7  # steps 2 and 3 are late: four steps, one end
    rest = 0.5**4 * rate / (1 - 0.5 * (1 - hazard))
    (cut, ended, short), rests = returns_of(log, 0.5)
    assert rests == pytest.approx([rest, 0, 0])
    assert cut == pytest.approx(1 + 0.5 + 0.5 + 0.5 + rest)
    assert (ended, short) == pytest.approx((1 + 0.5 + 0.25 + 7 / 8, 5))


def test_without_ends_rewards_continue_like_the_later_half():
    cut, _ = returns_of(episodes([[9, 9, 2, 4]], [False]), 0.5)
    assert cut == pytest.approx([9 + 4.5 + 0.5 + 0.5 + 0.5**4 * 3 / 0.5])


def test_equal_returns_do_not_prove_that_there_are_no_others():
    log = episodes([[0, 1]] * 10, [True] * 10)
    promise = behaviour_promise(log, 0.5, level=0.9)
    missed = np.log(10) / 10 * 2  # of returns from 0 to 2
    bounds = max(0.5 - missed, 0), 0.5, 0.5 + missed
    assert (promise.low, promise.value, promise.high) == pytest.approx(bounds)
    two = behaviour_promise(episodes([[0, 1]] * 2, [True] * 2), 0.5)
    assert (two.low, two.high) == (0, 2)
    constant = behaviour_promise(episodes([[3, 3]] * 2, [False] * 2), 0.5)
    assert constant.low == constant.high == pytest.approx(6)
