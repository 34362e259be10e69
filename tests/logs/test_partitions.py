"""A log in partitions: row groups of Parquet and files, whole episodes, each once and in order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import few

from rpsr.logs import Columns, stream, stream_logs
from rpsr.logs.parts import Part, partitions
from rpsr.logs.trajectories import join

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table(lengths, keys):
    """Episodes of some lengths, told apart by some of the columns that can tell."""
    rows = [(i, t, t == n - 1) for i, n in enumerate(lengths) for t in range(n)]
    numbers = np.arange(len(rows))
    columns = {
        "episode": [row[0] for row in rows],
        "step": [row[1] for row in rows],
        "terminated": [row[2] for row in rows],
        "action": [f"a{i % 3}" for i in numbers],
        "observation": [f"o{i % 5}" for i in numbers],
        "reward": numbers.astype(float),
    }
    kept = {name: columns[name] for name in (*keys, "action", "observation", "reward")}
    return pa.table(kept)


def same(one, other):
    return (
        one.rewards.tolist() == other.rewards.tolist()
        and one.offsets.tolist() == other.offsets.tolist()
        and one.actions.tolist() == other.actions.tolist()
        and one.terminated.tolist() == other.terminated.tolist()
    )


@settings(max_examples=few(60))
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    group=st.integers(1, 12),
    steps=st.integers(1, 20),
    keys=st.sampled_from([("episode",), ("step",), ("terminated",), ("episode", "step")]),
)
def test_row_groups_have_every_episode_once(tmp_path_factory, lengths, group, steps, keys):
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(table(lengths, keys), path, row_group_size=group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "PARTITION", steps)
        whole = stream_logs(path, columns=Columns())
        parts = partitions(whole)
        for held_out in (False, True):
            expected = list(Part(whole, held_out))
            chunks = [chunk for p in partitions(Part(whole, held_out)) for chunk in p]
            assert same(join(chunks), join(expected))
            half = Part(whole, held_out, one_in=2)
            chunks = [chunk for p in partitions(half) for chunk in p]
            assert same(join(chunks), join(half))
    assert same(join([chunk for part in parts for chunk in part]), join(whole))
    counts = [sum(chunk.episodes for chunk in part) for part in parts]
    assert [part.first_episode for part in parts] == np.cumsum([0, *counts[:-1]]).tolist()
    assert sum(counts) == len(lengths)


def test_files_are_partitions_of_a_folder(tmp_path):
    for number in range(3):
        pq.write_table(table([2, 3], ("episode",)), tmp_path / f"{number}.parquet")
    given = stream_logs(
        tmp_path, action_names=["a0", "a1", "a2"], observation_names=[f"o{i}" for i in range(5)]
    )
    assert len(given.partitions()) == 3
    whole = stream_logs(tmp_path)
    assert [part.first_episode for part in whole.partitions()] == [0, 2, 4]
    assert same(join([c for part in whole.partitions() for c in part]), join(whole))
