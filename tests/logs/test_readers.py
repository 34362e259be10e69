"""Logs in files: what is read, in which order, and what is said about a bad one."""

import gzip
import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.written import GOOD, same, write

from rpsr.errors import InputError
from rpsr.logs import Trajectories, from_arrays, open_logs, read_logs, readers, stream_logs
from rpsr.logs.families import Families
from rpsr.logs.readers import join
from rpsr.logs.stream import LogStream


def test_names_are_sorted_and_columns_kept(tmp_path):
    other = {"actions": ["left"], "observations": ["dark"], "rewards": [-1], "propensities": [1]}
    log = read_logs(write(tmp_path / "a.jsonl", GOOD, other))
    assert log.action_names == ("left", "right")
    assert log.observation_names == ("dark", "light")
    assert log.actions.tolist() == [1, 0, 0]
    assert log.rewards is not None
    assert log.rewards.tolist() == [0, 1.5, -1]
    assert log.terminated.tolist() == [True, False]  # a recording that says nothing was cut off


def test_a_task_may_end_at_the_last_step_allowed(tmp_path):
    cut = {"actions": ["go"], "observations": ["x"], "truncated": True}
    both = cut | {"terminated": True}  # the last step allowed was also the end of the task
    log = read_logs(write(tmp_path / "a.jsonl", cut, both))
    assert log.terminated.tolist() == [False, True]
    assert log.truncated.tolist() == [True, True]
    silent = {"actions": ["go"], "observations": ["x"], "truncated": False, "terminated": False}
    assert read_logs(write(tmp_path / "a.jsonl", silent)).truncated.tolist() == [True]


def test_indices_count_up_to_the_largest_of_all_files(tmp_path):
    write(tmp_path / "a.jsonl", {"actions": [0], "observations": [2]})
    write(tmp_path / "b.jsonl", {"actions": [1], "observations": [0]})
    log = read_logs(tmp_path)
    assert (log.action_names, log.observation_names) == (("0", "1"), ("0", "1", "2"))
    assert log.rewards is None
    assert log.propensities is None


def test_given_names_keep_their_order_and_allow_indices_beside_names(tmp_path):
    file = write(tmp_path / "a.jsonl", {"actions": ["b", 1], "observations": [0, 0]})
    log = read_logs(file, action_names=["b", "a"], observation_names=["x"])
    assert log.actions.tolist() == [0, 1]


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=4), max_size=6
    ),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_splitting_a_log_into_files_and_chunks_changes_nothing(
    tmp_path_factory, episodes, files, chunk
):
    folder, elsewhere = (tmp_path_factory.mktemp("logs") for _ in range(2))
    records = [
        {
            "actions": [a for a, _ in pairs],
            "observations": [o for _, o in pairs],
            "rewards": [float(i) for i in range(len(pairs))],
        }
        for pairs in [[*zip("abc", "xyz", strict=True)], *episodes]  # every file has a relative
    ]
    whole = read_logs(write(elsewhere / "whole.txt", *records))
    cuts = np.array_split(np.arange(len(records)), files)
    for i, cut in enumerate(cuts):
        write(folder / f"{i}.jsonl", *(records[k] for k in cut))
    parts = list(stream_logs(folder, chunk=chunk))
    assert same(whole, join(parts))
    stream = stream_logs(folder, chunk=chunk)
    assert [p.steps for p in stream] == [p.steps for p in stream]  # it can be gone through again


