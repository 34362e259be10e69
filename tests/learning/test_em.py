"""EM: expected counts against enumeration, likelihood that never falls, states that merge."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rpsr
from rpsr.errors import InputError
from rpsr.evaluation import simulate
from rpsr.learning import diagnose, em_kernels
from rpsr.learning.em import EMRPSR
from rpsr.learning.em_bins import binned, least_squares_cuts, parts, unbinned
from rpsr.learning.em_candidates import Found, chosen, difference
from rpsr.learning.em_merge import descend, merge_costs, merged
from rpsr.learning.em_models import as_pomdp, cautious
from rpsr.learning.em_split import best_split, split
from rpsr.learning.em_starts import Memory, random_start, remembering_start, worth_remembering
from rpsr.learning.em_steps import (
    Encoded,
    Prior,
    counts_of,
    gaussians,
    improve,
    iterate,
    likelihoods,
    maximise,
)
from rpsr.learning.learn import learn
from rpsr.logs import Trajectories, from_arrays
from rpsr.planning import UniformPolicy

PLAIN = Prior(0.02)


def small_log(seed, *, ends=True, gaussian=False):
    """A few short episodes over two actions and two observations, drawn without a model."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=4)
    steps = int(lengths.sum())
    rewards = rng.normal(size=steps) if gaussian else rng.integers(0, 2, size=steps).astype(float)
    return Trajectories(
        action_names=("left", "right"),
        observation_names=("dark", "light"),
        actions=rng.integers(2, size=steps),
        observations=rng.integers(2, size=steps),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        terminated=rng.random(4) < 0.5 if ends else np.zeros(4, dtype=bool),
        rewards=rewards,
    )


def by_enumeration(parameters, log):
    """Likelihoods of episodes and expected counts, summed over every path of states."""
    p = parameters
    counts = [np.zeros_like(array) for array in (p.start, p.moves, p.sights, p.pairs)]
    chances = []
    for i, (first, last) in enumerate(zip(log.offsets[:-1], log.offsets[1:], strict=True)):
        steps = log.steps[first:last]
        paths = {}
        for path in product(range(p.states), repeat=len(steps) + 1):
            chance = p.start[path[0]]
            for t, (a, o, j) in enumerate(steps):
                s, s2 = path[t], path[t + 1]
                chance *= p.pairs[j, s] * p.moves[a, s, s2] * p.sights[a, o, s2]
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
    for found, wanted in zip(counts, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_kernels_do_uncompiled_what_they_do_compiled():
    log = Encoded.of(small_log(5))
    p = random_start(log, 3, np.random.default_rng(1))
    data = (log.steps, log.offsets, log.terminated, p.end)
    model = (p.start, p.moves, p.sights, p.pairs)
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
    total += prior * np.log(p.moves[:, free]).sum() + prior * np.log(p.sights).sum()
    return total + (prior * np.log(p.pairs).sum() if log.family == "categorical" else 0.0)


@settings(max_examples=40)
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


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans(), st.integers(2, 4), st.sampled_from([1e-9, 0.02, 3.0]))
def test_nor_with_gaussian_rewards(seed, ends, states, count):
    log = Encoded.of(small_log(seed, ends=ends, gaussian=True), "gaussian")
    times = np.bincount(log.steps[:, 2], minlength=len(log.pair_actions))
    total = log.by_action @ times
    centre = (log.by_action * log.pair_rewards) @ times / np.maximum(total, 1)
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


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0, 2))
def test_parameters_are_probabilities(seed, sparsity):
    log = Encoded.of(small_log(seed))
    start = random_start(log, 3, np.random.default_rng(seed))
    p = iterate(start, log, Prior(0.02, sparsity), 3)
    for array, axis in ((p.start, 0), (p.moves, 2), (p.sights, 1)):
        assert array.min() >= 0
        np.testing.assert_allclose(array.sum(axis=axis), 1.0, rtol=1e-12)
    for action in range(2):
        mine = log.pair_actions == action
        if mine.any():
            np.testing.assert_allclose(p.pairs[mine].sum(axis=0), 1.0, rtol=1e-12)


def twin(parameters, log):
    """The same POMDP with its first state split into two that do the same."""
    p = parameters
    again = np.append(np.arange(p.states), 0)
    share = np.ones(p.states + 1)
    share[[0, -1]] = 0.5
    pairs = p.pairs[:, again]
    counts = [p.start[again] * share, p.moves[:, again][:, :, again] * share, p.sights[..., again]]
    return maximise(log, [*(1e9 * c for c in counts), 1e9 * pairs], Prior(1e-6), -1)


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
    pairs = rng.random((len(log.pair_actions), 3))
    np.testing.assert_array_equal(
        merge_costs([*counts, pairs], log, -1), merge_costs([*counts, 0 * pairs], log, -1)
    )


