"""Write certificates of ranks and of the accuracy condition, for `rpsr verify`.

`rpsr.certificates.ranks` says what is proven. The members and the blocks are those of the search;
where the rank is below the number of blocks, the reduced basis of the span is found modulo several
primes, as many as its rationals need.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rpsr._version import __version__
from rpsr.certificates.reading import SCHEMA
from rpsr.errors import ModelError
from rpsr.io.json_lines import write_json_lines
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.certify import certified_core
from rpsr.predictive.rank.span import rational_rows

PRIMES = (2, 4, 8, 16, 32)  # tried in turn, to find the rationals of a basis


def save_rank_certificate(
    pomdp: POMDP,
    path: str | Path,
    kinds: Sequence[Literal["psr", "rpsr"]] = ("psr", "rpsr"),
    *,
    seed: int = 0,
) -> int:
    """Write a proof of the ranks of a POMDP's PSR and R-PSR; returns the bytes of its text.

    With "psr" among the kinds, it also proves whether the PSR is accurate. A `ModelError` if the
    model is known only in floats, or if no basis in rationals is found.
    """
    pomdp = as_pomdp(pomdp)
    lines = [_line(pomdp, kind, seed) for kind in kinds]
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "model": {"name": pomdp.name, "digest": pomdp.digest},
        "lines": {"rank": len(lines)},
    }
    for line in lines:
        header[f"{line['kind']}_rank"] = line["rank"]
        if line["kind"] == "psr":
            header["accurate"] = all(line["inside"])
    return write_json_lines(path, [header, *({"rank": line} for line in lines)])


def _line(pomdp: POMDP, kind: str, seed: int) -> dict[str, Any]:
    core = certified_core(pomdp, rewards=kind == "rpsr", seed=seed)
    labels, basis = core.labels, None
    if core.rank <= int(labels.max()):
        for primes in PRIMES:
            rows = rational_rows(core.spans, primes)
            if rows is not None:
                break
        else:
            raise ModelError(
                f"{pomdp.name}: no certificate: the {kind} rank is {core.rank}, but the fractions "
                "in a basis of its span are too long"
            )
        exact, labels = rows
        basis = [[str(entry) for entry in row] for row in exact]
    return {
        "kind": kind,
        "rank": core.rank,
        "modulus": int(core.primes[0]),
        "members": [[[list(step) for step in m.interactions], m.action] for m in core.members],
        "blocks": labels.tolist(),
        "basis": basis,
        "inside": [bool(inside) for inside in core.rewards_inside],
    }
