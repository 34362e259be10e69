"""The archive of arrays: it comes back as it was, or says in one line that it is damaged."""

import io
import random
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rpsr.errors import InputError
from rpsr.io.archive import pack_archive, read_archive, write_archive

HEADER = {"kind": "test", "name": "é", "nested": {"list": [1, 2.5, None, True]}}
ARRAYS = {
    "floats": np.linspace(0, 1, 7),
    "matrix": np.arange(6, dtype=np.int64).reshape(2, 3),
    "flags": np.array([True, False]),
    "big": np.array([10**40, -3], dtype=object),
    "empty": np.zeros(0),
}


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "a.rpsr"
    write_archive(path, HEADER, ARRAYS)
    return path


def refused(path) -> str:
    with pytest.raises(InputError) as caught:
        read_archive(path)
    assert caught.value.place == str(path)
    assert "\n" not in str(caught.value)
    return caught.value.message


def test_header_and_arrays_come_back(archive):
    header, arrays = read_archive(archive)
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tolist() == array.tolist()


DTYPES = st.sampled_from(["<f8", "<i8", "?"])


@given(array=npst.arrays(DTYPES, npst.array_shapes(min_dims=1, max_dims=3, min_side=0)))
def test_any_array_comes_back_to_the_bit(tmp_path_factory, array):
    path = tmp_path_factory.getbasetemp() / "any.rpsr"
    write_archive(path, {}, {"x": array})
    again = read_archive(path)[1]["x"]
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


def test_the_same_content_is_the_same_bytes(archive, tmp_path):
    write_archive(tmp_path / "b.rpsr", HEADER, ARRAYS)
    assert (tmp_path / "b.rpsr").read_bytes() == archive.read_bytes()


def test_numpy_opens_it_without_pickle(archive):
    with np.load(archive, allow_pickle=False) as arrays:
        assert arrays["matrix"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_header_that_is_no_json_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_archive(tmp_path / "a.rpsr", {"x": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


# ---- damaged files


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", bytes(1000), b"\x1f\x8b\x08"])
def test_not_a_zip(tmp_path, content):
    path = tmp_path / "a.rpsr"
    path.write_bytes(content)
    refused(path)


def test_cut_short_anywhere(archive):
    content = archive.read_bytes()
    for length in range(0, len(content), 7):
        archive.write_bytes(content[:length])
        refused(archive)


def test_bytes_changed_anywhere(archive):
    content, chance = archive.read_bytes(), random.Random(1)
    errors: list[str] = []
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << chance.randrange(8)
        archive.write_bytes(damaged)
        try:
            read_archive(archive)  # a byte of a date or of an attribute means nothing to us
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > len(content) / 2
    assert not any("\n" in error for error in errors)


def zipped(path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def saved(array: np.ndarray, *, pickled: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=pickled)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"x.npy": saved(np.zeros(2))}, "no item named 'header.json'"),
        ({"header.json": b"[1]"}, "the header is not a JSON object"),
        ({"header.json": b"{"}, "not a readable model file"),
        ({"header.json": b"\xff\xfe"}, "not a readable model file"),
        ({"header.json": b"[" * 100_000}, "not a readable model file"),
        ({"header.json": b"{}", "x.npy": b"no array"}, "not a readable model file"),
        ({"header.json": b"{}", "x.npy": saved(np.zeros(9))[:-8]}, "not a readable model file"),
        (
            {"header.json": b"{}", "x.integers.npy": saved(np.array(["1", "x"]))},
            "expected a list of integers",
        ),
        ({"header.json": b"{}", "x.integers.npy": saved(np.zeros((2, 2)))}, "not a readable"),
    ],
)
def test_wrong_members(tmp_path, members, message):
    path = tmp_path / "a.rpsr"
    zipped(path, members)
    assert message in refused(path)


def test_pickles_are_never_opened(tmp_path):
    path = tmp_path / "a.rpsr"
    content = saved(np.array([{"code": 1}], dtype=object), pickled=True)
    zipped(path, {"header.json": b"{}", "x.npy": content})
    assert "'x.npy' has the type object" in refused(path)


def test_an_array_larger_than_its_file_is_refused(tmp_path):
    stream = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(stream, claim)
    path = tmp_path / "a.rpsr"
    zipped(path, {"header.json": b"{}", "x.npy": stream.getvalue() + bytes(80)})
    refused(path)


def restated(raw, size):
    """The archive with another size of its last member in the directory."""
    begin = raw.rindex(b"PK\x01\x02") + 24
    return raw[:begin] + size.to_bytes(4, "little") + raw[begin + 4 :]


@pytest.mark.parametrize("stated", [0, 1000, 2**20])
def test_no_more_is_unpacked_than_the_directory_states(stated, tmp_path):
    """32 MiB of zeros, of which the directory states less."""
    path = tmp_path / "a.rpsr"
    raw = pack_archive({"kind": "test"}, {"zeros": np.zeros(2**22)})
    path.write_bytes(restated(raw, stated))
    tracemalloc.start()
    try:
        refused(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**23


def test_a_member_is_as_large_as_the_directory_states(tmp_path):
    path = tmp_path / "a.rpsr"
    path.write_bytes(restated(pack_archive({"kind": "test"}, {"zeros": np.zeros(4)}), 1000))
    assert "'zeros.npy' does not unpack to the 1,000 bytes" in refused(path)


def test_other_methods_of_compression_are_refused(tmp_path):
    """They unpack in one piece, whatever is asked for."""
    path = tmp_path / "a.rpsr"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("header.json", "{}")
    assert "is not DEFLATE" in refused(path)
