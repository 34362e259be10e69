"""Native files whose fingerprints were made anew: what they hold is checked, not trusted."""

import contextlib
import io
import json
import random
import tracemalloc
import zipfile

import numpy as np
import pytest
from tests.models.builders import rotated

from rpsr import POMDP, InputError, save
from rpsr.domains import build
from rpsr.errors import RpsrError
from rpsr.io.archive import pack_archive, unpack_archive
from rpsr.models import store
from rpsr.predictive import rpsr
from rpsr.testing import check_model

MEGABYTE = 10**6


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.rpsr"


def forged(model, path, change):
    """Write a model after changing its header and arrays, with the fingerprint of what is left."""
    header, arrays = unpack_archive(store.native_bytes(model), "model")
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    path.write_bytes(pack_archive(header, arrays))
    if isinstance(model, POMDP):  # the loader says which fingerprint it wants, as anyone can
        wanted: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "check_record", lambda record: wanted.append(record.digest()))
            with contextlib.suppress(Exception), np.errstate(all="ignore"):  # may ask for anything
                store.load_native(path)
        header["digest"] = wanted[0] if wanted else header["digest"]
        path.write_bytes(pack_archive(header, arrays))


def replaced(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name])})


def put(name, at, value):
    def change(array):
        array = array.copy()
        array.flat[at] = value
        return array

    return replaced(name, change)


def said(key, value):
    return lambda header, arrays: header.update({key: value})


def unweighted(change):
    """Without weights the floats are all there is."""

    def both(header, arrays):
        for name in ("start", "transition", "emission"):
            arrays.pop(f"{name}.weights", None)
        header["exact_rewards"] = None
        change(header, arrays)

    return both


def assert_damaged(path, message):
    """Reading ends in one line that names the file, says that it is damaged, and how."""
    with pytest.raises(InputError, match=message) as caught:
        store.load_native(path)
    assert str(caught.value).startswith(f"{path}: damaged model file: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unweighted(put("transition.values", 0, np.nan)), "read nan, expected a probability"),
        (unweighted(put("transition.values", 0, -0.25)), "read -0.25, expected a probability"),
        (unweighted(put("emission.values", 0, 1.5)), "read 1.5, expected a probability"),
        (unweighted(put("emission.values", 0, 0.8)), "emission: a row does not sum to 1"),
        (put("emission.values", 0, 0.85 + 1e-9), "does not sum to 1"),
        (put("emission.weights", 0, 18), "the probabilities differ from their weights"),
        (put("emission.weights", 0, -17), "a weight is 0 or negative"),
        (put("emission.weights", 0, 2**62), "a sum of weights exceeds 64 bits"),
        (put("transition.indices", 0, 10**9), "an index is out of range"),
        (put("transition.indices", 0, -1), "an index is out of range"),
        (put("transition.indices", 2, 1), "the columns of a row are not ascending"),
        (put("transition.indptr", 1, 2**62), "the offsets do not fit the rows"),
        (put("transition.indptr", -1, 2**35), "the offsets do not fit the rows"),
        (put("transition.indptr", 2, 1), "the offsets do not fit the rows"),
        (put("emission.digits", 0, 10**9), "a count of decimal digits is out of range"),
        (put("rewards.values", 0, np.nan), "rewards: read nan"),
        (put("rewards.values", 0, 1e308), "rewards: read 1e[+]308"),
        (put("rewards.values", 0, -99.0), "the rewards differ from their fractions"),
        (put("rewards.index", 0, 10**9), "rewards of outcomes: an index is out of range"),
        (replaced("rewards.index", lambda v: v[:-1]), "rewards of outcomes: read"),
        (replaced("resets", lambda v: v[:1]), "resets: read shape"),
        (said("discount", "7"), "discount: read 7, expected a number in"),
        (said("discount", "1e999999999"), "expected a fraction"),
        (said("discount", "1/0"), "Fraction"),
        (said("discount", "1" * 5000), "4300"),
        (said("discount", 0.5), "expected a fraction"),
        (said("states", ["s", "s"]), "states: a name occurs twice"),
        (said("states", ["s", "\ud800"]), "surrogates"),
        (said("states", "st"), "expected a list of names"),
        (said("actions", []), "actions: read no name, expected at least one"),
        (said("observations", [1, 2]), "expected a string"),
        (said("emission_by_edge", 0), "expected true or false"),
        (said("name", None), "expected a string"),
        (said("warnings", [3]), "expected a string"),
        (said("exact_rewards", ["1"]), "the rewards differ from their fractions"),
        (said("exact_rewards", {"a": 1}), "expected a fraction"),
    ],
)
def test_a_pomdp_with_a_valid_fingerprint_and_nonsense_in_it(path, change, message):
    forged(build("tiger"), path, change)
    assert_damaged(path, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("start", 0, np.nan), "start: entry"),
        (put("start", 0, 9.0), "start is not normalized"),
        (put("normalizer", 0, np.inf), "normalizer: entry"),
        (put("normalizer", 0, 5.0), "do not sum to 1: off by"),
        (put("rewards", 0, 1e308), "rewards: entry"),
        (put("coordinates", 0, np.nan), "coordinates: entry"),
        (replaced("coordinates", lambda v: v[:1]), "coordinates: read shape"),
        (put("corners", 0, np.nan), "points: entry"),
        (put("corners", 0, 3.0), "a corner is not normalized|but for"),
        (put("kernel.values", 0, np.nan), "kernel: .* expected finite"),
        (put("kernel.values", 0, -0.5), "between corners is negative"),
        (put("kernel.values", 0, 0.3), "the operators and the kernel move corners differently"),
        (put("kernel.indices", 0, 10**9), "kernel: an index is out of range"),
        (said("discount", 7), "discount: read 7"),
        (said("discount", "nan"), "discount: read nan"),
        (said("rounding", float(2)), "rounding: read 2"),
        (said("actions", ["a", "a", "b"]), "actions: a name occurs twice"),
        (said("core", ["x"]), "core: read 1 names"),
        (said("provenance", [1]), "damaged model file"),
        (said("estimator", 3), "read 3, expected a string"),
        (said("pomdp", ["x"]), "expected a string"),
        (said("final", ["nothing"]), "final: read 'nothing', expected the name of an observation"),
        (said("final", "none"), "final: read 'none', expected a list of names"),
        (said("domain", {"kind": "simplex", "n": 3}), "domain: read n = 3, expected 2"),
    ],
)
def test_a_linear_model_with_nonsense_in_it(path, change, message):
    forged(rpsr(build("tiger")), path, change)
    assert_damaged(path, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("basis", 0, np.nan), "basis: entry"),
        (put("basis", 0, 3.0), "do not sum to 1: off by"),
        (put("process.indptr", 1, 2**62), "the offsets do not fit the rows"),
        (put("process.indptr", -1, 2**35), "the offsets do not fit the rows"),
        (put("process.size", 0, 10**9), "process.indptr: read"),
        (put("process.size", 0, 0), "read sizes"),
    ],
)
def test_factored_operators_with_nonsense_in_them(path, change, message):
    forged(rotated(build("4x3")), path, change)
    with pytest.raises(InputError, match=message):
        store.load_native(path)


