"""Bounds at the start over time: `sarsop` (or `hsvi`) beside the C++ SARSOP, one core each.

Both get the same processor time and the same target gap, one after the other. Seconds are those
inside the solver: ours with kernels warm, the peer's as it reports them, without reading the file;
both clocks count processor time, so that other programs on the machine hardly change the results.
Every pair of answers is checked: neither lower bound may exceed the other's upper bound. Known
faults of the peer's reader are named where they explain a disagreement. The peer knows the fully
observed variables of a POMDPX file before its first action, so ours are bounds for that problem.

    python benchmarks/bounds.py --corpus DIR --pomdpsol PATH [NAME or FILE ...]

--results FILE keeps a JSON line a domain, the latest one counting; --table prints what it holds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import processor_time  # noqa: F401
from arguments import arguments
from revealed import revealed

from rpsr.domains import build
from rpsr.models import LinearModel
from rpsr.planning.anytime.planners import HSVI, SARSOP
from rpsr.planning.solution import ProgressRow, Solution
from rpsr.predictive.constructors import rpsr
from rpsr.sources import load_pomdp

EPSILON = 1e-3
PLANNERS = {"sarsop": SARSOP, "hsvi": HSVI}


@dataclass(frozen=True)
class Domain:
    """file of the corpus; seconds to give it; discount, where the file's own is 1."""

    file: str
    seconds: float
    discount: str | None = None


DOMAINS = {
    # where the peer closes the gap
    "tiger.95": Domain("tiger.95.POMDP", 5),
    "loadunload": Domain("loadunload.pomdp", 5),
    "paint.95": Domain("paint.95.POMDP", 5),
    "cheese.95": Domain("cheese.95.POMDP", 5),
    "shuttle.95": Domain("shuttle.95.POMDP", 5),
    "heavenhell.95": Domain("heavenhell.95.pomdp", 5),
    "heavenhell": Domain("heavenhell.pomdp", 10),
    "4x3.95": Domain("4x3.95.POMDP", 10),
    "baseball": Domain("baseball.POMDP.gz", 90),
    # where it does not
    "network.95": Domain("network.95.POMDP", 30),
    "query.s2": Domain("query.s2.POMDP", 30),
    "iff": Domain("iff.POMDP", 60),
    "tiger-grid": Domain("tiger-grid.POMDP", 120),
    "hallway": Domain("hallway.POMDP", 120),
    "hallway2": Domain("hallway2.POMDP", 60),
    "tag_avoid": Domain("tag_avoid.pomdp", 120),
    "cit": Domain("cit.POMDP", 60),
    "mit": Domain("mit.POMDP", 60),
    "pentagon": Domain("pentagon.POMDP", 30),
    "sunysb": Domain("sunysb.POMDP", 30),
    "fourth": Domain("fourth.POMDP.gz", 60),
    "machine": Domain("machine.POMDP", 60),
    "aloha.30": Domain("aloha.30.POMDP.gz", 60),
    "query.s4": Domain("query.s4.POMDP", 30),
    "learning.c4": Domain("learning.c4.POMDP", 30, "0.95"),
}
# Time, trials, backups, lower, upper, precision, vectors, beliefs.
PEER_ROW = re.compile(r"^\s*([\d.e+-]+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\d+)\s+(\d+)")


def silent(row: ProgressRow) -> None:
    pass


def ours(
    model: LinearModel, planner: str, seconds: float, epsilon: float
) -> tuple[Solution, list[list[float]]]:
    plan = PLANNERS[planner](epsilon=epsilon, time_limit=seconds).solve(model, silent)
    return plan, [[row.seconds, row.lower, row.upper] for row in plan.trace]