def test_gzip(tmp_path):
    plain = write(tmp_path / "a.jsonl", GOOD)
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert same(read_logs(plain), read_logs(packed))
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"b\.jsonl\.gz: broken gzip"):
        read_logs(packed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": ["left"]}, "episode 1: observations: read 2 values, expected 1"),
        ({"actions": "left"}, 'episode 1: actions: read "left", expected a list'),
        ({"observations": None}, "episode 1: observations: read nothing, expected a list"),
        (
            {"actions": ["left", 1]},
            "episode 1, step 1: action: read 1, expected a name, like the values before",
        ),
        ({"actions": ["left", True]}, "step 1: action: read True"),
        ({"observations": ["dark", 0.5]}, "step 1: observation: read 0.5"),
        ({"rewards": [0, "1"]}, "episode 1, step 1: rewards: read '1', expected a finite number"),
        ({"rewards": [float("nan"), 0]}, "step 0: rewards: read nan"),
        ({"propensities": [0, 1]}, "step 0: propensities: read 0, expected a probability above 0"),
        (
            {"propensities": [1, 1.5]},
            "propensities: read 1.5, expected a probability above 0, at most 1",
        ),
        ({"propensities": None}, "read no propensities, but the first episode has them: expected"),
        ({"propensities": [None, 1]}, "read None, expected a probability above 0"),
        ({"rewards": None}, "episode 1: read no rewards, but the first episode has them: expected"),
        ({"terminated": 1}, "terminated: read 1, expected true or false"),
        ({"truncated": [False]}, "truncated: read [false], expected true or false"),
        (
            {"observations": ["dark"] * 3},
            "one per action; leave out the observation before the first action",
        ),
        ({"states": [0, 0]}, "read states, but the first episode has none: expected"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, change, message):
    file = write(tmp_path / "a.jsonl", GOOD, GOOD | change)
    with pytest.raises(InputError) as caught:
        read_logs(file)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert message in str(caught.value)


def test_a_name_that_does_not_exist(tmp_path):
    file = write(tmp_path / "a.jsonl", GOOD)
    with pytest.raises(InputError, match="step 0: action: read 'right', expected one of left"):
        read_logs(file, action_names=["left"])


def test_lines_that_are_no_episodes(tmp_path):
    (tmp_path / "d.jsonl").write_text("{]\n")
    with pytest.raises(InputError, match=r"d\.jsonl:1:2: not JSON: .*; expected one episode per"):
        read_logs(tmp_path / "d.jsonl")
    (tmp_path / "d.jsonl").write_bytes('{"actions": ["größer"]}'.encode("latin-1"))
    with pytest.raises(InputError, match=r"d\.jsonl:1: not UTF-8"):
        read_logs(tmp_path / "d.jsonl")
    (tmp_path / "d.jsonl").write_text("[1]\n")
    with pytest.raises(InputError, match=r"d\.jsonl:1: read \[1\], expected a JSON object"):
        read_logs(tmp_path / "d.jsonl")


def test_a_number_of_thousands_of_digits_is_no_json(tmp_path):
    path = tmp_path / "d.jsonl"
    digits = "1" * 5000  # more than Python turns into an integer
    path.write_text(f'{{"actions": [0], "observations": [0], "rewards": [{digits}]}}')
    with pytest.raises(InputError, match=r"d\.jsonl:1: not JSON"):
        read_logs(path)


def test_how_many_steps_decides_whether_a_log_is_held_in_memory(tmp_path, monkeypatch):
    path = tmp_path / "d.jsonl"
    line = '{"actions": [0, 1], "observations": [0, 0], "rewards": [0, 0]}\n'
    path.write_text(3 * line)
    monkeypatch.setattr(readers, "SMALL", 6)
    assert isinstance(open_logs(path), Trajectories)
    path.write_text(4 * line)
    log = open_logs(path)
    assert isinstance(log, LogStream)
    assert join(log).steps == 8


def test_places_that_hold_no_log(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_logs(tmp_path / "nothing")
    with pytest.raises(InputError, match="read no path"):
        read_logs([])
    (tmp_path / ".hidden.jsonl").write_text("what some systems leave beside a file")
    with pytest.raises(InputError, match="contains no log"):
        read_logs(tmp_path)
    empty = tmp_path / "a.jsonl"
    empty.write_text("")
    assert read_logs(empty).episodes == 0


def test_what_a_folder_holds_and_is_not_read_is_said(tmp_path):
    write(tmp_path / "a.jsonl", GOOD)
    for other in ("notes.txt", "table.xls", "more.md", "plan.json"):
        (tmp_path / other).touch()
    (tmp_path / "b.jsonl").mkdir()
    (tmp_path / ".hidden").mkdir()
    with pytest.warns(UserWarning, match="skipped b.jsonl/, more.md, notes.txt and 2 more"):
        assert read_logs(tmp_path).episodes == 1
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(InputError, match=r"contains no log; read b\.jsonl/.*not in subfolders"):
        read_logs(tmp_path)


def _file(path, *labels):
    actions, observations = labels
    return write(path, {"actions": list(actions), "observations": list(observations)})


def test_files_of_different_systems_are_refused(tmp_path):
    first, second = _file(tmp_path / "a.jsonl", "lr", "xy"), _file(tmp_path / "b.jsonl", "ud", "zz")
    message = (
        "no name in common with .*a.jsonl: read action d, action u, observation z, but that .*one"
    )
    with pytest.raises(InputError, match=message) as caught:
        read_logs([first, second])
    assert str(caught.value).startswith(f"{second}: ")
    log = read_logs([first, second], action_names="lrud", observation_names="xyz")
    assert log.episodes == 2  # the user's word is taken for it
    third = _file(tmp_path / "c.jsonl", "lu", "xz")  # it has names of both
    assert read_logs([first, second, third]).action_names == ("d", "l", "r", "u")


def test_files_that_share_no_action_are_warned_of(tmp_path):
    files = [_file(tmp_path / "a.jsonl", "ll", "xy"), _file(tmp_path / "b.jsonl", "rr", "yy")]
    with pytest.warns(
        UserWarning,
        match=r"b.jsonl: has no action in common with .*a.jsonl: read r, but that file has l; both",
    ):
        assert read_logs(files).action_names == ("l", "r")
    _file(tmp_path / "b.jsonl", "lr", "zz")
    with pytest.warns(
        UserWarning,
        match=r"no observation in common with .*a.jsonl: read z, but that file has x, y",
    ):
        read_logs(files)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), min_size=1))
