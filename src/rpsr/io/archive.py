"""One file of arrays with a JSON header: a zip of `header.json` and `.npy` members, never a pickle.

`numpy.load` opens it as an npz. Integers beyond 64 bits travel as text. Writing the same content
twice gives the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rpsr.errors import InputError
from rpsr.io.files import place_of, read_bytes, write_whole

HEADER = "header.json"
BIG = ".integers"  # suffix of members that hold Python integers as text
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the zip format's zero: a file is its content, not its date
LARGEST = 2**33  # bytes of one array


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


def _write(stream: BinaryIO, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(header, indent=1, allow_nan=False)
        archive.writestr(_member(HEADER), text.encode())
        for name, array in arrays.items():
            if array.dtype == object:
                name, array = name + BIG, np.array([str(v) for v in array.tolist()])
            buffer = io.BytesIO()
            npy.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(_member(name + ".npy"), buffer.getvalue())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; an `InputError` where it is not one or is damaged."""
    return unpack_archive(read_bytes(path), place_of(path))


def unpack_archive(raw: bytes, place: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file's content; errors name the place it came from."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for info in archive.infolist():
                if info.file_size > LARGEST:
                    raise ValueError(f"{info.filename!r} is larger than 8 GiB")
            header = json.loads(archive.read(HEADER))
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            arrays = dict(_array(name, archive.read(name)) for name in members)
    except Exception as error:  # zipfile, zlib, json and numpy say "damaged" in ten ways
        reason = " ".join(str(error).split())
        raise InputError(f"not a readable model file: {reason}", place=place) from None
    if not isinstance(header, dict):
        raise InputError("not a readable model file: its header is no object", place=place)
    return header, arrays


def _array(member: str, content: bytes) -> tuple[str, NDArray[Any]]:
    """A member's array and its name."""
    name = member.removesuffix(".npy")
    array = npy.read_array(io.BytesIO(content), allow_pickle=False)
    if not name.endswith(BIG):
        return name, array
    return name.removesuffix(BIG), np.array([int(v) for v in array.tolist()], dtype=object)
