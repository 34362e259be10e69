"""A log that is written and read, in any format, is the same log; and all formats agree."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logs.written import same
from tests.strategies import few

from rpsr.logs import (
    Trajectories,
    from_episodes,
    from_frame,
    from_records,
    read_logs,
    read_minari,
    write_logs,
    write_minari,
)
from rpsr.logs.tables.listed import DECIMAL, MISSING

FILES = ["a.jsonl", "a.jsonl.gz", "a.parquet", "a.csv", "a.csv.gz", "a.tsv"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
NAMES = TEXTS.filter(lambda name: name not in MISSING and not DECIMAL.fullmatch(name))


@st.composite
def logs(draw):
    """Logs in which every name occurs, with and without the optional columns."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    steps = sum(lengths)

    def labels():
        names = st.one_of(
            st.lists(NAMES, min_size=1, max_size=3, unique=True).map(sorted),
            st.sets(st.integers(-20, 200), min_size=1, max_size=3).map(
                lambda numbers: [str(number) for number in sorted(numbers)]
            ),
        )
        column = draw(st.lists(st.integers(0, 2), min_size=steps, max_size=steps))
        used = sorted(set(column))
        names = draw(names.filter(lambda names: len(names) >= len(used)))[: len(used)]
        return tuple(names), [used.index(code) for code in column]

    def numbers(values):
        return draw(st.none() | st.lists(values, min_size=steps, max_size=steps))

    (action_names, actions), (observation_names, observations) = labels(), labels()
    flags = st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths))
    return Trajectories(
        action_names=action_names,
        observation_names=observation_names,
        actions=actions,
        observations=observations,
        offsets=[0, *itertools.accumulate(lengths)],
        terminated=draw(flags),
        truncated=draw(flags),
        rewards=numbers(st.floats(-1e99, 1e99)),
        propensities=numbers(st.floats(0, 1, exclude_min=True)),
        states=numbers(st.integers(0, 9)),
    )


@given(logs(), st.sampled_from(FILES))
def test_files(tmp_path_factory, log, name):
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("logs") / name
    write_logs(log, path)
    assert same(read_logs(path), log)


@given(logs())
def test_data_frames(log):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = log.to_pandas()
    assert same(from_frame(frame), log)
    assert same(from_frame(frame.astype({"action": "str", "observation": object})), log)
    assert same(from_frame(polars.from_pandas(frame)), log)
    assert same(from_records(frame.to_dict("records")), log)


@given(logs())
def test_dictionaries_of_episodes(tmp_path_factory, log):
    path = tmp_path_factory.mktemp("logs") / "a.jsonl"
    write_logs(log, path)
    lines = path.read_text("utf-8").split("\n")[:-1]
    assert same(from_episodes(list(map(json.loads, lines))), log)


@given(logs().filter(lambda log: log.rewards is not None))
@settings(max_examples=few(15))  # each makes folders and files
def test_minari(tmp_path_factory, log):
    pytest.importorskip("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
        write_minari(log, "some/log-v0")
        assert same(read_minari("some/log-v0"), log)