def test_a_way_down_loses_one_state_at_a_time_and_keeps_the_end():
    log = Encoded.of(small_log(4))
    start = random_start(log, 5, np.random.default_rng(0))
    path = list(descend(start, log, PLAIN))
    assert [p.states for p in path] == [5, 4, 3]
    for p in path:
        assert p.end == p.states - 1
        assert (p.moves[:, p.end, p.end] == 1).all()
        assert (p.means[:, p.end] == 0).all()


def test_the_smallest_within_one_standard_error_is_chosen_and_nothing_twice():
    log = Encoded.of(small_log(1, ends=False))
    two, three, four = (random_start(log, n, np.random.default_rng(0)) for n in (2, 3, 4))
    noise = np.random.default_rng(0).normal(size=400)
    noise -= noise.mean()
    best = np.linspace(-1, 1, 400)
    near, far = best - 0.04 + noise, best - 0.06 + noise  # one standard error is about 0.05
    again = replace(four)
    found = [Found(best, four), Found(far, two), Found(near, three), Found(best - 1e-6, again)]
    first, *others = chosen(found, 5)
    assert first.fitted is three
    assert difference(best, near) == (pytest.approx(0.04), pytest.approx(noise.std() / 20))
    assert [each.fitted for each in others] == [four]
    assert chosen(found, 1) == [first]


