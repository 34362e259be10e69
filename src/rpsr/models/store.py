"""The native model file: any model, with its names, exact weights and provenance.

Suffix `.rpsr`. The header names the kind of model and the library version that wrote it; the
arrays are those of the model. Loading checks the content as strictly as hand-written input
(`store_checks`): a checksum proves nothing, since whoever changes a file can change it too.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr._version import __version__
from rpsr.errors import InputError, ModelError
from rpsr.io.archive import pack_archive, read_archive, unpack_archive, write_archive
from rpsr.io.records import Record, Rewards, Rows
from rpsr.io.variables import Variable
from rpsr.models.domain import Corners, Domain, Simplex, Unknown
from rpsr.models.linear import LinearModel
from rpsr.models.operators import (
    DenseOperators,
    FactoredOperators,
    Operators,
    Process,
    SparseOperators,
    sparse_process,
)
from rpsr.models.pomdp import POMDP
from rpsr.models.store_checks import (
    check_linear,
    check_process,
    check_record,
    flag_of,
    fraction_of,
    labels_of,
    names_of,
    optional_text_of,
    text_of,
)

FORMAT = "rpsr-model"
FORMAT_VERSION = 2
Arrays = dict[str, NDArray[Any]]


def save_native(model: POMDP | LinearModel, path: str | Path) -> None:
    """Write a model to a native file, completely or not at all."""
    try:
        write_archive(path, *_pack(model))
    except (TypeError, ValueError) as error:  # a provenance that is not plain JSON
        raise InputError(
            f"provenance: expected values that JSON can hold: {error}",
            place=str(path),
        ) from None


def load_native(path: str | Path) -> POMDP | LinearModel:
    """Read a native file back into the model it holds."""
    return _unpack(*read_archive(path), str(path))


def native_bytes(model: POMDP | LinearModel) -> bytes:
    """The content of a model's native file."""
    return pack_archive(*_pack(model))


def from_native_bytes(content: bytes, place: str) -> POMDP | LinearModel:
    """The model of a native file's content; errors name the place it came from."""
    return _unpack(*unpack_archive(content, place), place)


def _pack(model: POMDP | LinearModel) -> tuple[dict[str, Any], Arrays]:
    header, arrays = _pack_pomdp(model) if isinstance(model, POMDP) else _pack_linear(model)
    stamp = {"format": FORMAT, "format_version": FORMAT_VERSION, "written_by": __version__}
    return stamp | header, arrays


