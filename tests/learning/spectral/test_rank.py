"""How large a model a log supports: scores and their errors against formulas, and what is said."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import simulate

from rpsr import domains
from rpsr.errors import InputError
from rpsr.learning import DiscoveredRPSR, SpectralPSR, SpectralRPSR, learned_model
from rpsr.learning.estimated_models import DOUBT
from rpsr.learning.spectral.fit import Parameters, scales
from rpsr.learning.spectral.rank import Trial, choose_rank, noise_level, rank_cut, rank_words
from rpsr.logs import Trajectories
from rpsr.predictive import rpsr


def coin(heads, rewards=(0.0, 0.0)):
    """A model of one state: a coin, whichever of two actions is taken, and what they earn."""
    chances = np.array([heads, 1 - heads]).reshape(1, 2, 1, 1)
    parameters = Parameters(
        np.repeat(chances, 2, axis=0), np.ones(1), np.ones(1), np.array([rewards])
    )
    return learned_model(parameters, ("one", "two"), ("heads", "tails"), kind="learned-rpsr")


def tosses(steps, heads, episodes=None):
    """A log in which that share of all coins shows heads, evenly spread, and 'two' earns 2."""
    rng = np.random.default_rng(0)
    seen = rng.permutation(np.arange(steps) >= round(heads * steps)).astype(int)
    actions = np.arange(steps) % 2
    offsets = np.linspace(0, steps, (episodes or steps) + 1, dtype=int)
    names = ("one", "two"), ("heads", "tails")
    ended = np.zeros(len(offsets) - 1, dtype=bool)
    return Trajectories(*names, actions, seen, offsets, ended, rewards=2.0 * actions)


def doubted(chance):
    return (1 - DOUBT) * chance + DOUBT / 2


@pytest.mark.parametrize(("steps", "chosen"), [(400, 1), (6000, 2)])
@pytest.mark.parametrize("long", [False, True])
def test_the_smallest_within_one_standard_error_of_the_best(steps, chosen, long):
    """Of coins that show heads 53 times in 100, a model of fair ones is wrong: by how much?

    In a long recording the error is that of blocks; coins are independent, so it is about the same.
    """
    log = tosses(steps, 0.53, episodes=1 if long else None)
    models = [coin(0.5, (0, 2)), coin(0.53, (0, 2)), coin(0.9, (0, 2))]
    rank, trials = choose_rank(lambda n: models[n - 1], [log], 3)
    ratio = np.log([doubted(0.53) / doubted(0.5), doubted(0.47) / doubted(0.5)])
    behind = 0.53 * ratio[0] + 0.47 * ratio[1]
    stderr = np.sqrt(0.53 * 0.47) * (ratio[0] - ratio[1]) / np.sqrt(steps)
    assert (behind < stderr) == (chosen == 1)
    assert behind < 5 * stderr  # some would not call that clear
    assert rank == chosen
    assert trials[0].behind == pytest.approx(behind, rel=1e-9)
    assert trials[0].stderr == pytest.approx(stderr, rel=0.3 if long else 1e-9)
    assert trials[1].behind == trials[1].stderr == 0
    assert trials[2].behind > trials[2].stderr


def test_scores_weigh_errors_of_rewards_by_the_best_but_not_beyond_a_tenth_of_their_variance():
    """Rewards are 0 and 2, with a variance of 1, and the best model knows them all."""
    log = tosses(100, 0.5)
    models = [coin(0.5, (1, 1)), coin(0.5, (0.1, 1.9)), coin(0.4, (0, 2))]
    _, trials = choose_rank(lambda n: models[n - 1], [log], 3)
    squares = [1.0, 0.01, 0.0]
    for trial, square, heads in zip(trials, squares, (0.5, 0.5, 0.4), strict=True):
        loglik = np.log([doubted(heads), doubted(1 - heads)]).mean()
        assert trial.loglik == pytest.approx(loglik)
        assert trial.reward_rmse == pytest.approx(np.sqrt(square))
        assert trial.score == pytest.approx(loglik - square / (2 * 0.1))
    _, trials = choose_rank(lambda n: models[n - 1], [log], 1)
    assert trials[0].score == pytest.approx(trials[0].loglik - 1 / 2)  # its own error is the best


def test_a_rank_beyond_the_noise_is_taken_where_held_out_episodes_ask_for_it():
    """Of shuttle's seven directions, 200 episodes show fewer, and predict better with all."""
    log = simulate("shuttle", 200, 20, seed=2)
    estimator = SpectralRPSR().fit(log)
    standing = rank_cut(estimator.singular_values_, estimator.noise_level_)
    assert standing < estimator.rank_ == rpsr(domains.build("shuttle")).dimension == 7
    trials = estimator.trials_
    assert trials[-1].rank <= standing + 2
    assert all(trial.behind > trial.stderr for trial in trials[:standing])
    other = min(trials[:standing], key=lambda trial: trial.behind)
    said = f" than {other.rank} by {other.behind:.2g} ± {other.stderr:.2g} per step"
    assert said in rank_words(estimator.rank_, standing, trials)


