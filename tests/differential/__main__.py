"""The differential run: `python -m tests.differential --seed 0 --count 20000 --jobs 2`.

`--ending` checks planning without a discount instead (see `ending`).

Draws `--count` models, plans on them, and compares all claims with exact brackets. Prints
violations as they are found, with the arguments that show them again, and a table in the end or on
Ctrl-C. Exit 0: nothing was violated; 1: something was, or a process died; 130: Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from tests.differential.checks import check_model
from tests.differential.ending import check_ending, draw_ending
from tests.differential.models import draw
from tests.differential.tally import Tally

CHUNK = 10
REPORT_EVERY = 5  # seconds between lines of progress
IGNORED = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that prints
SHOWN = 25  # violations of each check that are printed; all are counted


def check_chunk(seed: int, indices: list[int], ending: bool = False) -> Tally:
    """Check some models of a seed; a warning is an error, as in the tests."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for index in indices:
            (check_ending if ending else check_model)(seed, index, tally)
    return tally


def tallies(seed: int, indices: list[int], jobs: int, ending: bool) -> Iterator[Tally]:
    """The tallies of chunks, as they are done."""
    chunks = [indices[i : i + CHUNK] for i in range(0, len(indices), CHUNK)]
    if jobs == 1:
        yield from (check_chunk(seed, chunk, ending) for chunk in chunks)
        return
    pool = ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=IGNORED)
    try:
        yield from (
            done.result()
            for done in as_completed(
                [pool.submit(check_chunk, seed, chunk, ending) for chunk in chunks]
            )
        )
    finally:  # on Ctrl-C, wait for the chunks under way only
        pool.shutdown(cancel_futures=True)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="how many models")
    parser.add_argument("--first", type=int, default=0, help="the index to begin with")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", metavar="FAMILY", help="families that contain this, e.g. thin/")
    parser.add_argument("--ending", action="store_true", help="tasks that end, without a discount")
    parser.add_argument("--index", type=int, help="one model; its text is shown")
    given = parser.parse_args(arguments)
    indices = list(range(given.first, given.first + given.count))
    if given.index is not None:
        indices = [given.index]
        drawn = draw_ending(given.seed, given.index) if given.ending else None
        print(drawn or draw(given.seed, given.index).text())
    if given.only and not given.ending:
        indices = [i for i in indices if given.only in draw(given.seed, i).family]
    total, shown = Tally(), Counter[str]()
    began = reported = time.monotonic()
    failed = 0
    try:
        for tally in tallies(given.seed, indices, given.jobs, given.ending):
            for violation in tally.violations:
                shown[violation.check] += 1
                if shown[violation.check] <= SHOWN:
                    print(violation, flush=True)
            total.add(tally)
            if time.monotonic() - reported > REPORT_EVERY:
                reported = time.monotonic()
                done = f"{total.models}/{len(indices)} models, {len(total.violations)} violations"
                print(f"{done}, {reported - began:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        failed = 130
        print("interrupted: what follows is the part that was checked", file=sys.stderr)
    except BrokenProcessPool:
        failed = 1
        print(f"a process died after model {total.models + given.first}", file=sys.stderr)
    print(total.table())
    return 1 if total.violations else failed


if __name__ == "__main__":
    sys.exit(main())