def test_a_log_is_of_one_system_if_shared_names_lead_from_any_file_to_any_other(pairs):
    families = Families()
    for number, (action, observation) in enumerate(pairs):
        families.add(str(number), action, observation)
    reached = {0}  # files, by breadth-first search
    for _ in pairs:
        reached |= {
            i
            for i, (a, o) in enumerate(pairs)
            if any(a == pairs[j][0] or o == pairs[j][1] for j in reached)
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(reached) == len(pairs):
            families.check()
        else:
            with pytest.raises(InputError, match="expected logs of one system") as caught:
                families.check()
            assert int(str(caught.value).split(":")[0]) == min(set(range(len(pairs))) - reached)


# ---- arrays


def test_tables_and_lists_of_arrays():
    table = from_arrays([[0, 1], [1, 9]], [[2, 0], [1, 9]], [[0, 1], [2, 9]], lengths=[2, 1])
    rows = from_arrays([[0, 1], [1]], [[2, 0], [1]], [[0, 1], [2]])
    assert same(table, rows)
    assert table.observation_names == ("0", "1", "2")
    assert list(itertools.chain(table.truncated)) == [True, True]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([[0]], [[0], [1]]), "observations: read 2 episodes, expected 1"),
        (([[0]], [[0, 1]]), "episode 0: observations: read 2 values, expected 1"),
        (([[0.5]], [[0]]), "episode 0, step 0: actions: read 0.5, expected an index from 0"),
        (([[0], [0, np.nan]], [[0], [0, 0]]), "episode 1, step 1: actions: read nan"),
        (([["go"]], [[0]]), "episode 0, step 0: actions: read 'go', expected an index"),
        (([[10**12]], [[0]]), "episode 0, step 0: actions: read 1000000000000"),
        (([[0, [1]]], [[0, 0]]), "actions: expected a table"),
        ((3, [[0]]), "actions: read 3, expected a table"),
        (([[0]], [[0]], [["1"]]), "episode 0, step 0: rewards: read '1', expected a finite"),
        (([[0]], [[0]], [[None]]), "episode 0, step 0: rewards: read None"),
        (([[0]], [[0]], [[1j]]), "episode 0, step 0: rewards: read 1j"),
        (([[0]], [[0]], [[np.nan]]), "episode 0, step 0: rewards: read nan"),
        (([0], [[0]]), "actions: expected a table"),
        (([[-1]], [[0]]), "episode 0, step 0: actions: read -1"),
    ],
)
def test_arrays_that_do_not_fit(columns, message):
    with pytest.raises(InputError, match=message):
        from_arrays(*columns)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"terminated": ["no"]}, "terminated: expected true or false"),
        ({"terminated": [2]}, "terminated: expected true or false"),
        ({"lengths": [0.5]}, "lengths: expected 1 whole numbers"),
        ({"lengths": [2]}, "episode 0: lengths: read 2, expected 0 to 1"),
        ({"action_names": ["go", "go"]}, "action_names: read 'go' twice"),
        ({"observation_names": [1]}, "observation_names: read 1, expected a string"),
    ],
)
def test_what_comes_beside_arrays(others, message):
    with pytest.raises(InputError, match=message):
        from_arrays([[0]], [[0]], **others)


@pytest.mark.parametrize(
    ("episode", "read"),
    [
        ('{"actions": [0, 100000000], "observations": [0, 1]}', "action: read 100000000"),
        (f'{{"actions": [0], "observations": [0], "rewards": [1{"0" * 400}]}}', "finite number"),
    ],
)
def test_a_number_far_too_large_is_an_error_and_fills_no_memory(tmp_path, episode, read):
    path = tmp_path / "log.jsonl"
    path.write_text(episode)
    with pytest.raises(InputError, match=read):
        read_logs(path)
