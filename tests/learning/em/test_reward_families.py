"""Which family of rewards EM fits: rewards that follow from observations invent no states."""

import numpy as np
import pytest

from rpsr.evaluation import simulate
from rpsr.learning import EMRPSR
from rpsr.learning.em.fitted_pomdp import Encoded
from rpsr.learning.em.reward_families import REPEATS, RewardRanges, family_of
from rpsr.learning.em.search_sample import Outline
from rpsr.learning.em.settings import Search
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs import from_arrays, stream_logs, write_logs
from rpsr.models import POMDP


def log_of(actions, observations, rewards):
    return from_arrays([actions], [observations], [np.asarray(rewards, dtype=float)])


def family(log, values=2):
    return family_of("auto", values, RewardRanges.of(log))


ACTIONS, SEEN = [0, 0, 1, 1] * REPEATS, [0, 1, 0, 1] * REPEATS


def test_a_function_of_action_and_observation_is_left_out_of_the_likelihood():
    paid = [float(a and o) for a, o in zip(ACTIONS, SEEN, strict=True)]
    assert family(log_of(ACTIONS, SEEN, paid)) == "none"
    assert Encoded.of(log_of(ACTIONS, SEEN, paid)).family == "none"
    assert Encoded.of(log_of(ACTIONS, SEEN, paid), "categorical").family == "categorical"


def test_one_step_that_differs_is_enough_to_keep_rewards():
    paid = [float(o) for o in SEEN]
    paid[-1] = 2.0
    assert family(log_of(ACTIONS, SEEN, paid), 3) == "categorical"


def test_a_function_of_the_action_alone_says_nothing_about_observations():
    assert family(log_of(ACTIONS, SEEN, ACTIONS)) == "categorical"


def test_too_few_steps_show_no_function():
    paid = [float(o) for o in SEEN]
    assert family(log_of(ACTIONS, SEEN, paid)) == "none"
    assert family(log_of(ACTIONS[1:], SEEN[1:], paid[1:])) == "categorical"


def test_pairs_that_occur_once_show_no_function():
    """Their rewards are noise, and many other steps pay nothing."""
    rng = np.random.default_rng(0)
    seen = [0] * 400 + list(range(1, 7))
    log = log_of([0] * 406, seen, [0.0] * 400 + list(rng.normal(size=6)))
    assert family(log, 7) == "categorical"


def test_too_many_values_are_not_counted_one_by_one():
    paid = [float(o) for o in SEEN]
    assert family(log_of(ACTIONS, SEEN, paid), 257) == "gaussian"


@pytest.mark.parametrize("cut", [1, 7, 13])
def test_ranges_of_parts_add_up(cut):
    rng = np.random.default_rng(cut)
    actions, seen = rng.integers(2, size=(2, 20, 5))
    log = from_arrays(list(actions), list(seen), list(rng.normal(size=(20, 5))))
    parts = [RewardRanges.of(log.select(range(cut))), RewardRanges.of(log.select(range(cut, 20)))]
    whole, summed = RewardRanges.of(log), RewardRanges() + parts[0] + parts[1]
    assert np.array_equal(whole.low, summed.low)
    assert np.array_equal(whole.high, summed.high)
    assert np.array_equal(whole.steps, summed.steps)


def shop():
    """Visitors of two kinds look at what they like and leave; each look may be a purchase, worth 1.

    Purchases are equally likely for both kinds, so the next one cannot be predicted.
    """
    moves = np.zeros((2, 3, 3))  # advertise for a kind; the states are the two kinds and nobody
    for shown, kind in np.ndindex(2, 2):
        stays = 0.9 if shown == kind else 0.5
        moves[shown, kind, kind], moves[shown, kind, 2] = stays, 1 - stays
    moves[:, 2, :2] = 0.5
    emissions = np.zeros((2, 3, 4))  # a page of either kind, a purchase, nobody
    emissions[:, :2, :3] = [[0.7, 0.1, 0.2], [0.1, 0.7, 0.2]]
    emissions[:, 2, 3] = 1
    rewards = np.broadcast_to(np.array([0.0, 0, 1, 0]), (2, 3, 3, 4))
    return POMDP.from_arrays(moves, emissions, rewards, [0, 0, 1], 0.9)


def test_no_state_knows_a_purchase_in_advance():
    """A state that leads to a purchase for certain would be invented; the truth is one in five."""
    log = simulate(shop(), "uniform", episodes=200, steps=20, seed=3, rewards=True)
    options = {"discount": 0.9, "states": 6}
    invented = EMRPSR(**options, rewards="categorical").fit(log).pomdp_
    pomdp = EMRPSR(**options).fit(log).pomdp_
    most = [float(model.belief_model().rewards.max()) for model in (pomdp, invented)]
    assert most[0] < 0.4
    assert most[1] > 0.8  # of rewards that are taken to be independent of observations


def test_rewards_of_the_fit_are_the_mean_rewards_of_its_states():
    log = simulate(shop(), "uniform", episodes=200, steps=20, seed=4, rewards=True)
    fitted = EMRPSR(discount=0.9, states=3).fit(log)
    rewards = fitted.pomdp_.belief_model().rewards
    # Each mean is of some 700 steps with a variance of .16: .05 is three standard errors.
    paid = np.array([[0.9, 0.5, 0], [0.5, 0.9, 0]]).T * 0.2 + [[0, 0], [0, 0], [0.2, 0.2]]
    assert np.sort(rewards.ravel()) == pytest.approx(np.sort(paid.ravel()), abs=0.05)


def test_findings_name_the_family_and_say_if_it_was_not_asked_for(tmp_path):
    log = simulate(shop(), "uniform", episodes=30, steps=10, seed=5, rewards=True)
    small = Search(sizes=(2,), starts=1, descents=1, memories=0, probing=2)
    said = "observations determine the rewards"
    auto, asked, kept = (
        EMRPSR(discount=0.9, states=2, rewards=rewards, search=small).fit(log).findings()
        for rewards in ("auto", "none", "categorical")
    )
    assert [findings.document()["reward_family"] for findings in (auto, asked, kept)] == [
        *("none", "none"),
        "categorical",
    ]
    assert [said in findings.origin for findings in (auto, asked, kept)] == [True, False, False]
    write_logs(log, tmp_path / "log.jsonl")
    streamed = PreparedLog.of(stream_logs(tmp_path / "log.jsonl"))
    assert Outline.of_log(streamed).family("auto") == "none"
