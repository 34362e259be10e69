"""Model files of other programs, whose format is recognised by content, not by suffix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rpsr.errors import InputError
from rpsr.io.drn.reader import parse_drn
from rpsr.io.files import place_of, read_content
from rpsr.io.foreign import DRN, JANI, JANI_NEEDS, POMDP, POMDPX, PRISM, format_of
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.io.pomdpx.reader import parse_pomdpx
from rpsr.io.prism.reader import parse_prism
from rpsr.io.prism.scanner import OutsideExplicit
from rpsr.io.records import Record
from rpsr.io.storm import build_with_storm, storm_installed

_READERS = {POMDP: parse_pomdp, POMDPX: parse_pomdpx, PRISM: parse_prism, DRN: parse_drn}
_SUFFIXES = (".gz", ".pomdpx", ".POMDPX", ".pomdp", ".POMDP", PRISM, DRN, JANI)


def read_model(
    path: str | Path, *, normalize: bool = False, constants: Mapping[str, str] | None = None
) -> Record:
    """Read a model file of any known format, plain or gzipped; `-` is standard input.

    constants: values of the constants of a PRISM or JANI model, which Storm builds.
    """
    name = Path(path).name if str(path) != "-" else "stdin"
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    content, place = read_content(path), place_of(path)
    if not content.text.strip():
        raise InputError("is empty, expected a model", place=place)
    form = format_of(content.text, place)
    if form not in (PRISM, JANI) and constants:
        raise InputError("has no constants: --const is for PRISM and JANI models", place=place)
    if form == JANI and not storm_installed():
        raise InputError(JANI_NEEDS, place=place)
    if form != JANI and not constants:
        read = _READERS[form]
        try:
            return read(
                content.text, place=place, name=name, normalize=normalize, size=content.size
            )
        except OutsideExplicit:
            if not storm_installed():
                raise
    return build_with_storm(
        content.text,
        form,
        place=place,
        name=name,
        constants=constants or {},
        normalize=normalize,
    )
