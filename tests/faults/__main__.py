"""Kill commands: `python -m tests.faults solve accuracy --kills 100 --seed 0`, or `all`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.kills import VERBS, Violation, kill


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verbs", nargs="+", choices=[*VERBS, "all"])
    parser.add_argument("--kills", type=int, default=100, help="of each verb")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    failed = 0
    for name in VERBS if "all" in given.verbs else given.verbs:
        with tempfile.TemporaryDirectory() as home:
            try:
                kill(VERBS[name], given.kills, given.seed, Path(home), say=print)
            except Violation as violation:
                print(violation)
                failed += 1
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
