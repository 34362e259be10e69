"""Spectral estimators: exact on exact moments, sensible on data, honest about what they lack."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import simulate, whole_plan

from rpsr import domains
from rpsr.errors import InputError
from rpsr.evaluation import simulate as run
from rpsr.learning import (
    DiscoveredRPSR,
    Moments,
    SpectralPSR,
    SpectralRPSR,
    diagnose,
    filtered,
    hankel,
)
from rpsr.learning.moments.exact_moments import exact_hankel
from rpsr.learning.moments.hankel import reweighted
from rpsr.logs import from_arrays
from rpsr.logs.parts import Resampled
from rpsr.models import RobustFilter, Unknown
from rpsr.planning import AlphaPolicy
from rpsr.predictive import future_vector, parse_future, psr, rpsr

DOMAINS = {"tiger": (1, 2), "loadunload": (2, 3), "paint": (2, 2), "line4-2goals": (2, 2)}


def exact(name, **options):
    model = domains.build(name).belief_model()
    return exact_hankel(model, whole_plan(model, *DOMAINS[name], **options), steps=20)


def furthest(name, model, rewards=True):
    """The largest error in a prediction or reward, of every action, along random histories."""
    truth = domains.build(name).belief_model()
    log = simulate(name, 20, 15, seed=9)
    said, known = filtered(model, log, states=True), filtered(truth, log, states=True)
    error = 0.0
    for a in range(len(truth.actions)):
        difference = said.states @ model.emissions[a] - known.states @ truth.emissions[a]
        error = max(error, float(np.abs(difference).max()))
    if rewards:
        gain = said.states @ model.rewards - known.states @ truth.rewards
        error = max(error, float(np.abs(gain).max()) / float(np.abs(truth.rewards).max()))
    return error


@pytest.mark.parametrize("weighting", ["plain", "scaled", "variance"])
@pytest.mark.parametrize("name", DOMAINS)
def test_exact_moments_give_the_true_model(name, weighting):
    rank = rpsr(domains.build(name)).dimension
    estimator = SpectralRPSR(rank=rank, weighting=weighting).fit_hankel(exact(name))
    assert estimator.rank_ == rank
    assert furthest(name, estimator.model_) < 1e-8
    values = estimator.singular_values_
    assert values[rank] < 1e-12 * values[0] < values[rank - 1]


@pytest.mark.parametrize("name", DOMAINS)
def test_exact_moments_give_the_psr_without_what_it_forgets(name):
    pomdp = domains.build(name)
    estimator = SpectralPSR(rank=psr(pomdp).dimension).fit_hankel(exact(name))
    assert furthest(name, estimator.model_, rewards=False) < 1e-8
    assert (furthest(name, estimator.model_) < 1e-8) == (name == "tiger")  # tiger's is accurate


@pytest.mark.parametrize("algorithm", ["pivoted", "suffix-history", "reset"])
@pytest.mark.parametrize("name", ["tiger", "loadunload", "line4-2goals"])
def test_discovery_on_exact_moments(name, algorithm):
    """A core of the right size whose intents are what the state says of them."""
    pomdp = domains.build(name)
    data = exact(name, anchored=algorithm == "reset")
    rank = rpsr(pomdp).dimension if algorithm == "pivoted" else None
    data = replace(data, variances=data.variances * 1e-18)  # no noise
    estimator = DiscoveredRPSR(algorithm=algorithm).fit_hankel(data, rank)
    said = estimator.findings()
    assert [member.intent for member in said.core] == list(map(str, estimator.core_))
    assert (said.rank, said.core[0].stability) == (estimator.rank_, None)  # no log was resampled
    assert len(estimator.core_) == estimator.rank_ == len(estimator.core_histories_)
    if algorithm == "reset" and name == "loadunload":
        return  # three steps from the start do not reach every state
    assert estimator.rank_ == rpsr(pomdp).dimension
    assert furthest(name, estimator.model_) < 1e-8
    belief = pomdp.belief_model()
    state = estimator.model_.filter()
    before = belief.start
    for _ in range(3):
        coordinates = estimator.model_.coordinates
        assert coordinates is not None
        predicted = dict(zip(estimator.model_.core, state.state @ coordinates, strict=True))
        for text, value in predicted.items():
            true = float(before @ future_vector(belief, parse_future(text)))
            assert value == pytest.approx(true, abs=1e-7 * max(1, abs(true)))
        seen = int(belief.predict(before, 0).argmax())
        before = belief.update(before, 0, seen)
        state.update(0, seen)


# ---- on data

LOG = simulate("loadunload", 800, 20, seed=3)


@pytest.mark.parametrize("weighting", ["scaled", "variance"])
@pytest.mark.parametrize("constant", [1e3, -1e6, 1e9])
def test_a_constant_added_to_all_rewards_only_adds_it_to_those_expected(constant, weighting):
    shifted = replace(LOG, rewards=LOG.rewards + constant)
    options = {"rank": 9, "weighting": weighting}
    before, after = (SpectralRPSR(**options).fit(log) for log in (LOG, shifted))
    np.testing.assert_allclose(after.singular_values_, before.singular_values_, rtol=1e-6)
    assert after.noise_level_ == pytest.approx(before.noise_level_, rel=1e-6)
    said, known = (filtered(estimator.model_, LOG) for estimator in (after, before))
    np.testing.assert_allclose(said.predictions, known.predictions, atol=1e-6)
    # Rewards of 1 beside a constant of 1e9 are known to seven digits.
    np.testing.assert_allclose(said.rewards - constant, known.rewards, atol=1e-4)


def test_a_log_of_load_unload_gives_its_rpsr():
    held = simulate("loadunload", 200, 20, seed=4)
    estimator = SpectralRPSR().fit(LOG)
    assert estimator.rank_ == 9
    assert isinstance(estimator.model_.domain, Unknown)
    totals = estimator.model_.emissions.sum(axis=2)
    np.testing.assert_allclose(totals, np.tile(estimator.model_.normalizer, (2, 1)), atol=1e-9)
    truth = diagnose(domains.build("loadunload").belief_model(), held)
    ours, without = diagnose(estimator.model_, held), diagnose(SpectralPSR().fit(LOG).model_, held)
    assert ours.loglik > truth.loglik - 0.01
    assert ours.reward_rmse is not None
    assert without.reward_rmse is not None
    assert truth.reward_rmse is not None
    assert ours.reward_rmse < 1.1 * truth.reward_rmse
    assert without.reward_rmse > 1.5 * truth.reward_rmse  # it cannot tell loaded from unloaded
    assert estimator.overlap_.unseen == 0
    assert estimator.overlap_.effective > 0.9


def test_streams_and_logs_in_memory_give_the_same_bits():
    chunks = [LOG.select(part) for part in np.array_split(np.arange(800), 7)]
    whole, cut = (SpectralRPSR(rank=9).fit(log).model_ for log in (LOG, chunks))
    assert np.array_equal(whole.start, cut.start)
    assert np.array_equal(whole.emissions, cut.emissions)


def test_a_policy_that_looks_at_the_history_is_corrected():
    """As good as a uniform policy's log of the same size; blind, more data does not cure it.

    The policy looks at the observation before the last. One that looks at the last would not do:
    each step's probability is taken given the action, after histories that end in what it looks at.
    """

    def lazy(seen):
        return [0.85, 0.15] if seen == 0 else [0.25, 0.75]

    held = simulate("loadunload", 300, 20, seed=7)
    truth = filtered(domains.build("loadunload").belief_model(), held)

    def errors(episodes, chances, **options):
        deviations = []
        for seed in (6, 7):
            log = simulate("loadunload", episodes, 20, seed=seed, chances=chances, ago=2)
            said = filtered(SpectralRPSR(rank=9, **options).fit(log).model_, held)
            seen = ((said.predictions - truth.predictions) ** 2).mean()
            deviations.append([seen, ((said.rewards - truth.rewards) ** 2).mean()])
        return np.mean(deviations, axis=0)

    uniform = errors(8000, None)
    for behaviour in ("logged", "estimated"):
        assert (errors(8000, lazy, behaviour=behaviour) < 2 * uniform).all()
    with pytest.warns(UserWarning, match="more data does not help"):
        little, much = (errors(n, lazy, behaviour="blind") for n in (1000, 8000))
    assert much[1] > little[1] > 100 * uniform[1]


def test_progress_is_told_and_leaves_no_trace():
    messages = []
    estimator = SpectralRPSR(progress=messages.append).fit(LOG)
    assert messages[0] == "surveying, step 0"
    assert f"rank 1 of {len(estimator.trials_)}" in messages
    assert "progress" not in estimator.model_.provenance
    json.dumps(estimator.model_.provenance)
    messages.clear()
    DiscoveredRPSR(rank=9, repeats=2, progress=messages.append).fit(LOG)
    assert messages[-1] == "bootstrap sample 2 of 2"


def test_variances_by_a_model_are_those_of_counting():
    """Of a pair after a history seen n times before an action: p (1 - p) / n, and nearly that."""
    data = exact("loadunload")
    rows = np.ones(data.values.shape[1], dtype=bool)
    by_model = reweighted(data, iter(data.values), rows)
    often = np.maximum(data.features, 1e-9)
    chance = data.values[1:, 0] / often  # of each pair, given each history, (A * O, H)
    n = np.repeat(data.counts[0], 3, axis=0)
    known = (n > 1000) & (chance > 0.05) & (chance < 0.95)
    assert known.sum() > 20
    expected = data.features**2 * chance * (1 - chance) / np.maximum(n, 1)
    np.testing.assert_allclose(by_model.variances[1:, 0][known], expected[known], rtol=0.02)
    kept = reweighted(data, (part[:1] for part in data.values), rows & (np.arange(len(rows)) == 0))
    assert np.array_equal(kept.variances[:, 1:], data.variances[:, 1:])


def test_one_long_recording():
    log = simulate("tiger", 1, 20_000, seed=8)
    estimator = SpectralRPSR(starts="stationary").fit(log)
    assert estimator.rank_ == 2
    held = simulate("tiger", 1, 5000, seed=9)
    truth = filtered(domains.build("tiger").belief_model(), held)
    said = filtered(estimator.model_, held)
    assert float(((said.predictions - truth.predictions) ** 2).mean()) < 2e-3


def test_parameters_are_scikit_learns():
    estimator = SpectralRPSR(rank=3, weighting="plain")
    twin = type(estimator)(**estimator.get_params(deep=False))
    assert twin.get_params() == estimator.get_params()
    assert twin.set_params(rank="auto").rank == "auto"
    assert not hasattr(estimator, "model_")
    with pytest.raises(InputError, match="no parameter is called 'ranks'"):
        estimator.set_params(ranks=2)
    with pytest.raises(TypeError):
        SpectralRPSR(3)  # pyright: ignore


def test_the_compiled_filter_is_the_filter():
    model = SpectralRPSR(rank=6).fit(LOG.select(np.arange(50))).model_  # wrong enough to get lost
    held = simulate("loadunload", 10, 20, seed=11)
    said = filtered(model, held, states=True)
    resets, at = 0, 0
    for episode in held:
        state = model.filter()
        assert isinstance(state, RobustFilter)
        for a, o in zip(episode.actions.tolist(), episode.observations.tolist(), strict=True):
            np.testing.assert_allclose(said.states[at], state.state, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(said.predictions[at], state.predict(a), atol=1e-9)
            state.update(a, o)
            at += 1
        resets += state.resets
    assert said.resets == resets


def test_a_policy_on_a_learned_model_survives_what_the_model_holds_impossible():
    model = SpectralRPSR(rank=9, discount=0.95).fit(LOG).model_
    policy = AlphaPolicy(model, np.zeros((1, 9)))
    for step in range(60):
        assert 0 <= policy.act() < 2
        policy.update(step % 2, step % 3)
        assert np.isfinite(policy.memory).all()


def test_a_policy_on_a_learned_model_can_be_simulated():
    """The model thinks that nothing but one observation can be seen; the system differs."""
    log = from_arrays([[0, 1, 2, 0, 1, 2, 0, 1]] * 5, [[0] * 8] * 5, [[1.0] * 8] * 5)
    tiger = domains.build("tiger")
    log = replace(log, action_names=tiger.actions, observation_names=tiger.observations)
    model = SpectralRPSR(rank=1, discount=0.9).fit(log).model_
    simulated = run(tiger, AlphaPolicy(model, np.zeros((1, 1))), episodes=20, steps=10, seed=0)
    assert simulated.steps == 200
    assert set(simulated.observations.tolist()) == {0, 1}


def test_discovery_reads_like_the_domain():
    estimator = DiscoveredRPSR(rank=9, repeats=5).fit(LOG)
    assert len(estimator.core_) == len(estimator.stability_) == 9
    samples = [Moments.of(Resampled([LOG], seed), estimator.hankel_.plan) for seed in range(5)]
    cores = [DiscoveredRPSR().fit_hankel(hankel(sample), 9).core_ for sample in samples]
    shares = [np.mean([intent in core for core in cores]) for intent in estimator.core_]
    assert estimator.stability_ == pytest.approx(shares)
    assert min(shares) < max(shares) == 1
    assert parse_future(str(estimator.core_[0])) == estimator.core_[0]
    again = DiscoveredRPSR(rank=9, repeats=5).fit(LOG)
    assert (again.core_, again.stability_) == (estimator.core_, estimator.stability_)


def test_a_sample_that_tells_nothing_chooses_no_intent():
    """Of one episode of many steps among those of one, about one sample in e is without it."""
    one = LOG.select([0])
    never = np.zeros(one.steps)
    short = replace(one, offsets=np.arange(one.steps + 1), terminated=never, truncated=never)
    with pytest.warns(UserWarning, match="20 of 21 episodes are shorter"):
        estimator = DiscoveredRPSR(rank=1, repeats=40).fit([one, short])
    assert 0.3 < estimator.stability_[0] < 0.9
