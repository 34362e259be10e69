"""Damage to files: to their bytes, lines, words and numbers, and to the parts of archives."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rpsr.errors import RpsrError
from rpsr.io.archive import pack_archive, unpack_archive
from rpsr.models.store import _unpack_record

LARGEST = 2**20  # bytes of an input
_WORDS = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|\s+|.", re.S)
_NUMBERS = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
NUMBERS = (
    *(b"0", b"1", b"-1", b"2", b"0.5", b"1e-300", b"1e300", b"1e400", b"-1e-400", b"1e-5000"),
    *(b"1e999999999", b"-0", b"00", b"1.", b".", b"NaN", b"Infinity", b"-inf", b"1/3", b"1/0"),
    *(b"2147483648", b"-9223372036854775809", b"18446744073709551616", b"9" * 400, b"100000"),
    *(b"1000000", b"99999999", b"0x1p-3", b"0xff", b"1_000", b"0.1" + b"3" * 60, b"\xd9\xa3"),
)
PIECES = (
    *(
        b"",
        b" ",
        b"\n",
        b"\r",
        b"\t",
        b"\x00",
        b"\x1b[31m",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
    ),
    *(b"*", b":", b"#", b"//", b"-", b"_", b"uniform", b"identity", b"reset", b"include", b"T:"),
    *(b"O: *", b"R: * : * : * : *", b"states: 100000", b"null", b"true", b"{}", b"[]", b'""'),
    *(b"[[[[[[", b'{"a":', b"\\u0000", b"\\ud800", b",", b";", b'"', b"'", b"<", b">", b"<!--"),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"&#0;", b"&amp;", b"<![CDATA[", b"]]>", b"->"),
    *(b"[", b"]", b"{", b"}", b"(", b")", b"&", b"|", b"=", b"'=", b"__import__", b"=1+1"),
)


def _cut(rng: random.Random, data: bytes) -> tuple[int, int]:
    """A stretch, mostly short."""
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + int(rng.expovariate(1 / rng.choice((2, 20, 200)))))


def flip_bit(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def drop(rng: random.Random, data: bytes) -> bytes:
    begin, end = _cut(rng, data)
    return data[:begin] + data[end:]


def cut_off(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(PIECES + NUMBERS) + data[at:]


def repeat(rng: random.Random, data: bytes) -> bytes:
    begin, end = _cut(rng, data)
    times = rng.choice((2, 2, 2, 3, 10, 1000 if rng.random() < 0.05 else 2))
    return data[:end] + data[begin:end] * times + data[end:]


def shuffle_bytes(rng: random.Random, data: bytes) -> bytes:
    begin, end = _cut(rng, data)
    return data[:begin] + rng.randbytes(end - begin) + data[end:]


def change_line(rng: random.Random, data: bytes) -> bytes:
    """Drop, copy or exchange lines."""
    lines = data.splitlines(keepends=True)
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[one]
        case 1:
            lines.insert(two, lines[one])
        case _:
            lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def change_word(rng: random.Random, data: bytes) -> bytes:
    """Drop, copy, exchange or replace words."""
    begin = rng.randrange(max(1, len(data) - 4000))  # few words of a long file
    words = _WORDS.findall(data[begin : begin + 4000])
    one, two = rng.randrange(len(words)), rng.randrange(len(words))
    match rng.randrange(4):
        case 0:
            del words[one]
        case 1:
            words.insert(two, words[one])
        case 2:
            words[one], words[two] = words[two], words[one]
        case _:
            words[one] = rng.choice(PIECES)
    return data[:begin] + b"".join(words) + data[begin + 4000 :]


def change_number(rng: random.Random, data: bytes) -> bytes:
    numbers = list(_NUMBERS.finditer(data[:20000]))
    if not numbers:
        return insert(rng, data)
    number = rng.choice(numbers)
    text = rng.choice(NUMBERS) if rng.random() < 0.6 else b"%d" % rng.randrange(-3, 20)
    return data[: number.start()] + text + data[number.end() :]


BYTES = (flip_bit, drop, cut_off, insert, repeat, shuffle_bytes)
TEXT = (change_line, change_word, change_word, change_number, change_number, drop, insert, repeat)


def grow(rng: random.Random, data: bytes, size: int = LARGEST) -> bytes:
    """A stretch of lines, or of a line, repeated until the file has about a given size."""
    if rng.random() < 0.7:
        lines = data.splitlines(keepends=True)
        begin = rng.randrange(len(lines))
        end = min(len(lines), begin + rng.choice((1, 1, 2, 5)))
        before, block = b"".join(lines[:begin]), b"".join(lines[begin:end])
    else:
        first, last = _cut(rng, data)
        before, block = data[:first], data[first:last]
    after = data[len(before) + len(block) :]
    times = max(1, (size - len(before) - len(after)) // max(1, len(block)))
    return before + block * times + after


def splice(rng: random.Random, one: bytes, other: bytes) -> bytes:
    """The beginning of one file and the end of another, or a stretch of it in between."""
    begin, end = _cut(rng, other)
    at = rng.randrange(len(one) + 1)
    return one[:at] + (other[begin:] if rng.random() < 0.5 else other[begin:end] + one[at:])


def damage(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A few changes to a text; other: a file to take parts from."""
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.8:  # what is inside
        try:
            inner = gzip.decompress(data)
        except (OSError, EOFError, ValueError, zlib.error):
            inner = b""
        if 0 < len(inner) <= LARGEST:
            return gzip.compress(damage(rng, inner, inner), 1, mtime=0)
    kinds: Sequence[Callable[[random.Random, bytes], bytes]] = TEXT if rng.random() < 0.8 else BYTES
    if rng.random() < 0.1:
        data = splice(rng, data, other)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if not data:
            return rng.choice(PIECES)
        data = rng.choice(kinds)(rng, data)
    if rng.random() < 0.002:
        data = gzip.compress(data, 1, mtime=0)
    return data[:LARGEST]


