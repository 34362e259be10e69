"""Errors in tables say what to do, in the table's own words."""

from pathlib import Path

import pandas as pd
import pytest

from rpsr import InputError
from rpsr.learning import LastKTable
from rpsr.logs import Columns, from_frame, from_records, read_logs

HEAD = "episode,step,action,observation,reward\n"
ROWS = ["m1,1,run,good,1", "m1,2,run,bad,2", "m2,1,run,good,0", "m2,2,run,bad,1"]


def refused(text, *, encoding="utf-8", **options):
    """What is said about a CSV file."""
    Path("log.csv").write_bytes(text.encode(encoding))
    with pytest.raises(InputError) as caught:
        read_logs("log.csv", **options)
    return str(caught.value)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("role", ["action", "observation"])
def test_a_column_that_is_not_found_can_be_named(role):
    named = f'columns={{"{role}": "NAME"}}'
    message = f"; name the column with --columns {role}=NAME, in Python {named} of read_logs or "
    message += "from_frame"
    assert refused(HEAD.replace(role, "x") + ROWS[0]).endswith(message)
    frame = pd.DataFrame({"episode": [0], "action": ["a"], "observation": ["o"]})
    with pytest.raises(InputError) as caught:
        LastKTable().fit(frame.rename(columns={role: "x"}))
    message = f"; name the column: log = rpsr.logs.from_frame(frame, {named}), then fit(log)"
    assert str(caught.value).endswith(message)
    assert "name the column with" not in refused(HEAD + ROWS[0], columns=Columns(**{role: "y"}))


def test_rewards_that_are_not_found_can_be_named():
    frame = pd.DataFrame({"episode": range(9), "action": ["a"] * 9, "observation": ["o"] * 9})
    for estimator in ("LastKTable", "SpectralRPSR", "EMRPSR"):
        import rpsr.learning

        with pytest.raises(InputError, match=r"no rewards.* --columns reward=NAME, in Python"):
            getattr(rpsr.learning, estimator)().fit(frame)


def test_an_unknown_role_is_refused_with_the_known_ones():
    with pytest.raises(
        InputError, match="Columns: read 'observaton', expected one of the roles episode,"
    ):
        Columns(observaton="x")
    assert Columns("e", action="a") == Columns(episode="e", action="a")
    for role, name, message in (
        ("acton", "x", "state; did you mean action?"),
        ("obs", "x", "state; did you mean observation?"),
        ("measure", "action", "read 'measure', expected the role first: action=measure"),
    ):
        with pytest.raises(InputError) as caught:
            Columns(**{role: name})
        assert str(caught.value).endswith(message)


def test_columns_may_be_a_dictionary():
    frame = pd.DataFrame({"episode": [0, 0], "drug": ["a", "b"], "observation": ["o", "o"]})
    assert from_frame(frame, columns={"action": "drug"}).action_names == ("a", "b")
    records = frame.to_dict("records")
    assert from_records(records, columns={"action": "drug"}).action_names == ("a", "b")
    frame.to_csv("log.csv", index=False)
    assert read_logs("log.csv", columns={"action": "drug"}).action_names == ("a", "b")
    for wrong, message in (
        (["drug"], "columns: read list ['drug'], expected roles and names, such as {\"action\": "),
        ({"action": 3}, "Columns: action: read 3, expected the name of a column"),
        ({"drug": "action"}, "Columns: read 'drug', expected the role first: action=drug"),
    ):
        with pytest.raises(InputError) as caught:
            from_frame(frame, columns=wrong)
        assert str(caught.value).startswith(message)


def test_a_misspelt_column_is_guessed_from_all_columns():
    head = "pond,day,cut,lab,measure,dead,Profit\n"
    columns = Columns("pond", "day", "measure", "lab", reward="proft")
    assert refused(head + "a,0,x,y,z,0,1", columns=columns) == (
        "log.csv: has no column 'proft' for the reward; its columns are pond, day, cut, lab, "
        "measure, dead, Profit; did you mean 'Profit'?"
    )
    message = refused(",".join(f"x{i}" for i in range(30)) + "\n")
    assert "x18, x19, ... (30 in all); name the column" in message


