"""`rpsr accuracy`: is a PSR enough?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rpsr.cli.shared.certificates import write_rank_certificate
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import (
    Certificate,
    Discount,
    Jobs,
    Json,
    Normalize,
    Scheduler,
    SchedulerFile,
    ShardOption,
    Source,
    TimeLimit,
    named_path,
)
from rpsr.cli.shared.output import (
    check_rows_name,
    check_targets,
    note,
    print_json,
    print_lines,
    print_table,
    wrote,
)
from rpsr.cli.shared.progress import counted_progress
from rpsr.errors import InputError, RpsrError

if TYPE_CHECKING:
    from rpsr.predictive.survey import Row

_COLUMNS = {
    "domain": "domain",
    "S": "states",
    "A": "actions",
    "O": "observations",
    "PSR\nrank": "psr_rank",
    "R-PSR\nrank": "rpsr_rank",
    "accurate": "accurate",
    "accurate\n(reachable)": "accurate_reachable",
    "d_inf": "d_inf",
    "d_inf\n(relative)": "rel_d_inf",
    "d_inf\n(reachable)": "d_inf_reachable",
}
_MOST_MERGES = 12  # that are listed


# One option of the verb is one of its arguments.
def accuracy(
    source: Source,
    /,
    *sources: Source,
    float_: Annotated[
        bool,
        Parameter(
            name="--float",
            negative="",
            help="Compute ranks and errors in floating point; the answers are then not certified.",
        ),
    ] = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    scheduler_file: SchedulerFile = None,
    shard: ShardOption = None,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            converter=named_path,
            help="The file to write rows to, as JSON lines; rows that it holds already are not "
            "computed again.",
        ),
    ] = None,
    certificate: Certificate = None,
    time_limit: TimeLimit = None,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> int:
    """Decide for each source whether a PSR is accurate, and how large its reward error is.

    A folder means all files in it that are named as models: .pomdp, .pomdpx, .prism, .drn (each
    also .gz) and .rpsr. If a source cannot be read, its row and a line on standard error say why,
    and the exit code is 1, after all rows. If a source reaches --time-limit, its row says so, and
    the exit code is 3, unless another source makes it 1. After an interrupt, or if the -o file can
    no longer be written, the finished rows are shown. A certificate is for one source: it proves
    both ranks, and whether the PSR is accurate on all beliefs.
    """
    from rpsr.parallel import one_thread_each, workers

    with one_thread_each():  # for the imports: one process must compute the same bits as several
        from rpsr.predictive.survey import Options, expand_sources, survey
    from rpsr.cli.shared.opening import load_pomdp

    check_rows_name(output)
    names = list(dict.fromkeys(expand_sources([source, *sources])))
    if certificate is not None:
        check_targets(certificate, output, sources=names)
        if len(names) != 1:
            raise InputError(f"--certificate: read {len(names)} sources, expected one")
        if float_:
            raise InputError("--certificate: needs exact arithmetic; leave out --float")
    stated = objective or ObjectiveOptions()
    stated.check(discount)
    options = Options(
        normalize,
        discount,
        exact=False if float_ else None,
        objective=stated.objective,
        time_limit=time_limit,
    )
    mine = names if shard is None else shard.select(names)
    rows: dict[str, Row] = {}
    stopped: KeyboardInterrupt | RpsrError | None = None
    try:
        with (
            workers(jobs, scheduler=scheduler, scheduler_file=scheduler_file) as executor,
            counted_progress("accuracy", len(mine)) as advance,
        ):
            for row in survey(names, options, executor=executor, record=output, shard=shard):
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
    if certificate is not None and ordered[0]["error"] is None:
        pomdp = stated.pomdp(load_pomdp(names[0], normalize=normalize, discount=discount))
        write_rank_certificate(pomdp, certificate, ("psr", "rpsr"), quiet=json)
    if any(row["error"] is not None and row["limit"] is None for row in ordered):
        return 1
    return 3 if any(row["limit"] is not None for row in ordered) else 0


def _show(rows: list[Row]) -> None:
    good = [row for row in rows if row["error"] is None]
    if good or len(rows) > 1:
        table = [_cells(row) for row in rows]
        print_table(
            list(_COLUMNS),
            table,
            caption="accurate: the PSR's state determines the expected rewards of every belief. "
            "d_inf: largest error of the PSR's rewards over states and actions. (reachable): for "
            "reachable beliefs only. (relative): divided by the largest absolute reward. --json "
            "shows more.",
        )
    if good:
        print_lines([f"{_verdict(good)} {_sureness(good)}"])
    for row in good:
        for warning in row["warnings"] or []:
            note(f"{row['source']}: {warning}")
        if row["note"] is not None:
            note(f"{row['source']}: {row['note']}")
    if len(good) == 1:
        merges = good[0]["merges"] or []
        print_lines([*_groups(good[0]), *merges[:_MOST_MERGES]])
        if len(merges) > _MOST_MERGES:
            print_lines([f"... and {len(merges) - _MOST_MERGES} more groups; --json shows all"])
    for row in rows:
        if row["error"] is not None:
            named = row["domain"] in row["error"]
            note(row["error"] if named else f"{row['domain']}: {row['error']}")


def _cells(row: Row) -> list[Any]:
    """The row of the table; where there is an error, it says so instead of an answer."""
    cells = {key: row[key] for key in _COLUMNS.values()}
    if row["error"] is not None:
        cells["accurate"] = "error" if row["limit"] is None else f"{row['limit']} limit"
    return list(cells.values())


def _groups(row: Row) -> list[str]:
    """How many groups of states no test distinguishes, unless the sentence on one says all."""
    groups, merges = row["merged_groups"] or 0, row["merges"] or []
    if groups == 0 or groups == len(merges) == 1:
        return []
    subject = "There is 1 group" if groups == 1 else f"There are {groups} groups"
    subject += " of states that no test distinguishes"
    if not merges:
        return [f"{subject}; rewards are equal within {'it' if groups == 1 else 'each'}."]
    return [f"{subject}:" if groups == 1 else f"{subject}. The groups with different rewards:"]


def _verdict(rows: list[Row]) -> str:
    if len(rows) > 1:
        wrong = sum(not row["accurate"] for row in rows)
        return f"Of {len(rows)} PSRs, {wrong} {'is' if wrong == 1 else 'are'} not accurate."
    (row,) = rows
    if row["accurate"]:
        return f"A PSR is enough for {row['domain']}: its state determines the rewards."
    if row["accurate_reachable"]:
        return f"A PSR is enough for {row['domain']}, but only at reachable beliefs."
    return f"A PSR is not enough for {row['domain']}: its state does not determine the rewards."


def _sureness(rows: list[Row]) -> str:
    from rpsr.predictive.certainty import sentence

    odds = [row["error_probability"] for row in rows]
    known = [p for p in odds if p is not None]
    subject = "Each verdict is" if len(rows) > 1 else "The verdict is"
    return sentence(subject, len(known) == len(odds), max(known, default=None))
