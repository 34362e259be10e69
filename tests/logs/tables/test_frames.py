"""Data frames of pandas and polars, and tables of pyarrow: one door for all."""

import re
import sys

import numpy as np
import pytest
from tests.logs.written import same, write

from rpsr.errors import InputError
from rpsr.learning import LastKTable
from rpsr.logs import Columns, from_arrays, from_frame, from_records, read_logs
from rpsr.logs.tables import frames

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = {
    "patient": ["ann", "ann", "bob"],
    "drug": [101, 205, 101],
    "test": [True, False, True],
    "gain": [0.5, 1, 2],
}
NAMES = Columns(episode="patient", action="drug", observation="test", reward="gain")
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "records": lambda rows: pl.DataFrame(rows).to_dicts(),
}


def read(frame, **options):
    return (from_records if isinstance(frame, list) else from_frame)(frame, **options)


@pytest.fixture(params=FRAMES, ids=str)
def make(request):
    return FRAMES[request.param]


def test_whole_numbers_and_truth_values_are_names(make):
    log = read(make(ROWS), columns=NAMES)
    assert log.action_names == ("101", "205")
    assert log.observation_names == ("False", "True")
    assert log.lengths.tolist() == [2, 1]
    assert log.rewards.tolist() == [0.5, 1, 2]
    given = read(make(ROWS), columns=NAMES, action_names=[str(i) for i in range(300)])
    assert given.actions.tolist() == [101, 205, 101]


def test_a_frame_says_what_its_csv_file_says(make, tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "a.csv", index=False)
    assert same(read(make(ROWS), columns=NAMES), read_logs(tmp_path / "a.csv", columns=NAMES))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"test": [0.5, 1.5, 2]},
            "column 'test': read .*decimal|column 'test': read 0.5, expected",
        ),
        ({"test": [0.5, 1.5, 2]}, "KBinsDiscretizer"),
        ({"test": ["x", None, None]}, r"AT1: episode ann, step 1: column 'test': read nothing"),
        ({"test": ["x", None, None]}, r"also missing in (row|record) 2$"),
        ({"gain": [0.0, None, 1.0]}, "AT1: episode ann, step 1: column 'gain': read nothing"),
        ({"gain": ["0", "1", "2"]}, "AT0: episode ann, step 0: column 'gain': read '0', expected"),
        ({"patient": ["ann", "bob", "ann"]}, "AT2: episode ann, step 0: column 'patient': read '"),
        ({"test": [[1], [2], [3]]}, r"AT0: episode ann, step 0: column 'test': read \[1\], expec"),
    ],
)
def test_what_is_wrong_is_said_with_row_and_column(make, change, message):
    """AT: the row, by position in a frame or in a list."""
    message = re.sub(r"AT(\d)", r"(records:\1|DataFrame: row \1 \\(iloc\\))", message)
    with pytest.raises(InputError, match=message) as caught:
        read(make(ROWS | change), columns=NAMES)
    assert "\n" not in str(caught.value)


def test_unknown_columns_are_named_once(make):
    with pytest.warns(
        UserWarning, match="ignored 'ward'; the names that are read are episode"
    ) as caught:
        read(make(ROWS | {"ward": [1, 2, 3]}), columns=NAMES)
    assert len(caught) == 1


def test_categories_that_do_not_occur_are_no_names():
    drug = pd.Categorical(["b", "c", "b"], categories=["c", "a", "b"])
    assert from_frame(pd.DataFrame(ROWS | {"drug": drug}), columns=NAMES).action_names == ("b", "c")
    drug = pl.Series(["b", "c", "b"], dtype=pl.Enum(["c", "a", "b"]))
    assert from_frame(pl.DataFrame(ROWS | {"drug": drug}), columns=NAMES).action_names == ("b", "c")


def test_what_is_no_frame(monkeypatch):
    for wrong in (3, "a.csv", pd.Series([1])):
        if hasattr(wrong, "__arrow_c_stream__"):
            continue
        with pytest.raises(InputError, match="expected a data frame"):
            from_frame(wrong)
    with pytest.raises(InputError, match=r"LazyFrame, expected a data frame; frame.collect\(\)"):
        from_frame(pl.LazyFrame(ROWS))
    twice = pd.DataFrame([[1, 2]], columns=["action", "action"])
    with pytest.raises(InputError, match="DataFrame: cannot be read: Duplicate column names"):
        from_frame(twice)
    mixed = pd.DataFrame(ROWS | {"drug": [1, "a", 2.5]}, dtype=object)
    with pytest.raises(InputError, match=r"DataFrame: cannot be read: .*column drug"):
        from_frame(mixed, columns=NAMES)
    with pytest.raises(InputError, match="records:1: read int, expected a dictionary"):
        from_records([{"action": 1}, 3])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow: pip install 'rpsr\[data\]'"):
        from_frame(pd.DataFrame(ROWS))


def test_an_old_pandas_without_the_interchange(monkeypatch):
    frame = pd.DataFrame(ROWS)
    expected = from_frame(frame, columns=NAMES)
    monkeypatch.delattr(pd.DataFrame, "__arrow_c_stream__", raising=False)
    assert frames.is_frame(frame)
    assert same(from_frame(frame, columns=NAMES), expected)


def test_to_pandas(tmp_path):
    lines = {"actions": ["go", "stay"], "observations": ["x", "y"], "rewards": [0, 1.5]}
    frame = read_logs(write(tmp_path / "a.jsonl", lines | {"terminated": True})).to_pandas()
    assert frame.to_dict("list") == {
        "episode": [0, 0],
        "step": [0, 1],
        "action": ["go", "stay"],
        "observation": ["x", "y"],
        "reward": [0.0, 1.5],
        "terminated": [False, True],
        "truncated": [False, False],
    }
    with pytest.raises(InputError, match="episode 0 has no step, which a table cannot store"):
        from_arrays([[]], [[]]).to_pandas()


def test_an_estimator_learns_from_a_frame():
    rng = np.random.default_rng(0)
    rows = {"episode": np.repeat(np.arange(20), 5), "action": rng.integers(2, size=100)}
    rows |= {"observation": rng.integers(2, size=100), "reward": rng.random(100)}
    frame = pd.DataFrame(rows)
    table = LastKTable(k=1, discount=0.9)
    expected = table.fit(from_frame(frame)).model_
    for given in (frame, pl.from_pandas(frame), frame.to_dict("records")):
        assert np.array_equal(table.fit(given).model_.start, expected.start)
