"""Exact planning beside the classic C solver.

    python benchmarks/exact.py [NAMES...] [--corpus DIR] [--pomdp-solve PATH] [--repeats N]
                               [--limit SECONDS] [--model pomdp|rpsr]
    python benchmarks/exact.py --growth [--repeats N] [--limit SECONDS] [--model pomdp|rpsr]

One core, taking turns, domain by domain. Seconds are processor seconds (user and system), which a
busy machine does not stretch: ours inside `solve()` with compiled kernels, best of N; the peer's
for its whole process, best of N and of its exact methods (those that reached the limit are left
out).
"first" is the wall time of the very first solve in this process, kernels loaded or compiled then.

The goal is a value function within 1e-9 of optimal everywhere. Ours proves it: the Bellman residual
is bounded by duality over the whole domain (over its maximal faces, with one step of looking ahead
elsewhere, where the column says so), every vector is at most its own backup, and rounding is
included. The peer runs at its default stop, which compares successive sets of vectors with a
tolerance of 1e-9 and proves no bound: on some domains its answer is off by 1e-5.
Without --pomdp-solve ours runs alone. Files come from --corpus or the folder RPSR_CORPUS names;
where there is none, built-in domains are written to text.

--growth shows how the cost grows instead: load/unload with 5, 10, 20 and 40 cells, for each pass of
branch and bound (or backup, with a horizon) the vectors it ended with, its programs and seconds.
"""

from __future__ import annotations

import itertools
import math
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from arguments import arguments

from rpsr import kernels
from rpsr.domains import build
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.solution import ProgressRow, Solution
from rpsr.predictive.constructors import rpsr
from rpsr.sources import load_pomdp, save

EPSILON = 1e-9
CELLS, STEPS = (5, 10, 20, 40), 20  # of --growth
METHODS = ("incprune", "witness", "enum", "twopass")
FILES = {  # file, discount where the file's own is 1, built-in name
    "tiger.aaai": ("tiger.aaai.POMDP", None, None),
    "tiger.95": ("tiger.95.POMDP", None, "tiger"),
    "4x4.95": ("4x4.95.POMDP", None, "4x4"),
    "cheese.95": ("cheese.95.POMDP", None, "cheese"),
    "paint.95": ("paint.95.POMDP", None, "paint"),
    "parr95.95": ("parr95.95.POMDP", None, "parr"),
    "stand-tiger.95": ("stand-tiger.95.POMDP", None, "stand-tiger"),
    "loadunload": ("loadunload.pomdp", None, "loadunload"),
    "web-mall": ("web-mall.POMDP", None, None),
    "mcc-example1": ("mcc-example1.POMDP", None, None),
    "cheng.D3-1": ("cheng.D3-1.POMDP", "0.95", None),
    "cheng.D4-1": ("cheng.D4-1.POMDP", "0.95", None),
    "cheng.D5-1": ("cheng.D5-1.POMDP", "0.95", None),
    "ejs1": ("ejs1.POMDP", "0.95", None),
    "shuttle.95": ("shuttle.95.POMDP", None, "shuttle"),
    "network.95": ("network.95.POMDP", None, "network"),
    "heavenhell.95": ("heavenhell.95.pomdp", None, "heavenhell"),
}


def silent(row: ProgressRow) -> None:
    pass


def ours(model, limit: float) -> tuple[float, Solution]:
    """Processor seconds inside `solve()`, and what it found."""
    began = time.process_time()
    plan = ValueIteration(epsilon=EPSILON, time_limit=limit).solve(model, silent)
    return time.process_time() - began, plan


