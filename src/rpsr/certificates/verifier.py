"""Check a certificate against a model, in integers and fractions.

Nothing here knows how plans or ranks are found: what a certificate states is proven by the
certificate alone, or refused. `bounds` and `ranks` say what is checked, and why it suffices.
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
    Point,
    Scales,
    Vector,
    check_lower,
    check_upper,
    read_floor,
    read_point,
    read_vector,
)
from rpsr.certificates.controllers import check_controller
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.ranks import Ranked, check_rank
from rpsr.certificates.reading import Fault, Line, Reader, as_float, number, pairs, shown, whole
from rpsr.errors import InputError
from rpsr.io.files import path_text, place_of
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.models.timed import timed
from rpsr.printable import quoted


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
    reader = Reader(path_text(path, "path"))
    header = reader.header()
    steps = None if horizon is None else _steps(horizon)
    pomdp = pomdp if steps is None else timed(pomdp, steps)
    try:
        _check_identity(pomdp, header)
        verified = check(ExactModel(pomdp.record), header, reader.lines())
    except Fault as fault:
        raise InputError(fault.message, place=place_of(path)) from None
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


KINDS = ("vector", "point", "rank", "controller")
RANKED = ("psr", "rpsr")
CLAIMED_BY = {"vector": "lower", "point": "upper"}  # the statements that these lines prove


@dataclass
class _Content:
    """The content of the lines: vectors, points, and the proofs of ranks and controllers."""

    vectors: list[Vector] = field(default_factory=list[Vector])
    points: list[Point] = field(default_factory=list[Point])
    ranks: dict[str, Ranked] = field(default_factory=dict[str, Ranked])
    values: list[Fraction] = field(default_factory=list[Fraction])


def check(model: ExactModel, header: dict[str, Any], lines: Iterable[Line]) -> Verified:
    """Check the content of a certificate against its model; a `Fault` if something is unproven."""
    sizes = _sizes(header)
    content = _read(model, lines, sizes)
    ranks = content.ranks
    accurate = all(ranks["psr"].inside) if "psr" in ranks else None
    proven = {f"{kind}_rank": ranks[kind].rank if kind in ranks else None for kind in RANKED}
    for name, value in {**proven, "accurate": accurate}.items():
        stated = header.get(name)
        if type(stated) is not type(value) or stated != value:
            read, actual = (
                "nothing" if given is None else shown(given) for given in (stated, value)
            )
            raise Fault(f"{name}: the certificate states {read}, but proves {actual}")
    lower, upper = _check_bounds(model, header, content)
    valued = _check_value(header, content.values)
    if lower is None and upper is None and valued is None and not ranks:
        raise Fault(
            "the certificate states nothing, expected a lower or an upper bound, a rank or the "
            "value of a controller"
        )
    present = {kind: count for kind, count in sizes.items() if count}
    psr_rank, rpsr_rank = proven["psr_rank"], proven["rpsr_rank"]
    return Verified("", lower, upper, psr_rank, rpsr_rank, accurate, valued, present)


def _check_identity(pomdp: POMDP, header: dict[str, Any]) -> None:
    """Refuse a certificate for another model."""
    stated = header.get("model")
    if not isinstance(stated, dict) or stated.get("digest") != pomdp.digest:
        named = stated.get("name") if isinstance(stated, dict) else None
        of = quoted(named) if isinstance(named, str) else "without a name"
        steps = stated.get("horizon") if isinstance(stated, dict) else None
        of += f" over {shown(steps)} steps" if isinstance(steps, int) else ""
        raise Fault(
            f"the certificate is for another model, {of}: the hashes differ; give the model and "
            "the options (such as --discount) for which the certificate was written"
        )


def _sizes(header: dict[str, Any]) -> dict[str, int]:
    """The number of lines of each kind, as the header states it."""
    stated = header.get("lines")
    if not isinstance(stated, dict):
        raise Fault("lines: expected the number of lines of each kind")
    for kind in stated:
        if kind not in KINDS:
            raise Fault(f"lines: read {kind[:20]!r}, expected {' or '.join(KINDS)}")
    sizes = {kind: whole(stated.get(kind, 0), f"lines, {kind}") for kind in KINDS}
    for kind, claim in CLAIMED_BY.items():
        if sizes[kind] and header.get(claim) is None:
            raise Fault(
                f"the certificate has lines of kind {kind}, but its header states no {claim} bound"
            )
    return sizes


def _read(model: ExactModel, lines: Iterable[Line], sizes: dict[str, int]) -> _Content:
    """All lines; a `Fault` if there are more or fewer than stated."""
    content, counts = _Content(), dict.fromkeys(KINDS, 0)
    for kind, value in lines:
        if kind not in counts:
            raise Fault(f"read a line of kind {kind[:20]!r}, expected {' or '.join(KINDS)}")
        place, counts[kind] = counts[kind], counts[kind] + 1
        if counts[kind] > sizes[kind]:
            raise Fault(
                f"the certificate has more lines of kind {kind} than its header states, "
                f"{sizes[kind]}"
            )
        if kind == "vector":
            content.vectors.append(read_vector(value, model, sizes[kind], place))
        elif kind == "point":
            content.points.append(read_point(value, model, sizes[kind], place))
        elif kind == "rank":
            ranked = check_rank(value, model)
            content.ranks[ranked.kind] = ranked
        else:
            content.values.append(check_controller(value, model))
    for kind, count in counts.items():
        if count != sizes[kind]:
            expected = f"expected {sizes[kind]}; the file may be cut off"
            raise Fault(f"the certificate has {count} lines of kind {kind}, {expected}")
    return content


def _check_bounds(
    model: ExactModel, header: dict[str, Any], content: _Content
) -> tuple[Fraction | None, Fraction | None]:
    """The bounds that the certificate states, after a proof of each."""
    stated = {name: header.get(name) for name in ("lower", "upper")}
    claims = {name: number(v, name) for name, v in stated.items() if v is not None}
    if not claims:
        return None, None
    if number(header["model"].get("discount"), "discount") != model.discount:
        raise Fault(
            "discount: the certificate is for another discount than that of the model, "
            f"{as_float(model.discount):g}"
        )
    scales = Scales.read(header.get("scales"))
    if "lower" in claims:
        if not content.vectors:
            raise Fault("lower bound: the certificate has no vectors")
        proven = check_lower(model, scales, content.vectors)
        if claims["lower"] > proven:
            raise Fault(_beyond("lower", claims["lower"], proven))
    if "upper" in claims:
        if len(content.points) < len(model.states):
            raise Fault("upper bound: the certificate has fewer points than the model has states")
        start = pairs(header.get("start"), "start", len(content.points))
        floor = read_floor(header.get("floor"), model)
        proven = check_upper(model, scales, floor, content.points, start)
        if claims["upper"] < proven:
            raise Fault(_beyond("upper", claims["upper"], proven))
    return claims.get("lower"), claims.get("upper")


def _check_value(header: dict[str, Any], proven: list[Fraction]) -> Fraction | None:
    """The exact value that the certificate states of a controller, if it is the proven one."""
    stated = header.get("controller_value")
    if stated is None and not proven:
        return None
    if len(proven) != 1:
        raise Fault(f"controller: read {len(proven)} lines of this kind, expected one")
    value = number(stated, "controller_value")
    if value != proven[0]:
        read, actual = as_float(value), as_float(proven[0])
        raise Fault(f"controller: the certificate states the value {read!r}, but proves {actual!r}")
    return value


def _beyond(which: str, stated: Fraction, proven: Fraction) -> str:
    return (
        f"{which} bound: the certificate states {as_float(stated):.12g}, but proves only "
        f"{as_float(proven):.12g} (difference {abs(as_float(stated - proven)):.3g})"
    )
