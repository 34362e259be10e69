"""Is a PSR enough? Verdicts on systems of which one knows, by the paper or by their making."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import simulate, whole_plan

from rpsr.errors import InputError
from rpsr.evaluation import StochasticController
from rpsr.evaluation import simulate as run
from rpsr.learning import psr_enough
from rpsr.learning.moments.exact_moments import exact_hankel
from rpsr.learning.spectral.fit import scales
from rpsr.learning.spectral.lost_rewards import View
from rpsr.learning.spectral.psr_verdict import COARSE
from rpsr.logs import Trajectories, from_arrays
from rpsr.models import POMDP
from rpsr.predictive import accuracy, psr, rpsr

LOG = simulate("loadunload", 800, 20, seed=3)


def test_whether_a_psr_is_enough_does_not_depend_on_a_constant_in_all_rewards():
    before, after = (
        psr_enough(replace(LOG, rewards=LOG.rewards + constant), repeats=10)
        for constant in (0.0, 1e6)
    )
    assert before.verdict == after.verdict == "no"
    assert (before.psr_rank, before.rpsr_rank) == (after.psr_rank, after.rpsr_rank)
    assert after.statistic == pytest.approx(before.statistic, rel=1e-6)
    assert after.reward_error == pytest.approx(before.reward_error, rel=1e-6)


def test_enough_says_what_the_paper_says():
    """Load/unload's PSR is not accurate; tiger's is, which takes more data to be sure of."""
    answer = psr_enough(LOG, repeats=20)
    assert answer.statistic == psr_enough(LOG, repeats=2, seed=1).statistic  # of the log itself
    assert answer.verdict == "no"
    assert (answer.psr_rank, answer.rpsr_rank) == (5, 9)
    assert answer.interval[0] <= answer.statistic <= answer.interval[1]
    accurate = psr_enough(simulate("tiger", 4000, 20, seed=1), repeats=20)
    assert accurate.verdict == "yes"
    assert answer.reason == accurate.reason == ""
    low, high = (f"{100 * end:.2g}" for end in answer.interval)
    assert answer.words == (
        f"a PSR loses {100 * answer.statistic:.2g} % of the reward variance that histories predict "
        f"(95 % interval {low} to {high} %); noise hides only differences between "
        f"tests below {100 * answer.resolution:.2g} % of those between the lost rewards"
    )
    assert "difference" not in accurate.words
    with pytest.raises(
        InputError, match=r"at least 40 episodes \(an episode of more than 500 steps counts as one"
    ):
        psr_enough(LOG.select(np.arange(3)))


def test_enough_does_not_take_what_hardly_shows_for_what_is_not_there():
    """Network's PSR carries its rewards, by tests that 300 episodes cannot tell apart."""
    answer = psr_enough(simulate("network", 300, 20, seed=1), repeats=20)
    assert answer.interval[0] > 0.05  # all that shows speaks against a PSR
    assert answer.verdict == "undecided"
    assert answer.resolution > COARSE
    assert f"differences between tests of up to {100 * answer.resolution:.2g} %" in answer.words


def shop():
    """A visitor is seen, and sometimes bought something: then the shop is empty at the next step.

    Visitors leave anyway, so this hardly changes what is seen. That the shop is empty is obvious.
    """
    moves = np.zeros((2, 3, 3))  # empty, visitor, bought
    moves[:, 0] = [0.5, 0.5, 0]
    moves[:, 1] = [[0.15, 0.8, 0.05], [0.4, 0.599, 0.001]]
    moves[:, 2] = [1, 0, 0]
    emissions = np.broadcast_to([[1.0, 0], [0, 1], [0, 1]], (2, 3, 2))
    rewards = np.repeat([[0.0], [0], [1]], 2, axis=1)
    return POMDP.from_arrays(moves, emissions, rewards, [1, 0, 0], 0.9)


def test_tests_that_differ_less_than_noise_are_not_called_equal_because_others_differ_more():
    pomdp = shop()
    assert accuracy(pomdp).accurate
    uniform = StochasticController.stationary(pomdp)
    log = run(pomdp, uniform, episodes=3000, steps=20, seed=0, rewards=True)
    answer = psr_enough(log, repeats=5)
    assert answer.interval[0] > 0.05  # by what shows, the PSR loses the rewards
    assert answer.verdict == "undecided"
    assert answer.resolution > 0.3


