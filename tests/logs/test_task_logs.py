"""A log as one of an objective's task: where its episodes end, and what they earn."""

import numpy as np
import pytest

import rpsr
from rpsr.errors import DataError, InputError
from rpsr.learning import learn
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs import Trajectories, stream_logs, task_log, write_logs
from rpsr.logs.parts import Part, partitions
from rpsr.logs.task_logs import TaskLog

NAMES = ("dark", "good", "bad")
EPISODES = ("dark dark good dark", "dark bad good", "dark", "good", "dark dark")


def recorded(rewards=True, sign=-1.0):
    seen = [[NAMES.index(word) for word in text.split()] for text in EPISODES]
    lengths = [len(episode) for episode in seen]
    steps = sum(lengths)
    return Trajectories(
        ("go",),
        NAMES,
        np.zeros(steps, dtype=np.int64),
        np.concatenate(seen),
        np.cumsum([0, *lengths]),
        np.array([False, True, True, False, False]),
        sign * np.arange(1.0, steps + 1) if rewards else None,
    )


@pytest.mark.parametrize("goal", ["good", ["good"], "observation:good"])
def test_an_episode_ends_at_the_goal_and_earns_one(goal):
    log = task_log(recorded(rewards=False), rpsr.reach(goal, avoiding="bad"))
    assert log.lengths.tolist() == [3, 2, 1, 1, 2]
    assert log.terminated.tolist() == [True, True, True, True, False]
    assert log.truncated.tolist() == [False, False, False, False, True]
    assert log.rewards.tolist() == [0, 0, 1, 0, 0, 0, 1, 0, 0]


def test_without_a_set_to_avoid_it_is_an_observation_like_others():
    log = task_log(recorded(), rpsr.reach("good"))
    assert log.lengths.tolist() == [3, 3, 1, 1, 2]
    assert log.rewards.tolist() == [0, 0, 1, 0, 0, 1, 0, 1, 0, 0]


def test_sums_of_rewards_and_costs_count_until_the_goal():
    for sign in (-1.0, 1.0):
        log = task_log(recorded(sign=sign), rpsr.total_cost("good"))
        assert log.rewards.tolist() == [-1, -2, -3, -5, -6, -7, -8, -9, -10, -11]
        rewards = task_log(recorded(sign=sign), rpsr.total_reward("good")).rewards
        assert np.array_equal(np.abs(rewards), -log.rewards)
        assert (sign * rewards > 0).all()


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        (rpsr.reach("nowhere"), "goal: no observation is called 'nowhere'; the names are 'dark'"),
        (rpsr.reach(0), "goal: read 0, expected the name of an observation"),
        (rpsr.reach("good", avoiding="!bad"), "avoid: read '!bad', but 'bad' is an observation"),
        (rpsr.reach("good", within=3), "then plan with a horizon"),
        (rpsr.discounted_reward(0.9), "give the discount"),
    ],
)
def test_what_a_log_cannot_have_is_refused(objective, said):
    with pytest.raises(InputError, match=said):
        task_log(recorded(), objective)


def test_costs_have_one_sign_in_the_whole_log():
    both = [recorded(sign=1.0), recorded(sign=-1.0)]
    with pytest.raises(DataError, match="expected rewards of one sign, read -11 and 11; maximise"):
        PreparedLog.of(both).for_objective(rpsr.total_cost("good"))
    with pytest.raises(DataError, match="no rewards"):
        PreparedLog.of(recorded(rewards=False)).for_objective(rpsr.total_reward("good"))


def test_parts_of_a_stream_are_parts_of_its_task(tmp_path):
    for name in ("a", "b"):
        write_logs(recorded(), tmp_path / f"{name}.jsonl")
    objective = rpsr.reach("good", avoiding="bad")
    stream = TaskLog(stream_logs(tmp_path), objective)
    parts = [part for chunks in partitions(Part(stream, held_out=True)) for part in chunks]
    assert sum(part.episodes for part in parts) == 2  # every fifth of ten
    assert [part.rewards.tolist() for part in parts] == [[0, 0], [0, 0]]


def test_a_learned_task_plans_for_the_goal():
    """The goal is behind the left door in 3 of 4 episodes; rewards of the log do not matter."""
    chance, episodes = np.random.default_rng(0), 400
    opened = chance.integers(2, size=episodes)
    left = chance.random(episodes) < 0.75
    seen = np.where(left == (opened == 0), 1, 2)
    log = Trajectories(
        ("open-left", "open-right"),
        NAMES,
        np.column_stack([opened, opened]).ravel(),  # a step after the door is left out
        np.column_stack([seen, np.zeros(episodes, np.int64)]).ravel(),
        2 * np.arange(episodes + 1),
        np.zeros(episodes, np.bool_),
    )
    objective = rpsr.reach("good", avoiding="bad")
    learned = learn("em", log, objective=objective, rank=2)
    assert (learned.model.discount, learned.steps) == (1, episodes)
    plan = rpsr.solve(learned.model, "sarsop", epsilon=1e-3)
    share = left[opened == 0].mean()  # of the better door in the log, up to EM's stopping rule
    assert plan.lower == pytest.approx(share, abs=5e-4)
    followed = plan.policy()
    assert learned.model.actions[followed.act()] == "open-left"
    with pytest.raises(DataError, match="expected none with an objective"):
        learn("em", log, objective=objective, discount=0.9)
