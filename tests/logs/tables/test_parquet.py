"""Logs in Parquet files: what is read, and what is said about a bad table."""

import pytest
from tests.logs.written import GOOD, same, write

from rpsr.errors import InputError
from rpsr.logs import Columns, read_logs

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TABLE = {
    "episode": [7, 7, 8],
    "step": [0, 1, 0],
    "action": ["right", "left", "left"],
    "observation": ["dark", "light", "dark"],
    "reward": [0.0, 1.5, -1.0],
    "propensity": [0.5, 0.25, 1.0],
    "terminated": [False, True, False],
}


def parquet(path, **changes):
    table = {k: v for k, v in (TABLE | changes).items() if v is not None}
    pq.write_table(pa.table(table), path, row_group_size=2)
    return path


def test_parquet_and_json_lines_say_the_same(tmp_path):
    other = {"actions": ["left"], "observations": ["dark"], "rewards": [-1], "propensities": [1]}
    lines = read_logs(write(tmp_path / "a.jsonl", GOOD, other))
    assert same(read_logs(parquet(tmp_path / "a.parquet")), lines)
    renamed = tmp_path / "b.parquet"
    pq.write_table(pa.table({f"my {k}": v for k, v in TABLE.items()}), renamed)
    assert same(read_logs(renamed, columns=Columns(*(f"my {k}" for k in TABLE))), lines)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": [0, 2, 0]}, ":2: episode 7, step 2: column 'step': read 2, expected 1"),
        ({"step": [3, 4, 0]}, ":1: episode 7, step 3: column 'step': read 3, expected 0 or 1 in"),
        ({"step": [1, 2, 0]}, ":3: episode 8, step 0: column 'step': read 0, expected 1 in the"),
        ({"episode": [7, 8, 7]}, ":2: episode 8, step 1: column 'step': read 1, expected 0 in"),
        ({"episode": [7, 7, None]}, ":3: episode 1, step 0: column 'episode': read nothing"),
        ({"terminated": [True, True, False]}, ":1: episode 7, step 0: column 'terminated': read t"),
        ({"truncated": [1, 0, 0]}, ":1: episode 7, step 0: column 'truncated': read true, exp"),
        ({"reward": [0.0, None, None]}, ":2: episode 7, step 1: column 'reward': read nothing"),
        ({"reward": [0.0, None, None]}, "for the reward; also missing in row 3"),
        ({"reward": [0.0, 1.0, float("inf")]}, ":3: episode 8, step 0: column 'reward': read inf"),
        ({"observation": [0.5, 1, 1]}, ": column 'observation': read decimal numbers (double), e"),
        ({"action": [[0], [1], [0]]}, ":1: episode 7, step 0: column 'action': read [0], expect"),
        ({"action": None}, "has no column 'action' for the action; its columns are episode"),
    ],
)
def test_what_is_wrong_with_a_table(tmp_path, changes, message):
    file = parquet(tmp_path / "a.parquet", **changes)
    with pytest.raises(InputError) as caught:
        read_logs(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)


def test_a_column_that_was_asked_for_by_name_must_be_there(tmp_path):
    file = parquet(tmp_path / "a.parquet", reward=None)
    assert read_logs(file).rewards is None
    with pytest.raises(InputError, match="has no column 'gain' for the reward; its columns are"):
        read_logs(file, columns=Columns(reward="gain"))


def test_names_of_columns_mean_nothing_without_a_table(tmp_path):
    table, lines = parquet(tmp_path / "a.parquet"), write(tmp_path / "a.jsonl", GOOD)
    columns = Columns(action="action")
    with pytest.raises(
        InputError, match=r"read a.jsonl, but only tables have columns; expected a name"
    ):
        read_logs(lines, columns=columns)
    assert read_logs([lines, table], columns=columns).episodes == 3


def test_a_damaged_table(tmp_path):
    file = tmp_path / "a.parquet"
    file.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="not readable as Parquet"):
        read_logs(file)