# ---- memory


def peak_of_refusal(path):
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            store.load_native(path)
        return caught.value.message, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def written(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_an_array_that_unpacks_to_more_than_the_limit(path, monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "40MB")
    stream = io.BytesIO()
    np.save(stream, np.zeros(2 * MEGABYTE))
    written(path, {"header.json": b"{}", "x.npy": stream.getvalue()})
    message, peak = peak_of_refusal(path)
    assert "the content unpacks to 16,000,130 bytes: reading takes 61.0 MiB of memory" in message
    assert "RPSR_READ_LIMIT" in message
    assert peak < 2 * MEGABYTE
    monkeypatch.setenv("RPSR_READ_LIMIT", "100MB")
    assert "is not an rpsr model file" in peak_of_refusal(path)[0]


def test_a_header_that_unpacks_to_more_than_the_limit(path, monkeypatch):
    monkeypatch.setenv("RPSR_READ_LIMIT", "40MB")
    written(path, {"header.json": b"[" + b"[]," * MEGABYTE + b"[]]"})
    message, peak = peak_of_refusal(path)
    assert "the content unpacks to 3,000,004 bytes" in message
    assert peak < 2 * MEGABYTE


def test_an_array_whose_shape_is_not_its_size(path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (2**35,)}
    )
    written(path, {"header.json": b"{}", "x.npy": stream.getvalue() + bytes(64)})
    message, peak = peak_of_refusal(path)
    expected = "'x.npy' has 64 bytes, expected 274877906944 for shape (34359738368,) of float64"
    assert expected in message
    assert peak < 2 * MEGABYTE


@pytest.mark.parametrize("name", ["tiger", "hallway2", "tag"])
def test_files_that_are_packed_well_are_read_all_the_same(path, name):
    save(build(name), path)
    assert store.load_native(path) == build(name)


# ---- mutations, by a seed


def mutated(chance, header, arrays):
    """Change a number or two, anywhere, to one that means trouble."""
    troubles = [0, 1, -1, 2, 7, 0.5, 1e9, 2**31, 2**62, -(2**63), np.nan, np.inf, 1e-300, 1e308]
    for _ in range(chance.randrange(1, 3)):
        if chance.random() < 0.25:
            key = chance.choice(sorted(header))
            value = chance.choice([None, 7, -1, "x", "1/2", [], {}, True, ["a", "a"], 1e300])
            header[key] = value
            continue
        name = chance.choice(sorted(arrays))
        array = arrays[name]
        if chance.random() < 0.2:
            arrays[name] = chance.choice([array[:-1], array[::-1], array.repeat(2, 0), array * 0])
        elif array.size:
            with np.errstate(invalid="ignore"):
                trouble = np.array(chance.choice(troubles)).astype(array.dtype)
            array.flat[chance.randrange(array.size)] = trouble


@pytest.mark.parametrize(
    "model",
    [build("tiger"), build("4x3"), rotated(build("tiger")), rpsr(build("loadunload"))],
    ids=["tiger", "4x3", "rotated", "rpsr"],
)
def test_a_mutated_file_is_refused_or_holds_a_model(path, model):
    chance, read = random.Random(14), 0
    for _ in range(300):
        forged(model, path, lambda header, arrays: mutated(chance, header, arrays))
        try:
            loaded = store.load_native(path)
        except InputError:
            continue
        read += 1
        linear = loaded.belief_model() if isinstance(loaded, POMDP) else loaded
        check_model(linear, histories=3, steps=10)
        json.dumps(linear.provenance)
    assert 0 < read < 250


def test_what_a_policy_carries_is_checked_as_well(path):
    forged(rpsr(build("tiger")), path, put("kernel.values", 0, -0.5))
    with pytest.raises(
        RpsrError,
        match="p: damaged model file: a transition probability between",
    ):
        store.from_native_bytes(path.read_bytes(), "p")
