"""Model files in text formats, `.pomdp` and `.pomdpx`, told apart by content, not by suffix."""

from __future__ import annotations

import re
from pathlib import Path

from rpsr.errors import InputError
from rpsr.io.files import place_of, read_content
from rpsr.io.foreign import foreign_format
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.pomdpx.reader import parse_pomdpx
from rpsr.io.records import Record

_XML = re.compile(rb"(\xef\xbb\xbf)?\s*<")
_SUFFIXES = (".gz", ".pomdpx", ".POMDPX", ".pomdp", ".POMDP")


def read_model(path: str | Path, *, normalize: bool = False) -> Record:
    """Read a `.pomdp` or POMDPX file, plain or gzipped; `-` is standard input."""
    name = Path(path).name if str(path) != "-" else "stdin"
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    content, place = read_content(path), place_of(path)
    if not content.text.strip():
        raise InputError("is empty, expected a model in .pomdp or POMDPX format", place=place)
    parse = parse_pomdpx if _XML.match(content.text) else parse_pomdp
    if parse is parse_pomdp and (problem := foreign_format(content.text, place)) is not None:
        raise InputError(problem, place=place)
    return parse(content.text, place=place, name=name, normalize=normalize, size=content.size)
