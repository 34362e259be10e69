"""One file of arrays with a JSON header: a zip of `header.json` and `.npy` members, never a pickle.

`numpy.load` opens it as an npz. Integers beyond 64 bits are stored as text. Equal content gives
equal bytes.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rpsr.errors import InputError
from rpsr.io.allowance import TEXT_COST, excess
from rpsr.io.file_kinds import HEADER
from rpsr.io.files import place_of, read_raw, write_whole

BIG = ".integers"  # suffix of members that hold Python integers as text
_INTEGER = re.compile(r"-?[0-9]+")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the earliest date of the zip format, so that bytes are equal
ARRAY_COST = 4  # bytes of memory per byte of an array: packed, unpacked, checked
_KINDS = ("<f8", "<i8", "|b1")  # types of arrays, besides text that stands for integers


def write_archive(
    path: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write header and arrays, completely or not at all."""
    write_whole(path, lambda stream: _write(stream, header, arrays))


def pack_archive(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """The content of the file that `write_archive` would write."""
    buffer = io.BytesIO()
    _write(buffer, header, arrays)
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    """A numpy scalar as Python's own number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


def _write(stream: BinaryIO, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(header, indent=1, allow_nan=False, default=_plain)
        archive.writestr(_member(HEADER), text.encode())
        for name, array in arrays.items():
            if array.dtype == object:
                name, array = name + BIG, np.array([str(v) for v in array.tolist()], dtype=np.str_)
            buffer = io.BytesIO()
            npy.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(_member(name + ".npy"), buffer.getvalue())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def read_archive(
    path: str | Path, what: str = "model file"
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; an `InputError` if it is no archive or is damaged.

    what: the kind of file that was expected, for messages.
    """
    raw = read_raw(path)
    return unpack_archive(raw, place_of(path), len(raw), what)


def unpack_archive(
    raw: bytes, place: str, size: int = 0, what: str = "model file"
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file's content; errors name the place it came from.

    size: bytes of the file itself; 0 for content embedded in another file.
    """
    if not raw:
        raise InputError(f"is empty, expected a {what}", place=place)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            infos = archive.infolist()
            costs = {info: TEXT_COST if info.filename == HEADER else ARRAY_COST for info in infos}
            needed = sum(info.file_size * cost for info, cost in costs.items())
            if (problem := excess(needed, size)) is not None:
                total = sum(info.file_size for info in infos)
                raise ValueError(f"the content unpacks to {total:,} bytes: {problem}")
            header = json.loads(_content(archive, archive.getinfo(HEADER)))
            members = [info for info in infos if info.filename.endswith(".npy")]
            if len({info.filename for info in members}) < len(members):
                raise ValueError("two members of the zip archive have the same name")
            arrays = dict(_array(info.filename, _content(archive, info)) for info in members)
    except Exception as error:  # zipfile, zlib, json and numpy have many errors for damaged files
        reason = " ".join(str(error).split())
        raise InputError(f"not a readable {what}: {reason}", place=place) from None
    if not isinstance(header, dict):
        message = f"not a readable {what}: the header is not a JSON object"
        raise InputError(message, place=place)
    return header, arrays


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, which must be as many as the archive states.

    `ZipFile.read` unpacks whatever is there before it compares, and other methods of compression
    unpack in one piece.
    """
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{info.filename!r} is compressed by a method that is not DEFLATE")
    with archive.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ValueError(
            f"{info.filename!r} does not unpack to the {info.file_size:,} bytes that it states"
        )
    return content


def _array(member: str, content: bytes) -> tuple[str, NDArray[Any]]:
    """The name and the array of a member."""
    name = member.removesuffix(".npy")
    stream = io.BytesIO(content)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = read[npy.read_magic(stream)](stream)
    text = name.endswith(BIG)
    if dtype.kind != "U" if text else dtype.str not in _KINDS:
        expected = "text" if text else f"one of {', '.join(_KINDS)}"
        raise ValueError(f"{member!r} has the type {dtype}, expected {expected}")
    # numpy would allocate the stated shape before it noticed that the data are shorter.
    expected, actual = prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if actual != expected:
        raise ValueError(
            f"{member!r} has {actual} bytes, expected {expected} for shape {shape} of {dtype}"
        )
    array = npy.read_array(io.BytesIO(content), allow_pickle=False)
    if not text:
        return name, array
    if array.ndim != 1 or not all(_INTEGER.fullmatch(v) for v in array.tolist()):
        raise ValueError(f"{member!r}: expected a list of integers")
    return name.removesuffix(BIG), np.array([int(v) for v in array.tolist()], dtype=object)
