"""Check a certificate against a model, in integers and fractions.

Nothing here knows how plans or ranks are found: what a certificate states is proven by the
certificate alone, or refused. `bounds` and `ranks` say what is checked, and why it suffices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
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
from rpsr.certificates.ranks import check_rank
from rpsr.certificates.reading import Fault, Line, as_float, number, pairs, read_lines, shown, whole
from rpsr.errors import InputError
from rpsr.io.files import path_text, place_of
from rpsr.io.printable import quoted
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.models.timed import timed


@dataclass(frozen=True)
class Verified:
    """What a certificate proves.

    lower, upper: bounds on the optimal value at the start, or None. psr_rank, rpsr_rank: the ranks,
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


def verify(pomdp: POMDP, path: str | Path, *, horizon: int | None = None) -> Verified:
    """Check a certificate of a POMDP; an `InputError` says which statement fails, and where.

    horizon: the number of steps that bounds are for, by default the infinite horizon. The bounds
    that are returned are those that the certificate states.
    """
    began, pomdp = perf_counter(), as_pomdp(pomdp)
    header, lines, size = read_lines(path_text(path, "path"))
    pomdp = pomdp if horizon is None else timed(pomdp, horizon)
    try:
        _check_identity(pomdp, header)
        found = check(ExactModel(pomdp.record), header, lines)
    except Fault as fault:
        raise InputError(fault.message, place=place_of(path)) from None
    return replace(found, name=pomdp.name, size=size, seconds=perf_counter() - began)


def check(model: ExactModel, header: dict[str, Any], lines: list[Line]) -> Verified:
    """Check the content of a certificate against its model; a `Fault` if something is unproven."""
    sizes = _sizes(header, lines)
    listed = [check_rank(value, model) for key, value in lines if key == "rank"]
    ranks = {ranked.kind: ranked for ranked in listed}
    accurate = all(ranks["psr"].inside) if "psr" in ranks else None
    proven = {f"{kind}_rank": ranks[kind].rank if kind in ranks else None for kind in RANKED}
    for name, value in {**proven, "accurate": accurate}.items():
        stated = header.get(name)
        if type(stated) is not type(value) or stated != value:
            raise Fault(f"{name}: states {shown(stated)}, but proves {value!r}")
    lower, upper = _check_bounds(model, header, lines, sizes)
    valued = _check_controller(model, header, lines)
    if lower is None and upper is None and valued is None and not ranks:
        raise Fault("states nothing: expected a lower or an upper bound, a rank or a value")
    return Verified(
        "",
        lower,
        upper,
        proven["psr_rank"],
        proven["rpsr_rank"],
        accurate,
        valued,
        sizes,
    )


def _check_identity(pomdp: POMDP, header: dict[str, Any]) -> None:
    """Refuse a certificate for another model."""
    stated = header.get("model")
    if not isinstance(stated, dict) or stated.get("digest") != pomdp.digest:
        named = stated.get("name") if isinstance(stated, dict) else None
        of = quoted(named) if isinstance(named, str) else "without a name"
        steps = stated.get("horizon") if isinstance(stated, dict) else None
        of += f" over {shown(steps)} steps" if isinstance(steps, int) else ""
        raise Fault(f"is a certificate for another model, {of}: the hashes differ")


KINDS = ("vector", "point", "rank", "controller")
RANKED = ("psr", "rpsr")
CLAIMED_BY = {"vector": "lower", "point": "upper"}  # the statements that these lines prove


def _sizes(header: dict[str, Any], lines: list[Line]) -> dict[str, int]:
    """The number of lines of each kind; a `Fault` if there are more or fewer than stated."""
    found: dict[str, int] = dict.fromkeys(KINDS, 0)
    for key, _ in lines:
        if key not in found:
            raise Fault(f"read a line {key[:20]!r}, expected {' or '.join(KINDS)}")
        found[key] += 1
    stated = header.get("lines")
    if not isinstance(stated, dict):
        raise Fault("lines: expected the number of lines of each kind")
    for kind in stated:
        if kind not in found:
            raise Fault(f"lines: read {kind[:20]!r}, expected {' or '.join(KINDS)}")
    for kind, claim in CLAIMED_BY.items():
        if found[kind] and header.get(claim) is None:
            raise Fault(f"has lines of kind {kind}, but states no {claim} bound")
    for kind, count in found.items():
        wanted = whole(stated.get(kind, 0), f"lines, {kind}")
        if wanted != count:
            raise Fault(f"has {count} lines of kind {kind}, expected {wanted}: is it cut off?")
    return {kind: count for kind, count in found.items() if count}


def _check_bounds(
    model: ExactModel, header: dict[str, Any], lines: list[Line], sizes: dict[str, int]
) -> tuple[Fraction | None, Fraction | None]:
    """The bounds that the certificate states, after a proof of each."""
    stated = {name: header.get(name) for name in ("lower", "upper")}
    claims = {name: number(v, name) for name, v in stated.items() if v is not None}
    if not claims:
        return None, None
    if number(header["model"].get("discount"), "discount") != model.discount:
        raise Fault("is a certificate for another discount")
    scales = Scales.read(header.get("scales"))
    if "lower" in claims:
        if not sizes.get("vector"):
            raise Fault("lower bound: the certificate has no vectors")
        count = sizes["vector"]
        listed = [value for key, value in lines if key == "vector"]
        vectors: list[Vector] = [read_vector(v, model, count, k) for k, v in enumerate(listed)]
        proven = check_lower(model, scales, vectors)
        if claims["lower"] > proven:
            raise Fault(_beyond("lower", claims["lower"], proven))
    if "upper" in claims:
        count = sizes.get("point", 0)
        if count < len(model.states):
            raise Fault("upper bound: the certificate has fewer points than the model has states")
        listed = [value for key, value in lines if key == "point"]
        points: list[Point] = [read_point(v, model, count, i) for i, v in enumerate(listed)]
        start = pairs(header.get("start"), "start", count)
        proven = check_upper(model, scales, read_floor(header.get("floor"), model), points, start)
        if claims["upper"] < proven:
            raise Fault(_beyond("upper", claims["upper"], proven))
    return claims.get("lower"), claims.get("upper")


def _check_controller(
    model: ExactModel, header: dict[str, Any], lines: list[Line]
) -> Fraction | None:
    """The exact value that the certificate states of a controller, after a proof."""
    stated, listed = header.get("controller_value"), [v for k, v in lines if k == "controller"]
    if stated is None and not listed:
        return None
    if len(listed) != 1:
        raise Fault(f"controller: read {len(listed)} lines, expected one")
    value, proven = number(stated, "controller_value"), check_controller(listed[0], model)
    if value != proven:
        read, found = as_float(value), as_float(proven)
        raise Fault(f"controller: states the value {read!r}, but has {found!r}")
    return value


def _beyond(which: str, stated: Fraction, proven: Fraction) -> str:
    return (
        f"{which} bound: states {as_float(stated):.12g}, but proves only {as_float(proven):.12g} "
        f"({abs(as_float(stated - proven)):.3g} apart)"
    )