def peer(program: str, file: Path, seconds: float) -> list[list[float]]:
    """(seconds, lower, upper) rows of the C++ solver; none where it gave no answer.

    It prints bounds to six digits and their gap as well: upper is lower plus that gap.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = ["--timeout", f"{seconds:g}", "--precision", f"{EPSILON:g}"]
        options += ["--output", f"{folder}/out.policy"]
        command = [program, str(file.resolve()), *options]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=6 * seconds + 60)
        except subprocess.TimeoutExpired:
            return []
    matches = (PEER_ROW.match(line) for line in run.stdout.splitlines())
    rows = ([float(match[i]) for i in (1, 4, 6)] for match in matches if match)
    return [[seconds, lower, lower + gap] for seconds, lower, gap in rows]


def prepared(file: Path, discount: str | None, folder: Path) -> Path:
    """The file as the peer can read it: unpacked, with the discount asked for."""
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    if discount is not None:
        line = f"discount: {discount}".encode()
        text = re.sub(rb"^\s*discount\s*:.*$", line, text, count=1, flags=re.MULTILINE)
    plain = folder / f"{file.name.removesuffix('.gz')}"
    plain.write_bytes(text)
    return plain


def reached(rows: list[list[float]]) -> float | None:
    """When a trace first shows the gap closed, in seconds."""
    return next((t for t, lower, upper in rows if upper - lower <= EPSILON * (1 + 1e-9)), None)


def why(file: Path) -> str:
    """What is known to mislead the peer about a file, if anything."""
    text = file.read_bytes()
    if re.search(rb"^\s*values\s*:\s*cost", text, re.MULTILINE):
        return "it ignores `values: cost`: ours is right"
    if re.search(rb"^\s*discount\s*:\s*1(\.0*)?\s*$", text, re.MULTILINE):
        return "it aborts at discount 1"
    return "unexplained"


def measure(name: str, options: argparse.Namespace, folder: Path) -> dict[str, object] | None:
    domain = DOMAINS.get(name)
    file = Path(name)
    if domain is not None:
        file = Path(options.corpus or ".") / domain.file
    if not file.exists():
        print(f"{name:14} no file")
        return None
    seconds = options.seconds or (domain.seconds if domain else 30.0)
    discount = domain.discount if domain else None
    pomdp = load_pomdp(file, discount=discount)
    shown = revealed(pomdp)
    pomdp, later = (pomdp, 1.0) if shown is None else (shown, pomdp.discount)
    model = rpsr(pomdp) if options.model == "rpsr" else pomdp.belief_model()
    theirs: list[list[float]] = []
    plain = prepared(file, discount, folder)
    if options.pomdpsol is not None:
        theirs = peer(options.pomdpsol, plain, seconds)
    solution, rows = ours(model, options.planner, seconds, EPSILON * later)
    rows = [[second, lower / later, upper / later] for second, lower, upper in rows]
    bounds = (solution.lower / later, solution.upper / later)
    result: dict[str, object] = {
        "name": name,
        "planner": options.planner,
        "model": options.model,
        "seconds": seconds,
        "ours": {
            "lower": bounds[0],
            "upper": bounds[1],
            "reached": reached(rows),
            "trials": solution.iterations,
            "vectors": len(solution.vectors),
        },
        "peer": None,
        "note": "",
        "trace": rows if options.traces else [],
        "peer_trace": theirs if options.traces else [],
    }
    if bounds[0] > bounds[1]:
        result["note"] = "OURS CROSSES"
    if options.pomdpsol is not None and not theirs:
        result["note"] = f"the peer gave no answer: {why(plain)}"
    if theirs:
        # Its bounds are printed to six digits.
        _, lower, upper = theirs[-1]
        off = 1e-5 * max(abs(lower), abs(upper))
        result["peer"] = {"lower": lower, "upper": upper, "reached": reached(theirs)}
        if bounds[0] > upper + off or lower > bounds[1] + off:
            result["note"] = f"DISAGREE: {why(plain)}"
    return result


def show(result: dict[str, object]) -> None:
    mine, theirs = result["ours"], result["peer"]
    gap = mine["upper"] - mine["lower"]
    bounds = f"[{mine['lower']:.5g}, {mine['upper']:.5g}]"
    when = "-" if mine["reached"] is None else f"{mine['reached']:.3f}"
    line = f"{result['name']:14} {result['seconds']:6g} {bounds:>22} {gap:10.4g} {when:>8}"
    if theirs is not None:
        gap_theirs = theirs["upper"] - theirs["lower"]
        bounds = f"[{theirs['lower']:.5g}, {theirs['upper']:.5g}]"
        when = "-" if theirs["reached"] is None else f"{theirs['reached']:.3f}"
        ratio = f"{gap / gap_theirs:7.2f}" if gap_theirs > EPSILON else ""
        line += f" {bounds:>22} {gap_theirs:10.4g} {when:>8} {ratio:>7}"
    print(f"{line} {result['note']}", flush=True)
    for row in result["trace"]:
        print(f"    ours {row[0]:9.3f} {row[1]:12.6g} {row[2]:12.6g} {row[2] - row[1]:10.4g}")
    for row in result["peer_trace"]:
        print(f"    peer {row[0]:9.3f} {row[1]:12.6g} {row[2]:12.6g} {row[2] - row[1]:10.4g}")


def verdict(results: list[dict[str, object]]) -> None:
    """How many domains meet what is asked of them."""
    ratios, quick, slow = [], 0, 0
    for result in results:
        mine, theirs = result["ours"], result["peer"]
        if theirs is None:
            continue
        if theirs["reached"] is not None:
            slow += 1
            allowed = max(theirs["reached"], 0.1)
            quick += mine["reached"] is not None and mine["reached"] <= allowed
        else:
            ratios.append((mine["upper"] - mine["lower"]) / (theirs["upper"] - theirs["lower"]))
    print(f"\nthe peer closes the gap on {slow}; ours no later (or within .1 s) on {quick}")
    if ratios:
        counts = [sum(ratio <= most for ratio in ratios) for most in (0.8, 0.6)]
        print(f"it does not on {len(ratios)}; our gap is <= .8 of its on {counts[0]}, ", end="")
        print(f"<= .6 on {counts[1]}")


def main() -> None:
    parser = arguments(__doc__, "--corpus", "--model")
    parser.add_argument("names", nargs="*", help=f"files, or of {', '.join(DOMAINS)}")
    parser.add_argument("--pomdpsol", metavar="PATH", help="the C++ SARSOP")
    parser.add_argument("--seconds", type=float, help="for each run, instead of the domain's own")
    parser.add_argument("--planner", choices=list(PLANNERS), default="sarsop")
    parser.add_argument("--core", type=int, help="the core to run on; any by default")
    parser.add_argument("--traces", action="store_true", help="print both traces")
    parser.add_argument("--results", type=Path, help="a file of JSON lines to append to")
    parser.add_argument("--table", action="store_true", help="print the results there are and stop")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    print(
        f"{'domain':14} {'limit':>6} {'ours':>22} {'gap':>10} {'reached':>8} "
        f"{'peer':>22} {'gap':>10} {'reached':>8} {'ratio':>7}"
    )
    results: dict[str, dict[str, object]] = {}
    if options.table:
        for line in options.results.read_text().splitlines():
            result = json.loads(line)
            results[result["name"]] = result | {"trace": [], "peer_trace": []}
        for result in results.values():
            show(result)
        verdict(list(results.values()))
        return
    began = time.perf_counter()
    for name in PLANNERS:
        ours(build("4x3").belief_model(), name, 60.0, EPSILON)
    print(f"(kernels warm after {time.perf_counter() - began:.2f} s)")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or DOMAINS:
            result = measure(name, options, Path(folder))
            if result is None:
                continue
            results[name] = result
            show(result)
            if options.results is not None:
                with options.results.open("a") as out:
                    print(json.dumps(result), file=out)
    verdict(list(results.values()))


if __name__ == "__main__":
    main()
