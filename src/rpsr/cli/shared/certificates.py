"""What verbs share that write or check certificates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rpsr.cli.shared.output import note, wrote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rpsr.cli.shared.planned_models import Wanted
    from rpsr.models import POMDP, LinearModel
    from rpsr.planning import Solution


def check_certifiable(model: LinearModel, horizon: int | None, source: str) -> None:
    """Before planning, refuse a certificate of a plan that cannot have one."""
    from rpsr.errors import InputError

    if horizon is not None:
        raise InputError("--certificate: a plan for a number of steps has no certificate")
    if model.kind not in ("belief", "rpsr") or not model.domain.known:
        raise InputError(
            f"--certificate: a plan on a {model.kind} model has none; plan on the POMDP"
        )
    if model.record is None and source == "-":
        raise InputError("--certificate: standard input is read once; give a file")


def write_certificate(solution: Solution, wanted: Wanted, path: str | Path, quiet: bool) -> None:
    """Write the certificate of a plan, and say what it proves."""
    from rpsr.models import POMDP
    from rpsr.planning.certifying import certify

    pomdp = None
    if solution.model.record is None:
        loaded = wanted.model()
        pomdp = loaded if isinstance(loaded, POMDP) else None
    if solution.points is None and not quiet:
        note("sarsop searches for points that prove the upper bound")
    made = certify(solution, pomdp)
    size = made.save(path)
    if not quiet:
        upper = "no upper bound" if made.upper is None else f"{made.upper:.12g}"
        note(f"the certificate proves {made.lower:.12g} to {upper}, in {size:,} bytes")


def write_rank_certificate(
    pomdp: POMDP, path: str | Path, kinds: Sequence[Literal["psr", "rpsr"]], quiet: bool
) -> None:
    """Write the certificate of ranks, and say so."""
    from rpsr.predictive.rank_certificates import save_rank_certificate

    save_rank_certificate(pomdp, path, kinds)
    if not quiet:
        wrote(path)