def peer(program: str, file: Path, discount: str | None, limit: float, method: str) -> float | None:
    """Processor seconds of the C solver, or None where it gave no answer."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-pomdp", str(file.resolve()), "-method", method, "-o", f"{folder}/out"]
        if discount is not None:
            options += ["-discount", discount]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            run = subprocess.run(  # in a folder of its own: it leaves files where it runs
                [program, *options], capture_output=True, timeout=3 * limit, cwd=folder
            )
        except subprocess.TimeoutExpired:
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        answered = run.returncode == 0 and Path(f"{folder}/out.alpha").exists()
        return used if answered and used <= limit else None


def find(name: str, corpus: Path | None, folder: Path) -> Path | None:
    file, _, built_in = FILES[name]
    if corpus is not None and (corpus / file).exists():
        return corpus / file
    if built_in is None:
        return None
    save(build(built_in), folder / f"{built_in}.pomdp")
    return folder / f"{built_in}.pomdp"


def growth(kind: str, limit: float, repeats: int) -> None:
    """Load/unload in growing sizes, with an infinite and a finite horizon."""
    print(
        f"{'cells':>5} {'n':>4} {'steps':>5} {'pass':>4} {'vectors':>7} {'programs':>8} "
        f"{'seconds':>9}"
    )
    for cells, horizon in itertools.product(CELLS, (None, STEPS)):
        pomdp = build(f"loadunload:cells={cells}")
        model = rpsr(pomdp) if kind == "rpsr" else pomdp.belief_model()
        planner = ValueIteration(horizon=horizon, epsilon=EPSILON, time_limit=limit)
        runs = [planner.solve(model, silent) for _ in range(repeats)]
        fastest = min(runs, key=lambda run: run.seconds)
        steps, programs, seconds = horizon or "ever", 0, 0.0
        for row in fastest.trace:
            print(
                f"{cells:5} {model.dimension:4} {steps:>5} {row.iteration:4} {row.vectors:7} "
                f"{row.programs - programs:8} {row.seconds - seconds:9.4f}"
            )
            programs, seconds = row.programs, row.seconds
        end = "" if fastest.status.reached_goal else f"  {fastest.status.name.lower()}"
        print(
            f"{cells:5} {model.dimension:4} {steps:>5}  all {len(fastest.vectors):7} {programs:8} "
            f"{fastest.seconds:9.4f}{end}\n",
            flush=True,
        )


def main() -> None:
    parser = arguments(__doc__, "--corpus", "--model")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FILES)}")
    parser.add_argument("--pomdp-solve", metavar="PATH", help="the classic C solver")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each run")
    parser.add_argument("--growth", action="store_true", help="load/unload in growing sizes")
    options = parser.parse_args()
    kernels.PATIENCE = 0.0  # small problems, too, run compiled: this compares algorithms
    began = time.perf_counter()
    ValueIteration(epsilon=1e-3).solve(build("tiger").belief_model(), silent)
    print(f"first solve (tiger): {time.perf_counter() - began:.2f} s of wall time\n")
    if options.growth:
        growth(options.model, options.limit, options.repeats)
        return
    print(
        f"{'domain':15} {'n':>3} {'ours s':>9} {'peer s':>8} {'method':>9} {'ratio':>7} "
        f"{'vectors':>7} {'programs':>8} {'passes':>6} {'proven':>8} {'over':>7} {'value':>16}"
    )
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or FILES:
            file = find(name, options.corpus, Path(folder))
            if file is None:
                print(f"{name:15} no file")
                continue
            discount = FILES[name][1]
            pomdp = load_pomdp(file, discount=discount)
            model = rpsr(pomdp) if options.model == "rpsr" else pomdp.belief_model()
            mine, theirs = math.inf, dict.fromkeys(METHODS, math.inf)
            hopeless = set(METHODS) if options.pomdp_solve is None else set()
            for _ in range(options.repeats):
                seconds, solution = ours(model, options.limit)
                mine = min(mine, seconds)
                for method in METHODS:
                    if method in hopeless:
                        continue
                    used = peer(options.pomdp_solve, file, discount, options.limit, method)
                    theirs[method] = min(theirs[method], used or math.inf)
                    # A method that is far behind the best so far need not run again.
                    if theirs[method] > 2 * min(theirs.values()) or used is None:
                        hopeless.add(method)
            best = min(theirs, key=lambda method: theirs[method])
            answered = theirs[best] < math.inf
            if answered and solution.epsilon is not None:
                ratios.append(theirs[best] / mine)
            shown = (f"{theirs[best]:8.3f}", best, f"{theirs[best] / mine:7.1f}")
            columns = shown if answered else ("-", "-", "-")
            over = "faces" if solution.extras["faces"] else "domain"
            proven = "-" if solution.epsilon is None else f"{solution.epsilon:.1e}"
            print(
                f"{name:15} {model.dimension:3} {mine:9.4f} {columns[0]:>8} {columns[1]:>9} "
                f"{columns[2]:>7} {len(solution.vectors):7} {solution.extras['programs']:8} "
                f"{solution.iterations:6} {proven:>8} {over:>7} {solution.value:16.10f}",
                flush=True,
            )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nratio: geometric mean {mean:.1f} over {len(ratios)}, least {min(ratios):.1f}")


if __name__ == "__main__":
    main()
