"""Parts of work: rows of all parts are those of the whole; what is missing or wrong is said."""

import json
from pathlib import Path

import pytest

from rpsr.cli.app import main
from rpsr.errors import InputError
from rpsr.predictive.survey import Options, survey
from rpsr.shards import Manifest, Shard, merged

SOURCES = ["tiger", "paint", "1d", "shuttle", "missing.pomdp"]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """The rows of two parts of a survey, each in its file."""
    monkeypatch.chdir(tmp_path)
    for index in (1, 2):
        list(survey(SOURCES, record=Path(f"{index}.jsonl"), shard=Shard(index, 2)))
    return "1.jsonl", "2.jsonl"


def without_time(row):
    return row | {"seconds": None}


def test_parts_have_every_item_once():
    items = list(range(11))
    parts = [Shard(index, 3).select(items) for index in (1, 2, 3)]
    assert sorted([*parts[0], *parts[1], *parts[2]]) == items
    assert Shard(2, 20).select(items) == [1]
    assert Shard(20, 20).select(items) == []


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2"])
def test_a_part_that_is_none_is_refused(text, capsys):
    with pytest.raises(ValueError, match="expected I/N"):
        Shard.parsed(text)
    assert main(["accuracy", "tiger", f"--shard={text}"]) == 2
    assert "expected I/N" in capsys.readouterr().err


def test_parts_make_the_whole_in_the_order_of_the_work(parts):
    whole = [without_time(row) for row in survey(SOURCES)]
    joined = merged(reversed(parts))
    assert list(map(without_time, joined.rows)) == whole
    assert (joined.missing, joined.contradictions, joined.failed) == ([], [], True)


def test_a_part_that_runs_again_computes_nothing_again(parts, monkeypatch):
    before = Path("1.jsonl").read_bytes()
    monkeypatch.setattr("rpsr.predictive.survey.accuracy", None)
    rows = list(survey(["tiger", "paint", "1d"], record=None, shard=Shard(2, 3)))
    assert "unexpected" in rows[0]["error"]
    good = list(survey(SOURCES, record=Path("1.jsonl"), shard=Shard(1, 2)))
    assert [row["error"] is None for row in good] == [True, True, False]
    assert Path("1.jsonl").read_bytes() == before


def test_a_file_of_another_part_is_refused(parts):
    with pytest.raises(InputError, match=r"another part \(1/2\)"):
        list(survey(SOURCES, record=Path("1.jsonl"), shard=Shard(2, 2)))


def test_what_is_missing_is_named_with_its_part(parts, capsys):
    assert main(["merge", "1.jsonl", "-o", "whole.jsonl", "--json"]) == 1  # one row has an error
    out, err = capsys.readouterr()
    assert json.loads(out)["missing"] == ["paint", "shuttle"]
    assert "missing: paint (part 2/2)" in err
    lines = Path("2.jsonl").read_text().splitlines(keepends=True)
    Path("cut.jsonl").write_text("".join(lines[:2]) + lines[2][:40])  # its writer was killed
    assert merged(["1.jsonl", "cut.jsonl"]).missing == [("shuttle",)]
    assert main(["merge", "whole.jsonl", "2.jsonl", "--json"]) == 1  # what was merged merges again
    assert json.loads(capsys.readouterr().out)["missing"] == []


