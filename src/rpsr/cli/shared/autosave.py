"""Write files during planning, so that a killed run loses little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rpsr.cli.shared.output import note

if TYPE_CHECKING:
    from rpsr.planning.solution import Progress, Solution


def with_autosave(
    rows: Progress, jobs: Mapping[str | Path | None, Callable[[Solution], object]]
) -> Progress:
    """Progress that also writes the solution so far to the targets that are files.

    jobs: the function that writes each target; a target None is skipped. A device or a pipe is
    written once, at the end. A failure is reported once and tried again later.
    """
    from rpsr.errors import RpsrError
    from rpsr.io.files import check_writable
    from rpsr.planning import autosave

    writes = [
        write
        for target, write in jobs.items()
        if target is not None and str(target) != "-" and check_writable(target)
    ]
    reported: set[str] = set()

    def save(solution: Solution) -> None:
        for write in writes:
            try:
                write(solution)
            except RpsrError as error:
                if str(error) not in reported:
                    reported.add(str(error))
                    note(f"{error}; planning continues")

    return autosave.Autosave(save, rows, autosave.EVERY) if writes else rows
