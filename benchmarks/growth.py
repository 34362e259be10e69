"""Seconds and bytes of `sarsop` by the number of states, on problems that grow.

RockSample(n, k), tag on larger boards, and hallways of growing length. For each: the states, the
entries of the model, the parts that beliefs lie in (mixed observability), the processor seconds to
make the model and to begin the search (bounds included), the bounds at the end, the trials, and the
largest memory of the process. Every problem has a process of its own. The time limit counts
processor time, so that other programs on the machine hardly change the results.

    python benchmarks/growth.py [--seconds 20] [--memory 2e9] [PROBLEM ...]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core

PROBLEMS = (
    *(f"rock-sample:n={n},k={k}" for n, k in ((4, 4), (5, 5), (5, 7), (7, 8), (10, 10), (11, 11))),
    *(f"tag:scale={scale}" for scale in (1, 2)),
    *(f"hallway:alcoves={alcoves}" for alcoves in (4, 16, 64)),
)
COLUMNS = (
    *("problem", "states", "entries", "parts", "make s", "begin s"),
    *("lower", "upper", "trials", "peak MB"),
)


def measured(name: str, seconds: float, memory: float | None) -> dict[str, object]:
    """A row of the table, in this process."""
    import processor_time  # noqa: F401

    from rpsr.domains import build
    from rpsr.models.as_model import as_linear
    from rpsr.planning.anytime.belief_parts import find_parts
    from rpsr.planning.anytime.planners import SARSOP
    from rpsr.planning.corners.corner_model import corner_process
    from rpsr.planning.limits import no_limits

    SARSOP(max_iterations=2).solve(build("rock-sample:n=4,k=4"))  # compiles
    began = time.process_time()
    model = as_linear(build(name))
    made = time.process_time() - began
    process = corner_process(model)
    limit = None if memory is None else int(memory)
    plan = SARSOP(time_limit=seconds, memory_limit=limit).solve(model)
    first = plan.trace[0].seconds if plan.trace else seconds
    return {
        "problem": name,
        "states": process.k,
        "entries": len(process.chance),
        "parts": len(find_parts(process, no_limits()).part),
        "make s": round(made, 1),
        "begin s": round(first, 2),
        "lower": round(plan.lower, 3),
        "upper": None if plan.upper is None else round(plan.upper, 3),
        "trials": plan.iterations,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="problems; by default all")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--memory", type=float)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.names[0], options.seconds, options.memory)))
        return
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for name in options.names or PROBLEMS:
        command = [sys.executable, __file__, "--measure", name, "--seconds", str(options.seconds)]
        command += [] if options.memory is None else ["--memory", str(options.memory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            print(f"| {name} | failed: {said[-1] if said else done.returncode} |", flush=True)
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)


if __name__ == "__main__":
    main()
