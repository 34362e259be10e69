"""What `rpsr learn` reads: files, folders, tables, standard input, and what is wrong with them."""

import gzip
import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from rpsr.cli.app import main


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-o", "m.txt", "--discount", "0.9"], 1, "ending in .rpsr"),
        (["-o", "m.rpsr", "--discount", "1.5"], 2, "discount"),
        (
            ["-o", "m.rpsr"],
            1,
            "--discount: missing; give one, such as --discount 0.95",
        ),
        (["-o", "m.rpsr", "--discount", "0.9", "--goal", "x"], 1, "--discount: expected without"),
        (["-o", "m.rpsr", "--goal", "!x"], 1, "no observation is called 'x'"),
        (["-o", "m.rpsr", "--goal", "x"], 1, "goal: no observation is called 'x'; the names are"),
        (["-o", "m.rpsr", "--avoid", "x"], 1, "--avoid: expected with --goal"),
        (
            ["-o", "m.rpsr", "--goal", "x", "--plan", "p.json"],
            1,
            "--plan compares plans by discounted returns, and --goal, --maximise and --minimise do "
            "not discount",
        ),
        (["-o", "m.rpsr", "--discount", "1", "--plan", "p.json"], 1, "and --discount is 1"),
        (
            ["-o", "m.rpsr", "--discount", "0.9", "--rank", "none"],
            2,
            "auto or a whole number of at least 1",
        ),
        (["-o", "m.rpsr", "--discount", "0.9", "--estimator", "magic"], 2, "magic"),
        (
            ["-o", "m.rpsr", "--discount", "0.9", "--columns", "act=a"],
            2,
            "one of the roles episode, step",
        ),
        (["-o", "m.rpsr", "--discount", "0.9", "--columns", "action"], 2, "expected ROLE=NAME"),
        (["-o", "m.rpsr", "--discount", "0.9", "--columns", "acton=a"], 2, "did you mean action?"),
        (["-o", "m.rpsr", "--discount", "0.9", "--columns", "a=action"], 2, "role first: action=a"),
        (["-o", "m.rpsr", "--discount", "0.9", "--columns", "step=a,step=b"], 2, "step twice"),
        (
            ["-o", "m.rpsr", "--discount", "0.9", "--columns", "step=t"],
            1,
            "but only tables have columns",
        ),
    ],
)
def test_wrong_words_are_refused_in_one_line(words, code, said, log, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", str(log), *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tiger"], "tiger is a built-in domain: 'rpsr simulate tiger -o log.csv' writes a log"),
        (
            ["table.txt"],
            "table.txt:1:1: not JSON: Expecting value; expected one episode per line "
            "(read as JSON lines; for a table use a name that ends in .csv or .parquet)",
        ),
        (["one.jsonl"], "one.jsonl: read 1 episode, expected at least 5"),
        (
            ["one.jsonl", "--estimator", "last-k", "--time-limit", "3"],
            "--time-limit does not apply to last-k, only to em",
        ),
    ],
)
def test_what_is_no_log_or_no_option_is_said_with_what_to_do(words, said, say):
    Path("table.txt").write_text("action,observation\na,o\n")
    Path("one.jsonl").write_text('{"actions": ["a"], "observations": ["o"], "rewards": [1]}\n')
    code, _, error = say("learn", *words, "-o", "m.rpsr", "--discount", "0.9")
    assert (code, error.count("\n")) == (1, 1)
    assert said in error


def test_columns_of_a_table_may_have_names_of_their_own(tmp_path, say):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    assert say("simulate", "tiger", "-o", "t.parquet", "--episodes", "20", "--steps", "5")[0] == 0
    table = parquet.read_table("t.parquet")
    theirs = {"action": "what was done", "reward": "gain"}
    names = [theirs.get(name, name) for name in table.column_names]
    parquet.write_table(arrow.table(table.columns, names), "u.parquet")
    words = ["-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k", "--json"]
    expected = json.loads(say("learn", "t.parquet", *words)[1])
    columns = ("--columns", "action=what was done, reward = gain")
    read = json.loads(say("learn", "u.parquet", *words, *columns)[1])
    assert read["heldout"] == expected["heldout"]
    code, _, error = say("learn", "u.parquet", *words, "--columns", "action=act")
    assert code == 1
    assert "u.parquet: has no column 'act' for the action; its columns are episode, step" in error


