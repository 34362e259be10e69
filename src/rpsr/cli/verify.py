"""`rpsr verify`: check a certificate in exact arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rpsr.cli.shared.certificates import Bounds
from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import (
    Discount,
    Json,
    Normalize,
    Source,
    positive,
    standard_stream,
    whole,
)
from rpsr.cli.shared.output import print_facts, print_json

if TYPE_CHECKING:
    from rpsr.certificates import Verified


def verify(
    source: Source,
    certificate: Annotated[
        str,
        Parameter(
            converter=standard_stream,
            completer=any_file,
            help="The certificate, as written by --certificate; - is standard input.",
        ),
    ],
    /,
    *,
    horizon: Annotated[
        int | None,
        Parameter(
            converter=whole,
            validator=positive,
            help="Number of steps that the bounds are for; by default the horizon is infinite.",
        ),
    ] = None,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Check a certificate against a model in exact arithmetic, without any planner.

    Exit 0: everything that the certificate states is proven; 1: the first statement that is not.
    """
    from rpsr.certificates import verify
    from rpsr.errors import InputError
    from rpsr.models import POMDP
    from rpsr.sources import load

    if source == "-" and certificate == "-":
        raise InputError("standard input can be read once; give one of the two as a file")
    stated = objective or ObjectiveOptions()
    stated.check(discount)
    if horizon is not None and stated.within is not None:
        raise InputError("--horizon and --within: expected one of them")
    loaded = load(source, normalize=normalize, discount=discount)
    model = stated.task(loaded, source, timed=True)
    if not isinstance(model, POMDP):
        raise InputError(f"holds a {model.kind} model, expected a POMDP", place=source)
    found = verify(model, certificate, horizon=horizon)
    bounds = Bounds.of(found.lower, found.upper, stated)
    document = _document(found, bounds)
    if json:
        print_json("verify", source, document)
        return
    document["lower"], document["upper"] = bounds.texts
    print_facts((key, value) for key, value in document.items() if value is not None)


def _document(found: Verified, bounds: Bounds) -> dict[str, Any]:
    """What is proven, by JSON key."""
    (lower, upper), value = bounds.floats, found.controller_value
    return {
        "certificate": "verified",
        "name": found.name,
        "lower": lower,
        "upper": upper,
        "horizon": found.horizon,
        "psr_rank": found.psr_rank,
        "rpsr_rank": found.rpsr_rank,
        "accurate": found.accurate,
        "controller_value": None if value is None else float(value),
        "vectors": found.sizes.get("vector"),
        "points": found.sizes.get("point"),
        "bytes": found.size,
        "seconds": found.seconds,
    }