def coins(episodes, steps, seed):
    """A ring of three places, of which one pays; all that is seen is a coin that says nothing."""
    rng = np.random.default_rng(seed)
    actions, seen = rng.integers(2, size=(2, episodes, steps))
    places = np.cumsum(actions, axis=1) - actions
    return Trajectories(
        action_names=("stay", "go"),
        observation_names=("heads", "tails"),
        actions=actions.ravel(),
        observations=seen.ravel(),
        offsets=np.arange(episodes + 1) * steps,
        terminated=np.zeros(episodes, dtype=bool),
        rewards=(places % 3 == 0).ravel().astype(float),
    )


def test_more_data_shows_that_tests_do_not_differ_where_observations_are_mere_noise():
    small, large = (psr_enough(coins(n, 20, 0), repeats=20) for n in (300, 3000))
    assert (small.verdict, large.verdict) == ("undecided", "no")
    assert large.resolution < small.resolution / 2  # noise of products falls as the log grows
    assert small.statistic > 0.8


def test_a_log_in_which_nothing_can_differ_is_no_error():
    """One observation and a constant reward; and episodes of a single step."""
    log = coins(300, 20, 1)
    dull = replace(log, observations=0 * log.observations, rewards=0 * log.rewards)
    assert psr_enough(dull, repeats=5).statistic == 0
    single = coins(300, 1, 1)
    assert psr_enough(single, repeats=5).verdict in ("yes", "undecided")


def test_one_observation_leaves_nothing_to_be_unsure_of():
    """Then tests cannot differ, in however few episodes, and rewards that do are forgotten."""
    answer = psr_enough(simulate("line4-2goals", 300, 20, seed=1), repeats=20)
    assert (answer.verdict, answer.resolution) == ("no", 0)


def test_enough_does_not_judge_by_rewards_that_come_out_of_nowhere():
    """Rare rewards that no history predicts: the log does not show whether a PSR is enough."""
    rng = np.random.default_rng(5)
    shape = (400, 20)
    rewards = np.where(rng.random(shape) < 0.02, rng.choice([-1.0, 1.0], shape), 0.0)
    log = from_arrays(rng.integers(0, 2, shape), rng.integers(0, 2, shape), rewards)
    answer = psr_enough(log, repeats=20)
    assert answer.verdict == "undecided"
    assert (
        0 <= answer.interval[0] < 0.05 < answer.interval[1] <= 1
    )  # on both sides of the tolerance


# ---- two rooms, one of which pays; an observation distinguishes them, more or less


def rooms(lean):
    """An action says which room comes next; light comes by 1/2 + lean in the one that pays.

    A state is the room before and the room now. A PSR knows the room if and only if light leans.
    """
    moves, emissions = np.zeros((2, 4, 4)), np.zeros((2, 4, 2))
    for state, (before, now) in enumerate(np.ndindex(2, 2)):
        for action in range(2):
            moves[action, state, 2 * now + action] = 1
        emissions[:, state] = 0.5 + lean * np.array([-1, 1]) * (1 - 2 * before)
    rewards = np.repeat([[1.0], [0], [1], [0]], 2, axis=1)
    return POMDP.from_arrays(moves, emissions, rewards, [1, 0, 0, 0], 0.9)


def rooms_log(lean, seed, episodes=200):
    pomdp = rooms(lean)
    uniform = StochasticController.stationary(pomdp)
    return run(pomdp, uniform, episodes=episodes, steps=20, seed=seed, rewards=True)


