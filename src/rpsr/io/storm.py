"""PRISM and JANI models with constants and modules, built by Storm where `stormpy` is installed.

Storm builds the model with exact rationals, or with floats where decimals of the file do not sum to
one, and exports it as DRN, which `rpsr.io.drn` reads.
"""

from __future__ import annotations

import importlib
import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rpsr.errors import InputError
from rpsr.io.drn.reader import parse_drn
from rpsr.io.foreign import JANI, STORM_BUILDS
from rpsr.io.records import Record
from rpsr.printable import printable

FLOAT_DIGITS = 17  # that tell every float apart
LONGEST = 300  # characters of a message of Storm, which may repeat the file


def storm_installed() -> bool:
    """Whether `stormpy` can be imported."""
    try:
        importlib.import_module("stormpy")
    except ImportError:
        return False
    return True


def build_with_storm(
    text: bytes,
    form: str,
    *,
    place: str,
    name: str,
    constants: Mapping[str, str],
    normalize: bool = False,
) -> Record:
    """The POMDP of a PRISM or JANI text (form: the suffix), with values for its constants."""
    try:
        storm = importlib.import_module("stormpy")
    except ImportError:
        raise InputError(STORM_BUILDS, place=place) from None
    with tempfile.TemporaryDirectory(prefix="rpsr-storm-") as folder:
        source, target = Path(folder, f"model{form}"), Path(folder, "model.drn")
        source.write_bytes(text)
        try:
            with _quiet(storm):
                _export(storm, source, target, form, constants)
        except InputError as error:
            raise InputError(error.message, place=place) from None
        except Exception as error:  # stormpy raises exceptions of many kinds
            raise InputError(f"Storm: {_one_line(error, source)}", place=place) from None
        exported = target.read_bytes()
    # The file is small beside what it stands for: only the export limits the memory.
    return parse_drn(exported, place=f"{place} (built by Storm)", name=name, normalize=normalize)


@contextmanager
def _quiet(storm: Any) -> Generator[None]:
    """Storm logs to standard output, where our own output goes; its errors are raised, too."""
    before = storm.developer.get_log_level()
    storm.developer.set_log_level(storm.developer.LogLevel.OFF)
    try:
        yield
    finally:
        storm.developer.set_log_level(before)


def _export(
    storm: Any, source: Path, target: Path, form: str, constants: Mapping[str, str]
) -> None:
    if form == JANI:
        model = _model(storm.parse_jani_model(str(source)))
    else:
        model = storm.parse_prism_program(str(source))
    known = {constant.name for constant in model.constants}
    for given in constants:
        if given not in known:
            expected = f"expected one of {', '.join(sorted(known))}" if known else "expected none"
            raise InputError(f"--const: the model has no constant '{given}', {expected}")
    if constants:
        given = ",".join(f"{key}={value}" for key, value in constants.items())
        model = _model(storm.instantiate_constants(model, given))
    missing = [constant.name for constant in model.constants if not constant.defined]
    if missing:
        given = " ".join(f"--const {constant}=VALUE" for constant in missing)
        raise InputError(f"the constant '{missing[0]}' has no value; give {given}")
    try:
        built = _built(storm, model, storm.Rational)
    except InputError:
        raise
    except Exception:  # exact sums may fail where those of floats do not
        built = _built(storm, model, float)
    options = storm.developer.DirectEncodingExporterOptions()
    options.allow_placeholders = False
    if not built.is_exact:
        options.output_precision = FLOAT_DIGITS
    storm.io.export_to_drn(built, str(target), options=options)


def _model(result: Any) -> Any:
    """The model, of a result that may hold properties, too."""
    return result[0] if isinstance(result, tuple) else result


def _built(storm: Any, model: Any, numbers: Any) -> Any:
    options = storm.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    built = storm.build_model[numbers](model, options=options)
    if not built.is_partially_observable:
        raise InputError("the model has no observations, expected a POMDP")
    return built


def _one_line(error: Exception, source: Path) -> str:
    text = re.sub(r"\s+", " ", str(error) or type(error).__name__).replace(str(source), "the file")
    text = printable(text, one_line=True)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
