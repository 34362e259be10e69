"""EM: expected counts against enumeration, likelihood that never falls, states that merge."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.worlds import small_log, uniform_log
from tests.strategies import few

import rpsr
from rpsr.errors import InputError
from rpsr.learning import Search, diagnose, learn
from rpsr.learning.em import kernels as em_kernels
from rpsr.learning.em.conversion import Facts, as_pomdp, cautious
from rpsr.learning.em.estimator import EMRPSR
from rpsr.learning.em.fitted_pomdp import (
    Encoded,
    Prior,
    counts_of,
    improve,
    iterate,
    likelihoods,
    maximise,
)
from rpsr.learning.em.gaussian import gaussians
from rpsr.learning.em.merge import descend, merge_costs, merged
from rpsr.learning.em.starts import Memory, random_start, remembering_start, worth_remembering
from rpsr.logs import Trajectories, from_arrays

PLAIN = Prior(0.02)


def by_enumeration(parameters, log):
    """Likelihoods of episodes and expected counts, summed over every path of states."""
    p = parameters
    counts = [np.zeros_like(array) for array in (p.start, p.moves, p.emissions, p.payoffs)]
    chances = []
    for i, (first, last) in enumerate(zip(log.offsets[:-1], log.offsets[1:], strict=True)):
        steps = log.steps[first:last]
        paths = {}
        for path in product(range(p.states), repeat=len(steps) + 1):
            chance = p.start[path[0]]
            for t, (a, o, j) in enumerate(steps):
                s, s2 = path[t], path[t + 1]
                chance *= p.payoffs[j, s] * p.moves[a, s, s2] * p.emissions[a, o, s2]
                ends = log.terminated[i] and t == len(steps) - 1
                if p.end >= 0 and (s2 == p.end) != ends:
                    chance = 0.0
            paths[path] = chance
        total = sum(paths.values())
        chances.append(total)
        for path, chance in paths.items():
            share = chance / total
            counts[0][path[0]] += share
            for t, (a, o, j) in enumerate(steps):
                counts[1][a, path[t], path[t + 1]] += share
                counts[2][a, o, path[t + 1]] += share
                counts[3][j, path[t]] += share
    return np.log(chances), counts


def test_an_episode_without_steps_is_not_counted():
    log = Encoded.of(small_log(3))
    parameters = random_start(log, 3, np.random.default_rng(1))
    empty = replace(
        log,
        offsets=np.insert(log.offsets, [0, 2, 2], log.offsets[[0, 2, 2]]),
        terminated=np.insert(log.terminated, [0, 2, 2], False),
    )
    (counts, likelihood), (others, other) = (counts_of(parameters, one) for one in (log, empty))
    assert other == likelihood
    assert all(map(np.array_equal, others, counts))


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("gaussian", [False, True])
def test_expected_counts_are_those_of_all_paths(ends, gaussian):
    family = "gaussian" if gaussian else "categorical"
    log = Encoded.of(small_log(3, ends=ends, gaussian=gaussian), family)
    parameters = random_start(log, 3, np.random.default_rng(0))
    chances, expected = by_enumeration(parameters, log)
    counts, likelihood = counts_of(parameters, log)
    scale = parameters.log_scale[log.steps[:, 2]].sum()
    assert likelihood == pytest.approx(chances.sum() + scale, abs=1e-10)
    assert likelihoods(parameters, log).sum() == pytest.approx(likelihood, abs=1e-10)
    for counted, wanted in zip(counts, expected, strict=True):
        np.testing.assert_allclose(counted, wanted, atol=1e-10)


def test_kernels_do_uncompiled_what_they_do_compiled():
    log = Encoded.of(small_log(5))
    p = random_start(log, 3, np.random.default_rng(1))
    data = (log.steps, log.offsets, log.terminated, p.end)
    model = (p.start, p.moves, p.emissions, p.payoffs)
    compiled = [np.zeros_like(array) for array in model]
    plain = [np.zeros_like(array) for array in model]
    first = em_kernels.expect(*model, *data, *compiled)
    second = em_kernels.expect.py_func(*model, *data, *plain)
    assert first == pytest.approx(second, rel=1e-12)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        em_kernels.score(*model, *data), em_kernels.score.py_func(*model, *data), rtol=1e-12
    )


def penalised(parameters, log, likelihood, prior):
    """The log-likelihood and the prior's share, without what the end fixes."""
    p, total = parameters, likelihood
    free = np.ones(p.states, dtype=bool)
    if p.end >= 0:
        free[p.end] = False
    total += prior * np.log(p.start[free]).sum()
    total += prior * np.log(p.moves[:, free]).sum() + prior * np.log(p.emissions).sum()
    return total + (prior * np.log(p.payoffs).sum() if log.family == "categorical" else 0.0)


