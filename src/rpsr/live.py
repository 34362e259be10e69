"""One line that says what long work is doing now, in a notebook or on a terminal.

A notebook shows it as an output that is updated in place, through IPython alone: a notebook needs
no extension for that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from rpsr.printable import printable

REFRESH = 0.2  # shortest time between two updates in a notebook, in seconds

Say = Callable[[str], None]


@contextmanager
def live_line(what: str, clock: Callable[[], float] = time.monotonic) -> Generator[Say | None]:
    """A line to be called with the current work.

    None where nobody would see it: outside a notebook, if standard error is no terminal.
    """
    display = _display()
    if display is not None:
        yield from _in_notebook(what, display, clock)
    elif sys.stderr.isatty():
        yield from _on_terminal(what)
    else:
        yield None


def _display() -> Callable[..., Any] | None:
    """IPython's `display`, if this is a notebook: a session of IPython with a kernel."""
    ipython: Any = sys.modules.get("IPython")  # imported by the notebook itself
    shell: Any = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    from importlib import import_module

    return import_module("IPython.display").display


def _in_notebook(
    what: str, display: Callable[..., Any], clock: Callable[[], float]
) -> Generator[Say]:
    handle = display({"text/plain": what}, raw=True, display_id=True)
    latest, shown = what, clock()

    def say(now: str) -> None:
        nonlocal latest, shown
        latest = printable(f"{what}: {now}")
        if clock() - shown >= REFRESH:
            shown = clock()
            handle.update({"text/plain": latest}, raw=True)

    try:
        yield say
    finally:
        handle.update({"text/plain": latest}, raw=True)  # the last one stays


def _on_terminal(what: str) -> Generator[Say]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda now: bars.update(task, description=printable(f"{what}: {now}"))
