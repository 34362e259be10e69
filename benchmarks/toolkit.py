"""The SARSOP toolkit beside rpsr on POMDPX files: reading, and the values of exchanged policies.

For each file, both programs read it (seconds as each reports or takes them), both plan for the same
time, and every policy is valued by both: ours by `rpsr`'s bounds and by the toolkit's `pomdpeval`
and `pomdpsim`, theirs by `pomdpsol`'s bounds and by `rpsr` at the start. Values agree if a
confidence interval of four standard errors meets the interval of the proven bounds. `pomdpeval`
refuses a random start of fully observed variables (TagAvoid). It then values the same plan on the
flat POMDPX file that `rpsr` writes, in which they are part of the observation.

    python benchmarks/toolkit.py --pomdpsol PATH FILE.pomdpx ...

The other programs are expected beside pomdpsol.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import rpsr
from rpsr.models import POMDP
from rpsr.planning import save_policy
from rpsr.planning.files.policies import load_policy
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import AlphaPolicy

_ROW = re.compile(r"^ \S+ +\d+ +\d+ +(\S+) +(\S+) ", re.M)
_LOADING = re.compile(r"loading time : (\S+?)s")
_MEAN = re.compile(r"^ \d+ +(\S+) +\((\S+), (\S+)\)", re.M)


def main() -> None:
    """Print one block of lines per file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pomdpsol", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--episodes", type=int, default=300)
    given = parser.parse_args()
    for file in given.files:
        compare(file.resolve(), given.pomdpsol, given.seconds, given.episodes)


def compare(file: Path, solver: Path, seconds: float, episodes: int) -> None:
    """Read, plan and exchange policies on one file."""
    begun = time.perf_counter()
    pomdp = rpsr.load(file)
    ours = time.perf_counter() - begun
    assert isinstance(pomdp, POMDP)
    with tempfile.TemporaryDirectory() as folder:
        theirs, mine = Path(folder) / "theirs.policy", Path(folder) / "ours.policy"
        out = run(solver, "--timeout", str(seconds), "--output", str(theirs), str(file))
        low, high = map(float, _ROW.findall(out)[-1])
        loading = _LOADING.findall(out)
        print(f"{file.name}: {len(pomdp.states)} states, {len(pomdp.observations)} observations")
        print(f"  reading    rpsr {ours:.2f} s, pomdpsol {loading[-1] if loading else '?'} s")
        plan = rpsr.solve(pomdp, planner="sarsop", epsilon=1e-3, time_limit=seconds)
        save_policy(plan, mine)
        print(f"  bounds     rpsr {plan.lower:.4f} .. {plan.upper:.4f}")
        print(f"             pomdpsol {low:.4f} .. {high:.4f}")
        value = known_at_start(pomdp, load_policy(theirs, pomdp).vectors)
        print(f"  theirs, read by rpsr: {value:.4f} at the start (pomdpsol says {low:.4f})")
        words = ("--simLen", "100", "--simNum", str(episodes), "--srand", "1", "--policy-file")
        for program in ("pomdpeval", "pomdpsim"):
            path, where = solver.with_name(program), ""
            begun = time.perf_counter()
            out = run(path, *words, str(mine), str(file))
            if not _MEAN.findall(out):
                flat, policy = Path(folder) / "flat.pomdpx", Path(folder) / "flat.policy"
                rpsr.save(pomdp, flat)
                save_policy(policy_for(plan, flat), policy)
                out, where = run(path, *words, str(policy), str(flat)), " on the flat file"
            mean, left, right = map(float, _MEAN.findall(out)[-1])
            error = (right - left) / 2 / 1.96
            agrees = plan.lower - 4 * error <= mean <= (plan.upper or mean) + 4 * error
            print(
                f"  ours, by {program}{where}: {mean:.4f} ± {error:.4f}"
                f" ({'agrees with' if agrees else 'DISAGREES WITH'} our bounds;"
                f" {episodes} episodes, {len(plan.value_function)} vectors,"
                f" {time.perf_counter() - begun:.0f} s)",
                flush=True,
            )


def policy_for(plan: Solution, flat: Path) -> AlphaPolicy:
    """A plan's vectors for the flat file of its model, which has the same states."""
    return AlphaPolicy(rpsr.load(flat).belief_model(), plan.vectors, actions=plan.actions)


def known_at_start(pomdp: POMDP, vectors: np.ndarray) -> float:
    """The value of vectors (K, S) if the fully observed variables are known before the first step.

    So the toolkit counts; for `rpsr` a policy begins with the start's belief alone.
    """
    names = {v.name for v in pomdp.state_variables if v.observed}
    known = [
        tuple(part for part in state.split(",") if part.partition("=")[0] in names)
        for state in pomdp.states
    ]
    total = 0.0
    for seen in set(known):
        inside = np.array([key == seen for key in known])
        total += float((vectors[:, inside] @ pomdp.start[inside]).max())
    return total


def run(program: Path, *words: str) -> str:
    """What a program prints, refusals included."""
    return subprocess.run([program, *words], capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
