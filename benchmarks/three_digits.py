"""How many files of the corpus reach about three digits of the value at the start, and how soon.

The rule is that of GapMin (P. Poupart, K.-E. Kim and D. Kim, Closing the gap: improved bounds on
optimal POMDP solutions, ICAPS 2011): with bounds L and U, the gap is at most
10^(ceil(log10 max(|L|, |U|)) - 3). A run ends as soon as it is reached. Files without a discount
are planned on without one, where sums of rewards converge. Seconds are processor time, so that
other programs on the machine hardly change the results; kernels are warm.

    python benchmarks/three_digits.py --corpus DIR [--seconds 60] [--planner sarsop] [NAME ...]

--results FILE keeps a JSON line per file, the latest one counting; --table prints what it holds.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import processor_time  # noqa: F401
from arguments import arguments

from rpsr.domains import build
from rpsr.errors import RpsrError
from rpsr.models.as_model import as_linear
from rpsr.planning.planners import PLANNER_NAMES, planner_by_name
from rpsr.planning.precision import Relative
from rpsr.planning.solution import Progress, ProgressRow
from rpsr.sources import load_pomdp

NARROWER = Relative(1e-3)  # the planner's own goal, at most that of the rule
TINY = 1e-9  # the gap to reach where both bounds may be 0


def wanted(lower: float, upper: float) -> float:
    """The gap of the rule."""
    size = max(abs(lower), abs(upper))
    return max(10.0 ** (math.ceil(math.log10(size)) - 3), TINY) if size > 0 else TINY


def stops_there() -> Progress:
    """A progress function that ends the run, as Ctrl-C would, when the rule is met."""
    met: list[bool] = []

    def look(row: ProgressRow) -> None:
        if row.gap is None or met:  # the planner reports once more at its end
            return
        if row.gap <= wanted(row.lower or 0.0, row.upper or 0.0):
            met.append(True)
            raise KeyboardInterrupt

    return look


def measured(file: Path, planner: str, seconds: float) -> dict[str, Any]:
    """A row of the table."""
    row: dict[str, Any] = {"file": file.name, "planner": planner, "limit": seconds}
    try:
        model = as_linear(load_pomdp(str(file), normalize=True))
        began = time.process_time()
        narrow = planner_by_name(planner, epsilon=NARROWER, time_limit=seconds)
        plan = narrow.solve(model, stops_there())
    except RpsrError as error:
        return {**row, "error": str(error)}
    took = time.process_time() - began
    reached = plan.upper is not None and plan.upper - plan.lower <= wanted(plan.lower, plan.upper)
    bounds = {"lower": plan.lower, "upper": plan.upper}
    return {**row, **bounds, "seconds": took, "reached": reached}


def show(rows: list[dict[str, Any]]) -> None:
    """Files that do not reach the rule, one by one; the others by how soon they do."""
    print("| file | lower | upper | gap | gap of the rule |")
    print("|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: row["file"]):
        if "error" in row:
            print(f"| {row['file']} | {row['error'].replace('|', ' ')[:80]} | | | |")
        elif not row["reached"]:
            lower, upper = row["lower"], row["upper"]
            rule, gap = wanted(lower, upper), upper - lower
            print(f"| {row['file']} | {lower:.6g} | {upper:.6g} | {gap:.3g} | {rule:.1g} |")
    good = [row["seconds"] for row in rows if row.get("reached")]
    limit = max(row["limit"] for row in rows)
    print(f"\n{len(good)} of {len(rows)} reach the rule within {limit:g} s:")
    for most in sorted({0.1, 1.0, 10.0, limit}):
        print(f"  {sum(took <= most for took in good)} within {most:g} s")


def main() -> None:
    parser = arguments(__doc__, "--corpus", "--seconds", required=("--corpus",))
    parser.set_defaults(seconds=60.0)
    parser.add_argument("names", nargs="*", help="files of the corpus; by default all")
    parser.add_argument("--planner", choices=PLANNER_NAMES, default="sarsop")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--table", action="store_true", help="print the results there are")
    options = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    if options.results is not None and options.results.is_file():
        kept = (json.loads(line) for line in options.results.read_text().splitlines())
        rows = {row["file"]: row for row in kept}
    if not options.table:
        for name in ("4x3", "rock-sample:n=4,k=4"):  # compiles
            planner_by_name(options.planner, time_limit=1.0).solve(as_linear(build(name)))
        every = [p.name for p in sorted(options.corpus.iterdir()) if ".pomdp" in p.name.lower()]
        for name in options.names or every:
            rows[name] = measured(options.corpus / name, options.planner, options.seconds)
            print(json.dumps(rows[name]), flush=True)
            if options.results is not None:
                with options.results.open("a") as out:
                    print(json.dumps(rows[name]), file=out)
    show(list(rows.values()))


if __name__ == "__main__":
    main()
