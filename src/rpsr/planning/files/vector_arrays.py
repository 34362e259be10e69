"""Vectors of native policy files that are too many to be written as lists.

Parts of vectors (`PartialVectors`) are stored as they are, as an object

    {"shape": [K, n], "elsewhere": w, "first": ..., "state": ..., "value": ...}

and other vectors as {"shape": [K, n], "dense": ...}. In JSON an array is an object

    {"type": "<f8", "length": N, "deflated": "..."}

with the base64 text of N little-endian numbers, compressed as zlib does. In an archive the arrays
of parts are its members, and other vectors are the member "vectors".

A few bytes can unpack to gigabytes. So the sizes that a file states are added up and compared with
the memory that reading may take before anything is unpacked, and no more than these are unpacked.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.io.allowance import excess
from rpsr.io.archive import ARRAY_COST
from rpsr.io.records import LARGEST_VALUE, Floats
from rpsr.planning.value.value_function import PartialVectors

PARTS = ("first", "state", "value")
_TYPES = ("<f8", "<i4", "<i8")


def as_arrays(vectors: PartialVectors) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The plain values of partial vectors, and their arrays by name."""
    plain = {"shape": list(vectors.shape), "elsewhere": vectors.elsewhere}
    return plain, {"first": vectors.first, "state": vectors.state, "value": vectors.value}


def as_json(vectors: Floats | PartialVectors) -> dict[str, Any]:
    """Vectors (K, n) as a JSON object."""
    if not isinstance(vectors, PartialVectors):
        return {"shape": list(vectors.shape), "dense": _packed(vectors)}
    plain, arrays = as_arrays(vectors)
    return plain | {name: _packed(array) for name, array in arrays.items()}


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    """An array without its shape, as a JSON object. Indices take four bytes each where they fit."""
    kind = "<f8"
    if array.dtype.kind == "i":
        kind = "<i4" if int(array.max(initial=0)) < 2**31 else "<i8"
    deflated = zlib.compress(np.ascontiguousarray(array, kind).data.cast("B"))
    return {"type": kind, "length": array.size, "deflated": b64encode(deflated).decode("ascii")}


def read_vectors(stored: Any, size: int) -> Floats | PartialVectors:
    """The vectors of a document of any version; a `ValueError` if they are damaged.

    size: bytes of the file, which limit the memory that reading may take.
    """
    if not isinstance(stored, dict):
        vectors = np.array(stored, dtype=np.float64)
        if vectors.ndim != 2 or vectors.size == 0:
            raise ValueError(f"vectors: read shape {vectors.shape}, expected one row per vector")
        return _finite(vectors)
    entries: dict[str, Any] = stored
    shape = _shape(entries["shape"])
    names = ("dense",) if "dense" in entries else PARTS
    stated = sum(_stated(name, entries[name]) for name in names)
    # Whoever follows partial vectors needs all numbers.
    if (problem := excess(max(ARRAY_COST * stated, 8 * prod(shape)), size)) is not None:
        raise ValueError(f"{shape[0]} vectors of {shape[1]} numbers: {problem}")
    arrays = [_array(name, entries[name], name in ("first", "state")) for name in names]
    if len(arrays) == 1:
        if arrays[0].size != prod(shape):
            raise ValueError(f"dense: read {arrays[0].size} numbers, expected {prod(shape)}")
        return _finite(arrays[0].reshape(shape))
    return _partial(shape, arrays, entries["elsewhere"])


def _partial(shape: list[int], arrays: list[NDArray[Any]], elsewhere: Any) -> PartialVectors:
    first, state, value = arrays
    if len(first) != shape[0] + 1 or (np.diff(first) < 0).any():
        raise ValueError(f"first: expected {shape[0] + 1} numbers that do not decrease")
    if not (first[0] == 0 and first[-1] == len(state) == len(value)):
        raise ValueError(
            f"state, value: read {len(state)} and {len(value)} numbers; expected `first` to begin "
            f"with 0 and to end with both counts, read {first[0]} and {first[-1]}"
        )
    if len(state) and not 0 <= state.min() <= state.max() < shape[1]:
        raise ValueError(f"state: expected numbers from 0 to {shape[1] - 1}")
    if not isinstance(elsewhere, float | int):
        raise ValueError(f"elsewhere: read {elsewhere!r}, expected a number")
    value = _finite(np.append(value, float(elsewhere)))
    return PartialVectors(first, state, value[:-1], float(elsewhere), shape[1])


def _finite(values: Floats) -> Floats:
    if not (np.abs(values) <= LARGEST_VALUE).all():
        raise ValueError(f"vectors: expected numbers up to ±{LARGEST_VALUE:.0e}")
    return values


def _shape(read: Any) -> list[int]:
    if not isinstance(read, list) or len(read) != 2 or not all(map(_count, read)) or 0 in read:  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError(f"shape: read {read!r}, expected the number of vectors and their length")
    return read  # pyright: ignore[reportUnknownVariableType]


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40


def _stated(name: str, entry: Any) -> int:
    """The bytes that an array takes, by its own statement."""
    if isinstance(entry, np.ndarray):
        return entry.nbytes  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(entry, dict) or entry["type"] not in _TYPES or not _count(entry["length"]):
        raise ValueError(f"{name}: expected an object with the keys type, length and deflated")
    return np.dtype(entry["type"]).itemsize * entry["length"]


def _array(name: str, entry: Any, index: bool) -> NDArray[Any]:
    """An array of an archive, or unpacked from text; indices are int64, other numbers float64."""
    if not isinstance(entry, np.ndarray):
        content = _inflated(name, entry["deflated"], _stated(name, entry))
        entry = np.frombuffer(content, entry["type"])
    array: NDArray[Any] = entry
    if (array.dtype.kind == "i") != index or array.ndim != 1:
        expected = f"a list of {'whole numbers' if index else 'numbers'}"
        raise ValueError(f"{name}: read {array.dtype} of shape {array.shape}, expected {expected}")
    return array.astype(np.int64 if index else np.float64)


def _inflated(name: str, text: Any, stated: int) -> bytes:
    if not isinstance(text, str):
        raise ValueError(f"{name}: expected base64 text")
    try:
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(b64decode(text, validate=True), stated + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{name}: not the base64 text of compressed numbers: {error}") from None
    if len(content) != stated or not unpacking.eof:
        raise ValueError(f"{name}: the data do not unpack to the stated {stated:,} bytes")
    return content
