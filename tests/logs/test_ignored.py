"""Unknown keys and columns are ignored in every format, with one note that names them."""

import json
import warnings

import pytest
from tests.logs.written import write

from rpsr.logs import read_logs, stream_logs

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ROWS = {"episode": [0, 1], "action": ["go", "go"], "observation": ["x", "x"], "ward": [1, 2]}


def one(path):
    """The same log in the format of the suffix, with something that is no part of a log."""
    if path.suffix == ".jsonl":
        line = {"actions": ["go"], "observations": ["x"], "ward": 3}
        return write(path, line, line | {"age": {"years": 7}})
    rows = ROWS | {"age": [[1], None]} if path.suffix == ".parquet" else ROWS | {"age": ["", "7"]}
    if path.suffix == ".parquet":
        pq.write_table(pa.table(rows), path)
    else:
        cells = [
            ",".join(rows),
            *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True)),
        ]
        path.write_text("\n".join(cells))
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
def test_what_is_unknown_is_ignored_with_one_note(tmp_path, suffix):
    path = one(tmp_path / f"a.{suffix}")
    known = "actions, observ" if suffix == "jsonl" else "episode, step, action"
    for act in (read_logs, again):
        with pytest.warns(UserWarning, match="ignored") as caught:
            log = act(path)
        assert (log.episodes, log.steps) == (2, 2)
        (note,) = [str(warning.message) for warning in caught]
        assert note.startswith(
            f"{path}: ignored 'age', 'ward'; the names that are read are {known}"
        )


def again(path):
    """Through a stream, twice."""
    stream = stream_logs(path)
    (first,), (second,) = stream, stream
    assert first.steps == second.steps
    return first


def test_one_note_for_many_files(tmp_path):
    for name in "abc":
        one(tmp_path / f"{name}.csv")
    with pytest.warns(UserWarning, match="ignored") as caught:
        read_logs(tmp_path)
    (note,) = [str(warning.message) for warning in caught]
    assert note.startswith(f"{tmp_path / 'a.csv'} and 2 more files: ignored 'age', 'ward'")


def test_a_key_that_is_missing_is_reported_with_those_that_are_there(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"actions": ["go"], "observation": ["x"]}))
    with pytest.raises(Exception, match="read nothing, expected a list; the keys are actions, obs"):
        read_logs(path)


def test_a_log_of_known_keys_is_read_without_a_note(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_logs(write(tmp_path / "a.jsonl", {"actions": ["go"], "observations": ["x"]}))
