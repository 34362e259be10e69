"""Parts that verbs share which write or check certificates."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rpsr.cli.shared.output import note, wrote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rpsr.cli.shared.objectives import ObjectiveOptions
    from rpsr.cli.shared.planned_models import Wanted
    from rpsr.models import POMDP, LinearModel
    from rpsr.planning import Solution

SIGNIFICANT = 15  # digits of a bound that people read
LONGEST = 60  # characters of a fraction that people read
LEAST_EXPONENT = -5  # of a number that is written without an exponent


class Bounds(NamedTuple):
    """Proven bounds on the value of an objective, or None. What is shown is rounded outwards."""

    lower: Fraction | None
    upper: Fraction | None

    @staticmethod
    def of(lower: Fraction | None, upper: Fraction | None, objective: ObjectiveOptions) -> Bounds:
        """From bounds on the sum of rewards; a cost is a negative reward."""
        if objective.minimise != "cost":
            return Bounds(lower, upper)
        return Bounds(None if upper is None else -upper, None if lower is None else -lower)

    @property
    def floats(self) -> tuple[float | None, float | None]:
        """The bounds as floats."""
        from rpsr.io.float_bounds import float_above, float_below

        lower, upper = self
        return (
            None if lower is None else float_below(lower),
            None if upper is None else float_above(upper),
        )

    @property
    def texts(self) -> tuple[str | None, str | None]:
        """The bounds as decimals."""
        lower, upper = self
        return (
            None if lower is None else _decimal(lower, ROUND_FLOOR),
            None if upper is None else _decimal(upper, ROUND_CEILING),
        )


def exact_text(value: Fraction) -> str:
    """A fraction for people, and as a decimal; a long one as a decimal only."""
    decimal, exact = _decimal(value, ROUND_HALF_EVEN), str(value)
    if value.denominator == 1 or len(exact) > LONGEST:
        return decimal
    return f"{exact} = {decimal}" if Fraction(decimal) == value else f"{exact}, about {decimal}"


def _decimal(value: Fraction, rounding: str) -> str:
    context = Context(prec=SIGNIFICANT, rounding=rounding)
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    plain = LEAST_EXPONENT <= decimal.adjusted() < SIGNIFICANT
    digits, _, exponent = format(decimal, "f" if plain else "e").partition("e")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return digits if plain else f"{digits}e{exponent}"


def check_certifiable(model: LinearModel, wanted: Wanted) -> None:
    """Before planning, refuse a certificate of a plan that cannot have one."""
    from rpsr.errors import InputError
    from rpsr.models import POMDP

    if model.kind not in ("belief", "rpsr") or not model.domain.known:
        raise InputError(
            f"--certificate: a plan on a {model.kind} model cannot have one; plan on the POMDP"
        )
    if model.record is None and wanted.source == "-":
        raise InputError(
            "--certificate: the POMDP is read twice, which standard input does not allow; "
            "give a file"
        )
    native = wanted.source.lower().endswith(".rpsr")
    if model.record is None and native and not isinstance(wanted.model(), POMDP):
        raise InputError(
            "--certificate: needs the POMDP, and the file holds its R-PSR; give the POMDP with "
            "--model rpsr",
            place=wanted.source,
        )


def write_certificate(
    solution: Solution, wanted: Wanted, path: str | Path, quiet: bool
) -> dict[str, Any]:
    """Write the certificate of a plan; returns what it proves, by JSON key, and says so.

    quiet: say nothing.
    """
    from rpsr.models import POMDP
    from rpsr.planning.certifying import certify

    began, pomdp = perf_counter(), None
    if solution.model.record is None:
        loaded = wanted.model()
        pomdp = loaded if isinstance(loaded, POMDP) else None
    if solution.points is None and not quiet:
        note("sarsop searches for belief points that prove the upper bound")
    made = certify(solution, pomdp)
    size = made.save(path)
    seconds = perf_counter() - began
    upper = None if made.upper is None else Fraction(made.upper)
    bounds = Bounds.of(Fraction(made.lower), upper, wanted.objective)
    if not quiet:
        low, high = bounds.texts
        bounds_proven = f"lower bound {low or 'none'}, upper bound {high or 'none'}"
        note(f"the certificate proves: {bounds_proven} ({size:,} bytes, made in {seconds:.2g} s)")
        if made.looser(solution):
            note(
                "the certificate's bounds are looser than the plan's: the search for belief points "
                "was stopped early"
            )
    low, high = bounds.floats
    return {"file": str(path), "lower": low, "upper": high, "bytes": size, "seconds": seconds}


def write_rank_certificate(
    pomdp: POMDP, path: str | Path, kinds: Sequence[Literal["psr", "rpsr"]], quiet: bool
) -> None:
    """Write the certificate of ranks, and say so."""
    from rpsr.predictive.rank_certificates import save_rank_certificate

    save_rank_certificate(pomdp, path, kinds)
    if not quiet:
        wrote(path)
