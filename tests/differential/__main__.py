"""The differential run: `python -m tests.differential --seed 0 --count 20000 --jobs 2`.

Draws so many models, plans on them, and compares all that is claimed with exact brackets. Prints
violations as they are found, with the arguments that show them again, and a table in the end or on
Ctrl-C. Exit 1 if anything was violated.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from tests.differential.checks import check_model
from tests.differential.models import draw
from tests.differential.tally import Tally

CHUNK = 10
SHOWN = 200  # violations printed; all are counted


def check_chunk(seed: int, indices: list[int]) -> Tally:
    """Check some models of a seed; a warning is an error, as in the tests."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for index in indices:
            check_model(seed, index, tally)
    return tally


def tallies(seed: int, indices: list[int], jobs: int) -> Iterator[Tally]:
    """The tallies of chunks, as they are done."""
    chunks = [indices[i : i + CHUNK] for i in range(0, len(indices), CHUNK)]
    if jobs == 1:
        yield from (check_chunk(seed, chunk) for chunk in chunks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(check_chunk, [seed] * len(chunks), chunks)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="how many models")
    parser.add_argument("--first", type=int, default=0, help="the index to begin with")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", metavar="FAMILY", help="families that contain this, e.g. thin/")
    parser.add_argument("--index", type=int, help="one model; its text is shown")
    given = parser.parse_args(arguments)
    indices = list(range(given.first, given.first + given.count))
    if given.index is not None:
        indices = [given.index]
        print(draw(given.seed, given.index).text())
    if given.only:
        indices = [i for i in indices if given.only in draw(given.seed, i).family]
    total, began, shown = Tally(), time.monotonic(), time.monotonic()
    try:
        for tally in tallies(given.seed, indices, given.jobs):
            for violation in islice(tally.violations, max(0, SHOWN - len(total.violations))):
                print(violation, flush=True)
            total.add(tally)
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                spent = f"{shown - began:.0f} s"
                broken = len(total.violations)
                print(
                    f"{total.models}/{len(indices)} models, {broken} violations, {spent}",
                    file=sys.stderr,
                    flush=True,
                )
    except (KeyboardInterrupt, BrokenProcessPool):
        print("interrupted: what follows is the part that was checked", file=sys.stderr)
    print(total.table())
    return 1 if total.violations or not total.models else 0


if __name__ == "__main__":
    sys.exit(main())
