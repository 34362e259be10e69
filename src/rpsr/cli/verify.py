"""`rpsr verify`: check a certificate in exact arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rpsr.cli.shared.certificates import Bounds, exact_text
from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import (
    Discount,
    Json,
    Normalize,
    Source,
    at_least,
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
            validator=at_least(1),
            help="Number of steps that the bounds are for; by default the horizon is infinite.",
        ),
    ] = None,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Check a certificate against a model in exact arithmetic, without any planner.

    Exit 0: every statement of the certificate is proven. Exit 1: one is not, and is shown.
    """
    from rpsr.certificates import verify
    from rpsr.cli.shared.opening import load
    from rpsr.errors import InputError
    from rpsr.models import POMDP

    if source == "-" and certificate == "-":
        raise InputError(
            "standard input can be read only once: give the model or the certificate as a file"
        )
    stated = objective or ObjectiveOptions()
    stated.check(discount)
    if horizon is not None and stated.within is not None:
        raise InputError("--horizon and --within: expected only one of the two")
    loaded = load(source, normalize=normalize, discount=discount)
    model = stated.task(loaded, source, timed=True)
    if not isinstance(model, POMDP):
        message = f"holds a {model.kind} model, expected the POMDP of the certificate"
        raise InputError(message, place=source)
    verified = verify(model, certificate, horizon=horizon)
    bounds = Bounds.of(verified.lower, verified.upper, stated)
    document = _document(verified, bounds)
    if json:
        print_json("verify", source, document)
        return
    document["lower"], document["upper"] = bounds.texts
    value = verified.controller_value
    document["controller_value"] = None if value is None else exact_text(value)
    print_facts((key, value) for key, value in document.items() if value is not None)


def _document(verified: Verified, bounds: Bounds) -> dict[str, Any]:
    """The proven statements, by JSON key."""
    (lower, upper), value = bounds.floats, verified.controller_value
    return {
        "certificate": "verified",
        "name": verified.name,
        "lower": lower,
        "upper": upper,
        "horizon": verified.horizon,
        "psr_rank": verified.psr_rank,
        "rpsr_rank": verified.rpsr_rank,
        "accurate": verified.accurate,
        "controller_value": None if value is None else float(value),
        "vectors": verified.sizes.get("vector"),
        "points": verified.sizes.get("point"),
        "bytes": verified.size,
        "seconds": verified.seconds,
    }
