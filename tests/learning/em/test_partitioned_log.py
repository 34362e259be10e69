"""EM on a log in partitions: the counts and likelihoods of EM in memory, with bounded memory."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import rpsr
from rpsr.learning import EMRPSR, PreparedLog, chunks
from rpsr.learning.em import partition_cache, partitioned_log, search_sample
from rpsr.learning.em.bins import binned, unbinned
from rpsr.learning.em.conversion import Facts
from rpsr.learning.em.fitted_pomdp import Encoded, Prior, improve, likelihoods
from rpsr.learning.em.partitioned_log import Partitioned, Views
from rpsr.learning.em.settings import Choosing, Fitting, Search
from rpsr.learning.em.starts import random_start
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.logs import stream, stream_logs, write_logs
from rpsr.logs.trajectories import join
from rpsr.parallel import workers

pytest.importorskip("pyarrow")
QUICK = {
    "search": Search(sizes=(3,), starts=2, descents=1, memories=0, probing=3, largest=3),
    "fitting": Fitting(iterations=4, refitting=3, polishing=3),
    "choosing": Choosing(keep=2),
}


def simulated(name, episodes, steps=8):
    pomdp = rpsr.load_pomdp(name)
    return rpsr.simulate(pomdp, "uniform", episodes=episodes, steps=steps, seed=3, rewards=True)


def written(log, folder, monkeypatch, steps=200):
    """The log in Parquet of several row groups, each a partition of about so long."""
    import pyarrow.parquet as pq

    monkeypatch.setattr(stream, "PARTITION", steps)
    path = folder / "log.parquet"
    write_logs(log, path)
    pq.write_table(pq.read_table(path), path, row_group_size=3 * steps // 4)
    return stream_logs(path, action_names=log.action_names, observation_names=log.observation_names)


def sums_of_partitions(folder, monkeypatch, executor):
    """The moments, the survey's tables and EM's expected counts of many partitions, as bytes."""
    log = simulated("tiger", 200)
    monkeypatch.setattr(chunks, "LARGEST", 1)
    prepared = PreparedLog.of(written(log, folder, monkeypatch, 32), executor=executor)
    groups = len(prepared.partitions)
    assert groups > 32
    said = []
    count = partial(Moments.of, plan=WindowPlan.of(prepared.survey()))
    moments = prepared.summed(count, said.append, "counting", exact=True)
    assert said == [f"counting, part {k} of {groups}" for k in range(1, groups + 1)]
    views = Views.of(prepared, "auto", 0)
    fitted = random_start(views.encoded, 5, np.random.default_rng(0))
    counts, likelihood = views.whole.expected(fitted)
    arrays = [moments.nodes, moments.stats, prepared.survey().tables, *counts]
    return [np.asarray(array).tobytes() for array in arrays], likelihood


@pytest.mark.parametrize("name", ["tiger", "4x3", "loadunload"])
def test_counts_and_likelihoods_are_those_of_memory(name, tmp_path, monkeypatch):
    log = simulated(name, 200)
    views = Views.of(PreparedLog.of(written(log, tmp_path, monkeypatch)), "auto", 0)
    assert isinstance(views.whole, Partitioned)
    assert len(views.whole.parts) > 4
    encoded = Encoded.of(PreparedLog.of(log).episodes)
    known = views.whole.outline
    assert np.array_equal(known.payoff_rewards, encoded.payoff_rewards)
    assert np.array_equal(known.final, encoded.final)
    assert (known.ends, known.scale) == (encoded.ends, pytest.approx(encoded.scale, rel=1e-12))
    assert views.facts == Facts.of(PreparedLog.of(log).episodes)
    fitted = random_start(encoded, 5, np.random.default_rng(0))
    for _ in range(3):
        other, streamed = improve(fitted, views.whole, Prior(0.02))
        fitted, held = improve(fitted, encoded, Prior(0.02))
        assert streamed == pytest.approx(held, rel=1e-9)
        assert other.moves == pytest.approx(fitted.moves, rel=1e-9, abs=1e-12)
        assert other.payoffs == pytest.approx(fitted.payoffs, rel=1e-9, abs=1e-12)


def test_the_sample_of_a_small_stream_is_all_of_it(tmp_path, monkeypatch):
    log = simulated("tiger", 100)
    views = Views.of(PreparedLog.of(written(log, tmp_path, monkeypatch)), "auto", 0)
    assert views.sample.rewards.tolist() == log.rewards.tolist()


def test_the_sample_has_one_of_every_few_episodes_and_is_drawn_once(tmp_path, monkeypatch):
    log = simulated("tiger", 400)
    prepared = PreparedLog.of(written(log, tmp_path, monkeypatch))
    monkeypatch.setattr(search_sample, "SAMPLE", 400)
    marked = replace(log, rewards=np.repeat(np.arange(400.0), 8))
    monkeypatch.setattr(search_sample, "MOST_VALUES", 1000)
    many = PreparedLog.of(written(marked, tmp_path, monkeypatch))
    drawn = Views.of(many, "categorical", 5).sample.rewards[::8]
    assert len(drawn) == 50
    assert np.array_equal(drawn // 8, np.arange(50))  # one of every eight
    assert not np.array_equal(drawn % 8, np.full(50, drawn[0] % 8))
    again = Views.of(many, "categorical", 5).sample.rewards[::8]
    other = Views.of(many, "categorical", 6).sample.rewards[::8]
    assert np.array_equal(drawn, again)
    assert not np.array_equal(drawn, other)
    assert Views.of(prepared, "auto", 0).facts.size == (400, 3200)


def test_a_model_is_the_same_streamed_on_workers_and_nearly_so_in_memory(tmp_path, monkeypatch):
    log = simulated("tiger", 200)
    models = []
    for jobs in (1, 2):
        with workers(jobs) as executor:
            prepared = PreparedLog.of(written(log, tmp_path, monkeypatch), executor=executor)
            models.append(EMRPSR(discount=0.9, states=2, **QUICK).fit(prepared))
    here, there = models
    assert here.model_.rewards.tobytes() == there.model_.rewards.tobytes()
    assert here.pomdp_.R.tobytes() == there.pomdp_.R.tobytes()
    memory = EMRPSR(discount=0.9, states=2, **QUICK).fit(log)
    assert memory.candidates_[0].loglik == pytest.approx(here.candidates_[0].loglik, rel=1e-9)
    assert pytest.approx(here.pomdp_.R, rel=1e-6) == memory.pomdp_.R
    assert here.model_.provenance["steps"] == log.steps


@pytest.mark.parametrize(
    ("memory", "disk", "spare", "passes"),
    [(2**28, 0, 0, 1), (0, 2**28, 0, 1), (3000, 2**28, 0, 1), (0, 0, 0, 2), (0, 2**28, 2**62, 2)],
    ids=["memory", "disk", "both", "neither", "full disk"],
)
def test_partitions_are_kept_in_memory_then_on_disk_or_else_read_again(
    tmp_path, monkeypatch, memory, disk, spare, passes
):
    log = simulated("tiger", 200)
    views = Views.of(PreparedLog.of(written(log, tmp_path, monkeypatch)), "auto", 0)
    fitted = random_start(views.encoded, 3, np.random.default_rng(0))
    reads = []
    real = partitioned_log.encode
    monkeypatch.setattr(partitioned_log, "encode", lambda *a: reads.append(1) or real(*a))
    for name, size in (("IN_MEMORY", memory), ("ON_DISK", disk), ("_SPARE", spare)):
        monkeypatch.setattr(partition_cache, name, size)
    whole = Partitioned(views.whole.outline, views.whole.parts)
    counts, likelihood = whole.expected(fitted)
    once = len(reads)
    assert once > 1
    again, same = whole.expected(fitted)
    assert len(reads) == passes * once
    assert same == likelihood
    assert all(np.array_equal(a, b) for a, b in zip(counts, again, strict=True))


@pytest.mark.parametrize("memory", [2**28, 0])
def test_two_logs_that_are_read_at_once_do_not_mix(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(partition_cache, "IN_MEMORY", memory)
    learned = {}
    for name in ("tiger", "paint"):
        (tmp_path / name).mkdir()
        log = written(simulated(name, 60), tmp_path / name, monkeypatch)
        whole = Views.of(PreparedLog.of(log), "auto", 0).whole
        chunks = [whole.encode(chunk) for part in whole.parts for chunk in part]
        learned[name] = whole.outline, chunks

    def reading(name):
        outline, chunks = learned[name]
        return partition_cache.kept(name, 0, iter(chunks), outline)

    readers = {name: reading(name) for name in learned}
    next(readers["tiger"]), next(readers["paint"])
    for reader in readers.values():
        list(reader)
    for name, (_, chunks) in learned.items():
        for one, other in zip(reading(name), chunks, strict=True):
            assert np.array_equal(one.steps, other.steps)


def noisy(name, episodes):
    """A log with continuous rewards."""
    log = simulated(name, episodes)
    noise = np.random.default_rng(0).normal(scale=0.3, size=log.steps)
    return replace(log, rewards=log.rewards + noise + 1000)


@pytest.mark.parametrize("name", ["tiger", "4x3", "loadunload"])
def test_continuous_rewards_in_partitions_are_fitted_as_in_memory(name, tmp_path, monkeypatch):
    log = noisy(name, 200)
    monkeypatch.setattr(partitioned_log, "BLOCK", 64)
    views = Views.of(PreparedLog.of(written(log, tmp_path, monkeypatch)), "auto", 0)
    assert len(views.whole.parts) > 4
    assert len(views.whole.outline.payoff_rewards) == 0  # no table of all rewards
    encoded = Encoded.of(PreparedLog.of(log).episodes)
    assert views.facts == Facts.of(PreparedLog.of(log).episodes)
    coarse, payoff_of = binned(encoded)
    start = random_start(coarse, 4, np.random.default_rng(0))
    fitted = unbinned(start, payoff_of)
    other, whole = views.to_fit(start, payoff_of)
    for _ in range(3):
        fitted, held = improve(fitted, encoded, Prior(0.02))
        other, streamed = improve(other, whole, Prior(0.02))
        assert streamed == pytest.approx(held, rel=1e-9)
        assert other.moves == pytest.approx(fitted.moves, rel=1e-9, abs=1e-12)
        assert other.means == pytest.approx(fitted.means, rel=1e-9)
        assert other.variances == pytest.approx(fitted.variances, rel=1e-7)
    assert views.likelihoods(other) == pytest.approx(likelihoods(fitted, encoded), rel=1e-9)
    drawn = np.array([0, 0, 5])
    selected = views.selected(drawn).expected(other)[1]
    assert selected == pytest.approx(encoded.select(drawn).expected(fitted)[1], rel=1e-9)


def test_continuous_rewards_are_learned_on_workers_and_without_the_whole_log(tmp_path, monkeypatch):
    log = noisy("tiger", 200)
    monkeypatch.setattr(search_sample, "SAMPLE", 400)
    models = []
    for jobs in (1, 2):
        with workers(jobs) as executor:
            prepared = PreparedLog.of(written(log, tmp_path, monkeypatch), executor=executor)
            monkeypatch.setattr(PreparedLog, "in_memory", None)
            models.append(EMRPSR(discount=0.9, states=2, **QUICK).fit(prepared))
    here, there = models
    assert here.pomdp_.R.tobytes() == there.pomdp_.R.tobytes()
    families = here.families(prepared, 2, 1, 0)
    assert [len(family) for family in families] == [2] * len(here.candidates_)


def test_rewards_and_actions_that_the_sample_lacks_have_a_likelihood(tmp_path, monkeypatch):
    log = noisy("tiger", 60)
    views = Views.of(PreparedLog.of(written(log, tmp_path, monkeypatch)), "auto", 0)
    some = views.encoded.select(np.flatnonzero([0 not in log[e].actions for e in range(60)]))
    used = np.unique(some.steps[:, 2])
    steps = some.steps.copy()
    steps[:, 2] = np.searchsorted(used, steps[:, 2])
    own = {"payoff_actions": some.payoff_actions[used], "payoff_rewards": some.payoff_rewards[used]}
    some = replace(some, steps=steps, **own)
    assert 0 not in some.payoff_actions
    coarse, payoff_of = binned(some)
    start = random_start(coarse, 2, np.random.default_rng(0))
    fitted, whole = replace(views, encoded=some).to_fit(start, payoff_of)
    first, likelihood = improve(fitted, whole, Prior(0.02))
    assert np.isfinite([likelihood, improve(first, whole, Prior(0.02))[1]]).all()
    assert np.isfinite(first.means).all()


def test_many_different_rewards_that_are_to_be_categories_are_read_into_memory(
    tmp_path, monkeypatch
):
    log = noisy("tiger", 100)
    views = Views.of(PreparedLog.of(written(log, tmp_path, monkeypatch)), "categorical", 0)
    assert views.whole is views.encoded
    assert views.encoded.family == "categorical"
    assert views.sample.steps == log.steps


def test_a_few_long_recordings_are_cut_in_streams_as_in_memory(tmp_path, monkeypatch):
    log = simulated("tiger", 3, steps=700)
    prepared = PreparedLog.of(written(log, tmp_path, monkeypatch))
    views = Views.of(prepared, "auto", 0)
    expected = PreparedLog.of(log).episodes
    assert views.facts == Facts.of(expected)
    assert views.sample.offsets.tolist() == expected.offsets.tolist()
    chunks = join([chunk for part in views.whole.parts for chunk in part])
    assert chunks.offsets.tolist() == expected.offsets.tolist()
