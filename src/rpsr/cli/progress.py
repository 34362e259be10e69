"""Progress of long work, drawn on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rpsr.io.checksums import Classic


@contextmanager
def download_progress() -> Generator[Callable[[Classic, int], None] | None]:
    """A line per file being downloaded; nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:24}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("")
        yield lambda classic, received: bars.update(
            task, description=classic.file, completed=received, total=classic.size
        )


@contextmanager
def counted_progress(what: str, total: int) -> Generator[Callable[[str], None]]:
    """A bar for `total` pieces of work, told the name of each as it is done."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        task = bars.add_task(what, total=total)
        yield lambda name: bars.update(task, advance=1, description=f"{what}: {name}")
