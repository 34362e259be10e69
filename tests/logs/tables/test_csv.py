"""Logs in CSV files: what is read, by which names, and what is said about a bad one."""

import gzip
import tracemalloc

import pytest
from tests.logs.written import same, write

from rpsr.errors import InputError
from rpsr.logs import Columns, read_logs, stream_logs, write_logs
from rpsr.logs.tables import csv_files, row_blocks

HEAD = "episode,action,observation,reward\n"


def csv(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


EPISODES = [
    {"actions": ["go", "stay"], "observations": ["x", "y, z"], "rewards": [0, -1.5]},
    {"actions": ["go"], "observations": ["x"], "rewards": [100], "terminated": True},
]
TABLE = """patient,drug,test,gain,terminated
ann,go,x,0,false
ann,stay,"y, z",-1.5,false
bob,go,x,1e2,true
"""
NAMES = Columns(episode="patient", action="drug", observation="test", reward="gain")


def test_csv_and_json_lines_say_the_same(tmp_path):
    lines = read_logs(write(tmp_path / "a.jsonl", *EPISODES))
    assert same(read_logs(csv(tmp_path / "a.csv", TABLE), columns=NAMES), lines)
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(TABLE.encode()))
    assert same(read_logs(packed, columns=NAMES), lines)
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"b\.csv\.gz: broken gzip"):
        read_logs(packed, columns=NAMES)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_files_as_spreadsheets_write_them(tmp_path, separator, end, encoding):
    lines = read_logs(write(tmp_path / "a.jsonl", *EPISODES))
    text = TABLE.replace("y, z", "@").replace(",", separator).replace("@", "y, z")
    file = csv(tmp_path / "a.csv", text.replace("\n", end), encoding)
    assert same(read_logs(file, columns=NAMES), lines)


@pytest.mark.parametrize(
    "header",
    [
        "episode,step,action,observation,reward,terminated",
        "Episode ID,t,act,obs,rew,terminal",
        "trajectory,TimeStep,Actions,Observations,Rewards,terminals",
    ],
)
def test_usual_names_of_columns_are_understood(tmp_path, header):
    log = read_logs(
        csv(tmp_path / "a.csv", header + "\n7,1,go,x,1,0\n7,2,go,y,2,1\n9,1,go,x,3,0\n")
    )
    assert log.lengths.tolist() == [2, 1]
    assert log.rewards.tolist() == [1, 2, 3]
    assert log.terminated.tolist() == [True, False]


def test_a_column_has_one_role(tmp_path):
    """One that is named for a role is not taken for another by its usual name."""
    file = csv(tmp_path / "a.csv", "episode,action,state\n1,go,3\n1,go,4\n")
    log = read_logs(file, columns=Columns(observation="state"))
    assert (log.observation_names, log.states) == (("3", "4"), None)
    file = csv(tmp_path / "a.csv", "episode,action,obs,observations\n1,go,3,3\n")
    with pytest.raises(
        InputError, match="'obs' and 'observations' could both be the observation; name"
    ):
        read_logs(file)
    assert read_logs(csv(tmp_path / "b.csv", "action,obs,state\ngo,3,7\n")).states.tolist() == [7]
    with pytest.warns(UserWarning, match="ignored 'state'"):  # of a country, say
        log = read_logs(csv(tmp_path / "a.csv", "episode,action,obs,state\n1,go,3,Ohio\n"))
    assert log.states is None


def test_where_episodes_end_without_a_column_for_them(tmp_path):
    one = csv(tmp_path / "a.csv", "action,obs\n" + "go,x\n" * 5)
    assert read_logs(one).lengths.tolist() == [5]
    ends = csv(tmp_path / "b.csv", "action,obs,terminated,timeout\n" + "go,x,0,0\n" * 2)
    with ends.open("a") as file:
        file.write("go,x,1,0\ngo,x,0,1\ngo,x,0,0\ngo,x,1,1\n")
    log = read_logs(ends)
    assert log.lengths.tolist() == [3, 1, 2]
    assert log.terminated.tolist() == [True, False, True]
    assert log.truncated.tolist() == [False, True, True]
    steps = csv(tmp_path / "c.csv", "t,action,obs\n0,go,x\n1,go,x\n0,go,x\n")
    assert read_logs(steps).lengths.tolist() == [2, 1]
    unclear = csv(tmp_path / "d.csv", "patient,action,obs\nann,go,x\nbob,go,x\n")
    with pytest.raises(InputError, match="no column 'episode' for the episode; its columns are pa"):
        read_logs(unclear)


def test_whole_numbers_are_names_in_the_order_of_their_values(tmp_path):
    rows = "1,10,-3,0\n1,9,205,0\n1,101,7,0\n"
    log = read_logs(csv(tmp_path / "a.csv", HEAD + rows))
    assert (log.action_names, log.observation_names) == (("9", "10", "101"), ("-3", "7", "205"))
    names = [f"drug {i}" for i in range(102)]
    given = read_logs(tmp_path / "a.csv", action_names=names)
    assert given.actions.tolist() == [10, 9, 101]


