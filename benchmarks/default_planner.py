"""The default planner `auto` beside single planners: the gap at the start after the same time.

For every file: the gap of each planner after the same number of processor seconds, one after the
other on one core, with kernels warm, and the gap of `auto` divided by the best of them. A gap
counts as that of the goal where it is smaller: below it, all planners have reached the goal. Every
pair of answers is checked: no lower bound may exceed another planner's upper bound. Bounds of
`auto` that are looser than a single planner's by more than a tenth of that one's gap are listed.

    python benchmarks/default_planner.py --corpus DIR [--seconds 5] [NAME ...]

--results FILE keeps a JSON line per file; --table prints what it holds. --only NAME runs a single
planner, for example to measure `auto` again beside results that exist.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import processor_time  # noqa: F401
from arguments import arguments

from rpsr.errors import RpsrError
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.planning.convergence import undiscounted
from rpsr.planning.planners import planner_by_name
from rpsr.planning.precision import CLOSED, goal_of
from rpsr.sources import load_pomdp

SINGLE = ("reachable", "vi", "sarsop", "hsvi", "fib", "qmdp", "pbvi")
ALLOWED = 1.1  # the ratio to the best single planner that is good enough


def measured(model: LinearModel, name: str, seconds: float) -> dict[str, Any]:
    """The bounds of a planner after this time, and how long it took; or why it has none."""
    began = time.perf_counter()
    try:
        plan = planner_by_name(name, time_limit=seconds).solve(model, lambda row: None)
    except RpsrError as error:
        return {"error": str(error), "wall": time.perf_counter() - began}
    wall = time.perf_counter() - began
    proven_by = plan.extras.get("proven_by")
    answer = {"lower": plan.lower, "upper": plan.upper, "status": plan.status.name}
    return {**answer, "wall": wall, "proven_by": proven_by}


def gaps_of(row: dict[str, Any]) -> dict[str, float]:
    """The gap of each planner that has one, at least the goal."""
    answers = {name: answer for name, answer in row["planners"].items() if answer.get("upper")}
    return {name: max(a["upper"] - a["lower"], row["goal"]) for name, a in answers.items()}


def contradictions(row: dict[str, Any]) -> list[str]:
    """Pairs of planners whose bounds exclude each other."""
    known = [(name, a) for name, a in row["planners"].items() if "lower" in a]
    return [
        f"{one} lower {a['lower']!r} above {other} upper {b['upper']!r}"
        for one, a in known
        for other, b in known
        if b["upper"] is not None and a["lower"] > b["upper"]
    ]


def looser(row: dict[str, Any]) -> list[str]:
    """The bounds of `auto` that are looser than a single planner's, beyond a tenth of its gap."""
    planners = row["planners"]
    losses = []
    for name, a in planners.items():
        if name == "auto" or a.get("upper") is None:
            continue
        auto, room = planners["auto"], 0.1 * max(a["upper"] - a["lower"], row["goal"])
        if auto["lower"] < a["lower"] - room:
            losses.append(f"lower {auto['lower']:.6g}, {name} has {a['lower']:.6g}")
        if auto["upper"] > a["upper"] + room:
            losses.append(f"upper {auto['upper']:.6g}, {name} has {a['upper']:.6g}")
    return losses


def show(rows: dict[str, dict[str, Any]]) -> None:
    """The table: the best single planner and `auto`."""
    print("| file | seconds | best single planner | its gap | auto: bounds | proven by | ratio |")
    print("|---|---|---|---|---|---|---|")
    good = counted = 0
    for key, row in sorted(rows.items()):
        gaps = gaps_of(row)
        single = {name: gap for name, gap in gaps.items() if name != "auto"}
        if "auto" not in gaps or not single:
            continue
        best = min(single, key=lambda name: single[name])
        ratio, auto = gaps["auto"] / single[best], row["planners"]["auto"]
        who = auto["proven_by"] or {}
        good, counted = good + (ratio <= ALLOWED), counted + 1
        print(
            f"| {key.split('@')[0]} | {row['seconds']:g} | {best} | {single[best]:.4g} | "
            f"[{auto['lower']:.6g}, {auto['upper']:.6g}] | {who.get('lower')}, {who.get('upper')} "
            f"| {ratio:.3g} |"
        )
        for line in contradictions(row):
            print(f"contradiction: {key}: {line}")
        for line in looser(row):
            print(f"looser: {key}: {line}")
    print(f"\n{good} of {counted} with a ratio of at most {ALLOWED}")


def main() -> None:
    parser = arguments(__doc__, "--corpus", "--seconds", required=("--corpus",))
    parser.add_argument("names", nargs="*", help="files of the corpus; by default all")
    parser.add_argument("--only", action="append", help="a planner to run; by default all")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    if options.results is not None and options.results.is_file():
        for line in options.results.read_text().splitlines():
            row = json.loads(line)
            rows[f"{row['file']}@{row['seconds']:g}"] = row
    if not options.table:
        every = [p.name for p in sorted(options.corpus.iterdir()) if ".pomdp" in p.name.lower()]
        for name in options.names or every:
            model = as_linear(load_pomdp(str(options.corpus / name), normalize=True))
            if undiscounted(model):
                continue
            for planner in options.only or (*SINGLE, "auto"):  # compiles what is missing
                measured(model, planner, min(1.0, options.seconds))
            key = f"{name}@{options.seconds:g}"
            row = rows.setdefault(key, {"file": name, "seconds": options.seconds, "planners": {}})
            ahead = 1 / (1 - (model.discount or 0.0))
            row["goal"] = goal_of(None, CLOSED, model, ahead).least
            for planner in options.only or (*SINGLE, "auto"):
                row["planners"][planner] = measured(model, planner, options.seconds)
            if options.results is not None:
                with options.results.open("a") as kept:
                    kept.write(json.dumps(row) + "\n")
            print(name, {n: a.get("status", "error") for n, a in row["planners"].items()})
    show(rows)


if __name__ == "__main__":
    main()
