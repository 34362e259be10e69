"""Large value functions in policy files: by their parts and as arrays; there, back and damaged."""

import json
import re
import tracemalloc
import zlib
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr import InputError
from rpsr.domains import build
from rpsr.io.allowance import VARIABLE
from rpsr.planning.files import native
from rpsr.planning.files.native import StoredVectors, unconnected
from rpsr.planning.files.policies import load_policy, save_policy
from rpsr.planning.files.vector_arrays import as_arrays, as_json, read_vectors
from rpsr.planning.value.value_function import PartialValueFunction, PartialVectors

PARR = build("parr").belief_model()
NUMBERS = st.floats(-1e130, 1e130)


@st.composite
def partial_vectors(draw: st.DrawFn) -> PartialVectors:
    """Vectors with values at some of at most five states, in any order."""
    n = draw(st.integers(1, 5))
    states = draw(st.lists(st.sets(st.integers(0, n - 1)).map(sorted), min_size=1, max_size=6))
    first = np.append(0, np.cumsum([len(some) for some in states]))
    value = draw(st.lists(NUMBERS, min_size=int(first[-1]), max_size=int(first[-1])))
    state = np.array([s for some in states for s in some], dtype=np.int64)
    return PartialVectors(first, state, np.array(value), draw(NUMBERS), n)


@given(partial_vectors())
def test_vectors_are_read_as_they_were_written(vectors: PartialVectors) -> None:
    text = json.loads(json.dumps(as_json(vectors)))
    plain, arrays = as_arrays(vectors)
    for stored in (text, json.loads(json.dumps(plain)) | arrays):
        again = read_vectors(stored, 0)
        assert isinstance(again, PartialVectors)
        assert again.elsewhere == vectors.elsewhere
        assert (again.dense() == vectors.dense()).all()
    dense = read_vectors(json.loads(json.dumps(as_json(vectors.dense()))), 0)
    assert (dense == vectors.dense()).all()


def parts(count: int, dimension: int, size: int) -> PartialVectors:
    """Vectors that have `size` values each."""
    state = np.tile(np.arange(size), count)
    value = np.random.default_rng(0).random(count * size)
    return PartialVectors(np.arange(count + 1) * size, state, value, -2.5, dimension)


@pytest.mark.parametrize("name", ["p.json", "p.json.gz", "p.npz", "p"])
def test_parts_survive_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LARGE", 10)
    path, vectors = tmp_path / name, parts(4, PARR.dimension, 3)
    values = unconnected(vectors, np.array([0, 2, 1, 0]), PARR)
    save_policy(StoredVectors(PARR, values, 0.5), path)
    stored = load_policy(path, PARR)
    assert isinstance(stored, StoredVectors)
    assert isinstance(stored.value_function, PartialValueFunction)
    assert stored.epsilon == 0.5
    assert stored.actions.tolist() == [0, 2, 1, 0]
    assert "vectors" not in stored.value_function.__dict__  # not yet computed
    assert (stored.vectors == vectors.dense()).all()
    assert stored.policy().act() in (0, 1, 2)


def test_small_files_are_lists_that_older_versions_read(tmp_path: Path) -> None:
    path, vectors = tmp_path / "p.json", parts(4, PARR.dimension, 3)
    values = unconnected(vectors, np.zeros(4, dtype=np.int64), PARR)
    save_policy(StoredVectors(PARR, values), path)
    document = json.loads(path.read_text())
    assert (document["format_version"], document["vectors"]) == (1, vectors.dense().tolist())


@pytest.mark.parametrize("name", ["p.json", "p.npz"])
def test_writing_parts_never_holds_all_numbers(name: str, tmp_path: Path) -> None:
    pomdp = build("rock-sample:n=3,k=4")  # 145 states
    model = pomdp.belief_model()
    vectors = parts(20_000, model.dimension, 5)  # all numbers: 23 MB
    values = unconnected(vectors, np.zeros(20_000, dtype=np.int64), model)
    stored = StoredVectors(model, values)
    tracemalloc.start()
    save_policy(stored, tmp_path / name)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 * vectors.size / 2


def zeros(count: int) -> str:
    return b64encode(zlib.compress(bytes(8 * count))).decode()


VALUE = {"type": "<f8", "length": 12, "deflated": zeros(12)}
DAMAGE = {
    "not base64": (VALUE | {"deflated": "é%"}, "value: not the base64 text of compressed numbers"),
    "not compressed": (VALUE | {"deflated": "AAAA"}, "value: not the base64 text of compressed"),
    "cut": (VALUE | {"deflated": zeros(12)[:-8]}, "value: the data do not unpack to the stated 96"),
    "shorter": (VALUE | {"deflated": zeros(11)}, "value: the data do not unpack to the stated 96"),
    "longer": (VALUE | {"deflated": zeros(13)}, "value: the data do not unpack to the stated 96"),
    "no text": (VALUE | {"deflated": 3}, "value: expected base64 text"),
    "of another type": (VALUE | {"type": "<f4"}, "value: expected an object with the keys type"),
    "integers": (
        VALUE | {"type": "<i8"},
        "value: read int64 of shape (12,), expected a list of numbers",
    ),
    "of no length": (VALUE | {"length": -1}, "value: expected an object with the keys type"),
    "another number": (
        {"type": "<f8", "length": 11, "deflated": zeros(11)},
        "state, value: read 12 and 11 numbers; expected `first` to begin with 0",
    ),
    "a list": ([0.0] * 12, "value: expected an object with the keys type"),
    "a bomb": (VALUE | {"length": 2**35, "deflated": zeros(2**20)}, "reading takes 1.0 TiB"),
}


@pytest.mark.parametrize(("value", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_arrays_are_refused_in_one_line(
    value: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "LARGE", 10)
    path, vectors = tmp_path / "p.json", parts(4, PARR.dimension, 3)
    save_policy(StoredVectors(PARR, unconnected(vectors, np.zeros(4, dtype=np.int64), PARR)), path)
    document = json.loads(path.read_text())
    document["vectors"]["value"] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        load_policy(path, PARR)
    assert str(caught.value).startswith(
        f"{path}: the policy file is damaged, or was made for another model: "
    )
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": [5, 7]}, "first: expected 6 numbers that do not decrease"),
        ({"shape": [4, 2]}, "state: expected numbers from 0 to 1"),
        ({"shape": [4, 10**9]}, "4 vectors of 1000000000 numbers: reading takes 29.8 GiB"),
        ({"shape": [4]}, "shape: read [4], expected the number of vectors and their length"),
        ({"elsewhere": None}, "elsewhere: read None, expected a number"),
        ({"elsewhere": float("nan")}, "vectors: expected numbers up to"),
    ],
)
def test_other_damage_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_vectors(as_json(parts(4, 7, 3)) | changes, 0)


def test_a_small_file_cannot_take_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1MB")
    bomb = as_json(np.zeros((1, 2**22)))
    tracemalloc.start()
    with pytest.raises(ValueError, match="the limit is"):
        read_vectors(bomb, len(json.dumps(bomb)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**20
