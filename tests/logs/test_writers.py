"""Logs on disk: what the forms say, read back by other programs' readers."""

import csv
import gzip
import json
import sys

import numpy as np
import pytest

from rpsr import InputError
from rpsr.logs import Trajectories, write_logs
from rpsr.logs.writers import ROW_GROUP


def make(**changes):
    columns = {
        "action_names": ("go left", 'sa"y'),
        "observation_names": ("dünn", "x"),
        "actions": [0, 1, 1, 0, 0],
        "observations": [0, 0, 1, 1, 0],
        "rewards": [0.1, 1e-30, -1.0, 0.5, 2.0],
        "offsets": [0, 3, 5],
        "terminated": [True, False],
    }
    return Trajectories(**(columns | changes))


EPISODES = [
    {
        "actions": ["go left", 'sa"y', 'sa"y'],
        "observations": ["dünn", "dünn", "x"],
        "rewards": [0.1, 1e-30, -1.0],
        "terminated": True,
    },
    {
        "actions": ["go left", "go left"],
        "observations": ["x", "dünn"],
        "rewards": [0.5, 2.0],
        "terminated": False,
    },
]


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "log.jsonl.gz", "LOG.NDJSON.GZ"])
def test_json_lines(tmp_path, name):
    path = tmp_path / name
    write_logs(make(), path)
    content = path.read_bytes()
    text = gzip.decompress(content) if name.lower().endswith(".gz") else content
    assert [json.loads(line) for line in text.decode().splitlines()] == EPISODES
    write_logs(iter([make(), make()]), path)
    again = path.read_bytes()
    again = gzip.decompress(again) if name.lower().endswith(".gz") else again
    assert again == text * 2


def test_the_same_log_is_the_same_bytes(tmp_path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_logs(make(), tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_optional_columns(tmp_path):
    log = make(rewards=None, propensities=[0.5, 1.0, 1 / 3, 1.0, 1.0], states=[4, 0, 2, 9, 1])
    write_logs(log, tmp_path / "log.jsonl")
    first, second = map(json.loads, (tmp_path / "log.jsonl").read_text("utf-8").splitlines())
    assert first.keys() == {"actions", "observations", "propensities", "states", "terminated"}
    assert first["propensities"] == [0.5, 1.0, 1 / 3]
    assert second["states"] == [9, 1]


def test_standard_output(capfdbinary):
    write_logs(make(), "-")
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [json.loads(line) for line in lines] == EPISODES


def test_names_do_not_steer_a_terminal(open_terminal):
    terminal = open_terminal()
    write_logs(make(observation_names=("up\u202e", "x")), "-")
    assert terminal.getvalue().isascii()
    first = json.loads(terminal.getvalue().splitlines()[0])
    assert first["observations"] == ["up\u202e", "up\u202e", "x"]


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    log = make(states=[4, 0, 2, 9, 1], propensities=[0.5, 1.0, 1.0, 1.0, 1.0])
    write_logs([log, log], tmp_path / "log.parquet")
    table = parquet.read_table(tmp_path / "log.parquet").to_pydict()
    assert list(table) == [
        *("episode", "step", "action", "observation", "reward", "propensity", "state"),
        "terminated",
        "truncated",
    ]
    assert table["episode"] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert table["step"] == [0, 1, 2, 0, 1] * 2
    assert table["action"] == [name for e in EPISODES * 2 for name in e["actions"]]
    assert table["observation"] == [name for e in EPISODES * 2 for name in e["observations"]]
    assert table["reward"] == [r for e in EPISODES * 2 for r in e["rewards"]]
    assert table["terminated"] == [False, False, True, False, False] * 2
    assert table["state"] == [4, 0, 2, 9, 1] * 2


def test_parquet_is_written_in_groups(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    steps = ROW_GROUP // 2
    half = make(
        actions=np.zeros(steps), observations=np.zeros(steps), rewards=None,
        offsets=[0, 1, steps], terminated=[False, False],
    )  # fmt: skip
    write_logs((half for _ in range(5)), tmp_path / "log.parquet")
    file = parquet.ParquetFile(tmp_path / "log.parquet")
    assert (file.num_row_groups, file.metadata.num_rows) == (3, 5 * steps)


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow: pip install 'rpsr\[data\]'"):
        write_logs(make(), tmp_path / "log.parquet")


@pytest.mark.parametrize(("name", "separator"), [("log.csv", ","), ("log.TSV.gz", "\t")])
def test_csv_as_the_standard_library_reads_it(tmp_path, name, separator):
    log = make(observation_names=(" dünn;", 'a"b'), truncated=[True, True])
    write_logs([log, log], tmp_path / name)
    content = (tmp_path / name).read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    rows = list(csv.DictReader(text.decode().splitlines(), delimiter=separator))
    assert [row["episode"] for row in rows] == [*"0001122233"]
    assert [row["step"] for row in rows] == [*"0120101201"]
    assert [row["action"] for row in rows] == [n for e in EPISODES * 2 for n in e["actions"]]
    assert [row["observation"] for row in rows[:3]] == [" dünn;", " dünn;", 'a"b']
    assert [float(row["reward"]) for row in rows[:5]] == [0.1, 1e-30, -1.0, 0.5, 2.0]
    assert [row["terminated"] for row in rows[:5]] == ["false", "false", "true", "false", "false"]
    assert [row["truncated"] for row in rows[:5]] == ["false", "false", "true", "false", "true"]


# ---- nothing half-written


def failing():
    yield make()
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "name", ["log.jsonl", "log.jsonl.gz", "log.parquet", "log.csv", "log.csv.gz"]
)
def test_what_is_interrupted_is_not_written(tmp_path, name):
    (tmp_path / name).write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_logs(failing(), tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


@pytest.mark.parametrize(
    ("logs", "name", "message"),
    [
        (make(), "log.xls", "expected a name ending in .jsonl"),
        (make(action_names=("NA", "b")), "log.csv", "action 'NA' would be read as a missing value"),
        (make(action_names=("0.5", "1")), "log.csv", "would be read as decimal numbers from CSV"),
        (make(offsets=[0, 0, 5]), "log.csv", "episode 0 has no step"),
        (make(), "no/such/folder.jsonl", "cannot be written"),
        (
            [make(), make(rewards=None)],
            "log.jsonl",
            "the logs differ in action names, observation names or columns",
        ),
        ([], "log.parquet", "no episodes"),
        (make(offsets=[0, 0, 5]), "log.parquet", "episode 0 has no step"),
    ],
)
def test_refusals(tmp_path, logs, name, message):
    with pytest.raises(InputError, match=message):
        write_logs(logs, tmp_path / name)
    assert not list(tmp_path.iterdir())