@pytest.mark.parametrize("lean", [0, 1 / 100, 1 / 10])
@pytest.mark.parametrize("sigmas", [0.4, 0.6, 1.9, 2.1, 100])
def test_what_is_forgotten_at_least_and_at_most_by_how_far_tests_stand_out_of_noise(lean, sigmas):
    """By expectations without noise, and a noise that is said to be so much of the difference.

    Up to half of the noise tests are alike, from twice the noise on they differ, and in between
    nobody knows: the PSR forgets nothing at least, and at most all.
    """
    pomdp = rooms(lean)
    assert (psr(pomdp).dimension, rpsr(pomdp).dimension) == (1 if lean == 0 else 2, 2)
    model = pomdp.belief_model()
    data = exact_hankel(model, whole_plan(model, 2, 2), steps=20)
    view = View.of(data, scales(data, "scaled"), rank=1)  # a mean, and a spare direction
    assert len(view.directions) == 1
    difference = float((view.tests(data) ** 2).sum())
    assert (difference > 1e-9) == (lean > 0)
    noise = difference / sigmas if lean else sigmas
    squares = view.squares(data, data, noise / view.error(data, data))
    alike, unsure = (lean == 0 or sigmas < limit for limit in (0.5, 2))
    assert squares.predicted > 0.1
    assert squares.least == pytest.approx(squares.predicted if alike else 0)
    assert squares.most == pytest.approx(squares.predicted if unsure else 0)
    excess, tests = noise / view.error(data, data), view.tests(data)
    # The room changes a reward of each of two actions by 1, and light by 2 lean: at the first step
    # of all tests, whose second step does not depend on it.
    ratio = lean * np.sqrt(2 * (3 + 4 * lean**2)) if alike else 0
    assert view.hidden(data, data, [(0 * tests, tests)], excess) == pytest.approx(ratio, abs=1e-6)
    hidden = view.hidden(
        data, data, [(tests, tests)], excess
    )  # noise of the size of the difference
    assert hidden == pytest.approx(np.sqrt(1 + 2) * ratio, abs=1e-6)


@pytest.mark.parametrize(
    ("lean", "episodes", "verdict"),
    [(0, 800, "no"), (1 / 10, 200, "undecided"), (1 / 5, 200, "yes"), (2 / 5, 200, "yes")],
)
@pytest.mark.parametrize("seed", range(3))
def test_rooms_that_look_alike_differ_or_hardly_differ(lean, episodes, verdict, seed):
    answer = psr_enough(rooms_log(lean, seed, episodes), repeats=20)
    assert answer.verdict == verdict
    assert (answer.interval[0] > 0.05) == (verdict == "no")
    assert (answer.interval[1] < 0.05) == (verdict == "yes")
    assert (answer.reason == "") == (verdict != "undecided")


@pytest.mark.parametrize("seed", range(3))
def test_unpredictable_rewards_do_not_decide_whether_a_psr_is_enough(seed):
    """Nor would a longer log; what little the past does say, if it is a fifth of all, decides."""
    log = rooms_log(2 / 5, seed)
    noise = np.random.default_rng(seed).normal(size=log.steps)
    answer = psr_enough(replace(log, rewards=noise), repeats=20)
    assert answer.verdict == "undecided"
    assert answer.reason == "histories predict almost none of the reward variance"
    assert psr_enough(replace(log, rewards=log.rewards + noise), repeats=20).verdict == "yes"


def test_rewards_that_never_vary_are_called_that():
    verdict = psr_enough(replace(LOG, rewards=np.full(LOG.steps, 3.0)), repeats=5)
    assert (verdict.verdict, verdict.words) == ("yes", "all rewards of the log are equal")
    assert "are equal" not in psr_enough(LOG, repeats=5).words


def grid_log(episodes, seed, side=4, steps=30):
    """A grid whose cells are all observed; a task begins anywhere and ends in the last corner."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(episodes):
        cell = np.array(divmod(int(rng.integers(side**2 - 1)), side))
        actions, seen = [], []
        while len(actions) < steps and not (cell == side - 1).all():
            actions.append(int(rng.integers(4)))
            move = ((-1, 0), (1, 0), (0, -1), (0, 1))[actions[-1]]
            cell = np.clip(cell + move, 0, side - 1)
            seen.append(int(cell[0] * side + cell[1]))
        rows.append((actions, seen, seen[-1] == side**2 - 1))
    actions, seen, ends = zip(*rows, strict=True)
    rewards = [np.equal(cells, side**2 - 1).astype(float) for cells in seen]
    return from_arrays(actions, seen, rewards, terminated=ends)


def test_a_grid_whose_cells_are_all_observed_with_ends_is_judged():
    """Ends take places among the tests; words with rewards that then do not fit are left out."""
    answer = psr_enough(grid_log(300, 0), repeats=5)
    assert answer.verdict in ("yes", "undecided")  # what is observed is the state
    assert answer.interval[0] < 0.05