@settings(max_examples=few(40))
@given(st.integers(0, 10**6), st.booleans(), st.integers(2, 5))
def test_an_iteration_never_lowers_the_penalised_likelihood(seed, ends, states):
    log = Encoded.of(small_log(seed, ends=ends), "categorical")
    parameters = random_start(log, states, np.random.default_rng(seed))
    before = -np.inf
    for _ in range(15):
        following, likelihood = improve(parameters, log, PLAIN)
        now = penalised(parameters, log, likelihood, PLAIN.count)
        assert now >= before - 1e-9 * abs(now)
        before, parameters = now, following


@settings(max_examples=few(40))
@given(st.integers(0, 10**6), st.booleans(), st.integers(2, 4), st.sampled_from([1e-9, 0.02, 3.0]))
def test_nor_with_gaussian_rewards(seed, ends, states, count):
    log = Encoded.of(small_log(seed, ends=ends, gaussian=True), "gaussian")
    times = np.bincount(log.steps[:, 2], minlength=len(log.payoff_actions))
    total = log.by_action @ times
    centre = (log.by_action * log.payoff_rewards) @ times / np.maximum(total, 1)
    parameters = random_start(log, states, np.random.default_rng(seed))
    before, variance = -np.inf, None
    for _ in range(12):
        following, likelihood = improve(parameters, log, Prior(count))
        if variance is not None:  # the start's is not known
            now = penalised(parameters, log, likelihood, count)
            free = np.arange(parameters.states) != parameters.end
            apart = ((parameters.means - centre[:, None]) ** 2)[:, free].sum(axis=1)
            now -= (count * apart / (2 * variance)).sum()
            assert now >= before - 1e-7 * abs(now)
            before = now
        counts, _ = counts_of(parameters, log)
        _, variance = gaussians(log, counts[3], count)
        parameters = following


def test_gaussian_means_are_those_of_the_log():
    """One state: the prior is worth a fixed number of rewards, however many differ."""
    log = small_log(2, ends=False, gaussian=True)
    encoded = Encoded.of(log, "gaussian")
    fitted = iterate(random_start(encoded, 1, np.random.default_rng(0)), encoded, PLAIN, 2)
    for action in range(2):
        mean = log.rewards[log.actions == action].mean()
        assert fitted.means[action, 0] == pytest.approx(mean, rel=1e-9)


@settings(max_examples=few(30))
@given(st.integers(0, 10**6), st.floats(0, 2))
def test_parameters_are_probabilities(seed, sparsity):
    log = Encoded.of(small_log(seed))
    start = random_start(log, 3, np.random.default_rng(seed))
    p = iterate(start, log, Prior(0.02, sparsity), 3)
    for array, axis in ((p.start, 0), (p.moves, 2), (p.emissions, 1)):
        assert array.min() >= 0
        np.testing.assert_allclose(array.sum(axis=axis), 1.0, rtol=1e-12)
    for action in range(2):
        mine = log.payoff_actions == action
        if mine.any():
            np.testing.assert_allclose(p.payoffs[mine].sum(axis=0), 1.0, rtol=1e-12)


def twin(parameters, log):
    """The same POMDP with its first state split into two that do the same."""
    p = parameters
    again = np.append(np.arange(p.states), 0)
    share = np.ones(p.states + 1)
    share[[0, -1]] = 0.5
    payoffs = p.payoffs[:, again]
    counts = [
        p.start[again] * share,
        p.moves[:, again][:, :, again] * share,
        p.emissions[..., again],
    ]
    return maximise(log, [*(1e9 * c for c in counts), 1e9 * payoffs], Prior(1e-6), -1)


