"""`rpsr convert` on logs: any format to any other, and back to the same log."""

import gzip
from pathlib import Path

import pytest
from tests.logs.written import same

from rpsr.logs import read_logs


@pytest.mark.parametrize("name", ["b.csv", "b.csv.gz", "b.tsv", "b.parquet", "b.ndjson.gz"])
def test_there_and_back_again(say, log, name):
    pytest.importorskip("pyarrow")
    assert say("convert", str(log), name)[::2] == (0, f"rpsr: wrote {name}\n")
    assert same(read_logs(name), read_logs(log))
    assert say("convert", name, "c.jsonl")[0] == 0
    assert Path("c.jsonl").read_bytes() == log.read_bytes()


def test_columns_of_the_source_are_named(say):
    Path("a.csv").write_text("patient,ward,drug,test\nann,3,go,x\nann,3,go,y\nbob,4,stay,x\n")
    code, _, error = say("convert", "a.csv", "b.csv")
    assert (code, error.count("\n")) == (1, 1)
    assert "a.csv: has no column 'action' for the action; its columns are patient, ward" in error
    columns = ("--columns", "episode=patient,action=drug,observation=test")
    code, _, error = say("convert", "a.csv", "b.csv", *columns)
    assert code == 0
    assert "a.csv: ignored 'ward'; the names that are read are episode, step" in error
    assert Path("b.csv").read_text() == (
        "episode,step,action,observation,terminated,truncated\n"
        "0,0,go,x,false,false\n0,1,go,y,false,true\n1,0,stay,x,false,true\n"
    )


def test_a_log_may_replace_itself_and_a_bad_one_replaces_nothing(say):
    Path("a.csv").write_text("episode,action,obs\n1,go,x\n")
    assert say("convert", "a.csv", "a.csv")[0] == 0
    before = Path("a.csv").read_text()
    assert before.startswith("episode,step,action,observation")
    Path("b.csv").write_text("episode,action,obs\n1,go,x\n1,go,\n")
    code, _, error = say("convert", "b.csv", "a.csv")
    assert (code, Path("a.csv").read_text()) == (1, before)
    assert error.startswith("rpsr: b.csv:3: episode 1, step 1: column 'obs': read nothing")
    code, out, _ = say("convert", "a.csv", "-")
    assert (code, out.startswith('{"actions": ["go"], "observations": ["x"]')) == (0, True)
    assert sorted(path.name for path in Path().iterdir()) == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.jsonl", "b.pomdp"], "b.pomdp: expected a name ending in .jsonl"),
        (["tiger", "b.csv"], "tiger: no such file or folder"),
        (["a.jsonl", "b.csv", "--model", "psr"], "are for models, not for logs"),
        (
            ["tiger", "b.rpsr", "--columns", "action=a"],
            "tiger: --columns applies only to logs in .csv or .parquet files",
        ),
        (["a.jsonl", "b.csv", "--columns", "action=a"], "but only tables have columns"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(say, log, words, said):
    Path("a.jsonl").write_bytes(log.read_bytes())
    code, _, error = say("convert", *words)
    assert (code, error.count("\n"), said in error) == (1, 1, True), error
    assert [path.name for path in Path().iterdir()] == ["a.jsonl"]


def test_a_broken_archive(say):
    Path("a.csv.gz").write_bytes(gzip.compress(b"episode,action,obs\n1,go,x\n")[:-5])
    code, _, error = say("convert", "a.csv.gz", "b.jsonl")
    assert (code, error.startswith("rpsr: a.csv.gz: broken gzip")) == (1, True)
