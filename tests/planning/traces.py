"""What planners do on ten domains and three models, step by step: numbers to compare with.

`python -m tests.planning.traces FILE` writes them; `test_traces` compares a run with what was kept.
With `--digest`, everything that a run computes is added, to the last bit: two versions of the code
on one machine can be compared by it.
Each run is bounded by trials or iterations, never by time, so that it does the same everywhere.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rpsr import psr, rpsr
from rpsr.domains import build
from rpsr.models import LinearModel
from rpsr.planning import Planner, Solution, planner_by_name, solve

DOMAINS = (
    *("1d", "4x3", "cheese", "loadunload", "network"),
    *("paint", "parr", "shuttle", "stand-tiger", "tiger"),
)
MODELS = ("belief", "psr", "rpsr")
PLANNERS: dict[str, dict[str, Any]] = {
    "vi": {"max_iterations": 1},
    "sarsop": {"max_iterations": 6},
    "hsvi": {"max_iterations": 4},
    "pbvi": {"max_points": 20, "max_iterations": 4},
    "perseus": {"max_points": 20, "max_iterations": 4},
    "policy-iteration": {"max_iterations": 1},
    "reachable": {"max_states": 200},
    "qmdp": {},
    "fib": {},
}
COUNTS = ("iteration", "vectors", "points", "programs")
NUMBERS = ("lower", "upper", "gap", "residual")


@cache
def model_of(domain: str, kind: str) -> LinearModel:
    """A built-in domain as a belief model, PSR or R-PSR."""
    pomdp = build(domain)
    return {"belief": pomdp.belief_model, "psr": lambda: psr(pomdp), "rpsr": lambda: rpsr(pomdp)}[
        kind
    ]()


def cases() -> Iterator[tuple[str, str, str]]:
    """Domain, model and planner of each run."""
    for domain in DOMAINS:
        for kind in MODELS:
            for name in PLANNERS:
                yield domain, kind, name


def run(domain: str, kind: str, name: str) -> Solution:
    """One run."""
    planner: Planner = planner_by_name(name, **PLANNERS[name])
    return solve(model_of(domain, kind), planner)


def summary(solution: Solution) -> dict[str, Any]:
    """What is kept of a run: counts, and numbers to ten digits."""
    last = asdict(solution.trace[-1]) if solution.trace else {}
    numbers = {key: getattr(solution, key) for key in ("value", "lower", "upper", "residual")}
    return {
        "status": solution.status.name,
        "iterations": solution.iterations,
        "vectors": len(solution.actions),
        "rows": len(solution.trace),
        "last": {key: last.get(key) for key in COUNTS},
        "numbers": {key: None if x is None else float(f"{x:.10g}") for key, x in numbers.items()},
    }


def digest(solution: Solution) -> str:
    """Everything that a run computes, to the last bit: trace, vectors, actions and successors."""
    rows = [{key: asdict(row)[key] for key in (*COUNTS, *NUMBERS)} for row in solution.trace]
    seen = hashlib.sha256(json.dumps(rows).encode())
    for array in (solution.vectors, solution.actions, solution.successors):
        seen.update(array.tobytes())
    return seen.hexdigest()[:16]


def linear_algebra() -> str:
    """How this machine rounds products and solutions of linear systems, to the last bit.

    Libraries order sums by the processor's instructions. The first bounds and the coordinates of
    PSRs and R-PSRs depend on them, and with these the choice between vectors or actions that tie.
    """
    a = np.random.default_rng(0).standard_normal((37, 37))
    seen = hashlib.sha256()
    for n in range(1, len(a)):
        b = np.ascontiguousarray(a[:n, :n])
        for array in (b @ a[:n], b @ a[0, :n], np.linalg.solve(b, b[0])):
            seen.update(array.tobytes())
    return seen.hexdigest()[:16]


def main() -> None:
    """Write a summary of every run to the file that is named."""
    rows = [f'"linear algebra": {json.dumps(linear_algebra())}']
    for case in cases():
        solution = run(*case)
        kept = summary(solution) | ({"digest": digest(solution)} if "--digest" in sys.argv else {})
        rows.append(f"{json.dumps('/'.join(case))}: {json.dumps(kept)}")
        print("/".join(case), file=sys.stderr)
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