def test_states_that_do_the_same_merge_at_no_cost():
    log = Encoded.of(small_log(11, ends=False))
    parameters = iterate(random_start(log, 3, np.random.default_rng(2)), log, PLAIN, 20)
    double = twin(parameters, log)
    assert likelihoods(double, log) == pytest.approx(likelihoods(parameters, log), abs=1e-4)
    counts, _ = counts_of(double, log)
    costs = merge_costs(counts, log, -1)
    assert np.unravel_index(costs.argmin(), costs.shape) == (0, 3)
    assert costs[0, 3] == pytest.approx(0, abs=1e-6)
    single = maximise(log, merged(counts, 0, 3), PLAIN, -1)
    assert likelihoods(single, log).sum() >= likelihoods(parameters, log).sum() - 1e-3


def test_rewards_of_the_family_none_cost_nothing_to_share():
    log = Encoded.of(small_log(9, ends=False), "none")
    rng = np.random.default_rng(0)
    counts = [rng.random(shape) for shape in ((3,), (2, 3, 3), (2, 2, 3))]
    payoffs = rng.random((len(log.payoff_actions), 3))
    np.testing.assert_array_equal(
        merge_costs([*counts, payoffs], log, -1), merge_costs([*counts, 0 * payoffs], log, -1)
    )


def test_a_way_down_loses_one_state_at_a_time_and_keeps_the_end():
    log = Encoded.of(small_log(4))
    start = random_start(log, 5, np.random.default_rng(0))
    path = list(descend(start, log, PLAIN))
    assert [p.states for p in path] == [5, 4, 3, 2]
    for p in path:
        assert p.end == p.states - 1
        assert (p.moves[:, p.end, p.end] == 1).all()
        assert (p.means[:, p.end] == 0).all()


def test_a_remembered_observation_is_learned():
    """In the T-maze a sign at the start says where the goal will be; nothing shows it later."""
    pomdp, log = uniform_log("t-maze:length=2", 300, 20, 0)
    encoded = Encoded.of(log)
    memory = worth_remembering(encoded, 1)[0]
    names = [pomdp.observations[number] for number in memory.alternatives]
    assert any(name.startswith("sign") for name in names)
    blind = Encoded.of(log, "none")
    shuffled = replace(log, rewards=np.random.default_rng(0).permutation(log.rewards))
    assert worth_remembering(blind, 9) == worth_remembering(Encoded.of(shuffled, "none"), 9)
    remembering = iterate(remembering_start(encoded, memory), encoded, PLAIN, 20)
    forgetful = iterate(
        remembering_start(encoded, Memory((2, 3), forgets=False)), encoded, PLAIN, 20
    )
    assert likelihoods(remembering, encoded).sum() > likelihoods(forgetful, encoded).sum() + 10


def test_a_remembering_start_has_a_state_for_each_observation_and_memory():
    _, log = uniform_log("loadunload", 40, 20, 0)
    encoded = Encoded.of(log)
    for alternatives in combinations(range(len(log.observation_names)), 2):
        kinds = set()
        for first, last in zip(log.offsets[:-1], log.offsets[1:], strict=True):
            remembered = None
            for observation in log.observations[first:last].tolist():
                remembered = observation if observation in alternatives else remembered
                kinds.add((observation, remembered))
        start = remembering_start(encoded, Memory(alternatives, forgets=False))
        assert start.states == len(kinds) + 1  # that before the first step


def test_load_unload_is_learned_from_a_hundred_episodes():
    pomdp, log = uniform_log("loadunload", 100, 20, 1)
    learned = EMRPSR(discount=0.95, seed=1, search=Search(sizes=(14,))).fit(log)
    again = EMRPSR(discount=0.95, seed=1, search=Search(sizes=(14,))).fit(log)
    np.testing.assert_array_equal(learned.model_.rewards, again.model_.rewards)
    assert learned.models()[0] is learned.model_
    known = diagnose(pomdp.belief_model(), log).reward_rmse  # nobody can expect rewards better
    assert learned.judge(log).reward_rmse < 1.05 * known
    assert learned.rank_ >= rpsr.rpsr(pomdp).dimension
    assert learned.model_.actions == pomdp.actions
    truth = pomdp.belief_model().filter()
    filtered = learned.model_.filter()
    errors, paid, action = [], [], 1
    for _ in range(40):  # back and forth, so that rewards are earned on the way
        errors.append(abs(filtered.predict(action) - truth.predict(action)).max())
        seen = int(truth.predict(action).argmax())
        truth.update(action, seen)
        filtered.update(action, seen)
        action = {"loading": 0, "unloading": 1}.get(pomdp.observations[seen], action)
        true = pomdp.belief_model().expected_rewards(truth.state)
        paid.append((learned.model_.expected_rewards(filtered.state), true))
    assert max(errors[10:]) < 0.2
    expected_rewards, true = np.array(paid[10:]).transpose(1, 0, 2)
    assert (true.min(), true.max()) == (0, pytest.approx(1))
    assert expected_rewards == pytest.approx(true, abs=0.2)  # a PSR's rewards are off by 1/2 here


