"""Files that are written during planning, so that a killed run loses little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rpsr.cli.output import note

if TYPE_CHECKING:
    from rpsr.planning.solution import Progress, Solution


def kept_meanwhile(
    rows: Progress, jobs: Mapping[str | Path | None, Callable[[Solution], object]]
) -> Progress:
    """Progress that also has the solution so far written, to those targets that are files.

    jobs: what writes each target; None stands for a file that nobody asked for. A device or a pipe
    is written to once, when all is done. What fails is told once and tried again later.
    """
    from rpsr.errors import RpsrError
    from rpsr.io.files import check_writable
    from rpsr.planning import keeping

    writes = [
        write
        for target, write in jobs.items()
        if target is not None and str(target) != "-" and check_writable(target)
    ]
    told: set[str] = set()

    def keep(found: Solution) -> None:
        for write in writes:
            try:
                write(found)
            except RpsrError as error:
                if str(error) not in told:
                    told.add(str(error))
                    note(f"{error}; planning continues")

    return keeping.Keeping(keep, rows, keeping.EVERY) if writes else rows
