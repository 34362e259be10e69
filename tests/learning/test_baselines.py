"""The last-k table, diagnostics and estimates off policy, against enumeration and simulation."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import rpsr
from rpsr.errors import InputError
from rpsr.evaluation import exact_return, simulate
from rpsr.learning import PreparedLog
from rpsr.learning.diagnostics import diagnose
from rpsr.learning.estimated_models import filtered
from rpsr.learning.last_k import LastKTable
from rpsr.learning.plan_choice.off_policy import off_policy_value
from rpsr.logs import Trajectories, from_arrays
from rpsr.planning import AlphaPolicy, UniformPolicy, planner_by_name, solve
from rpsr.testing import check_model


@pytest.fixture(scope="module")
def tiger():
    return rpsr.load_pomdp("tiger")


def uniform(pomdp, episodes, steps, seed=0):
    policy = UniformPolicy(pomdp.belief_model(), np.random.default_rng(seed))
    return simulate(
        pomdp, policy, episodes=episodes, steps=steps, seed=seed, rewards=True, propensities=True
    )


def test_the_true_model_is_calibrated_and_beats_another(tiger):
    log = uniform(tiger, 400, 20)
    truth = diagnose(tiger.belief_model(), log)
    other = diagnose(rpsr.load_pomdp("tiger:accuracy=0.6").belief_model(), log)
    assert truth.loglik > other.loglik
    assert truth.negative_mass == 0
    assert truth.reward_rmse < truth.reward_std
    predicted, came, count = truth.calibration.T
    assert count.sum() == 2 * log.steps
    some = count > 100
    # A bin's frequency is off by a standard error of sqrt(p (1 - p) / count), seldom by four.
    slack = 4 * np.sqrt(predicted * (1 - predicted) / np.maximum(count, 1))
    assert (abs(came - predicted) <= slack)[some].all()


def test_an_impossible_observation_leaves_numbers(tiger):
    sharp = rpsr.load_pomdp("tiger:accuracy=1").belief_model()
    log = uniform(tiger, 50, 10)
    wrong, truth = diagnose(sharp, log), diagnose(tiger.belief_model(), log)
    assert -np.inf < wrong.loglik < truth.loglik
    assert truth.reward_rmse < wrong.reward_rmse < np.ptp(log.rewards)
    assert (wrong.resets > 0, truth.resets) == (True, 0)


def test_a_table_of_pairs_counts_what_follows_them():
    log = Trajectories(
        ("a",), ("x", "y"), [0] * 6, [0, 1, 0, 1, 0, 1], [0, 6], [False], rewards=[1, 2] * 3
    )
    model = LastKTable(k=1, backoff=1e-9, discount=0.5).fit(log).model_
    state = model.filter()
    assert model.expected_rewards(state.state) == pytest.approx([1], abs=1e-6)
    state.update("a", "x")
    assert state.predict("a") == pytest.approx([0, 1], abs=1e-6)
    assert model.expected_rewards(state.state) == pytest.approx([2], abs=1e-6)
    state.update("a", "y")
    assert state.predict("a") == pytest.approx([1, 0], abs=1e-6)
    plan = solve(model, planner_by_name("reachable"))
    assert plan.value == pytest.approx(1 + 1 + 0.25 * (1 + 1) / 0.75, abs=1e-5)


def test_a_reward_that_never_varies_is_expected_in_every_context(tiger):
    log = replace(uniform(tiger, 5, 6), rewards=np.full(30, -7.0))
    assert LastKTable(k=3, backoff=2.0).fit(log).model_.rewards == pytest.approx(-7)


@pytest.mark.parametrize("remembered", [False, True])
def test_held_out_episodes_choose_how_many_pairs_to_keep(remembered):
    """Coins that repeat the one before the last need two; fair ones no more than one."""
    coins = np.random.default_rng(0).integers(2, size=(300, 12))
    for t in range(2, 12 if remembered else 0):
        coins[:, t] = coins[:, t - 2]
    log = Trajectories(
        ("toss",),
        ("heads", "tails"),
        np.zeros(3600, dtype=int),
        coins.ravel(),
        np.arange(301) * 12,
        np.zeros(300, dtype=bool),
        rewards=np.zeros(3600),
    )
    assert (LastKTable().fit(log).k_ > 1) == remembered


@pytest.mark.parametrize("k", [1, 2])
def test_a_task_that_ended_earns_nothing_more(k):
    """Work earns 1 at every step, quitting earns 2 once: better only if tasks never end."""
    stay, leave = [0] * 10, [0] * 4 + [1]
    episodes = [stay] * 30 + [leave] * 30
    log = from_arrays(
        episodes,
        episodes,  # what is seen is what was done
        [[1 + a for a in episode] for episode in episodes],
        action_names=["work", "quit"],
        observation_names=["busy", "free"],
        terminated=[episode is leave for episode in episodes],
    )
    for ended, value in ((log, 10), (replace(log, terminated=np.zeros(60, bool)), 20)):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "30 of 60 episodes are shorter")  # and unmarked
            model = LastKTable(k=k, backoff=1e-9, discount=0.9).fit(ended).model_
        check_model(model)
        plan = solve(model, planner_by_name("reachable"))
        assert plan.value == pytest.approx(value, abs=1e-4)
        state = model.filter()
        state.update("quit", "free")
        over = ended.terminated.any()
        assert (model.expected_rewards(state.state) == 0).all() == over


def test_a_table_needs_rewards():
    with pytest.raises(InputError, match="no rewards"):
        LastKTable().fit(Trajectories(("a",), ("x",), [0], [0], [0, 1], [False]))


def test_a_table_is_judged_by_episodes_without_rewards(tiger):
    log = uniform(tiger, 20, 5)
    table = LastKTable(k=2).fit(log)
    blank = table.judge(replace(log, rewards=None))
    assert blank.reward_rmse is None
    assert blank.loglik == table.judge(log).loglik
    with pytest.raises(InputError, match="no steps"):
        LastKTable().fit(log.select(np.zeros(0, dtype=int)))


def test_off_policy_weights_are_those_of_the_definition(tiger):
    """Over all histories of two steps, weighted by their probability, the estimate is exact."""
    model = tiger.belief_model()
    vectors = model.rewards.T  # greedy for two steps
    policy = AlphaPolicy(model, vectors)
    rows, lengths = [], []
    for first, second in product(product(range(3), range(2)), repeat=2):
        state = model.start
        chance = 1.0
        episode = []
        for action, seen in (first, second):
            probability = model.predict(state, action)[seen]
            chance *= probability
            episode.append((action, seen, float(model.expected_rewards(state)[action])))
            state = model.update(state, action, seen) if probability > 0 else state
        copies = round(chance * 10_000)
        rows += episode * copies
        lengths += [2] * copies
    actions, seen, rewards = (np.array(column) for column in zip(*rows, strict=True))
    log = Trajectories(
        tiger.actions,
        tiger.observations,
        actions.astype(int),
        seen.astype(int),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.zeros(len(lengths), dtype=bool),
        rewards=rewards,
        propensities=np.full(len(rows), 1 / 3),
    )
    estimate = off_policy_value(model, vectors, log)
    expected = exact_return(tiger, policy, steps=2)
    assert estimate.value == pytest.approx(expected, rel=1e-3)  # copies are rounded to 1e-4
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.steps == 2
    uncounted = replace(log, propensities=None)
    assert PreparedLog.of(uncounted).propensities == pytest.approx(
        np.full(len(rows), 1 / 3), abs=1e-4
    )


def test_one_long_episode_beside_short_ones_takes_no_more_memory(tiger):
    """A table of all episodes by the longest would have 4e9 numbers."""
    listen = tiger.actions.index("listen")
    model = replace(tiger.belief_model(), discount=0.5)
    vectors = np.array([[-1.0, -1.0]])  # then listening earns the most
    lengths = [*[2] * 20_000, 200_000]
    actions = np.full(sum(lengths), listen)
    actions[-199_990:] = listen + 1
    log = Trajectories(
        tiger.actions,
        tiger.observations,
        actions,
        np.arange(len(actions)) % 2,  # growls that cancel out
        np.concatenate([[0], np.cumsum(lengths)]),
        np.zeros(len(lengths), dtype=bool),
        rewards=np.full(len(actions), -1.0),
        propensities=np.full(len(actions), 0.5),
    )
    estimate = off_policy_value(model, vectors, log, resamples=2)
    assert estimate.value == pytest.approx(-sum(0.5**t for t in range(10)))
    assert (estimate.steps, estimate.agreeing) == (10, (20_001, 1))


def test_behaviour_is_counted_after_the_last_pairs():
    turns = np.arange(100) % 2
    log = Trajectories(("a", "b"), ("o",), turns, 0 * turns, [0, 100], [False])
    assert (
        PreparedLog.of(log).propensities[1:] > 0.9
    ).all()  # each action is surely followed by the other


def test_a_log_of_another_system_is_refused(tiger):
    """By names, as every other estimator does; names in another order are put in order."""
    log = uniform(rpsr.load_pomdp("loadunload"), 30, 10)
    fitted = LastKTable(k=1).fit(log)
    with pytest.raises(InputError, match=r"the log's actions are .*; the model's are "):
        fitted.score(uniform(tiger, 5, 5))
    wider = replace(log, observation_names=(*log.observation_names, "fog"))
    with pytest.raises(InputError, match=r"the log's observations are .*, fog; the model's are "):
        fitted.judge(wider)
    turned = replace(log, actions=1 - log.actions, action_names=log.action_names[::-1])
    assert fitted.score(turned) == fitted.score(log)


def test_the_table_predicts_what_the_filter_of_its_model_does():
    """`judge` looks predictions up, and `diagnose` filters: both judge `fitted_`."""
    tiger = rpsr.load_pomdp("tiger")
    table = LastKTable(k=2).fit(uniform(tiger, 40, 10))
    unseen = uniform(tiger, 40, 10, seed=1)
    looked_up, by_filter = table.predictions(unseen), filtered(table.fitted_, unseen)
    np.testing.assert_allclose(looked_up.predictions, by_filter.predictions, atol=1e-12)
    np.testing.assert_allclose(looked_up.rewards, by_filter.rewards, atol=1e-12)
    ours, other = table.judge(unseen), diagnose(table.fitted_, unseen)
    assert (ours.loglik, ours.reward_rmse) == pytest.approx((other.loglik, other.reward_rmse))
