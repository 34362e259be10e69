"""Fuzz readers: `python -m tests.fuzz READER --seconds 60 --seed 0`, READER a name or `all`.

Prints each kind of failure once, with a small input (in the folder `--keep`, if given), and the
number of inputs. Exit 0: nothing failed; 1: something did.
`--collect 5 --keep FOLDER` writes small inputs instead that end in different ways.
With `--atheris`, the coverage-guided fuzzer of that name drives the same entry point.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

NAMES = (
    *("pomdp", "pomdpx", "prism", "drn", "native", "policy", "npz", "alpha", "pg", "sarsop"),
    *("jsonl", "csv", "parquet", "checkpoint", "certificate", "rows", "learned", "carried"),
    *("stochastic", "moments", "jsonl-parts", "csv-parts", "parquet-parts"),
    *("pieces", "timings", "classics"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader", choices=[*NAMES, "all"])
    parser.add_argument("--seconds", type=float, default=60, help="per reader")
    parser.add_argument("--count", type=int, help="inputs per reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for inputs that fail")
    parser.add_argument("--collect", type=int, metavar="N", help="N small inputs into --keep")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage")
    given = parser.parse_args(arguments)
    if given.atheris:
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # kernels made of instrumented code do not compile
        from tests.fuzz.guided import fuzz_guided

        return fuzz_guided(given.reader, given.seconds, given.seed, given.keep)
    from tests.fuzz.loop import collect, run
    from tests.fuzz.readers import READERS

    if given.collect and given.keep is None:
        parser.error("--collect needs --keep FOLDER")
    inputs = failures = 0
    for name in NAMES if given.reader == "all" else [given.reader]:
        reader = READERS[name]
        if given.collect:
            asked = {"seed": given.seed, "seconds": given.seconds, "most": given.collect}
            print(f"{name}: {collect(reader, target=given.keep, **asked)} written", flush=True)
            continue
        tally = run(
            reader, seed=given.seed, seconds=given.seconds, count=given.count, keep=given.keep
        )
        counted = ", ".join(f"{key} ({n})" for key, n in tally.failures.items()) or "no failure"
        print(f"{name}: {tally.inputs:,} inputs, {counted}", flush=True)
        inputs, failures = inputs + tally.inputs, failures + len(tally.failures)
    if not given.collect:
        print(f"{inputs:,} inputs, {failures} kinds of failure", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
