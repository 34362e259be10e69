"""`rpsr reproduce`: the paper's evaluation, and a verdict on each of its claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rpsr.cli.shared.options import (
    Jobs,
    Json,
    Scheduler,
    SchedulerFile,
    at_least,
    named_path,
)
from rpsr.cli.shared.output import note, print_json
from rpsr.cli.shared.progress import counted_progress

JOBS = 2


def reproduce(
    *,
    out: Annotated[
        Path,
        Parameter(
            converter=named_path,
            help="The folder to write to; finished work found there is not repeated.",
        ),
    ] = Path("reproduction"),
    corpus: Annotated[
        Path | None,
        Parameter(
            help="A folder with the classic model files ('rpsr domains fetch'), to repeat the "
            "paper's count of domains whose PSR is not accurate."
        ),
    ] = None,
    quick: Annotated[
        bool,
        Parameter(
            negative="",
            help="A quick run: 200 episodes per policy instead of 1,000, without the domains 4x3 "
            "and iff, and without convergence curves.",
        ),
    ] = False,
    seed: Annotated[
        int,
        Parameter(validator=at_least(0), help="Random seed; equal seeds give equal output."),
    ] = 0,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    scheduler_file: SchedulerFile = None,
    json: Json = False,
) -> None:
    """Reproduce the paper on built-in domains: its tables, its figures, and a verdict on each.

    Writes report.html (open it in a browser), report.md, report.txt, tables, figures and
    results.json. Equal seeds give equal bytes in every file but timings.json. After an
    interruption, the same command continues the work. By default, it uses two processes.
    """
    from rpsr.parallel import one_thread_each, workers

    with one_thread_each():  # for the imports: one process must compute the same bits as several
        from rpsr.reproduce.page import exhibits
        from rpsr.reproduce.run import Settings, pieces
        from rpsr.reproduce.run import reproduce as run
        from rpsr.reproduce.story import Findings
        from rpsr.reproduce.writing import document, summary, write_report

    if jobs is None and scheduler is None and scheduler_file is None:
        jobs = JOBS
    settings = Settings(seed=seed, quick=quick, corpus=corpus)
    try:
        work = len(pieces(settings))
        with (
            workers(jobs, scheduler=scheduler, scheduler_file=scheduler_file) as executor,
            counted_progress("reproduce", work) as advance,
        ):
            done = run(settings, out, executor=executor, progress=advance, note=note)
        findings = Findings(done)
        shown = exhibits(findings)
        if json:
            facts = document(findings)
            del facts["results"]
            print_json("reproduce", None, facts | {"out": str(out)})
        else:
            sys.stdout.write(summary(findings, shown))
            sys.stdout.flush()
        write_report(findings, shown, out)
    except KeyboardInterrupt:
        note(f"finished work is kept in {out}: run the same command again to continue")
        raise
    if not json:
        print(f"\nWritten to {out}: open {out / 'report.html'} in a browser.")
