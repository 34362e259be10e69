"""Rows that are appended to a file, each once; a file of other rows is left alone."""

from pathlib import Path

import pytest

from rpsr.errors import InputError
from rpsr.row_file import RowFile
from rpsr.shards import Manifest, merged


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_lines_of_rows_continue_where_they_stopped():
    manifest = Manifest("1/1", ("seed",), (), ((1,), (2,)))
    lines = RowFile("rows.jsonl", ("seed",), manifest)
    assert lines.rows() == {}
    lines.append({"seed": 1, "value": 2.5})
    with Path("rows.jsonl").open("a") as stream:
        stream.write('{"seed": 2, "val')
    again = RowFile("rows.jsonl", ("seed",), manifest)
    assert again.rows() == {(1,): {"seed": 1, "value": 2.5}}
    again.append({"seed": 2, "value": 3.5})
    again.append({"seed": 2, "value": 4.5})  # a row is there already
    assert [row["value"] for row in merged(["rows.jsonl"]).rows] == [2.5, 3.5]
    other = Manifest("1/2", ("seed",), (), ((1,), (2,)))
    with pytest.raises(InputError, match=r"other work, or of another part \(1/1\)"):
        RowFile("rows.jsonl", ("seed",), other).rows()


def test_a_file_without_a_manifest_or_a_row_without_its_key_is_refused_and_left_alone():
    manifest = Manifest("1/1", ("seed",), (), ((1,), (2,)))
    for text, said in (
        ('{"seed": 1}\n', "other work, or of another part"),
        (manifest.line + '{"value": 1}\n', "line 2 has no 'seed'"),
        (manifest.line + '{"seed": [1]}\n', "line 2: 'seed' is neither"),
    ):
        Path("rows.jsonl").write_text(text)
        with pytest.raises(InputError, match=f"^rows.jsonl: .*{said}"):
            RowFile("rows.jsonl", ("seed",), manifest).rows()
        assert Path("rows.jsonl").read_text() == text