@given(st.integers(0, 100), st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_halves_of_a_state_are_what_it_was(seed, ends):
    log = Encoded.of(small_log(seed, ends=ends))
    counts, _ = counts_of(random_start(log, 3, np.random.default_rng(seed)), log)
    halves = split(counts, 1, np.random.default_rng(seed))
    n = len(counts[0])
    assert [array.shape for array in halves[:2]] == [(n + 1,), (2, n + 1, n + 1)]
    assert min(array.min() for array in halves) >= 0
    for found, expected in zip(merged(halves, 1, n), counts, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=8, unique=True), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_bins_of_rewards_have_the_least_squares_of_all(values, seed):
    points = np.sort(np.array(values, dtype=float))
    weights = np.random.default_rng(seed).integers(1, 5, size=len(points)).astype(float)

    def squares(cut):
        return sum(
            (w * (x - np.average(x, weights=w)) ** 2).sum()
            for x, w in zip(np.split(points, cut), np.split(weights, cut), strict=True)
        )

    for number, (found, begins) in enumerate(
        least_squares_cuts(weights, weights * points, weights * points**2), 1
    ):
        ways = list(combinations(range(1, len(points)), number - 1))
        assert begins[0] == 0
        assert squares(begins[1:]) == pytest.approx(found, abs=1e-8)
        assert found == pytest.approx(min(squares(way) for way in ways), abs=1e-8)


def test_rewards_are_parted_where_they_lie_apart_and_else_by_quarters():
    rng = np.random.default_rng(0)
    often, seldom, far = rng.normal(0, 1, 900), rng.normal(9, 1, 60), rng.normal(30, 1, 5)
    values = np.sort(np.concatenate([often, seldom, far]))
    assert np.bincount(parts(values, np.ones(len(values)))).tolist() == [900, 60, 5]
    alike = parts(np.sort(often), np.ones(900))
    assert np.bincount(alike).tolist() == pytest.approx([225, 225, 225, 225], abs=2)
    apart = np.sort(np.concatenate([often, often + 9, [1e4]]))  # one value far out hides nothing
    assert np.bincount(parts(apart, np.ones(1801))).tolist() == [900, 900, 1]
    assert parts(np.array([3.0]), np.ones(1)).tolist() == [0]


@given(st.integers(0, 50), st.integers(-60, 60), st.integers(-20, 20))
@settings(max_examples=20, deadline=None)
def test_bins_do_not_depend_on_the_unit_or_the_zero_of_rewards(seed, power, shift):
    values = np.sort(np.random.default_rng(seed).choice([0, 1, 7], 90) * 1.0)
    values += np.linspace(0, 1 / 4, 90)
    values.sort()
    moved = (values + shift) * 2.0**power
    np.testing.assert_array_equal(parts(values, np.ones(90)), parts(moved, np.ones(90)))


def test_a_log_in_bins_is_the_same_log_and_gives_its_likelihoods_back():
    log = Encoded.of(small_log(5, gaussian=True), "gaussian")
    coarse, went = binned(log)
    assert coarse.family == "categorical"
    np.testing.assert_array_equal(coarse.steps[:, :2], log.steps[:, :2])
    np.testing.assert_array_equal(coarse.pair_actions[went], log.pair_actions)
    np.testing.assert_array_equal(coarse.steps[:, 2], went[log.steps[:, 2]])
    fitted = random_start(coarse, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(
        likelihoods(unbinned(fitted, went), log), likelihoods(fitted, coarse)
    )
    few = Encoded.of(small_log(5))
    assert binned(few)[0] is few


def test_what_two_actions_earn_alike_is_one_reward_in_bins():
    """Else what is rare, and makes a memory forget, would be all that other actions earn."""
    _, log = uniform_log("t-maze:length=2", 200, 20, 0)
    assert log.rewards is not None
    noise = np.random.default_rng(0).normal(0, 0.01, size=log.steps)
    coarse, _ = binned(Encoded.of(replace(log, rewards=log.rewards + noise)))
    rewards = coarse.pair_rewards[coarse.steps[:, 2]]
    assert len(np.unique(rewards)) == len(np.unique(log.rewards))
    np.testing.assert_allclose(rewards, log.rewards, atol=0.01)


def test_the_end_is_never_split():
    log = Encoded.of(small_log(4))
    start = random_start(log, 2, np.random.default_rng(0))
    assert start.end == 2
    larger = best_split(start, log, PLAIN, np.random.default_rng(1))
    assert (larger.states, larger.end, larger.start[2]) == (4, 2, 0)
    assert larger.moves[:, 2, 2] == pytest.approx(1)
    assert larger.visits[:, 3].sum() > 0  # the new one is a state in which actions are taken


def test_splits_find_as_many_states_as_there_are_from_too_few():
    """Two starts of four states: without splits there would never be more."""
    pomdp, log = uniform_log("loadunload", 150, 20, 3)
    recipe = {"sizes": (4,), "starts": 2, "memories": 0, "seed": 0}
    grown = EMRPSR(discount=0.95, **recipe).fit(log)
    kept = EMRPSR(discount=0.95, largest=4, **recipe).fit(log)
    assert kept.candidates_[0].states <= 4 < grown.candidates_[0].states
    known, few, many = (
        diagnose(model, log).reward_rmse
        for model in (each.belief_model() for each in (pomdp, kept.pomdp_, grown.pomdp_))
    )
    assert few - known > 2 * (many - known)


def uniform_log(name, episodes, steps, seed):
    pomdp = rpsr.load_pomdp(name)
    policy = UniformPolicy(pomdp.belief_model(), np.random.default_rng(seed))
    return pomdp, simulate(
        pomdp, policy, episodes=episodes, steps=steps, seed=seed, rewards=True, propensities=True
    )


def test_a_remembered_sight_is_found_and_remembered():
    """In the T-maze a sign at the start says where the goal will be; nothing shows it later."""
    pomdp, log = uniform_log("t-maze:length=2", 300, 20, 0)
    encoded = Encoded.of(log)
    memory = worth_remembering(encoded, 1)[0]
    names = [pomdp.observations[sight] for sight in memory.pair]
    assert any(name.startswith("sign") for name in names)
    blind = Encoded.of(log, "none")
    shuffled = replace(log, rewards=np.random.default_rng(0).permutation(log.rewards))
    assert worth_remembering(blind, 9) == worth_remembering(Encoded.of(shuffled, "none"), 9)
    remembering = iterate(remembering_start(encoded, memory), encoded, PLAIN, 20)
    forgetful = iterate(
        remembering_start(encoded, Memory((2, 3), forgets=False)), encoded, PLAIN, 20
    )
    assert likelihoods(remembering, encoded).sum() > likelihoods(forgetful, encoded).sum() + 10


def test_a_split_leads_out_of_the_optimum_where_one_state_does_the_work_of_two():
    """Both ends of load/unload pay; a state for both forgets at which end it is, and EM stays."""
    _, log = uniform_log("loadunload", 100, 20, 1)
    encoded = Encoded.of(log)
    apart = EMRPSR(discount=0.95, sizes=(14,), seed=1).fit(log).candidates_[0].fitted
    low, high = np.sort(np.argsort(apart.means.min(axis=0))[-2:]).tolist()
    assert apart.means[:, [low, high]].min() > 0.5
    counts, _ = counts_of(apart, encoded)
    stuck = iterate(maximise(encoded, merged(counts, low, high), PLAIN, -1), encoded, PLAIN, 60)
    lost = likelihoods(apart, encoded).sum() - likelihoods(stuck, encoded).sum()
    assert lost > 50
    larger = best_split(stuck, encoded, PLAIN, np.random.default_rng(0))
    freed = iterate(larger, encoded, PLAIN, 20)
    assert likelihoods(freed, encoded).sum() > likelihoods(apart, encoded).sum() - 0.1 * lost


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_on_rewards_hides_no_state(seed):
    """States are found with noisy rewards in bins; densities then foretell as well as can be."""
    pomdp, log = uniform_log("loadunload", 100, 20, seed)
    assert log.rewards is not None
    noise = np.random.default_rng(seed).normal(0, 0.5 * log.rewards.std(), size=log.steps)
    noisy = replace(log, rewards=log.rewards + noise)
    learned = EMRPSR(discount=0.95, sizes=(14,), seed=seed).fit(noisy)
    known = diagnose(pomdp.belief_model(), noisy).reward_rmse  # nobody can expect rewards better
    assert learned.judge(noisy).reward_rmse < 1.02 * known
    assert np.sort(learned.pomdp_.belief_model().rewards.max(axis=1))[-2:] == pytest.approx(
        1, abs=0.1
    )


def test_load_unload_is_learned_from_a_hundred_episodes():
    pomdp, log = uniform_log("loadunload", 100, 20, 1)
    learned = EMRPSR(discount=0.95, sizes=(14,), seed=1).fit(log)
    again = EMRPSR(discount=0.95, sizes=(14,), seed=1).fit(log)
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
    found, true = np.array(paid[10:]).transpose(1, 0, 2)
    assert (true.min(), true.max()) == (0, pytest.approx(1))
    assert found == pytest.approx(true, abs=0.2)  # a PSR's rewards are off by 1/2 here


def test_the_pomdp_has_the_fitted_numbers_even_with_as_many_states_as_actions():
    log = small_log(7, ends=False)
    encoded = Encoded.of(log)
    fitted = iterate(random_start(encoded, 2, np.random.default_rng(3)), encoded, PLAIN, 5)
    pomdp = as_pomdp(fitted, log, 0.9)
    np.testing.assert_allclose(pomdp.R, fitted.means.T, atol=1e-12)
    for a, o in np.ndindex(2, 2):
        expected = fitted.moves[a] * fitted.sights[a, o]
        np.testing.assert_allclose(pomdp.D[a][o].toarray(), expected, atol=1e-12)


def test_what_was_hardly_tried_earns_the_worst():
    """In full where nothing was tried, in part where little was, unless all was tried as little."""
    log = small_log(7, ends=False)
    encoded = Encoded.of(log)
    fitted = iterate(random_start(encoded, 4, np.random.default_rng(3)), encoded, PLAIN, 5)
    assert fitted.visits.sum() == pytest.approx(log.steps)
    fitted = replace(fitted, visits=np.array([[0.0, 2, 10, 8], [40, 3, 100, 12]]))
    known = np.array([[0, 2 / 5, 10 / 20, 1], [1, 3 / 5, 1, 1]])
    worst = -1.0  # 0 now, and for ever 1 less than it might be
    expected = known * fitted.means + (1 - known) * worst
    assert cautious(fitted, log, 0.5, 20) == pytest.approx(expected)
    assert cautious(fitted, log, 0.5, 0) == pytest.approx(fitted.means)


def test_it_is_counted_how_many_rewards_caution_changes():
    rng = np.random.default_rng(0)
    actions, seen = rng.integers(3, size=(5, 6)), rng.integers(2, size=(5, 6))
    log = from_arrays(actions, seen, 1.0 * (actions == 0))
    learned = learn("em", log, discount=0.9)
    chosen = learned.estimator.candidates_[0]
    changed = learned.estimator.pomdp_.R != chosen.cautious.R
    assert chosen.unknown == changed.sum() > 0
    assert chosen.pairs == changed.size
    assert learned.document()["caution"] == {"unknown": chosen.unknown, "pairs": chosen.pairs}
    assert f"{chosen.unknown} of {chosen.pairs} pairs" in learned.caution
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
    learned = EMRPSR(discount=0.95, sizes=(4,), starts=2, memories=0).fit(log)
    known = diagnose(pomdp.belief_model(), log)
    assert learned.judge(log).loglik > known.loglik - 0.01