# ---- archives: a header and arrays


class _Any:
    """Equal to everything."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def damage_archive(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Changes to the header or the arrays, or to the bytes of the archive."""
    if rng.random() < 0.1:
        return damage(rng, data, other)
    try:
        header, arrays = unpack_archive(data, "input", len(data))
        donor = unpack_archive(other, "other", len(other))
    except RpsrError:
        return damage(rng, data, other)
    if rng.random() < 0.1:
        header = header if rng.random() < 0.5 else donor[0]
        arrays = arrays | {k: v for k, v in donor[1].items() if rng.random() < 0.5}
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.4 or not arrays:
            change_json(rng, header)
        else:
            name = rng.choice(list(arrays))
            arrays[name] = _changed_array(rng, arrays[name])
            if rng.random() < 0.05:
                del arrays[name]
    if header.get("kind") == "pomdp" and rng.random() < 0.8:
        header = header | {"digest": _digest(header, arrays)}
    try:
        packed = pack_archive(header, arrays)
    except (TypeError, ValueError, UnicodeEncodeError):
        return damage(rng, data, other)
    return (change_directory(rng, packed) if rng.random() < 0.05 else packed)[:LARGEST]


def change_directory(rng: random.Random, data: bytes) -> bytes:
    """State another size, another method or other flags of a member of a zip."""
    entries = [match.start() for match in re.finditer(b"PK\x01\x02", data)]
    # Where the central directory has them: flags, method, size when packed, and size.
    at, width = rng.choice(((8, 2), (10, 2), (20, 4), (24, 4), (24, 4)))
    begin = rng.choice(entries) + at
    value = rng.choice((0, 1, 8, 9, 12, 14, 93, 1000, 2**16 - 1, 2**31, 2**32 - 1))
    return data[:begin] + (value % 256**width).to_bytes(width, "little") + data[begin + width :]


