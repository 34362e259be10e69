"""Check a certificate against a model, in integers and fractions.

Nothing here knows how plans or ranks are found: what a certificate states is proven by the
certificate alone, or refused. Every line is checked by itself as it is read, but for the
inequalities of vectors and points, which need all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import index
from pathlib import Path
from time import perf_counter
from typing import Any

from rpsr.certificates.bounds import (
    Scales,
    check_lower,
    check_upper,
    read_floor,
    read_point,
    read_vector,
)
from rpsr.certificates.controllers import check_controller
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.ranks import check_rank
from rpsr.certificates.reading import Fault, Line, Reader, number, pairs, shown, whole
from rpsr.errors import InputError
from rpsr.io.files import path_text, place_of
from rpsr.io.float_bounds import as_float
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.models.timed import timed

KINDS = ("vector", "point", "rank", "controller")  # of lines
CLAIMED_BY = {"vector": "lower", "point": "upper"}  # the statements that these lines prove


@dataclass(frozen=True)
class Verified:
    """The statement that a certificate proves.

    lower, upper: bounds on the optimal value at the start, or None. horizon: the number of steps
    that they are for, None for the infinite horizon. psr_rank, rpsr_rank: the ranks,
    or None. accurate: whether a PSR is accurate (see `rpsr.accuracy`), or None. controller_value:
    the exact value of a controller at the start, or None. sizes: the number of lines of each kind.
    size: bytes of text. seconds: of the check.
    """

    name: str
    lower: Fraction | None = None
    upper: Fraction | None = None
    psr_rank: int | None = None
    rpsr_rank: int | None = None
    accurate: bool | None = None
    controller_value: Fraction | None = None
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    size: int = 0
    seconds: float = 0.0
    horizon: int | None = None


def verify(pomdp: POMDP, path: str | Path, *, horizon: int | None = None) -> Verified:
    """Check a certificate of a POMDP; an `InputError` says which statement fails, and where.

    horizon: the number of steps that bounds are for, by default the infinite horizon. The bounds
    that are returned are those that the certificate states.
    """
    began, pomdp = perf_counter(), as_pomdp(pomdp)
    steps = None if horizon is None else _steps(horizon)
    pomdp = pomdp if steps is None else timed(pomdp, steps)
    reader = Reader(path_text(path, "path"))
    try:
        header = reader.header()
        _check_identity(pomdp, header)
        verified = check(ExactModel(pomdp.record), header, reader.lines())
    except Fault as fault:
        raise InputError(fault.message, place=place_of(path), line=fault.line) from None
    seconds = perf_counter() - began
    return replace(verified, name=pomdp.name, horizon=steps, size=reader.size, seconds=seconds)


def _steps(horizon: Any) -> int:
    """A number of steps of any integer type."""
    try:
        steps = 0 if isinstance(horizon, bool) else index(horizon)
    except TypeError:
        steps = 0
    if steps < 1:
        raise InputError(f"horizon: read {horizon!r}, expected a number of steps of at least 1")
    return steps


def _check_identity(pomdp: POMDP, header: dict[str, Any]) -> None:
    """Refuse a certificate for another model."""
    stated = header.get("model")
    if not isinstance(stated, dict):
        raise Fault("model: expected an object")
    if stated.get("digest") != pomdp.digest:
        name, steps = stated.get("name"), stated.get("horizon")
        of = "without a name" if name is None else shown(name)
        of += "" if steps is None else f" over {shown(steps)} steps"
        raise Fault(
            f"the certificate is for another model, {of}: the hashes differ; give the model and "
            "the options (such as --discount) for which the certificate was written"
        )


def check(model: ExactModel, header: dict[str, Any], lines: Iterable[Line]) -> Verified:
    """Check the content of a certificate against its model; a `Fault` if something is unproven."""
    sizes = _sizes(header)
    content = _read(model, lines, sizes)
    ranks = {ranked.kind: ranked for ranked in content["rank"]}
    psr, rpsr, values = ranks.get("psr"), ranks.get("rpsr"), content["controller"]
    proven: dict[str, Any] = {
        "psr_rank": None if psr is None else psr.rank,
        "rpsr_rank": None if rpsr is None else rpsr.rank,
        "accurate": None if psr is None else all(psr.inside),
        "controller_value": values[0] if values else None,
    }
    for name, value in proven.items():
        stated = header.get(name)
        stated = number(stated, name) if isinstance(value, Fraction) else stated
        if type(stated) is not type(value) or stated != value:
            read, actual = (
                "nothing" if given is None else shown(given) for given in (stated, value)
            )
            raise Fault(f"{name}: the certificate states {read}, but proves {actual}")
    lower, upper = _check_bounds(model, header, content)
    if lower is None and upper is None and not ranks and not values:
        raise Fault(
            "the certificate states nothing, expected a lower or an upper bound, a rank or the "
            "value of a controller"
        )
    present = {kind: count for kind, count in sizes.items() if count}
    return Verified("", lower, upper, **proven, sizes=present)


def _sizes(header: dict[str, Any]) -> dict[str, int]:
    """The number of lines of each kind, as the header states it."""
    stated = header.get("lines")
    if not isinstance(stated, dict):
        raise Fault("lines: expected the number of lines of each kind")
    for kind in stated:
        if kind not in KINDS:
            raise Fault(f"lines: read {shown(kind)}, expected {' or '.join(KINDS)}")
    sizes = {kind: whole(stated.get(kind, 0), f"lines, {kind}") for kind in KINDS}
    if sizes["controller"] > 1:
        raise Fault(f"lines: read {sizes['controller']} of kind controller, expected one")
    for kind, claim in CLAIMED_BY.items():
        if sizes[kind] and header.get(claim) is None:
            raise Fault(
                f"the certificate has lines of kind {kind}, but its header states no {claim} bound"
            )
    return sizes


def _read(model: ExactModel, lines: Iterable[Line], sizes: dict[str, int]) -> dict[str, list[Any]]:
    """By kind, the vectors and points of all lines, proven ranks, and proven values of controllers.

    A `Fault` if there are more or fewer lines than stated.
    """
    content = {kind: list[Any]() for kind in KINDS}
    for kind, value in lines:
        if kind not in content:
            raise Fault(f"read a line of kind {shown(kind)}, expected {' or '.join(KINDS)}")
        place, count = len(content[kind]), sizes[kind]
        if place == count:
            raise Fault(
                f"the certificate has more lines of kind {kind} than its header states, {count}"
            )
        if kind == "vector":
            read = read_vector(value, model, count, place)
        elif kind == "point":
            read = read_point(value, model, count, place)
        elif kind == "rank":
            read = check_rank(value, model)
        else:
            read = check_controller(value, model)
        content[kind].append(read)
    for kind, listed in content.items():
        if len(listed) != sizes[kind]:
            expected = f"expected {sizes[kind]}; the file may be cut off"
            raise Fault(f"the certificate has {len(listed)} lines of kind {kind}, {expected}")
    return content


def _check_bounds(
    model: ExactModel, header: dict[str, Any], content: dict[str, list[Any]]
) -> tuple[Fraction | None, Fraction | None]:
    """The bounds that the certificate states, after a proof of each."""
    lower, upper = (
        None if header.get(name) is None else number(header[name], name)
        for name in ("lower", "upper")
    )
    if lower is None and upper is None:
        return None, None
    if number(header["model"].get("discount"), "discount") != model.discount:
        raise Fault(
            "discount: the certificate is for another discount than that of the model, "
            f"{as_float(model.discount):g}"
        )
    scales = Scales.read(header.get("scales"))
    if lower is not None:
        proven = check_lower(model, scales, content["vector"])
        if lower > proven:
            raise _beyond("lower", lower, proven)
    if upper is not None:
        points = content["point"]
        start = pairs(header.get("start"), "start", len(points))
        proven = check_upper(model, scales, read_floor(header.get("floor"), model), points, start)
        if upper < proven:
            raise _beyond("upper", upper, proven)
    return lower, upper


def _beyond(which: str, stated: Fraction, proven: Fraction) -> Fault:
    return Fault(
        f"{which} bound: the certificate states {as_float(stated):.12g}, but proves only "
        f"{as_float(proven):.12g} (difference {abs(as_float(stated - proven)):.3g})"
    )
