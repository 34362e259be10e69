"""The kind of a file, a model, a log or a policy, so that a reader of another kind can say so.

The suffix tells, or the beginning of a policy in the native format, which may have any suffix. For
the rest, a reader has to try.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import Literal

from rpsr.errors import InputError
from rpsr.io.files import GZIP_MAGIC

Kind = Literal["model", "log", "policy"]
SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "model": (".pomdp", ".pomdpx", ".prism", ".drn", ".jani", ".rpsr"),
    "log": (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".pq"),
    "policy": (".alpha", ".pg", ".policy"),
}
LEARN = "; learn a model from it with 'rpsr learn'"
NATIVE_POLICY = "rpsr-policy"  # the value of "format", the first key of a native policy
_BEGINNING = 64  # bytes in which it stands
ZIP_MAGIC = b"PK\x03\x04"
HEADER = "header.json"  # the member of an archive that says what it holds


def kind_of(path: str) -> Kind | None:
    """The kind of a file, or None if neither its suffix nor its beginning tells."""
    bare = path.lower().removesuffix(".gz")
    for kind, suffixes in SUFFIXES.items():
        if bare.endswith(suffixes):
            return kind
    return "policy" if f'"{NATIVE_POLICY}"'.encode() in _beginning(Path(path)) else None


def expect_kind(path: str, expected: Kind) -> None:
    """Refuse a file of another kind; one whose kind is not known passes."""
    kind = kind_of(path)
    if kind not in (None, expected):
        advice = LEARN if (kind, expected) == ("log", "model") else ""
        raise InputError(f"is a {kind}, expected a {expected}{advice}", place=path)


def _beginning(path: Path) -> bytes:
    """The first bytes of a file, decompressed; none if it is no regular file or unreadable."""
    try:
        if not path.is_file():  # a pipe can be read only once
            return b""
        with path.open("rb") as file:
            raw = file.read(_BEGINNING)
        if raw.startswith(ZIP_MAGIC):
            with zipfile.ZipFile(path) as archive, archive.open(HEADER) as file:
                return file.read(_BEGINNING)
        if not raw.startswith(GZIP_MAGIC):
            return raw
        with gzip.open(path) as file:
            return file.read(_BEGINNING)
    # The reader that comes next reports it.
    except (OSError, EOFError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return b""
