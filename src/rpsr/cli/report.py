"""`rpsr report`: one page about a POMDP, its PSR and its R-PSR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import Discount, Normalize, Output, Source, positive
from rpsr.cli.shared.output import PAGES, check_suffix, check_targets, note, print_table, wrote
from rpsr.cli.shared.progress import counted_progress

if TYPE_CHECKING:
    from rpsr.planning.solution import Solution

LIMIT_REACHED = 3


def report(
    source: Source,
    /,
    *,
    output: Output,
    time_limit: Annotated[
        float,
        Parameter(
            validator=positive,
            help="Time limit of planning, in seconds, on each of the three models: the POMDP, its "
            "PSR and its R-PSR.",
        ),
    ] = 20.0,
    seed: Annotated[int, Parameter(help="Random seed.")] = 0,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
) -> int:
    """Write one HTML page about a POMDP: the errors of its PSR, the values of plans, and a stepper.

    The page is self-contained: it needs no network and no other files. Exit 3: planning on a model
    was stopped early, and the page says why.
    """
    from rpsr.cli.info import builtin_facts
    from rpsr.cli.shared.opening import load_pomdp
    from rpsr.errors import RpsrError
    from rpsr.report.model_page import STAGES, model_page
    from rpsr.report.page import write_page

    check_targets(output, sources=[source])
    if output != "-":
        check_suffix(output, *PAGES)
    stated = objective or ObjectiveOptions()
    stated.check(discount)
    pomdp = stated.pomdp(load_pomdp(source, normalize=normalize, discount=discount))
    for warning in pomdp.warnings:
        note(f"{source}: {warning}")
    story = str(builtin_facts(source).get("story", ""))
    with counted_progress("report", len(STAGES)) as progress:
        page, solutions = model_page(
            pomdp,
            story=story,
            source=source,
            time_limit=time_limit,
            seed=seed,
            progress=progress,
        )
    try:
        write_page(page, output)
    except RpsrError:
        _show(solutions)
        raise
    wrote(output)
    late = [name for name, plan in solutions.items() if not plan.status.reached_goal]
    if late:
        stopped = f"planning on {', '.join(late)} was stopped early; the bounds hold"
        note(f"{source}: {stopped}, and a longer --time-limit narrows them")
    return LIMIT_REACHED if late else 0


def _show(solutions: Mapping[str, Solution]) -> None:
    """Print the solutions if the page cannot be written."""
    rows = [(name, plan.value, plan.lower, plan.upper) for name, plan in solutions.items()]
    print_table(("model", "value", "lower", "upper"), rows, digits=12)
