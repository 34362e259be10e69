"""`rpsr merge`: the rows of parts of some work, put together."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.options import Json, named_file
from rpsr.cli.shared.output import check_rows_name, note, print_json, print_lines, wrote
from rpsr.errors import InputError

MOST = 20  # missing rows that are listed


def merge(
    rows: Annotated[
        list[str],
        Parameter(completer=any_file, help="Files of rows, written with --shard I/N and -o."),
    ],
    /,
    *,
    output: Annotated[
        str | None,
        Parameter(
            name=["--output", "-o"],
            converter=named_file,
            completer=any_file,
            help="The file to write, as JSON lines.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Merge the rows of the parts of a run that --shard divided: each row once, and in order.

    If rows contradict each other, nothing is written, and the exit code is 1. If rows are missing,
    the others are written, and the exit code is 3. If a row reports an error, the exit code is 1.
    """
    from rpsr.io.files import write_bytes
    from rpsr.shards import merged, named
    from rpsr.showing import counted

    check_rows_name(output)
    combined = merged(rows)
    if combined.contradictions:
        for line in combined.contradictions[1:]:
            note(line)
        raise InputError(combined.contradictions[0])
    if output is not None:
        write_bytes(output, combined.content())
    if json:
        missing = [named(key) for key in combined.missing]
        print_json("merge", rows, {"rows": combined.rows, "missing": missing})
    else:
        total = len(combined.rows) + len(combined.missing)
        print_lines([f"{len(combined.rows)} of {total} rows from {counted(len(rows), 'file')}"])
        wrote(output)
    notes = combined.notes()
    for line in notes[:MOST]:
        note(line)
    if len(notes) > MOST:
        note(f"... and {len(notes) - MOST} more are missing")
    if combined.failed:
        return 1
    return 3 if combined.missing else 0
