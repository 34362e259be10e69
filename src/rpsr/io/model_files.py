"""Model files of other programs, told apart by content, not by suffix."""

from __future__ import annotations

from pathlib import Path

from rpsr.errors import InputError
from rpsr.io.drn.reader import parse_drn
from rpsr.io.files import place_of, read_content
from rpsr.io.foreign import DRN, JANI, POMDP, POMDPX, PRISM, STORM_BUILDS, format_of
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.pomdpx.reader import parse_pomdpx
from rpsr.io.prism.reader import parse_prism
from rpsr.io.records import Record

_READERS = {POMDP: parse_pomdp, POMDPX: parse_pomdpx, PRISM: parse_prism, DRN: parse_drn}
_SUFFIXES = (".gz", ".pomdpx", ".POMDPX", ".pomdp", ".POMDP", PRISM, DRN, JANI)


def read_model(path: str | Path, *, normalize: bool = False) -> Record:
    """Read a model file of any known format, plain or gzipped; `-` is standard input."""
    name = Path(path).name if str(path) != "-" else "stdin"
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    content, place = read_content(path), place_of(path)
    form = format_of(content.text, place)
    if form not in _READERS:
        raise InputError(f"is a JANI model; {STORM_BUILDS}", place=place)
    read = _READERS[form]
    return read(content.text, place=place, name=name, normalize=normalize, size=content.size)
