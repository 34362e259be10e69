"""`rpsr accuracy`: is a PSR enough?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rpsr.cli.options import Json, Normalize, Source
from rpsr.cli.output import print_json, print_lines, print_table
from rpsr.cli.progress import counted_progress

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
    "reachable": "accurate_reachable",
    "d_inf": "d_inf",
    "rel": "rel_d_inf",
    "d_inf reach.": "d_inf_reachable",
    "P(error)": "error_probability",
    "s": "seconds",
}


def accuracy(
    source: Source,
    /,
    *sources: Source,
    float_: Annotated[
        bool,
        Parameter(name="--float", negative="", help="Decide in floats, without a certificate."),
    ] = False,
    jobs: Annotated[int, Parameter(help="How many processes to use.")] = 1,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Keep rows here as they come, as JSON lines; rows already there are not redone.",
        ),
    ] = None,
    normalize: Normalize = False,
    json: Json = False,
) -> int:
    """Say whether a PSR can carry each source's rewards, and how wrong it is where it cannot.

    A folder stands for the model files in it. A source that cannot be read is a row with its error;
    the exit code is then 1, after all rows.
    """
    from rpsr.predictive.survey import expand_sources, survey

    if jobs < 1:
        from rpsr.errors import InputError

        raise InputError(f"--jobs: read {jobs}, expected at least 1")
    names = expand_sources([source, *sources])
    rows: dict[str, Row] = {}
    with counted_progress("accuracy", len(names)) as advance:
        for row in survey(
            names, normalize=normalize, exact=False if float_ else None, jobs=jobs, record=output
        ):
            rows[row["source"]] = row
            advance(row["domain"])
    ordered = [rows[name] for name in dict.fromkeys(names)]
    if json:
        print_json("accuracy", names, {"rows": ordered})
    else:
        _show(ordered)
    return 1 if any(row["error"] is not None for row in ordered) else 0


def _show(rows: list[Row]) -> None:
    good = [row for row in rows if row["error"] is None]
    if good:
        table: list[list[Any]] = [[row[key] for key in _COLUMNS.values()] for row in good]
        print_table(
            list(_COLUMNS),
            table,
            caption="PSR, R-PSR: ranks. accurate: a PSR carries the rewards of every belief;\n"
            "reachable: of every reachable history. d_inf: largest error of the reconstructed\n"
            "rewards; rel: over the largest reward; reach.: on reachable states alone.",
        )
        wrong = sum(not row["accurate"] for row in good)
        print_lines([f"{wrong} of {len(good)} models are not accurate as PSRs."])
    if len(good) == 1:
        print_lines(good[0]["merges"] or [])
    for row in rows:
        if row["error"] is not None:
            print_lines([f"{row['domain']}: {row['error']}"])
