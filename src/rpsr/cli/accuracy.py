"""`rpsr accuracy`: is a PSR enough?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from rpsr.cli.options import Discount, Json, Normalize, Source, TimeLimit, named_path
from rpsr.cli.output import note, print_json, print_lines, print_table, wrote
from rpsr.cli.progress import counted_progress
from rpsr.errors import RpsrError

if TYPE_CHECKING:
    from rpsr.predictive.survey import Row

_COLUMNS = {
    "domain": "domain",
    "S": "states",
    "A": "actions",
    "O": "observations",
    "PSR": "psr_rank",
    "R-PSR": "rpsr_rank",
    "accurate": "accurate",
    "reach": "accurate_reachable",
    "d_inf": "d_inf",
    "rel": "rel_d_inf",
    "reach.": "d_inf_reachable",
}
_MOST_MERGES = 12  # told one by one


def accuracy(
    source: Source,
    /,
    *sources: Source,
    float_: Annotated[
        bool,
        Parameter(name="--float", negative="", help="Decide in floats, without a certificate."),
    ] = False,
    jobs: Annotated[
        int, Parameter(validator=validators.Number(gte=1), help="How many processes to use.")
    ] = 1,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            converter=named_path,
            help="Keep rows here as they come, as JSON lines; rows already there are not redone.",
        ),
    ] = None,
    time_limit: TimeLimit = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> int:
    """Say whether a PSR can carry each source's rewards, and how wrong it is where it cannot.

    A folder stands for the model files in it. A source that cannot be read is a row with its error;
    the exit code is then 1, after all rows. A source that reaches --time-limit, which each has to
    itself, is a row that says so; the exit code is 3, unless another row makes it 1. Interrupted,
    or where the -o file can no longer be written to, it shows the rows it has.
    """
    from rpsr.predictive.survey import Options, expand_sources, survey

    names = list(dict.fromkeys(expand_sources([source, *sources])))
    options = Options(normalize, discount, exact=False if float_ else None, time_limit=time_limit)
    rows: dict[str, Row] = {}
    stopped: KeyboardInterrupt | RpsrError | None = None
    try:
        with counted_progress("accuracy", len(names)) as advance:
            for row in survey(names, options, jobs=jobs, record=output):
                rows[row["source"]] = row
                advance(row["domain"])
    except KeyboardInterrupt as error:
        stopped = error
    except RpsrError as error:
        if not rows:
            raise
        stopped = error
    ordered = [rows[name] for name in names if name in rows]
    if json:
        print_json("accuracy", names, {"rows": ordered})
    else:
        _show(ordered)
    if stopped is not None:
        raise stopped
    if not json:
        wrote(output)
    if any(row["error"] is not None and row["limit"] is None for row in ordered):
        return 1
    return 3 if any(row["limit"] is not None for row in ordered) else 0


def _show(rows: list[Row]) -> None:
    good = [row for row in rows if row["error"] is None]
    if good:
        table: list[list[Any]] = [[row[key] for key in _COLUMNS.values()] for row in good]
        print_table(
            list(_COLUMNS),
            table,
            caption="PSR, R-PSR: ranks. accurate: the PSR's state gives every belief's rewards; "
            "reach: those of every belief that can be reached. d_inf: largest error of the "
            "rewards that the PSR stands for; rel: over the largest reward; reach.: fitted "
            "anew to the states that can be reached. --json has more.",
        )
        print_lines([f"{_verdict(good)} {_sureness(good)}"])
    for row in good:
        for warning in row["warnings"] or []:
            note(f"{row['source']}: {warning}")
        if row["note"] is not None:
            note(f"{row['source']}: {row['note']}")
    if len(good) == 1:
        merges = good[0]["merges"] or []
        if good[0]["merged_states"]:
            print_lines([f"{good[0]['merged_states']} states look like another to every test."])
        print_lines(merges[:_MOST_MERGES])
        if len(merges) > _MOST_MERGES:
            print_lines([f"... and {len(merges) - _MOST_MERGES} more such sentences (--json)"])
    for row in rows:
        if row["error"] is not None:
            named = row["domain"] in row["error"]
            print_lines([row["error"] if named else f"{row['domain']}: {row['error']}"])


def _verdict(rows: list[Row]) -> str:
    if len(rows) > 1:
        wrong = sum(not row["accurate"] for row in rows)
        return f"{wrong} of {len(rows)} models are not accurate as PSRs."
    (row,) = rows
    if row["accurate"]:
        return f"A PSR is enough for {row['domain']}: its state gives the rewards back."
    if row["accurate_reachable"]:
        return f"A PSR is enough for {row['domain']}, but only at beliefs that can be reached."
    return f"A PSR is not enough for {row['domain']}: its state does not give the rewards back."


def _sureness(rows: list[Row]) -> str:
    from rpsr.predictive.certainty import certainty

    odds = [row["error_probability"] for row in rows]
    known = [p for p in odds if p is not None]
    each = "Each is " if len(rows) > 1 else "This is "
    return f"{each}{certainty(len(known) == len(odds), max(known, default=None))}."
