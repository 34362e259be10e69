"""Learning from streams in partitions: the same bytes as in memory, wherever parts are counted."""

import json

import numpy as np
import pytest

import rpsr
from rpsr.learning import PreparedLog, SpectralRPSR, learn
from rpsr.logs import readers, stream, stream_logs, write_logs
from rpsr.parallel import workers

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def log():
    tiger = rpsr.load_pomdp("tiger")
    return rpsr.simulate(
        tiger, "uniform", episodes=600, steps=8, seed=1, rewards=True, propensities=True
    )


@pytest.fixture
def folder(log, tmp_path, monkeypatch):
    """The log in two Parquet files of several row groups, each a partition."""
    import pyarrow.parquet as pq

    monkeypatch.setattr(stream, "PARTITION", 500)
    half = np.array_split(np.arange(log.episodes), 2)
    for number, episodes in enumerate(half):
        path = tmp_path / f"{number}.parquet"
        write_logs(log.select(episodes), path)
        pq.write_table(pq.read_table(path), path, row_group_size=300)
    return tmp_path


def test_surveys_and_censuses_of_partitions_add_up(log, folder):
    whole, parts = PreparedLog.of(log), PreparedLog.of(stream_logs(folder))
    assert len(parts.partitions) > 4
    assert np.array_equal(whole.survey().tables, parts.survey().tables)
    assert whole.survey().rewards == parts.survey().rewards
    assert whole.survey().overlap.effective == pytest.approx(parts.survey().overlap.effective)
    one, other = whole.census, parts.census
    assert (one.ended, one.lengths, one.last, one.low) == (
        other.ended,
        other.lengths,
        other.last,
        other.low,
    )
    assert all(np.array_equal(one.counts[kind], other.counts[kind]) for kind in one.counts)


def test_a_spectral_model_is_the_same_in_memory_streamed_and_on_workers(log, folder):
    models = []
    for jobs in (1, 2):
        with workers(jobs) as executor:
            prepared = PreparedLog.of(stream_logs(folder), executor=executor)
            models.append(SpectralRPSR(discount=0.9).fit(prepared))
    models.append(SpectralRPSR(discount=0.9).fit(log))
    first, *others = models
    for other in others:
        assert first.rank_ == other.rank_
        assert first.model_.rewards.tobytes() == other.model_.rewards.tobytes()
        assert first.hankel_.values.tobytes() == other.hankel_.values.tobytes()


def test_learn_says_the_same_of_a_stream_on_workers(folder, monkeypatch):
    monkeypatch.setattr(readers, "SMALL", 1000)
    said = []
    for jobs in (1, 2):
        with workers(jobs) as executor:
            learned = learn("spectral", folder, discount=0.9, executor=executor)
        said.append(json.dumps(learned.document() | {"seconds": None}))
    assert said[0] == said[1]
