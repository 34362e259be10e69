"""How far planners overshoot a time limit, and how soon Ctrl-C ends them, on six large problems.

For each problem and planner: the seconds that `solve` takes beyond the time limit, and the seconds
from an interrupt in the middle of that time to its return. The set-up is included; building or
reading the model and compiling kernels (a first short run) are not. A planner that refuses a
problem says so.

With --cold, each run is one of `rpsr solve` in a new process with an empty cache, which compiles
kernels, and the seconds are those of the process after planning began plus the limit, writing a
policy and leaving included. They are wall time, as users wait: measure on an idle machine.

    python benchmarks/limits.py --corpus DIR [--seconds 5] [--cold] [--planner NAME ...]
                                [PROBLEM ...]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from arguments import arguments

from rpsr import save
from rpsr.domains import build, tabulate
from rpsr.errors import RpsrError
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.planners import PLANNER_NAMES, planner_by_name
from rpsr.sources import load_pomdp

SIDE = 224  # of the grid: 50,176 states
ALLOWED = 0.5  # seconds


def grid(side: int = SIDE) -> POMDP:
    """A square of cells. Moves fail with probability 1/5, and walls nearby are observed."""
    steps = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
    cells = [(x, y) for x in range(side) for y in range(side)]
    goal, fails = (side - 1, side - 1), Fraction(1, 5)

    def move(cell: tuple[int, int], action: str) -> dict[tuple[int, int], Fraction | int]:
        x, y = cell[0] + steps[action][0], cell[1] + steps[action][1]
        if cell == goal or not (0 <= x < side and 0 <= y < side):
            return {cell: 1}
        return {cell: fails, (x, y): 1 - fails}

    def seen(_action: str, cell: tuple[int, int]) -> dict[str, int]:
        edges = (cell[0] == 0) + (cell[0] == side - 1) + (cell[1] == 0) + (cell[1] == side - 1)
        return {("goal" if cell == goal else str(edges)): 1}

    return tabulate(
        name=f"grid-{side}",
        states=cells,
        actions=list(steps),
        observations=["0", "1", "2", "goal"],
        start={(x, y): Fraction(1, 16) for x in range(4) for y in range(4)},
        transition=move,
        emission=seen,
        reward=lambda cell, _a, end, _o: int(end == goal != cell),
        discount=Fraction(99, 100),
    )


def problems(corpus: Path) -> dict[str, Callable[[], POMDP]]:
    """The problems, by name."""
    files = ("tag_avoid.pomdp", "cit.POMDP", "fourth.POMDP.gz", "baseball.POMDP.gz")
    return {
        "rock-sample-7-8": lambda: build("rock-sample:n=7,k=8"),
        "grid-50176": grid,
        **{name: lambda name=name: load_pomdp(str(corpus / name)) for name in files},
    }


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def measured(model: LinearModel, name: str, seconds: float, stop: float | None) -> float | str:
    """Seconds from the limit (or, if given, from an interrupt after `stop` seconds) to the end."""
    planner = planner_by_name(name, time_limit=seconds)
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, stop or 0.0)
    try:
        planner.solve(model, lambda row: None)
    except KeyboardInterrupt:
        return f"no answer, {time.perf_counter() - began - (stop or 0.0):.2f}"
    except RpsrError as error:
        return f"refused: {error}"[:60]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return time.perf_counter() - began - (seconds if stop is None else stop)


# Says when planning begins, which is after loading the library and reading the model; sends itself
# the interrupt after so many seconds, if any; and runs the command.
COLD = """
import os, signal, sys, threading, time
from rpsr.cli.app import main
from rpsr.planning.limits import Clock
stop, begun, made = float(sys.argv.pop(1)), [], Clock.__post_init__
def begin(clock):
    made(clock)
    if not begun:
        begun.append(print(f"began {time.time()}", file=sys.stderr, flush=True))
        if stop:
            signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, stop)
Clock.__post_init__ = begin
sys.exit(main())
"""


def measured_cold(make: Callable[[], POMDP], name: str, seconds: float, stop: float | None) -> str:
    """The same for the command `rpsr solve` in a new process that has to compile its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        save(make(), model := Path(folder, "model.pomdp"))
        words = ["solve", str(model), "--planner", name, "--time-limit", str(seconds), "--json"]
        words += ["-o", str(Path(folder, "policy.npz"))]
        done = subprocess.run(
            [sys.executable, "-c", COLD, str(stop or 0.0), *words],
            env=os.environ | {"NUMBA_CACHE_DIR": str(Path(folder, "cache"))},
            capture_output=True,
            text=True,
        )
        ended = time.time()
    began = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("began ")]
    if not began or done.returncode not in (0, 3, 130):
        return f"refused: {done.stderr.splitlines()[-1]}"[:60]
    return f"{max(ended - float(began[0]) - (seconds if stop is None else stop), 0.0):.2f}"


def main() -> None:
    parser = arguments(__doc__, "--corpus", "--seconds", required=("--corpus",))
    parser.add_argument("--cold", action="store_true", help="first runs, which compile kernels")
    parser.add_argument("names", nargs="*", help="problems; by default all")
    parser.add_argument("--planner", action="append", help="by default all")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, interrupt)
    print(f"| problem | planner | beyond {options.seconds:g} s | after Ctrl-C |")
    print("|---|---|---|---|")
    late = 0
    for name, make in problems(options.corpus).items():
        if options.names and name not in options.names:
            continue
        if options.cold:
            for planner in options.planner or PLANNER_NAMES:
                over = measured_cold(make, planner, options.seconds, None)
                after = measured_cold(make, planner, 2 * options.seconds, options.seconds / 2)
                print(f"| {name} | {planner} | {over} | {after} |", flush=True)
            continue
        model = as_linear(make())
        for planner in options.planner or PLANNER_NAMES:
            measured(model, planner, 1.0, None)  # compiles
            over = measured(model, planner, options.seconds, None)
            after = measured(model, planner, 2 * options.seconds, options.seconds / 2)
            late += sum(not isinstance(x, float) or x > ALLOWED for x in (over, after))
            shown = [f"{max(x, 0.0):.2f}" if isinstance(x, float) else x for x in (over, after)]
            print(f"| {name} | {planner} | {shown[0]} | {shown[1]} |", flush=True)
    if not options.cold:
        print(f"\n{late} of these are above {ALLOWED} s")


if __name__ == "__main__":
    main()
