"""Reading by columns and in blocks gives what reading row by row would, wherever blocks end."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.errors import InputError
from rpsr.logs import json_lines, read_logs, stream_logs
from rpsr.logs.blocks import Labels
from rpsr.logs.readers import join
from rpsr.logs.tables import row_blocks

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COLUMNS = ("actions", "observations", "rewards", "propensities", "terminated")
ROW = {"actions": "action", "observations": "observation"}
ROW |= {"rewards": "reward", "propensities": "propensity"}


@st.composite
def episodes(draw):
    """Episodes as JSON lines tell them: names or indices, with or without the optional columns."""
    labels = st.sampled_from(draw(st.sampled_from([("b", "a", "ä c"), (2, 0, 1)])))
    values = {"actions": labels, "observations": labels}
    if draw(st.booleans()):
        values["rewards"] = draw(
            st.sampled_from([st.integers(-9, 9), st.floats(-1e99, 1e99), st.just(2**53 + 1)])
        )
    if draw(st.booleans()):
        values["propensities"] = st.floats(0, 1, exclude_min=True)
    ends = draw(st.booleans())
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=7))
    return [
        {name: [draw(value) for _ in range(length)] for name, value in values.items()}
        | ({"terminated": draw(st.booleans())} if ends else {})
        for length in lengths
    ]


@st.composite
def layouts(draw):
    """How a table is laid out: what changes nothing about the episodes in it."""
    return {
        "first": draw(st.integers(0, 1)),
        "name": draw(st.sampled_from([int, "episode {}".format])),
        "group": draw(st.integers(1, 12)),
        "packed": draw(st.booleans()),
        "block": draw(st.integers(1, 12)),
        "chunk": draw(st.integers(1, 12)),
    }


def rows_of(log, layout):
    """The episodes as a table, column by column."""
    lengths = [len(episode["actions"]) for episode in log]
    table = {
        "episode": [layout["name"](i) for i, length in enumerate(lengths) for _ in range(length)],
        "step": [step + layout["first"] for length in lengths for step in range(length)],
    }
    for name in log[0].keys() & ROW.keys():
        table[ROW[name]] = [value for episode in log for value in episode[name]]
    if "terminated" in log[0]:
        last = [step == length - 1 for length in lengths for step in range(length)]
        flags = [e["terminated"] for e in log for _ in e["actions"]]
        table["terminated"] = [a and b for a, b in zip(last, flags, strict=True)]
    return table


def write_parquet(path, table, layout):
    table = pa.table(table)
    at = table.column_names.index("action")
    if layout["packed"] and table["action"].null_count == 0:  # as data frames write categories
        table = table.set_column(at, "action", table["action"].dictionary_encode())
    pq.write_table(table, path, row_group_size=layout["group"])
    return path


def plain(log, table=False):
    """What should be read: names and columns, step by step. In a table, numbers are names."""
    expected = {"offsets": [0]}
    for name in ("actions", "observations"):
        labels = [label for episode in log for label in episode[name]]
        by_name = isinstance(labels[0], str)
        names = sorted(set(labels)) if by_name or table else list(range(max(labels) + 1))
        expected[name] = [names.index(label) for label in labels]
        expected[f"{name[:-1]}_names"] = tuple(map(str, names))
    for name in ("rewards", "propensities"):
        values = [float(v) for episode in log for v in episode.get(name, ())]
        expected[name] = values if name in log[0] else None
    for episode in log:
        expected["offsets"].append(expected["offsets"][-1] + len(episode["actions"]))
    expected["terminated"] = [episode.get("terminated", False) for episode in log]
    return expected


def read(trajectories):
    parts = {name: getattr(trajectories, name) for name in ("action_names", "observation_names")}
    for name in (*COLUMNS, "offsets"):
        column = getattr(trajectories, name)
        parts[name] = None if column is None else column.tolist()
    return parts


def small_blocks(patch, layout):
    patch.setattr(row_blocks, "BLOCK", layout["block"])
    patch.setattr(json_lines, "BLOCK", layout["block"])


@given(episodes(), layouts())
def test_blocks_batches_and_chunks_change_nothing(tmp_path_factory, log, layout):
    folder = tmp_path_factory.mktemp("logs")
    lines = folder / "a.jsonl"
    lines.write_text("".join(json.dumps(episode) + "\n" for episode in log), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, layout)
        for path in (lines, write_parquet(folder / "a.parquet", rows_of(log, layout), layout)):
            expected = plain(log, table=path is not lines)
            assert read(read_logs(path)) == expected
            chunks = list(stream_logs(path, chunk=layout["chunk"]))
            assert read(join(chunks)) == expected
            for chunk in chunks[:-1]:  # no episode more than it takes
                assert chunk.offsets[-2] < layout["chunk"] <= chunk.offsets[-1]


@given(episodes(), layouts(), st.data())
def test_what_is_wrong_is_found_wherever_blocks_end(tmp_path_factory, log, layout, data):
    table = rows_of(log, layout)
    row = data.draw(st.integers(0, len(table["step"]) - 1))
    column = data.draw(st.sampled_from(sorted(table.keys() - {"episode"})))
    starts = np.flatnonzero(np.array(table["step"]) == layout["first"])
    begin = int(starts[np.searchsorted(starts, row, side="right") - 1])
    step = row - begin if column == "step" else table["step"][row]
    table[column] = [None if i == row else value for i, value in enumerate(table[column])]
    place = f"{row + 1}: episode {table['episode'][row]}, step {step}"
    expected = f":{place}: column {column!r}: read nothing, expect"
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, layout)
        file = write_parquet(tmp_path_factory.mktemp("logs") / "a.parquet", table, layout)
        with pytest.raises(InputError) as caught:
            read_logs(file)
    assert str(caught.value).startswith(f"{file}{expected}")


def test_what_comes_first_in_a_file_is_said_first(tmp_path, monkeypatch):
    good = {"actions": ["go"], "observations": ["x"]}
    lines = [good, good | {"actions": [3]}, good | {"actions": []}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(episode) + "\n" for episode in lines))
    for block in (1, 9):
        monkeypatch.setattr(json_lines, "BLOCK", block)
        with pytest.raises(InputError, match=r"a\.jsonl:2: episode 1, step 0: action: read 3"):
            read_logs(path)
    table = {"episode": [0, 0, 1], "step": [0, 1, 5], "action": [[0]] * 3, "observation": [0] * 3}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet:1: episode 0, step 0: column 'action': read"):
        read_logs(tmp_path / "a.parquet")


@given(st.lists(st.sampled_from(["1", 1, True, 1.0, None, [1], {"a": 1}, 0, False])))
def test_labels_that_python_takes_for_equal_are_kept_apart(values):
    labels = Labels.of(values)
    again = [labels.distinct[code] for code in labels.codes]
    assert list(map(repr, again)) == list(map(repr, values))
    assert len(set(map(repr, labels.distinct))) == len(labels.distinct)
    for place, label in enumerate(labels.distinct):
        assert labels.first(place) == list(map(repr, values)).index(repr(label))


def test_columns_of_types_that_cannot_be_labels(tmp_path):
    table = {"episode": [0, 0], "step": [0, 1], "action": [[0], [0, 1]], "observation": [0, 0]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"'action': read \[0\], expected a name or a whole"):
        read_logs(tmp_path / "a.parquet")
    table |= {"action": [0, 1], "terminated": [0, 2]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="step 1: column 'terminated': read 2, expected true or"):
        read_logs(tmp_path / "a.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow: pip install 'rpsr\[data\]'"):
        read_logs(tmp_path / "a.parquet")