def test_whole_numbers_with_a_gap_are_said_to_be_missing():
    frame = pd.DataFrame({"action": ["a"] * 9, "observation": [0, 1, None, 2, 1, None, 0, 1, 2]})
    with pytest.raises(InputError) as caught:
        from_frame(frame)
    assert str(caught.value) == (
        "DataFrame: column 'observation': read nothing in rows 2, 5 (iloc), expected a value for "
        "the observation; the missing values made the whole numbers of this column decimal "
        "(double); if nothing was observed there, make that an observation of its own: "
        "frame['observation'].fillna(-1).astype(int)"
    )
    frame["observation"] = frame["observation"].fillna(-1).astype(int)
    assert from_frame(frame).observation_names == ("-1", "0", "1", "2")
    frame["action"] = [1.0, None, *range(7)]
    with pytest.raises(InputError, match=r"in row 1 \(iloc\).*; cut the episode before an unknown"):
        from_frame(frame)
    frame["action"] = [1.5, None, *range(7)]
    with pytest.raises(InputError, match="read decimal numbers"):
        from_frame(frame)


def test_ends_and_columns_without_a_name():
    head = "episode,action,observation,terminated\n"
    assert "expected a value for `terminated`" in refused(head + "0,a,o,\n")
    assert "read 'yes', expected true or false, or 1 or 0" in refused(head + "0,a,o,yes\n")
    pd.DataFrame({"episode": [0], "action": ["a"], "observation": ["o"]}).to_csv("log.csv")
    with pytest.warns(UserWarning, match=r"ignored a column without a name \(the index of pandas"):
        read_logs("log.csv")


def test_rows_that_are_not_sorted_are_said_to_be():
    mixed = [ROWS[0], ROWS[2], ROWS[1], ROWS[3]]
    assert refused(HEAD + "\n".join(mixed)) == (
        "log.csv:4: episode m1, step 2: column 'step': read '2', expected 1 in the first row of an "
        "episode; if an earlier episode continues here, sort the rows by episode and step"
    )
    assert refused(HEAD + "\n".join([ROWS[0], "m1,3,run,bad,2"])) == (
        "log.csv:3: episode m1, step 3: column 'step': read '3', expected 2; a row is missing, or "
        "the rows are not sorted: sort the rows by episode and step"
    )
    assert refused(HEAD + "m1,7,run,bad,2").endswith("; sort the rows by episode and step")


def test_places_have_the_names_of_the_table():
    for wrong in ("m2,2,run,,1", "m2,2,run,bad,x"):
        assert refused(HEAD + "\n".join([*ROWS[:3], wrong])).startswith(
            "log.csv:5: episode m2, step 2: column "
        )
    frame = pd.DataFrame(
        {"episode": ["a", "b"], "step": [1, 1], "action": [0, 0], "observation": ["o", None]},
        index=[10, 11],
    )
    with pytest.raises(InputError) as caught:
        from_frame(frame)
    assert str(caught.value).startswith("DataFrame: row 1 (iloc): episode b, step 1: column 'obs")
    with pytest.raises(InputError) as caught:
        from_frame(frame.fillna("o").assign(reward=[0.0, float("inf")]))
    assert str(caught.value).startswith("DataFrame: row 1 (iloc): episode b, step 1: column 'rew")


def test_whole_numbers_with_decimals_are_not_measurements():
    head, whole = "action,observation\n", "write whole numbers without decimals"
    assert whole in refused(head + "0.0,a\n1.0,b\n")
    assert "KBinsDiscretizer" in refused(head + "0.5,a\n1.0,b\n")
    frame = pd.DataFrame({"action": [0.0, 1.0], "observation": ["a", "b"]})
    with pytest.raises(InputError, match=r"make the column integer \(in pandas: fill"):
        from_frame(frame)
    with pytest.raises(InputError, match=whole):
        from_records(frame.to_dict("records"))


def test_a_decimal_comma_is_recognised():
    message = refused("action;observation;reward\nrun;good;-1,0\n")
    assert message.endswith("; write a decimal point, not a comma")
    assert "comma" not in refused("action;observation;reward\nrun;good;x,0\n")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_say_what_to_save(encoding):
    message = refused("action,observation\nöffnen,gut\n", encoding=encoding)
    assert message.endswith("; save the file as UTF-8")
    assert ("UTF-16" in message) is (encoding == "utf-16")


def test_line_ends_and_quotes_are_named():
    assert refused("action,observation\rrun,good\r").endswith(
        "not CSV: a line ends in \\r alone; save the file with the line ends \\n or \\r\\n"
    )
    message = 'log.csv:3: not CSV: a quote (") that begins in this row is not closed'
    assert refused('action,observation\nrun,good\n"run,good\nrun,bad\n') == message


def test_empty_files_are_all_said_to_be_empty():
    for text in ("", "\n", "\n  \n"):
        message = refused(text)
        assert message == "log.csv: is empty, expected a line with the names of columns"
    message = "log.csv:1: the line is empty, expected the names of columns"
    assert refused("\naction,observation\n") == message