def test_the_whole_column_decides_on_its_type(tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK", 2)
    words = csv(tmp_path / "a.csv", HEAD + "1,go,1,0\n1,go,2.5,0\n1,go,3,0\n1,go,high,0\n")
    assert read_logs(words).observation_names == ("1", "2.5", "3", "high")
    numbers = csv(
        tmp_path / "b.csv", HEAD + "1,go,1,0\n1,go,2,0\n1,go,3,0\n1,go,2.5,0\n1,go,0.5,0\n"
    )
    for act in (read_logs, lambda path: list(stream_logs(path))):
        with pytest.raises(InputError) as caught:
            act(numbers)
        expected = "episode 1, step 3: column 'observation': read '2.5', a decimal number, "
        assert str(caught.value).startswith(f"{numbers}:5: {expected}")
        assert "KBinsDiscretizer" in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,go,x,0\n1,go,,0\n1,go,x,0\n1,go,NA,0\n2,go,NaN,1\n",
         ":3: episode 1, step 1: column 'observation': read nothing, expected a value for the "
         "observation; also missing in lines 5, 6"),
        ("1,go,x,0\n,go,x,0\n", ":3: episode 1, step 0: column 'episode': read nothing"),
        ("1,go,x,one\n", ":2: episode 1, step 0: column 'reward': read 'one', expected a finite"),
        ('1,go,x,"1,5"\n', ":2: episode 1, step 0: column 'reward': read '1,5', expected a fin"),
        ("1,go,x,1e999\n", ":2: episode 1, step 0: column 'reward': read inf, expected a finite"),
        ("1,go,x,1_0\n", ":2: episode 1, step 0: column 'reward': read '1_0', expected a finite"),
        ("1,go,x,0\n\n1,go,x\n", ":4: read 3 values, expected 4, one per column"),
        ("1,go,x,0,0\n", ":2: read 5 values, expected 4, one per column"),
        ("# a remark\n", ":2: read 1 values, expected 4, one per column: '# a remark'"),
        ('1,"go,x,0\n1,go,x,0\n', ':2: not CSV: a quote (") that begins in this row is not closed'),
        ('1,"go"o,x,0\n', ":2: not CSV: "),
        ('1,"a\nb",x,0\n1,go,x,a\n', ":4: episode 1, step 1: column 'reward': read 'a'"),
        ("1,go,x,0\n2,go,x,0\n1,go,x,0\n",
         ":4: episode 1, step 0: column 'episode': read '1' again, expected all rows of an"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("block", [1, 2, 1000])
def test_what_is_wrong_is_said_with_line_and_column(tmp_path, monkeypatch, rows, message, block):
    monkeypatch.setattr(row_blocks, "BLOCK", block)
    file = csv(tmp_path / "a.csv", HEAD + rows)
    with pytest.raises(InputError) as caught:
        read_logs(file)
    assert str(caught.value).startswith(f"{file}{message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": is empty, expected a line with the names of columns"),
        (b"\n1,2\n", ":1: the line is empty, expected the names of columns"),
        (b"a,b,c\n1,2,3\n", ": has no column 'action' for the action; its columns are a, b, c"),
        (b"action,action,observation\n", ": has 2 columns 'action', expected one"),
        (HEAD.encode() + "1,größer,x,0\n".encode("latin-1"), ":2: not UTF-8: read the bytes"),
        (HEAD.encode("utf-16"), ":1: not UTF-8"),
        (HEAD.encode() + b'1,"' + b"a" * 200_000 + b'",x,0\n', ":2: not CSV: field larger than"),
        (HEAD.encode() + b"1," + b"," * 2**20, ":2: a row of more than 1,048,576 bytes"),
        (HEAD.encode() + b'"\n",' * 300_000, ": a row of more than 1,048,576 bytes: is a quote"),
    ],
)  # fmt: skip
def test_what_is_no_table(tmp_path, content, message):
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_logs(file)
    place, said = str(file), str(caught.value)
    assert said.startswith(place)
    assert message in said


def test_only_a_header_is_a_log_without_episodes(tmp_path):
    assert read_logs(csv(tmp_path / "a.csv", HEAD)).episodes == 0


# ---- memory


def test_a_long_file_is_passed_through_in_little_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "5MB")
    monkeypatch.setattr(row_blocks, "BLOCK", 2**10)
    path = tmp_path / "log.csv.gz"
    text = "step,action,observation,reward\n" + "0,go,x,1\n1,go,y,0\n" * 100_000
    path.write_bytes(gzip.compress(text.encode()))
    tracemalloc.start()
    assert sum(chunk.steps for chunk in stream_logs(path, chunk=2**10)) == 200_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 10**6  # the text alone has 1.8 million bytes
    with pytest.raises(InputError, match="steps or more: reading takes"):
        read_logs(path)


@pytest.mark.parametrize(
    "body", [b"1,go,x,0\n", b"1" * 1000, b'"\n",', b'"' + b"a" * 100_000 + b'\n",'], ids=repr
)
def test_an_episode_that_unpacks_to_more_than_the_limit(tmp_path, monkeypatch, body):
    monkeypatch.setenv("RPSR_READ_LIMIT", "30MB")
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(HEAD.encode() + body * (20 * 10**6 // len(body))))
    tracemalloc.start()
    message = f"rows up to the end of an episode|a row of more than {csv_files.LONGEST:,} bytes"
    try:
        with pytest.raises(InputError, match=message):
            list(stream_logs(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * 10**6


def test_names_that_look_like_formulas_are_text_to_spreadsheets_and_come_back(tmp_path):
    names = ["=1+1", "@a", "-north", "'=1+1", "+", "'tis"]
    episodes = [{"actions": names, "observations": names, "rewards": [0] * len(names)}]
    log = read_logs(write(tmp_path / "a.jsonl", *episodes))
    write_logs(log, tmp_path / "a.csv")
    rows = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert "'=1+1,'=1+1" in rows[0]
    assert not any(cell[:1] in ("=", "@") for row in rows for cell in row.split(","))
    assert same(read_logs(tmp_path / "a.csv"), log)
