"""`rpsr core`: core tests and intents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, validators

from rpsr.cli.shared.certificates import write_rank_certificate
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import Certificate, Discount, Json, Normalize, Source, TimeLimit
from rpsr.cli.shared.output import check_targets, note, print_json, print_lines, print_table, show
from rpsr.errors import InputError

if TYPE_CHECKING:
    from rpsr.models import POMDP
    from rpsr.predictive.core import Core

Model = Literal["psr", "rpsr", "ra-psr"]
_WIDEST = 24  # the most states whose outcomes fit on a line
_ARITHMETIC = Group("Arithmetic", validator=validators.MutuallyExclusive())


# One option of the verb is one of its arguments: there are as many as the command has.
def core(
    source: Source,
    /,
    *,
    model: Annotated[
        Model,
        Parameter(
            help="psr: core tests of the PSR; rpsr: core intents of the R-PSR; ra-psr: core tests "
            "of the reward-aware PSR (observations include the reward)."
        ),
    ] = "psr",
    search: Annotated[
        Literal["bfs", "dfs"],
        Parameter(
            help="Order of the search: bfs, breadth-first, which finds short tests or intents; "
            "dfs, depth-first."
        ),
    ] = "bfs",
    exact: Annotated[
        bool,
        Parameter(
            group=_ARITHMETIC,
            negative="",
            help="Require exact arithmetic (the default where possible).",
        ),
    ] = False,
    float_: Annotated[
        bool,
        Parameter(
            name="--float",
            group=_ARITHMETIC,
            negative="",
            help="Decide in floating point, not in exact arithmetic, which tests or intents are "
            "independent, and show by what margin.",
        ),
    ] = False,
    matrix: Annotated[
        bool,
        Parameter(
            negative="",
            help="Show the outcome vectors also if the POMDP has more than 24 states, and include "
            "them in JSON.",
        ),
    ] = False,
    certificate: Certificate = None,
    time_limit: TimeLimit = None,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Find the core tests of a PSR or the core intents of an R-PSR, with their outcomes.

    A certificate proves the rank, and for a PSR also whether it is accurate.
    """
    from rpsr.cli.shared.opening import load_pomdp
    from rpsr.predictive import find_core, reward_aware

    check_targets(certificate, sources=[source])
    if certificate is not None and (float_ or model == "ra-psr"):
        if float_:
            raise InputError("--certificate: needs exact arithmetic; leave out --float")
        raise InputError("--certificate: needs --model psr or rpsr, not ra-psr")
    stated = objective or ObjectiveOptions()
    stated.check(discount)
    pomdp = stated.pomdp(load_pomdp(source, normalize=normalize, discount=discount))
    if model == "ra-psr":
        pomdp = reward_aware(pomdp)
    kind = "rpsr" if model == "rpsr" else "psr"
    core_set = find_core(
        pomdp,
        kind,
        search=search,
        exact=True if exact else False if float_ else None,
        time_limit=time_limit,
    )
    if certificate is not None:
        write_rank_certificate(pomdp, certificate, (kind,), quiet=json)
    if json:
        print_json("core", source, core_document(pomdp, core_set, model, matrix))
        return
    for warning in pomdp.warnings:
        note(f"{source}: {warning}")
    _show(pomdp, core_set, model, matrix)


def core_document(pomdp: POMDP, core_set: Core, model: str, matrix: bool) -> dict[str, Any]:
    """A core set, by JSON key."""
    from rpsr.predictive.survey import margin_document

    return {
        "model": model,
        "search": core_set.search,
        "states": len(pomdp.states),
        "rank": core_set.rank,
        "core": [member_document(member) for member in core_set.members],
        "condition_number": core_set.condition_number,
        "margin": margin_document(core_set.margin),
        "certified": core_set.certified,
        "error_probability": core_set.error_probability,
        "accurate": core_set.accurate,
        "warnings": list(pomdp.warnings),
        "seconds": core_set.seconds,
    } | ({"outcomes": core_set.outcomes.T} if matrix else {})


def member_document(member: Any) -> dict[str, Any]:
    """A test or an intent, by JSON key."""
    from rpsr.predictive import ZETA, Intent

    test = member.test if isinstance(member, Intent) else member
    action = member.action if isinstance(member, Intent) else None
    return {
        "text": str(member),
        "interactions": [[step.action, step.observation] for step in test.interactions],
        "action": None if action is ZETA else action,
        "token": action is ZETA,
    }


def _show(pomdp: POMDP, core_set: Core, model: str, matrix: bool) -> None:
    from rpsr.predictive.futures import NOTATION

    name = {"psr": "PSR", "rpsr": "R-PSR", "ra-psr": "reward-aware PSR"}[model]
    kind = "intent" if model == "rpsr" else "test"
    wide = matrix or len(pomdp.states) <= _WIDEST
    columns = ["", f"core {kind}", *([f"outcome in states 0 to {len(pomdp.states) - 1}"] * wide)]
    cells = [[show(float(value)) for value in column] for column in core_set.outcomes.T]
    width = max((len(cell) for row in cells for cell in row), default=1)
    rows = [
        [i + 1, str(member), *([" ".join(cell.rjust(width) for cell in cells[i])] * wide)]
        for i, member in enumerate(core_set.members)
    ]
    states = f"the POMDP has {len(pomdp.states)} states"
    print_lines([f"The {name} of {pomdp.name} has rank {core_set.rank}; {states}"])
    print_table(columns, rows, NOTATION if model == "rpsr" else "")
    outside = [
        a for a, inside in zip(pomdp.actions, core_set.rewards_inside, strict=True) if not inside
    ]
    condition = f"condition number of the outcome matrix: {core_set.condition_number:.3g}"
    lines = [_sureness(core_set), condition]
    if wide and pomdp.states != tuple(str(i) for i in range(len(pomdp.states))):
        lines.insert(0, "states: " + ", ".join(f"{i} {s}" for i, s in enumerate(pomdp.states)))
    if model == "rpsr":
        lines.append("rewards: accurate, as in every R-PSR: linear functions of its state")
    elif outside:
        lines.append(
            f"rewards: not accurate; no linear function of the {name}'s state gives the rewards of "
            f"{', '.join(outside)}"
        )
    else:
        lines.append(f"rewards: accurate; all are linear functions of the {name}'s state")
    print_lines(lines)


def _sureness(core_set: Core) -> str:
    from rpsr.predictive.certainty import certainty, margin_words

    floats = "in floats: " if core_set.certified else ""
    words = certainty(core_set.certified, core_set.error_probability)
    return f"rank: {words} ({floats}{margin_words(core_set.margin)})"