def _digest(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """The digest that makes the content valid: whoever changes a file can change it, too."""
    try:
        return _unpack_record(header | {"digest": _Any()}, arrays).digest()
    except Exception:
        return header.get("digest")


VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2**31, 2**63, 10**400, 0.5, -0.0, 1e300, True, None, "", "a", "\x1b", "1/0"),
    *([], {}, [[]], ["a", "a"], [0], {"a": 0}, "9" * 5000, "1e999999", "\ud800"),
    *("0x1f", "-0x1", "0x" + "f" * 3998, "0x1.8p-3", "0x1p9999", "22/7"),
)


def change_json(rng: random.Random, value: Any) -> None:
    """Change one place of a JSON value."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.7:
            value = value[key]
            continue
        break
    match rng.randrange(6):
        case 0:
            del value[key]
        case 1:
            value[key] = value[rng.choice(keys)]
        case 2 if isinstance(value[key], int | float) and abs(value[key]) < 1e300:
            value[key] += rng.choice((-1, 1, 1e-9, 1000))
        case _:
            value[key] = rng.choice(VALUES)


_CELLS = (0, 1, -1, 2, 3, 2**31, 2**62, -(2**63))
_REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e-16, 1e16, 1e308, np.inf, -np.inf, np.nan)


def _changed_array(rng: random.Random, array: Any) -> Any:
    array = array.copy()
    match rng.randrange(8):
        case 0:
            return array[: rng.randrange(len(array) + 1)] if array.ndim else array[None]
        case 1:
            return np.concatenate([array, array]) if array.ndim else array
        case 2:
            return array.ravel() if rng.random() < 0.5 else array[None]
        case 3 if array.dtype != object:
            with np.errstate(invalid="ignore"):
                return array.astype(rng.choice((np.float64, np.int64, np.bool_)), casting="unsafe")
        case _:
            for _ in range(rng.choice((1, 1, 2, 5)) if array.size else 0):
                at = np.unravel_index(rng.randrange(array.size), array.shape)
                cells = _REALS if array.dtype == np.float64 else _CELLS
                value = rng.choice(cells)
                if rng.random() < 0.5:
                    value = array.flat[rng.randrange(array.size)]
                array[at] = value != 0 if array.dtype == np.bool_ else value
            return array


# ---- tables


def damage_table(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Changes to the columns of a Parquet file, or to its bytes."""
    import pyarrow as arrow
    from pyarrow import parquet

    if rng.random() < 0.5:
        return damage(rng, data, other)
    try:
        table = parquet.read_table(io.BytesIO(data)).to_pydict()
    except Exception:
        return damage(rng, data, other)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not table:  # all columns are dropped
            break
        column = rng.choice(list(table))
        match rng.randrange(4):
            case 0:
                del table[column]
            case 1:
                table[rng.choice(("episode", "step", "action", "reward", "x"))] = table[column]
            case 2:
                cells = [rng.choice((None, 0, 1, -1, 2**40, 2**62)) for _ in table[column]]
                kinds = (str, float, bool, lambda v: v, lambda v: [v], lambda v: {"a": v})
                kind = rng.choice(kinds)
                table[column] = [None if v is None else kind(v) for v in cells]
            case _ if table.get(column):
                table[column][rng.randrange(len(table[column]))] = None
    buffer = io.BytesIO()
    try:
        parquet.write_table(arrow.table(table), buffer)
    except (arrow.ArrowException, OverflowError, TypeError):
        return damage(rng, data, other)
    return buffer.getvalue()[:LARGEST]