def test_exit_codes_tell_missing_from_complete(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for part in ("1/2", "2/2"):
        words = ["accuracy", "tiger", "paint", "--shard", part, "-o", f"{part[0]}.jsonl"]
        assert main(words) == 0
    assert main(["merge", "1.jsonl"]) == 3
    assert main(["merge", "1.jsonl", "2.jsonl", "-o", "whole.jsonl"]) == 0
    assert "2 of 2 rows from 2 files" in capsys.readouterr().out
    assert len(Path("whole.jsonl").read_text().splitlines()) == 2
    assert main(["accuracy", "tiger", "paint", "-o", "whole.jsonl"]) == 0
    assert len(Path("whole.jsonl").read_text().splitlines()) == 2  # nothing was left to do


def test_contradictions_are_said_and_nothing_is_written(parts, capsys):
    manifest, row, *_ = Path("1.jsonl").read_text().splitlines(keepends=True)
    other = json.loads(row) | {"psr_rank": 77, "seconds": 1e9}
    Path("other.jsonl").write_text(manifest + json.dumps(other) + "\n")
    assert main(["merge", *parts, "other.jsonl", "-o", "whole.jsonl"]) == 1
    err = capsys.readouterr().err
    assert err.splitlines()[-1].endswith("tiger: 1.jsonl and other.jsonl differ in psr_rank")
    assert not Path("whole.jsonl").exists()
    list(survey(["tiger", "1d"], record=Path("less.jsonl"), shard=Shard(1, 2)))
    assert "parts of different work" in merged(["1.jsonl", "less.jsonl"]).contradictions[0]


def test_parts_with_other_options_are_parts_of_different_work():
    for index, options in ((1, Options()), (2, Options(discount="0.5"))):
        list(survey(["tiger", "1d"], options, record=Path(f"{index}.jsonl"), shard=Shard(index, 2)))
    whole = merged(["1.jsonl", "2.jsonl"])
    assert whole.contradictions == ["2.jsonl and 1.jsonl are parts of different work"]
    timed = Options(time_limit=60)  # rows do not depend on it
    list(survey(["tiger", "1d"], timed, record=Path("2.timed.jsonl"), shard=Shard(2, 2)))
    assert not merged(["1.jsonl", "2.timed.jsonl"]).contradictions


def test_a_source_that_is_given_twice_is_one_item():
    for index in (1, 2):
        record = Path(f"{index}.jsonl")
        list(survey(["tiger", "tiger", "1d"], record=record, shard=Shard(index, 2)))
    assert [row["source"] for row in merged(["1.jsonl", "2.jsonl"]).rows] == ["tiger", "1d"]


WHOLE = {"shard": "1/1", "key": ["seed"], "timings": [], "items": [[1], [2]], "asked": "all"}


@pytest.mark.parametrize(
    "change",
    [
        {"shard": 5},
        {"shard": "abc"},
        {"shard": "1/0"},
        {"items": [[[1]], [2]]},
        {"items": [[1], [1]]},
        {"items": [[1, 2]]},
        {"items": [[float("nan")]]},
        {"items": 7},
        {"key": "seed"},
        {"timings": [["seconds"]]},
        {"asked": None},
        {"more": 1},
    ],
)
def test_a_damaged_manifest_is_one_line_and_nothing_is_written(change, capsys):
    Path("rows.jsonl").write_text(json.dumps(WHOLE | change) + "\n" + '{"seed": 1}\n')
    assert main(["merge", "rows.jsonl", "-o", "whole.jsonl"]) == 1
    assert "rows.jsonl:1: the first line, the manifest, is damaged" in capsys.readouterr().err
    assert not Path("whole.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"source": ["tiger"]}\n', "row 1: 'source' is neither a text nor a number"),
        ("[" * 100_000 + "\n", "not a JSON object"),
        ("", "contains no rows of results"),
        (json.dumps(WHOLE)[:30], "contains no rows of results"),
    ],
)
def test_damaged_rows_are_one_line(text, said, capsys):
    Path("rows.jsonl").write_text(text)
    assert main(["merge", "rows.jsonl"]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert "unexpected" not in err


def test_numbers_that_are_none_are_equal():
    Path("rows.jsonl").write_text('{"source": "a", "value": [NaN, {"b": NaN}]}\n' * 2)
    assert not merged(["rows.jsonl"]).contradictions


def test_a_row_without_an_error_replaces_one_with_an_error():
    manifest = Manifest("1/1", ("seed",), ("seconds",), ((1,), (2,)))
    for name, rows in {
        "old.jsonl": [{"seed": 1, "error": "killed"}, {"seed": 2, "error": None, "value": 3}],
        "new.jsonl": [{"seed": 1, "error": None, "value": 5}, {"seed": 2, "error": "killed"}],
    }.items():
        Path(name).write_text(manifest.line + "".join(json.dumps(row) + "\n" for row in rows))
    for order in (["old.jsonl", "new.jsonl"], ["new.jsonl", "old.jsonl"]):
        whole = merged(order)
        assert [row["value"] for row in whole.rows] == [5, 3]
        assert not whole.contradictions


def test_files_that_hold_no_rows_are_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        merged(["nowhere.jsonl"])
    Path("text.jsonl").write_text("words\nmore\n")
    with pytest.raises(InputError, match=r"text\.jsonl:1: read a line that is not a JSON object"):
        merged(["text.jsonl"])
    Path("other.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(InputError, match="row 1 has no 'source'"):
        merged(["other.jsonl"])


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