def test_ranks_that_are_given_or_found_otherwise_have_no_trials():
    log = simulate("tiger", 100, 10, seed=0)
    assert SpectralPSR(rank=2).fit(log).trials_ == ()
    assert DiscoveredRPSR(algorithm="suffix-history", repeats=0).fit(log).trials_ == ()
    with pytest.raises(InputError, match="rank: read 3, expected 'auto': reset finds it"):
        DiscoveredRPSR(algorithm="reset", rank=3).fit(log)
    pivoted = DiscoveredRPSR(repeats=0).fit(log)
    assert pivoted.trials_ == SpectralRPSR().fit(log).trials_ != ()
    assert rank_words(2, 1, (), "given") == "given; 1 singular value exceeds the noise"


def trial(rank, behind, stderr=0.002):
    return Trial(rank, -behind, -behind, 0.0, behind, stderr if behind else 0.0)


@pytest.mark.parametrize(
    ("rank", "behind", "said"),
    [
        (2, (0.5, 0, 0.1, 0.1), "rank 2 predicts held-out episodes best"),
        (2, (0.5, 0.001, 0.1, 0), "rank 4 predicts held-out episodes better, but only by 0.001 ± "),
        (3, (0.5, 0.003, 0, 0.1), "held-out episodes better than 2 by 0.003 ± 0.002 per step"),
        (3, (0.5, 0.3, 0.001, 0), "better than 2 by 0.3 ± 0.002 per step, and 3 within a standar"),
        (3, (0.1, 0.3, 0.001, 0), "better than 1 by 0.1 ± 0.002 per step, and 3 within a standar"),
    ],
)
def test_what_decided_is_said(rank, behind, said):
    trials = tuple(trial(k, by) for k, by in enumerate(behind, 1))
    words = rank_words(rank, 2, trials)
    assert words.startswith("2 singular values exceed the noise; ")
    assert said in words


def test_the_level_of_noise_is_that_of_a_matrix_of_noise():
    """Cells of variance 1, whatever the scales: a norm of sqrt(rows) + sqrt(columns)."""
    data = SpectralRPSR(rank=1).fit(simulate("tiger", 30, 10, seed=0)).hankel_
    plain = scales(data, "plain")
    one = np.ones_like(data.variances)
    rows, columns = one.shape[1:]
    level = noise_level(replace(data, variances=one), plain)
    assert level == pytest.approx(np.sqrt(rows) + np.sqrt(columns))
    matrix = np.random.default_rng(0).normal(size=(rows, columns))
    assert np.linalg.norm(matrix, 2) == pytest.approx(level, rel=0.1)


def test_without_held_out_episodes_the_cut_decides_and_the_reason_says_so():
    """Of four episodes none is held out: the two ranks beyond the cut have nothing to show."""
    log = simulate("loadunload", 4, 15, seed=0)
    estimator = SpectralRPSR().fit(log)
    cut = rank_cut(estimator.singular_values_, estimator.noise_level_)
    assert (estimator.directions_, estimator.trials_) == (cut, ())
    assert estimator.spectrum().reason.endswith(f"{cut} singular value exceeds the noise")
    assert estimator.spectrum().reason.startswith("no held-out episodes; ")
    assert SpectralRPSR(rank=2).fit(log).spectrum().reason.startswith("as requested; ")
    grown = DiscoveredRPSR(algorithm="suffix-history", repeats=0).fit(log)
    assert grown.spectrum().reason.startswith("found by suffix-history; ")


def test_without_bootstrap_samples_there_is_no_stability():
    estimator = DiscoveredRPSR(rank=2, repeats=0).fit(simulate("tiger", 30, 10, seed=0))
    assert estimator.stability_ == ()
    assert [member.stability for member in estimator.findings().core] == [None, None]