def test_a_csv_file_with_columns_of_its_own(say, log):
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    rows = ["patient,ward,drug,test,gain"]
    for patient, line in enumerate(lines):
        steps = zip(line["actions"], line["observations"], line["rewards"], strict=True)
        rows += [f"p{patient},7,{drug},{test},{gain}" for drug, test, gain in steps]
    Path("log.csv").write_text("\n".join(rows))
    Path("log.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    words = ["-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k", "--json"]
    columns = ("--columns", "episode=patient,action=drug,observation=test,reward=gain")
    expected = json.loads(say("learn", str(log), *words)[1])
    for file in ("log.csv", "log.csv.gz"):
        code, out, error = say("learn", file, *words, *columns)
        assert (code, json.loads(out)["heldout"]) == (0, expected["heldout"])
        assert error.count("ignored 'ward'") == 1
    Path("log.csv").write_text("\n".join([*rows, "p99,7,left,0.5,"]))
    code, _, error = say("learn", "log.csv", *words, *columns)
    assert (code, error.count("\n")) == (1, 1)
    line = f"log.csv:{len(rows) + 1}: episode p99, step 0: column 'gain': read nothing"
    assert line in error


def test_a_log_without_rewards_is_named_with_the_way_out(say):
    Path("log.csv").write_text("episode,action,observation,gain\n" + "a,go,x,1\n")
    words = ("learn", "log.csv", "-o", "m.rpsr", "--discount", "0.9")
    code, _, error = say(*words)
    assert code == 1
    assert "log.csv: the log has no rewards, expected rewards for learning; if the log" in error
    assert "name the column with --columns reward=NAME" in error


def test_what_a_folder_holds_and_is_not_read_is_said(log, say):
    folder = Path("logs")
    (folder / "older").mkdir(parents=True)
    (folder / "log.jsonl").write_bytes(log.read_bytes())
    words = ["-o", "m.rpsr", "--discount", "0.9", "--estimator", "last-k"]
    code, _, error = say("learn", "logs", *words)
    assert code == 0
    assert "rpsr: logs: skipped older/; logs have names ending in .jsonl" in error
    (folder / "other.jsonl").write_text('{"actions": ["a"], "observations": ["x"], "rewards": [1]}')
    code, _, error = say("learn", "logs", *words)
    assert code == 1
    place = folder / "other.jsonl"
    assert error.startswith(f"rpsr: {place}: has no name in common with ")


def test_a_broken_log_is_named_by_its_line(tmp_path, capsys):
    path = tmp_path / "log.jsonl"
    path.write_text('{"actions": ["a"], "observations": ["x"], "rewards": [1]}\n{"actions": 3}\n')
    assert main(["learn", str(path), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9"]) == 1
    assert "log.jsonl:2" in capsys.readouterr().err
    path.write_text('{"actions": ["a", "a"], "observations": ["x", "x"]}\n')
    assert main(["learn", str(path), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9"]) == 1
    assert "no rewards" in capsys.readouterr().err


@pytest.fixture
def piped(monkeypatch):
    """Put bytes on standard input."""
    return lambda content: monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(content)))


def test_a_log_comes_through_a_pipe(log, say, piped):
    words = ["--discount", "0.9", "--estimator", "last-k", "--json", "-o", "m.rpsr"]
    expected = json.loads(say("learn", str(log), *words)[1])
    for content in (log.read_bytes(), gzip.compress(log.read_bytes())):
        piped(content)
        code, out, _ = say("learn", "-", *words, "--report", "p.html")
        document = json.loads(out)
        assert (code, document.pop("source"), document.pop("seconds") > 0) == (0, ["-"], True)
        assert document.items() <= expected.items()
    assert "A model learned from &lt;stdin&gt;" in Path("p.html").read_text()


def test_a_file_may_be_called_like_standard_input(log, say, piped, monkeypatch):
    piped(b"")
    Path("-").write_bytes(log.read_bytes())
    words = ["--discount", "0.9", "--estimator", "last-k", "-o", "m.rpsr"]
    assert say("learn", "./-", *words)[0] == 0
    monkeypatch.setattr("sys.stdin", None)
    code, _, error = say("learn", "-", *words)
    assert (code, error) == (1, "rpsr: <stdin>: standard input is closed\n")


def test_a_pipe_beside_a_file_is_one_log(log, say, piped):
    lines = log.read_bytes().splitlines(keepends=True)
    Path("half.jsonl").write_bytes(b"".join(lines[:30]))
    piped(b"".join(lines[30:]))
    words = ["--discount", "0.9", "--estimator", "last-k", "--json", "-o", "m.rpsr"]
    document = json.loads(say("learn", "half.jsonl", "-", *words)[1])
    expected = json.loads(say("learn", str(log), *words)[1])
    assert document["heldout"] == expected["heldout"]
    code, _, error = say("learn", "-", "half.jsonl", "-", *words)
    assert (code, error.startswith("rpsr: read '-' twice")) == (1, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'{"actions": [0], "observations": [0]}\n{"actions": 3}\n',
            "<stdin>:2: episode 1: actions",
        ),
        (b'{"actions": [0], "observations": [-1]}', "<stdin>:1: episode 0, step 0: observation"),
        (b"", "<stdin>: the log has no episodes"),
        (b"PAR1", "<stdin>:1:1: not JSON"),
        (b"\x1f\x8bno", "<stdin>: broken gzip"),
    ],
)
def test_what_is_wrong_in_a_pipe_is_named_by_its_line(content, said, say, piped):
    piped(content)
    code, _, error = say("learn", "-", "-o", "m.rpsr", "--discount", "0.9")
    assert code == 1
    assert error.startswith(f"rpsr: {said}")
    assert error.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_an_empty_log_is_named(tmp_path, capsys):
    path = tmp_path / "empty.jsonl"
    path.touch()
    assert main(["learn", str(path), "-o", str(tmp_path / "m.rpsr"), "--discount", "0.9"]) == 1
    assert "empty.jsonl: the log has no episodes" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--estimator", "em", "--behaviour", "logged"], "--behaviour does not apply to em, only"),
        (["--estimator", "last-k", "--plan", "p.json", "--discount", "1"], "and --discount is 1"),
        (["--estimator", "last-k", "--plan", "p.json", "--goal", "x"], "do not discount"),
    ],
)
def test_wrong_parameters_are_refused_before_a_log_is_read(words, said, say, monkeypatch):
    """A log may take minutes to read."""
    monkeypatch.setattr("rpsr.logs.open_logs", None)
    discount = [] if {"--discount", "--goal"} & set(words) else ["--discount", "0.9"]
    Path("log.jsonl").touch()
    code, _, error = say("learn", "log.jsonl", "-o", "m.rpsr", *discount, *words)
    assert (code, said in error, error.count("\n")) == (1, True, 1)
