"""Load a model from a file, standard input or a domain's name; a path wins over a name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rpsr.domains.catalogue import DOMAINS, NAMES, build
from rpsr.errors import InputError
from rpsr.io.drn.writer import write_drn
from rpsr.io.file_kinds import expect_kind
from rpsr.io.files import path_text
from rpsr.io.model_files import read_model
from rpsr.io.pomdp.writer import write_pomdp
from rpsr.io.pomdpx.writer import write_pomdpx
from rpsr.models.as_model import as_model
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.models.store import load_native, save_native

NATIVE_SUFFIX = ".rpsr"
_WRITERS = {".pomdp": write_pomdp, ".pomdpx": write_pomdpx, ".drn": write_drn}


def load(
    source: str | os.PathLike[str],
    *,
    normalize: bool = False,
    discount: float | str | None = None,
    constants: Mapping[str, str | int | float] | None = None,
) -> POMDP | LinearModel:
    """A model from a file (`-` is standard input) or from the name of a domain.

    Files are `.pomdp`, `.pomdpx`, `.drn` or PRISM's explicit form (also gzipped), and native
    `.rpsr`. Other PRISM models and JANI models are built by Storm, if `stormpy` is installed.

    normalize: accept rows of probabilities of any positive sum and rescale them.
    discount: replaces the source's own discount.
    constants: values of the constants of a PRISM or JANI model, by name.
    """
    given = {name: str(value) for name, value in (constants or {}).items()}
    model = _open(path_text(source, "source"), normalize, given)
    return model if discount is None else model.with_discount(discount)


def load_pomdp(
    source: str | os.PathLike[str], *, normalize: bool = False, discount: float | str | None = None
) -> POMDP:
    """Like `load`, for a source that must hold a POMDP."""
    model = load(source, normalize=normalize, discount=discount)
    if not isinstance(model, POMDP):
        raise InputError(f"holds a {model.kind} model, expected a POMDP", place=str(source))
    return model


def _open(text: str, normalize: bool, constants: dict[str, str]) -> POMDP | LinearModel:
    if not text:
        expected = "expected a file's path or a domain's name"
        raise InputError(f"source: read an empty string, {expected}")
    path = Path(text)
    builtin = text.partition(":")[0] in NAMES
    if text == "-" or (_exists(path) and not (builtin and path.is_dir())):
        expect_kind(text, "model")
        if path.suffix.lower() == NATIVE_SUFFIX and not constants:
            return load_native(path)
        return POMDP(read_model(text, normalize=normalize, constants=constants))
    if constants:
        raise InputError("has no constants: only PRISM and JANI files have them", place=text)
    if builtin or text.partition(":")[0] in DOMAINS:
        return build(text)
    if path.suffix or "/" in text:
        raise InputError("no such file", place=text)
    try:
        return build(text)
    except InputError as error:
        raise InputError(f"no such file, and {error.message}", place=text) from None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # the name is too long, or the folder cannot be read
        raise InputError(f"cannot be read: {error.strerror}", place=str(path)) from None


def save(
    model: POMDP | LinearModel, target: str | os.PathLike[str], *, plain_names: bool = False
) -> tuple[str, ...]:
    """Write a model in the format of the target's suffix; returns notes on what it cannot store.

    `.rpsr` stores any model; `.pomdp`, `.pomdpx` and `.drn`, also with `.gz`, store POMDPs, as does
    `-` (standard output, in the format `.pomdp`). plain_names: name the states s0, s1, ..., the
    actions a0, ... and the observations o0, ..., which every program reads.
    """
    model, target = as_model(model), path_text(target, "target")
    if plain_names:
        if not isinstance(model, POMDP):
            read = f"read a {model.kind} model"
            raise InputError(f"plain names: {read}, expected a POMDP", place=target)
        model = model.with_plain_names()
    name = target.lower().removesuffix(".gz") if target != "-" else "-.pomdp"
    if target.lower().endswith(NATIVE_SUFFIX):
        save_native(model, target)
        return ()
    form = next((form for form in _WRITERS if name.endswith(form)), None)
    if form is None:
        expected = "expected a name ending in .pomdp, .pomdpx, .drn (also with .gz) or .rpsr"
        raise InputError(expected, place=target)
    if not isinstance(model, POMDP):
        raise InputError(f"a {model.kind} model cannot be a {form} file; use .rpsr", place=target)
    try:
        return _WRITERS[form](model.record, target)
    except InputError as error:
        raise error if error.place else InputError(error.message, place=target) from None