def test_the_pomdp_has_the_fitted_numbers_even_with_as_many_states_as_actions():
    log = small_log(7, ends=False)
    encoded = Encoded.of(log)
    fitted = iterate(random_start(encoded, 2, np.random.default_rng(3)), encoded, PLAIN, 5)
    pomdp = as_pomdp(fitted, Facts.of(log), 0.9)
    np.testing.assert_allclose(pomdp.R, fitted.means.T, atol=1e-12)
    for a, o in np.ndindex(2, 2):
        expected = fitted.moves[a] * fitted.emissions[a, o]
        np.testing.assert_allclose(pomdp.D[a][o].toarray(), expected, atol=1e-12)


def test_what_was_hardly_tried_earns_the_worst():
    """In full where nothing was tried, in part where little was, unless all was tried as little."""
    log = small_log(7, ends=False)
    encoded = Encoded.of(log)
    fitted = iterate(random_start(encoded, 4, np.random.default_rng(3)), encoded, PLAIN, 5)
    assert fitted.visits.sum() == pytest.approx(log.steps)
    fitted = replace(fitted, visits=np.array([[0.0, 2, 10, 8], [40, 3, 100, 12]]))
    known = np.array([[0, 2 / 5, 10 / 20, 1], [1, 3 / 5, 1, 1]])
    worst = -1.0  # 0 now, and 1 less than possible at every later step
    expected = known * fitted.means + (1 - known) * worst
    assert cautious(fitted, Facts.of(log), 0.5, 20) == pytest.approx(expected)
    assert cautious(fitted, Facts.of(log), 0.5, 0) == pytest.approx(fitted.means)


def test_it_is_counted_how_many_rewards_caution_changes():
    rng = np.random.default_rng(0)
    actions, seen = rng.integers(3, size=(5, 6)), rng.integers(2, size=(5, 6))
    log = from_arrays(actions, seen, 1.0 * (actions == 0))
    learned = learn("em", log, discount=0.9)
    chosen = learned.estimator.candidates_[0]
    changed = learned.estimator.pomdp_.R != chosen.cautious.R
    unknown, cases = len(chosen.caution.unknown), len(chosen.caution.known)
    assert unknown == changed.sum() > 0
    assert cases == changed.size
    assert learned.document()["caution"] == {"unknown": unknown, "pairs": cases}
    assert f"{unknown} of {cases} combinations of a state" in learned.findings.caution.warning
    names = {
        f"{learned.model.actions[a]} in {chosen.cautious.states[s]}"
        for s, a in np.argwhere(changed)
    }
    assert set(chosen.caution.unknown) == names
    assert learn("last-k", log, discount=0.9).document()["caution"] is None


def test_a_log_without_rewards_or_episodes_is_refused():
    log = small_log(0)
    blind = Trajectories(
        log.action_names,
        log.observation_names,
        log.actions,
        log.observations,
        log.offsets,
        log.terminated,
    )
    with pytest.raises(InputError, match="no rewards"):
        EMRPSR().fit(blind)
    with pytest.raises(InputError, match="at least 2"):
        EMRPSR().fit(log.select(np.array([0])))


def test_one_long_recording_is_learned_from_in_stretches():
    pomdp, log = uniform_log("tiger", 1, 3000, 0)
    learned = EMRPSR(discount=0.95, search=Search(sizes=(4,), starts=2, memories=0)).fit(log)
    known = diagnose(pomdp.belief_model(), log)
    assert learned.judge(log).loglik > known.loglik - 0.01
