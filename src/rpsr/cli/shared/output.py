"""Output of the verbs: tables for people, or one JSON document and nothing else on stdout."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpsr._version import __version__
from rpsr.cli.shared.streams import discard
from rpsr.errors import InputError, RpsrError
from rpsr.printable import printable
from rpsr.showing import shown_cell

if TYPE_CHECKING:
    from rich.console import Console

    from rpsr.showing import Side

PIPE_WIDTH, PROSE_WIDTH = 200, 100
PAGES = (".html", ".htm")
TABLES = (".csv", ".tsv", ".parquet", ".pq", ".xlsx")


def print_json(schema: str, source: Any, document: dict[str, Any]) -> None:
    """Print one JSON document on standard output; a missing number is null."""
    head = {"schema": f"rpsr.{schema}/1", "version": __version__, "source": source}
    json.dump(_plain(head | document), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str = "",
    digits: int = 4,
    missing: str = "",
) -> None:
    """Print a table; numbers are right-aligned.

    caption: sentences below the table. digits: significant digits of numbers. missing: shown for
    None.
    """
    from rpsr.showing import grid

    cells = [list(row) for row in rows]
    sides: list[Side] = [
        "right" if all(isinstance(row[i], int | float | None) for row in cells) else "left"
        for i in range(len(columns))
    ]
    shown = [[missing if cell is None else show(cell, digits) for cell in row] for row in cells]
    table = grid([printable(column) for column in columns], shown, sides)
    console = _console()
    width = console.width
    unlimited = console.options.update(width=10_000)
    console.width = max(width, console.measure(table, options=unlimited).minimum)
    console.print(table)  # a narrow terminal wraps it; digits are never cut off
    console.width = width
    if caption:
        console.print(printable(caption), width=min(console.width, PROSE_WIDTH))


def print_facts(facts: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one per line."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(printable(name), show(value))
    _console().print(table)


def _console() -> Console:
    """A console as wide as the terminal; piped output is not wrapped to 80 columns."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(highlight=False, markup=False, width=width)


def print_lines(lines: Iterable[str]) -> None:
    """Print sentences for people, one per line."""
    for line in lines:
        print(printable(line))


def note(text: str) -> None:
    """Print a line for people on standard error; the work continues if nobody can read it."""
    try:
        print(f"rpsr: {printable(text)}", file=sys.stderr)
    except OSError:  # its reader has gone, or the disk that keeps it is full
        discard(sys.stderr)


def check_targets(*targets: str | Path | None, sources: Iterable[str | Path] = ()) -> None:
    """Before the work, refuse targets that cannot be written or would overwrite an input.

    sources: the inputs, which must not be overwritten if they are files. Targets that are None or
    standard output are skipped.
    """
    from rpsr.io.files import check_writable

    taken = {Path(source).resolve(): "an input" for source in sources if Path(source).exists()}
    for target in targets:
        if target is None or str(target) == "-" or not check_writable(target):
            continue
        path = Path(target).resolve()
        if path in taken:
            already = f"is already {taken[path]} of this command, expected another file"
            raise InputError(already, place=str(target))
        taken[path] = "an output"


def check_suffix(target: str | Path, *suffixes: str) -> None:
    """Refuse a name without one of these suffixes."""
    if not str(target).lower().endswith(suffixes):
        raise InputError(f"expected a name ending in {' or '.join(suffixes)}", place=str(target))


def check_rows_name(target: str | Path | None) -> None:
    """Refuse a file of rows, which are JSON lines, with the suffix of something else."""
    from rpsr.io.file_kinds import SUFFIXES

    names = {"table": TABLES, "model": SUFFIXES["model"], "policy": SUFFIXES["policy"]}
    names |= {"page": PAGES, "compressed file": (".gz",)}
    for what, suffixes in names.items():
        if target is not None and str(target).lower().endswith(suffixes):
            expected = "expected a name ending in .jsonl: rows are JSON lines"
            raise InputError(f"has the suffix of a {what}, {expected}", place=str(target))


def check_policy_name(target: str | Path | None) -> None:
    """Refuse a policy file with a suffix that is not that of one."""
    from rpsr.io.file_kinds import SUFFIXES

    known = (".json", ".npz", ".alpha", ".pg", ".policy")
    expected = f"expected the name of a policy file, which ends in {', '.join(known)}"
    names = {"model": SUFFIXES["model"], "log": SUFFIXES["log"], "page": PAGES}
    for what, suffixes in names.items():
        if target is not None and str(target).lower().removesuffix(".gz").endswith(suffixes):
            raise InputError(f"has the suffix of a {what}, {expected}", place=str(target))
    suffix = "" if target is None else Path(str(target).lower().removesuffix(".gz")).suffix
    if suffix not in ("", *known):
        raise InputError(expected, place=str(target))


def write_each(jobs: Mapping[str | Path | None, Callable[[], object]], quiet: bool = False) -> None:
    """Write files, continuing after a failure, and report those written.

    jobs: the function that writes each target; a target None is skipped. After all were tried,
    failures are reported and the last one is raised. quiet: report failures only.
    """
    failure: RpsrError | None = None
    for target, write in jobs.items():
        if target is None:
            continue
        try:
            write()
        except RpsrError as error:
            if failure is not None:
                note(str(failure))
            failure = error
        else:
            if not quiet:
                wrote(target)
    if failure is not None:
        raise failure


def wrote(*targets: str | Path | None) -> None:
    """Report on standard error the files written, without None and standard output."""
    for target in targets:
        if target is not None and str(target) != "-":
            note(f"wrote {target}")


def show(value: Any, digits: int = 4) -> str:
    """A value as text for people."""
    return printable(shown_cell(value, f".{digits}g"), one_line=True)


def _plain(value: Any) -> Any:
    """A value of JSON types only; NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int) or value is None:
        return value
    return str(value)
