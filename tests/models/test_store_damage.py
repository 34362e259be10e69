"""Damaged native files: whatever is wrong with them, the answer is an `InputError`."""

import io
import json
import random
import zipfile

import numpy as np
import pytest
from tests.models.builders import rotated

from rpsr import InputError, save
from rpsr.domains import build
from rpsr.models.store import load_native


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.rpsr"


def rewrite(path, change_header=None, change_arrays=None):
    """Write a file again with another header or other arrays, and valid checksums."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change_header is not None:
        header = json.loads(members["header.json"])
        change_header(header)
        members["header.json"] = json.dumps(header).encode()
    if change_arrays is not None:
        arrays = {n: np.load(io.BytesIO(b)) for n, b in members.items() if n.endswith(".npy")}
        change_arrays(arrays)
        members = {"header.json": members["header.json"]}
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array)
            members[name] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def refused(path, message="damaged model file"):
    with pytest.raises(InputError, match=message) as caught:
        load_native(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


# ---- bytes


@pytest.mark.parametrize("model", [build("tiger"), rotated(build("tiger"))], ids=["pomdp", "psr"])
def test_a_flipped_bit_is_refused_or_does_not_matter(path, model):
    save(model, path)
    raw, rng = path.read_bytes(), random.Random(0)
    for _ in range(400):
        at, bit = rng.randrange(len(raw)), 1 << rng.randrange(8)
        path.write_bytes(raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :])
        try:
            back = load_native(path)
        except InputError:
            continue
        assert np.array_equal(back.start, model.start)  # a date, a permission: nothing we read
        assert back.actions == model.actions


def test_a_truncated_file_is_refused(path):
    save(build("tiger"), path)
    raw = path.read_bytes()
    for length in range(0, len(raw), 97):
        path.write_bytes(raw[:length])
        refused(path, "not a readable model file|is empty, expected a model file|no statement")


@pytest.mark.parametrize("content", [b"", b"states: 2", b"PK\x03\x04", b"\x1f\x8bjunk", bytes(9)])
def test_what_is_no_archive_is_refused(path, content):
    path.write_bytes(content)
    refused(path, "not a readable model file|is empty, expected a model file|broken gzip")


def test_an_archive_of_other_things_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("holiday.txt", "sun")
    refused(path, "not a readable model file")


@pytest.mark.parametrize("header", ["[1]", "3", "{", "null", '"rpsr"'])
def test_a_header_that_is_no_object_is_refused(path, header):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header)
    refused(path, "not a readable model file")


def test_a_pickle_is_never_opened(path):
    save(build("tiger"), path)
    with zipfile.ZipFile(path, "a") as archive:
        buffer = io.BytesIO()
        np.save(buffer, np.array([object()]), allow_pickle=True)
        archive.writestr("trap.npy", buffer.getvalue())
    refused(path, "not a readable model file")


# ---- headers


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "zip", "is not an rpsr model file"),
        ("format_version", 1, "format version 1, expected 2"),
        ("format_version", None, "format version None, expected 2"),
        ("kind", "mdp", "damaged model file: 'operators' is missing"),
        ("discount", "1/2", "does not match its digest"),
        ("discount", "1/0", "damaged model file"),
        ("discount", "half", "damaged model file"),
        ("digest", "0" * 64, "does not match its digest"),
        ("actions", ["listen", "left", "right"], "does not match its digest"),
        ("states", ["one"], "damaged model file"),
        ("states", None, "damaged model file"),
        ("emission_by_edge", True, "damaged model file"),
        ("exact_rewards", ["1"], "damaged model file"),
        ("exact_rewards", ["1/0"], "damaged model file"),
        ("warnings", None, "damaged model file"),
    ],
)
def test_an_edited_pomdp_header_is_refused(path, key, value, message):
    save(build("tiger"), path)
    rewrite(path, lambda header: header.update({key: value}))
    refused(path, message)


@pytest.mark.parametrize("key", ["digest", "states", "discount", "exact_rewards", "name"])
def test_a_missing_key_is_named(path, key):
    save(build("tiger"), path)
    rewrite(path, lambda header: header.pop(key))
    refused(path, f"damaged model file: '{key}' is missing")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("operators", "secret"),
        ("domain", {"kind": "sphere"}),
        ("domain", "simplex"),
        ("domain", {"kind": "simplex", "n": float("inf")}),
        ("discount", 7),
        ("discount", "x"),
        ("rounding", "small"),
        ("actions", ["one"]),
        ("core", 3),
    ],
)
def test_an_edited_linear_header_is_refused(path, key, value):
    save(rotated(build("tiger")), path)
    rewrite(path, lambda header: header.update({key: value}))
    refused(path)


# ---- arrays


def dropped(name):
    return lambda arrays: arrays.pop(name)


def replaced(name, change):
    return lambda arrays: arrays.update({name: change(arrays[name])})


@pytest.mark.parametrize(
    "change",
    [
        dropped("start.values.npy"),
        dropped("start.weights.npy"),
        dropped("resets.npy"),
        replaced("transition.values.npy", lambda v: v[::-1].copy()),
        replaced("transition.indices.npy", lambda v: v + 5),
        replaced("transition.indptr.npy", lambda v: v[:-1]),
        replaced("transition.indptr.npy", lambda v: v + 100),
        replaced("emission.values.npy", lambda v: v[:-1]),
        replaced("rewards.index.npy", lambda v: v + 1),
        replaced("rewards.values.npy", lambda v: v * 2),
        replaced("resets.npy", lambda v: ~v),
    ],
)
def test_changed_arrays_of_a_pomdp_are_refused(path, change):
    save(build("tiger"), path)
    rewrite(path, change_arrays=change)
    refused(path)


@pytest.mark.parametrize(
    "change",
    [
        dropped("start.npy"),
        dropped("basis.npy"),
        dropped("corners.npy"),
        replaced("start.npy", lambda v: v[:1]),
        replaced("basis.npy", lambda v: v[:1]),
        replaced("corners.npy", lambda v: v[:, :, None]),
        replaced("process.indices.npy", lambda v: v + 1),  # one past the last column
        replaced("process.indices.npy", lambda v: v - 1),
        replaced("process.indptr.npy", lambda v: v[:-1]),
        replaced("process.size.npy", lambda v: v * 2),
        replaced("process.size.npy", lambda v: np.array([2, 2, 2])),
        replaced("kernel.values.npy", lambda v: v[:-1]),
    ],
)
def test_arrays_of_a_linear_model_that_do_not_fit_are_refused(path, change):
    save(rotated(build("tiger")), path)
    rewrite(path, change_arrays=change)
    refused(path)
