"""Moments: integers that add up in any order, and expectations that are those of the model."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learning.worlds import simulate, whole_plan

from rpsr import domains
from rpsr.errors import DataError, InputError
from rpsr.io.archive import pack_archive, read_archive
from rpsr.learning import Moments, PreparedLog, Survey, WindowPlan, hankel
from rpsr.learning.moments.exact_moments import exact_hankel
from rpsr.learning.moments.kernels import SQUARE_UNIT, UNIT, add_windows, count_contexts
from rpsr.learning.propensities import propensities
from rpsr.logs import Trajectories, from_arrays

LOG = simulate("loadunload", 40, 8, seed=1)


def random_log(seed, episodes=6):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, episodes)
    rows = [rng.integers(0, 2, n) for n in lengths]
    return from_arrays(
        rows,
        [rng.integers(0, 3, n) for n in lengths],
        [rng.normal(size=n) for n in lengths],
        propensities=[rng.uniform(0.1, 1, n) for n in lengths],
        terminated=rng.random(episodes) < 0.5,
        action_names=["a", "b"],
        observation_names=["x", "y", "z"],
    )


@given(st.integers(0, 10_000), st.lists(st.integers(0, 5), max_size=4), st.randoms())
def test_any_split_in_any_order_gives_the_same_bits(seed, cuts, random):
    log = random_log(seed)
    plan = WindowPlan.of(Survey.of([log]), behaviour="logged")
    whole = Moments.of([log], plan)
    parts = [log.select(part) for part in np.split(np.arange(6), sorted(cuts))]
    random.shuffle(parts)
    total = Moments(plan)
    for part in parts:
        total = Moments.of([part], plan) + total
    assert np.array_equal(total.nodes, whole.nodes)
    assert np.array_equal(total.stats, whole.stats)
    assert total.windows == whole.windows


@given(st.integers(0, 10_000))
def test_the_plan_does_not_depend_on_chunks_either(seed):
    log = random_log(seed)
    if log.steps == 0:
        return
    whole = WindowPlan.of(Survey.of([log]), behaviour="estimated")
    cut = WindowPlan.of(Survey.of([log.select(np.arange(3)), log.select(np.arange(3, 6))]))
    assert (whole.tests, whole.histories, whole.scale) == (cut.tests, cut.histories, cut.scale)
    for a, b in zip(whole.policies or (), cut.policies or (), strict=True):
        assert np.array_equal(a, b)


def test_saved_moments_continue_where_they_stopped(tmp_path):
    plan = WindowPlan.of(Survey.of([LOG]))
    half = Moments.of([LOG.select(np.arange(20))], plan)
    half.save(tmp_path / "half.npz")
    again = Moments.load(tmp_path / "half.npz")
    again.add(LOG.select(np.arange(20, 40)))
    assert np.array_equal(again.stats, Moments.of([LOG], plan).stats)
    assert again.plan.policies is not None
    other = Moments(WindowPlan.of(Survey.of([LOG]), behaviour="blind"))
    with pytest.raises(InputError, match="different plans"):
        again + other
    (tmp_path / "half.npz").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"half\.npz"):
        Moments.load(tmp_path / "half.npz")


@pytest.mark.filterwarnings("error")
def test_rewards_far_out_of_range_are_refused_without_a_warning():
    plan = replace(WindowPlan.of(Survey.of([LOG])), scale=1e-320)
    with pytest.raises(DataError, match="expected"):
        Moments(plan).add(LOG)


DAMAGES = {
    "many features": {"histories": [[0] * k for k in range(1000)]},
    "many words": {"observations": [str(k) for k in range(10**5)]},
    "no prefix": {"tests": [[], [0, 0]]},
    "no such interaction": {"tests": [[], [-1]]},
    "a number beyond floats": {"scale": 10**400},
    "no range of rewards": {"scale": 0.0},
    "no name": {"actions": [["a", "a"]] * 3},
    "no propensity": {},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_moments_are_refused_before_they_take_memory(name, tmp_path, monkeypatch):
    path = tmp_path / "moments.npz"
    Moments.of([LOG], WindowPlan.of(Survey.of([LOG]))).save(path)
    header, arrays = read_archive(path)
    if name == "no propensity":
        arrays["policy.0"][0, 0] = 1e-320
    path.write_bytes(pack_archive(header | DAMAGES[name], arrays))
    allocated, zeros = [], np.zeros
    monkeypatch.setattr(np, "zeros", lambda *given, **o: noted(zeros(*given, **o)))

    def noted(array):
        allocated.append(array.size)
        return array

    with pytest.raises(InputError, match="damaged file of moments"):
        Moments.load(path)
    assert max(allocated, default=0) <= max(array.size for array in arrays.values())


def test_windows_by_enumeration():
    """N[u, h] counted with nothing but slices of lists, for a uniform policy."""
    plan = whole_plan(domains.build("loadunload").belief_model(), 1, 2)
    moments = Moments.of([LOG], plan)
    n_observations = len(LOG.observation_names)
    counts = np.zeros(moments.nodes.shape)
    for episode in LOG:
        interactions = (episode.actions * n_observations + episode.observations).tolist()
        for t in range(len(interactions) - plan.depth):
            features = [0] + [1] * (t == 0)
            features += [
                k + 1
                for k, word in enumerate(plan.histories)
                if word and t >= len(word) and tuple(interactions[t - len(word) : t]) == word
            ]
            for word, node in plan.nodes.items():
                if tuple(interactions[t : t + len(word)]) == word:
                    counts[node, features] += 1
    assert np.array_equal(moments.nodes, counts * UNIT)


def test_sums_of_actions_are_weighted_by_their_propensities():
    """Those of w, w r, w r^2 and w^2 with w = 1 / (A pi), at the first step of each window."""
    log = random_log(3, episodes=20)
    log = replace(log, terminated=np.zeros(20, dtype=bool))
    plan = WindowPlan.of(Survey.of([log]), behaviour="logged")
    sums = np.zeros((2, 4))
    for episode in log:
        for t in range(len(episode.actions) - plan.depth):
            w = 1 / (2 * episode.propensities[t])
            r = (episode.rewards[t] - plan.centre) / plan.scale
            sums[episode.actions[t]] += [w, w * r, w * r**2, w**2]
    units = [UNIT, UNIT, UNIT, SQUARE_UNIT]
    assert Moments.of([log], plan).stats[0, :, 0] / units == pytest.approx(sums, rel=1e-4, abs=1e-4)


def test_compiled_and_plain_kernels_agree():
    log = random_log(3)
    plan = WindowPlan.of(Survey.of([log]), behaviour="logged")
    interactions = log.actions * 3 + log.observations
    shares = np.random.default_rng(1).choice([0.0, 0.3, 1.0], size=log.steps)
    columns = (log.actions, interactions, plan.counted(log.rewards), plan.weights(log), shares)
    tries = (plan.children, plan.past, plan.rows, plan.depth, plan.anchored)
    sums = [Moments(plan) for _ in range(2)]
    kernels = (add_windows, add_windows.py_func)
    for kernel, total in zip(kernels, sums, strict=True):
        kernel(columns, log.offsets, log.terminated, 0.25, *tries, total.nodes, total.stats)
    assert np.array_equal(sums[0].nodes, sums[1].nodes)
    assert np.array_equal(sums[0].stats, sums[1].stats)
    tables = [np.zeros((4, 216, 2), dtype=np.int64) for _ in range(2)]
    for kernel, table in zip((count_contexts, count_contexts.py_func), tables, strict=True):
        kernel(log.actions, interactions, log.offsets, 6, table)
    assert np.array_equal(*tables)


def test_the_end_of_a_task_goes_on_and_a_cut_does_not():
    """After an end the last observation repeats, rewards are 0, and actions are uniform."""
    columns = ([[0, 1]], [[1, 0]], [[1.0, 2.0]])
    cut, ended = from_arrays(*columns), from_arrays(*columns, terminated=[True])
    words = tuple(word for k in range(2) for word in product(range(4), repeat=k))
    plan = WindowPlan(("0", "1"), ("0", "1"), words, words, words, scale=2.0)
    assert Moments.of([cut], plan).windows == 0
    moments = Moments.of([ended], plan)
    assert moments.windows == 2  # from each step
    came = {word: moments.nodes[node, 0] / UNIT for word, node in plan.nodes.items()}
    # Interactions are 2 a + o: 1, then 2, then 0 or 2 at every step.
    assert [came[word,] for word in range(4)] == [0, 1, 1, 0]
    assert [came[2, word] for word in range(4)] == [0.5, 0, 0.5, 0]
    earned = moments.stats[0, :, 0, 1] / UNIT * plan.scale
    assert earned.tolist() == [1, 2]


def test_what_comes_after_an_end_does_not_depend_on_what_was_done_before_it():
    """Half of all episodes end at once, the others continue, equally often after each action."""
    later = [list(actions) for actions in product(range(2), repeat=5)]
    actions = [[first, *rest] for first in range(2) for rest in later]
    observations = [[0, 1, 1, 1, 1, 1] for _ in actions]
    ended = [[first] for first in range(2) for _ in later]
    log = from_arrays(
        actions + ended,
        observations + [[0] for _ in ended],
        [[0.0] * len(row) for row in actions + ended],
        terminated=[False] * len(actions) + [True] * len(ended),
    )
    data = hankel(Moments.of([log], WindowPlan.of(Survey.of([log]), behaviour="blind")))
    for first, then in product(range(2), repeat=2):
        row = data.plan.tests.index((2 * first, 2 * then + 1))
        assert data.values[0, row, 1] / data.features[1] == pytest.approx(0.5, abs=1e-9)


def test_expectations_approach_those_of_the_model():
    """Each cell within five of its own standard errors, of all cells that matter."""
    log = simulate("loadunload", 4000, 20, seed=5)
    model = domains.build("loadunload").belief_model()
    plan = whole_plan(model, 1, 1)
    exact = exact_hankel(model, plan, 20 - plan.depth)
    data = hankel(Moments.of([log], plan), exact.centres)
    # Given how often each history came, which is no error of the future's.
    ratio = np.divide(data.features, exact.features, out=np.zeros(7 + 1), where=exact.features > 0)
    error = np.abs(data.values - exact.values * ratio) / np.sqrt(data.variances)
    assert np.quantile(error, 0.99) < 3
    assert error.max() < 6


def test_weights_undo_a_policy_that_looks_at_the_history():
    def lazy(seen):
        return [0.8, 0.2] if seen == 0 else [0.3, 0.7]

    log = simulate("loadunload", 3000, 20, seed=2, chances=lazy)
    assert log.propensities is not None
    estimated = WindowPlan.of(Survey.of([log]), behaviour="estimated")
    said = propensities(log, "estimated", estimated.policies)
    assert np.abs(said - log.propensities).max() < 0.2
    assert np.abs(said - log.propensities).mean() < 0.02


@pytest.mark.parametrize(
    ("actions", "observations"), [(2, 3), (50, 2), (100, 2), (20, 5), (5, 12), (3, 60)]
)
@pytest.mark.parametrize("operators", [False, True])
def test_moments_keep_to_a_bound_on_memory(actions, observations, operators):
    rng = np.random.default_rng(0)
    log = from_arrays(
        rng.integers(actions, size=(500, 40)),
        rng.integers(observations, size=(500, 40)),
        np.ones((500, 40)),
    )
    plan = WindowPlan.of(Survey.of([log]), cells=2**18, operators=operators)
    moments = Moments(plan)
    assert plan.numbers == moments.nodes.size + moments.stats.size <= 8 * 2**18
    assert len(plan.histories) > 1
    Moments.of([log], plan)


def test_bad_questions():
    blank = Trajectories(("a",), ("x",), *([], [], [0], []))  # pyright: ignore
    with pytest.raises(InputError, match="no rewards"):
        WindowPlan.of(Survey.of([blank]))
    silent = from_arrays([[0]], [[0]], [[1.0]])
    with pytest.raises(InputError, match="the log has none: use 'estimated'"):
        WindowPlan.of(Survey.of([silent]), behaviour="logged")
    with pytest.raises(InputError, match="behaviour: read 'known', expected 'logged' or"):
        WindowPlan.of(Survey.of([silent]), behaviour="known")
    with pytest.raises(InputError, match="log is empty"):
        Survey.of([])
    with pytest.raises(
        InputError, match=r"the log's actions are .*; these moments were set up for "
    ):
        Moments(WindowPlan.of(Survey.of([silent]))).add(LOG)
    with pytest.raises(InputError, match="rewards: read 5, expected 0 to 2"):
        Moments(WindowPlan.of(Survey.of([silent]))).add(from_arrays([[0]], [[0]], [[5.0]]))


def test_a_plan_for_hundreds_of_observations_counts_the_words_that_it_rewards():
    """Short tasks with 380 observations: ends fill the tests, other frequent words do not fit."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 6, size=4000)
    log = from_arrays(
        [rng.integers(2, size=k) for k in lengths],
        [rng.integers(380, size=k) for k in lengths],
        [np.eye(k)[-1] for k in lengths],
        terminated=np.ones(len(lengths), dtype=bool),
        observation_names=[str(i) for i in range(380)],
    )
    plan = WindowPlan.of(PreparedLog.of(log).survey())
    assert set(plan.reward_tests) <= set(plan.tests)
    assert plan.numbers > 0