def _unpack(header: dict[str, Any], arrays: Arrays, place: str) -> POMDP | LinearModel:
    if header.get("format") != FORMAT:
        raise InputError("is not an rpsr model file", place=place)
    if header.get("format_version") != FORMAT_VERSION:
        read = header.get("format_version")
        raise InputError(f"has format version {read}, expected {FORMAT_VERSION}", place=place)
    try:
        if header["kind"] == "pomdp":
            return POMDP(_unpack_record(header, arrays))
        model = _unpack_linear(header, arrays)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows fails its check
            check_linear(model)
        return model
    except KeyError as error:
        raise InputError(f"damaged model file: {error} is missing", place=place) from None
    except (AttributeError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise InputError(f"damaged model file: {error}", place=place) from None
    except InputError as error:
        raise InputError(f"damaged model file: {error.message}", place=place) from None


# ---- POMDP


def _pack_pomdp(pomdp: POMDP) -> tuple[dict[str, Any], Arrays]:
    record = pomdp.record
    exact = record.rewards.exact
    header: dict[str, Any] = {
        "kind": "pomdp",
        "name": record.name,
        "states": record.states,
        "actions": record.actions,
        "observations": record.observations,
        "discount": None if record.discount is None else str(record.discount),
        "emission_by_edge": record.emission_by_edge,
        "exact_rewards": None if exact is None else [str(value) for value in exact],
        "warnings": record.warnings,
        "digest": pomdp.digest,
    }
    header |= _pack_variables(record.state_variables)
    header |= {"labels": dict(record.labels)} if record.labels else {}
    arrays: Arrays = {
        "rewards.values": record.rewards.values,
        "rewards.index": record.rewards.index,
        "resets": record.resets,
    }
    arrays |= {} if record.unavailable is None else {"unavailable": record.unavailable}
    for name in ("start", "transition", "emission"):
        rows: Rows = getattr(record, name)
        parts = {"indptr": rows.indptr, "indices": rows.indices, "values": rows.values}
        parts |= {} if rows.weights is None else {"weights": rows.weights}
        parts |= {} if rows.digits is None else {"digits": rows.digits}
        arrays |= {f"{name}.{part}": array for part, array in parts.items()}
    return header, arrays


def _unpack_record(header: dict[str, Any], arrays: Arrays) -> Record:
    states, actions, observations = (
        names_of(header, kind) for kind in ("states", "actions", "observations")
    )
    widths = {"start": len(states), "transition": len(states), "emission": len(observations)}
    rows = {
        name: Rows(
            width,
            arrays[f"{name}.indptr"],
            arrays[f"{name}.indices"],
            arrays[f"{name}.values"],
            arrays.get(f"{name}.weights"),
            arrays.get(f"{name}.digits"),
        )
        for name, width in widths.items()
    }
    exact = header["exact_rewards"]
    record = Record(
        name=text_of(header["name"]),
        states=states,
        actions=actions,
        observations=observations,
        discount=None if header["discount"] is None else fraction_of(header["discount"]),
        **rows,
        emission_by_edge=flag_of(header["emission_by_edge"]),
        rewards=Rewards(
            arrays["rewards.values"],
            arrays["rewards.index"],
            None if exact is None else tuple(fraction_of(value) for value in exact),
        ),
        resets=arrays["resets"],
        warnings=tuple(text_of(warning) for warning in header["warnings"]),
        state_variables=_unpack_variables(header),
        labels=labels_of(header, len(states)),
        unavailable=arrays.get("unavailable"),
    )
    check_record(record)  # before the digest, which needs valid arrays
    if record.digest() != header["digest"]:
        raise ValueError("the content does not match its digest")
    return record


def _pack_variables(variables: tuple[Variable, ...]) -> dict[str, Any]:
    return {"state_variables": [asdict(variable) for variable in variables]} if variables else {}


def _unpack_variables(header: dict[str, Any]) -> tuple[Variable, ...]:
    return tuple(
        Variable(text_of(v["name"]), names_of(v, "values"), flag_of(v["observed"]))
        for v in header.get("state_variables", ())
    )


# ---- linear models


def _pack_linear(model: LinearModel) -> tuple[dict[str, Any], Arrays]:
    header: dict[str, Any] = {
        "kind": "linear",
        "model_kind": model.kind,
        "name": model.name,
        "actions": model.actions,
        "observations": model.observations,
        "discount": model.discount,
        "rounding": model.rounding,
        "reward_error": model.reward_error,
        "core": model.core,
        "estimator": model.estimator,
        "final": model.final,
        "pomdp": model.pomdp,
        "provenance": model.provenance,
    }
    header |= _pack_variables(model.state_variables)
    arrays: Arrays = {
        "start": model.start,
        "normalizer": model.normalizer,
        "rewards": model.rewards,
    }
    if model.coordinates is not None:
        arrays["coordinates"] = model.coordinates
    operators = model.operators
    if isinstance(operators, DenseOperators):
        header["operators"] = "dense"
        arrays["operators"] = operators.matrices
    elif isinstance(operators, SparseOperators):
        header["operators"] = "sparse"
        arrays |= _pack_process("process", operators.process)
    elif isinstance(operators, FactoredOperators):
        header["operators"] = "factored"
        arrays["basis"] = operators.basis
        arrays |= _pack_process("process", operators.process)
    else:
        raise ModelError(f"operators of type {type(operators).__name__} cannot be saved")
    match model.domain:
        case Simplex(n=n):
            header["domain"] = {"kind": "simplex", "n": n}
        case Corners(points=points, kernel=kernel, start=start, error=error):
            header["domain"] = {"kind": "corners", "n": len(points), "error": error}
            arrays["corners"] = points
            arrays |= {} if start is None else {"corners.start": start}
            arrays |= _pack_process("kernel", kernel)
        case Unknown():
            header["domain"] = {"kind": "unknown"}
    return header, arrays


def _pack_process(name: str, process: Process) -> Arrays:
    flat = [matrix for row in process for matrix in row]
    return {
        f"{name}.indptr": np.stack([np.asarray(m.indptr, dtype=np.int64) for m in flat]),
        f"{name}.indices": np.concatenate([np.asarray(m.indices, dtype=np.int64) for m in flat]),
        f"{name}.values": np.concatenate([np.asarray(m.data) for m in flat]),
        f"{name}.size": np.array([len(process), len(process[0]), int(flat[0].shape[0])]),
    }


def _unpack_process(name: str, arrays: Arrays) -> Process:
    parts = {part: arrays[f"{name}.{part}"] for part in ("size", "indptr", "indices", "values")}
    actions, observations, n = (int(v) for v in parts["size"])
    check_process(parts, (actions, observations, n), name)
    ends = np.append(0, np.cumsum(parts["indptr"][:, -1]))
    blocks = [
        (parts["values"][i:j], parts["indices"][i:j], indptr)
        for i, j, indptr in zip(ends[:-1], ends[1:], parts["indptr"], strict=True)
    ]
    return sparse_process(blocks, (actions, observations, n))


def _unpack_linear(header: dict[str, Any], arrays: Arrays) -> LinearModel:
    operators: Operators
    match header["operators"]:
        case "dense":
            operators = DenseOperators(arrays["operators"])
        case "sparse":
            operators = SparseOperators(_unpack_process("process", arrays))
        case "factored":
            operators = FactoredOperators(arrays["basis"], _unpack_process("process", arrays))
        case other:
            raise ValueError(f"operators: read the kind {other!r}")
    domain: Domain
    match header["domain"]["kind"]:
        case "simplex":
            domain = Simplex(int(header["domain"]["n"]))
        case "corners":
            domain = Corners(
                arrays["corners"],
                _unpack_process("kernel", arrays),
                arrays.get("corners.start"),
                float(header["domain"].get("error", 0.0)),
            )
        case "unknown":
            domain = Unknown()
        case other:
            raise ValueError(f"domain: read {other!r}, expected simplex, corners or unknown")
    return LinearModel(
        kind=text_of(header["model_kind"]),
        name=text_of(header["name"]),
        actions=names_of(header, "actions"),
        observations=names_of(header, "observations"),
        start=arrays["start"],
        operators=operators,
        normalizer=arrays["normalizer"],
        rewards=arrays["rewards"],
        discount=header["discount"],
        domain=domain,
        rounding=float(header["rounding"]),
        reward_error=float(header.get("reward_error", 0.0)),
        core=names_of(header, "core"),
        coordinates=arrays.get("coordinates"),
        estimator=optional_text_of(header["estimator"]),
        state_variables=_unpack_variables(header),
        final=names_of(header, "final"),
        pomdp=optional_text_of(header["pomdp"]),
        provenance=dict(header["provenance"]),
    )