def damage_lines_of_json(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Changes to the values of a JSON file or of JSON lines, or to the text."""
    if rng.random() < 0.5:
        return damage(rng, data, other)
    try:
        lines = [json.loads(line) for line in data.splitlines()]
        single = False
    except (ValueError, RecursionError):
        try:
            lines, single = [json.loads(data)], True
        except (ValueError, RecursionError):
            return damage(rng, data, other)
    if not lines:
        return damage(rng, data, other)
    for _ in range(rng.choice((1, 1, 2, 4))):
        line = rng.choice(lines)
        if isinstance(line, dict | list):
            change_json(rng, line)
    try:
        text = "\n".join(json.dumps(line, indent=1 if single else None) for line in lines)
    except (ValueError, RecursionError):
        return damage(rng, data, other)
    return text.encode()[: LARGEST - 1] + b"\n"


def damage_carried(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Changes to the model that a policy file contains, or to the rest of the file."""
    try:
        document = json.loads(data)
        model = b64decode(document["carries"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return damage_lines_of_json(rng, data, other)
    if rng.random() < 0.5:
        return damage_lines_of_json(rng, data, other)
    document["carries"] = b64encode(damage_archive(rng, model, model)).decode("ascii")
    return json.dumps(document).encode()[:LARGEST]


BLOCK = 512  # bytes of a header in a tar
CHECKSUM = slice(148, 156)


def damage_tar(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Changes to the headers of a tar with right checksums, to its bytes, or to those packed."""
    try:
        tar = bytearray(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, EOFError, zlib.error):
        return damage(rng, data, other)
    headers = [at for at in range(0, len(tar), BLOCK) if tar[at + 257 : at + 262] == b"ustar"]
    if not headers or rng.random() < 0.3:
        return damage(rng, data, other)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.choice(headers)
        # Where a header has the name, the size, the kind, the target of a link, and the prefix.
        begin, width = rng.choice(
            ((0, 100), (124, 12), (124, 12), (156, 1), (157, 100), (345, 155))
        )
        value = rng.choice(TAR_VALUES)[:width]
        tar[at + begin : at + begin + len(value)] = value
        block = bytearray(tar[at : at + BLOCK])
        block[CHECKSUM] = b" " * 8
        block[CHECKSUM] = b"%06o\0 " % sum(block)
        tar[at : at + BLOCK] = block
    changed = bytes(tar) if rng.random() < 0.7 else damage(rng, bytes(tar), other)
    return (gzip.compress(changed, 1, mtime=0) if rng.random() < 0.7 else changed)[:LARGEST]


# Where a header has the name, the size, the kind, the target of a link, and the prefix.
TAR_FIELDS = ((0, 100), (124, 12), (124, 12), (156, 1), (157, 100), (345, 155))
TAR_VALUES = (
    *(b"0", b"1", b"2", b"5", b"7", b"g", b"x", b"L", b"K", b"S", b"V", b"\0", b"lamp.POMDP\0"),
    *(b"00000000000\0", b"00000001000\0", b"77777777777\0", b"\x80" + b"\0" * 10 + b"\xff"),
    *(b"\xff" * 12, b"-1\0", b"..\0", b"/etc\0", b"a/" * 50, b"\xff\xfe", b"30 size=99999999\n"),
)


DAMAGES: dict[str, Callable[[random.Random, bytes, bytes], bytes]] = {
    "native": damage_archive,
    "checkpoint": damage_archive,
    "npz": damage_archive,
    "parquet": damage_table,
    "policy": damage_lines_of_json,
    "jsonl": damage_lines_of_json,
    "certificate": damage_lines_of_json,
    "rows": damage_lines_of_json,
    "learned": damage_archive,
    "carried": damage_carried,
    "stochastic": damage_lines_of_json,
    "moments": damage_archive,
    "jsonl-parts": damage_lines_of_json,
    "parquet-parts": damage_table,
    "pieces": damage_lines_of_json,
    "timings": damage_lines_of_json,
    "classics": damage_tar,
}


GROWN = 0.01  # of the inputs: reading one takes as long as reading hundreds of others


def damaged(reader: str, rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A damaged file of a reader; few of them are grown to a megabyte, or packed, to more."""
    if data and rng.random() < GROWN:
        packed = data[:2] == b"\x1f\x8b"
        try:
            data = gzip.decompress(data) if packed else data
        except (OSError, EOFError, zlib.error):
            return data
        if not packed or rng.random() < 0.5:
            return grow(rng, data)[:LARGEST] if data else data
        return gzip.compress(grow(rng, data, 8 * LARGEST), 1, mtime=0)[:LARGEST] if data else data
    return DAMAGES.get(reader, damage)(rng, data, other)
