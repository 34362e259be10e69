"""Progress of long work, drawn on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rpsr.printable import printable

if TYPE_CHECKING:
    from rpsr.io.classics.checksums import Classic
    from rpsr.planning.solution import Progress, ProgressRow

ROW_SECONDS = 0.2  # shortest time between two rows drawn


@contextmanager
def download_progress() -> Generator[Callable[[Classic, int], None] | None]:
    """A line per file being downloaded; nothing if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:24}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("")
        yield lambda classic, received: bars.update(
            task, description=printable(classic.file), completed=received, total=classic.size
        )


@contextmanager
def counted_progress(what: str, total: int) -> Generator[Callable[[str], None]]:
    """A bar for `total` pieces of work; call it with the name of each finished piece."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:32}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        task = bars.add_task(what, total=total)
        yield lambda name: bars.update(task, advance=1, description=printable(f"{what}: {name}"))


@contextmanager
def measured_progress(what: str) -> Generator[Callable[[int, int], None]]:
    """A bar for work that reports how much of the total is done."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


@contextmanager
def planning_progress() -> Generator[Progress]:
    """Rows of planning progress, as a growing table; nothing if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda row: None
        return
    from dataclasses import astuple, fields

    from rpsr.planning.solution import ProgressRow

    print(" ".join(f"{field.name:>10}" for field in fields(ProgressRow)), file=sys.stderr)
    drawn = -ROW_SECONDS

    def draw(row: ProgressRow) -> None:
        nonlocal drawn
        if row.seconds - drawn < ROW_SECONDS:
            return
        drawn = row.seconds
        cells = ("" if value is None else f"{value:.6g}" for value in astuple(row))
        print(" ".join(f"{cell:>10}" for cell in cells), file=sys.stderr)

    yield draw
