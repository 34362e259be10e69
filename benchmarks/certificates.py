"""Certificates of plans: how close to the planner's bounds, how large, and how long to verify.

    RPSR_CORPUS=folder python benchmarks/certificates.py --planner sarsop --time-limit 60
    python benchmarks/certificates.py tiger 4x3 hallway --planner vi
    python benchmarks/certificates.py tiger parr 4x4 --mutations 100000
    RPSR_CORPUS=folder python benchmarks/certificates.py --ranks

Sources are files or built-in domains; without any, all built-in domains and the files in the folder
that RPSR_CORPUS names. For each, a row of: the planner's status, gap and seconds; by how much the
certificate's bounds are looser than the planner's (negative: tighter), as a share of the gap;
seconds to write and to verify it; the numbers of vectors and points; bytes of text. The goal is
`tight` if both bounds are within 1 % of the gap, or 1e-9, and `fast` if verifying takes at most ten
times as long as planning.

With --ranks, certificates of both ranks and of the accuracy condition are written and verified
instead. With --mutations, certificates are damaged instead, and accepted ones are judged
(`tests/certificates/mutations.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import rpsr  # noqa: E402
from rpsr.domains import NAMES  # noqa: E402
from rpsr.planning import planner_options  # noqa: E402
from rpsr.predictive import save_rank_certificate  # noqa: E402

SHARE, ABSOLUTE, SLOWER = 0.01, 1e-9, 10.0  # the goals
SUFFIXES = (".pomdp", ".pomdp.gz")


def all_sources() -> list[str]:
    """Built-in domains, and the files of the corpus, small ones first."""
    folder = os.environ.get("RPSR_CORPUS")
    files = [] if folder is None else [p for p in Path(folder).iterdir() if p.is_file()]
    models = [path for path in files if path.name.lower().endswith(SUFFIXES)]
    return [*NAMES, *(str(path) for path in sorted(models, key=lambda path: path.stat().st_size))]


def row(source: str, planner: str, time_limit: float, ended: bool) -> dict[str, object]:
    """One line of the table, or why there is none. ended: none for plans that a limit stopped."""
    name = Path(source).name
    try:
        pomdp = rpsr.load_pomdp(source, normalize=Path(source).exists())
        keep = {"keep_points": True} if "keep_points" in planner_options(planner) else {}
        plan = rpsr.solve(pomdp, planner, time_limit=time_limit, **keep)
        if ended and not plan.status.reached_goal:
            return {"source": name, "error": f"stopped by a limit, gap {plan.gap}"}
        began = time.perf_counter()
        made = rpsr.certify(plan)
        wrote = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.json"
            made.save(path)
            verified = rpsr.verify(pomdp, path)
    except rpsr.RpsrError as error:
        return {"source": name, "error": str(error)}
    gap, allowed = plan.gap or 0.0, max(SHARE * (plan.gap or 0.0), ABSOLUTE)
    low = plan.lower - made.lower
    high = None if plan.upper is None or made.upper is None else made.upper - plan.upper
    return {
        "source": name,
        "status": plan.status.name.lower(),
        "gap": gap,
        "lower": low,
        "upper": high,
        "planning": plan.seconds,
        "writing": wrote,
        "verifying": verified.seconds,
        "vectors": verified.sizes.get("vector", 0),
        "points": verified.sizes.get("point", 0),
        "bytes": verified.size,
        "tight": low <= allowed and (high is None or high <= allowed),
        "fast": verified.seconds <= SLOWER * plan.seconds,
    }


def ranks(source: str) -> dict[str, object]:
    """The ranks that are proven, and seconds."""
    name = Path(source).name
    try:
        pomdp = rpsr.load_pomdp(source, normalize=Path(source).exists())
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.json"
            save_rank_certificate(pomdp, path)
            wrote = time.perf_counter() - began
            verified = rpsr.verify(pomdp, path)
    except rpsr.RpsrError as error:
        return {"source": name, "error": str(error)}
    proven = {"psr": verified.psr_rank, "rpsr": verified.rpsr_rank, "accurate": verified.accurate}
    return {
        "source": name,
        "states": len(pomdp.states),
        **proven,
        "writing": wrote,
        "verifying": verified.seconds,
        "bytes": verified.size,
    }


def shown(row: dict[str, object]) -> str:
    """A row of the table."""
    if "error" in row:
        return f"{row['source']!s:24} {row['error']}"
    if "psr" in row:
        cells = [f"{row[k]!s:>9}" for k in ("states", "psr", "rpsr", "accurate")]
        seconds = [f"{row[k]:>10.3g}" for k in ("writing", "verifying")]
        return f"{row['source']!s:24}" + "".join(cells + seconds) + f"{row['bytes']!s:>12}"
    numbers = [row[k] for k in ("gap", "lower", "upper", "planning", "writing", "verifying")]
    cells = [f"{'' if n is None else f'{n:.3g}':>10}" for n in numbers]
    counts = [f"{row[k]!s:>9}" for k in ("vectors", "points", "bytes")]
    met = [word for word in ("tight", "fast") if row[word]]
    begin = f"{row['source']!s:24} {row['status']!s:10}"
    return begin + "".join(cells + counts) + " " + " ".join(met)


def main() -> int:
    """Print the table, and how many rows met the goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--planner", default="sarsop")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--ended", action="store_true", help="skip plans that a limit stopped")
    parser.add_argument("--ranks", action="store_true", help="of ranks, not of plans")
    parser.add_argument("--mutations", type=int, help="of each certificate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file for the rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sources = options.sources or all_sources()
    if options.mutations is not None:
        words = ["--count", str(options.mutations), "--seed", str(options.seed), *sources]
        root = Path(__file__).parents[1]
        command = [sys.executable, "-m", "tests.certificates.mutations", *words]
        return subprocess.call(command, cwd=root)
    if options.ranks:
        heads = ("states", "psr", "rpsr", "accurate")
        print(f"{'source':24}" + "".join(f"{h:>9}" for h in heads), end="")
        print("".join(f"{h:>{w}}" for h, w in (("writing", 10), ("verifying", 10), ("bytes", 12))))
    else:
        heads = ("gap", "lower by", "upper by", "planning", "writing", "verifying")
        counts = ("vectors", "points", "bytes")
        print(f"{'source':24} {'status':10}" + "".join(f"{h:>10}" for h in heads), end="")
        print("".join(f"{h:>9}" for h in counts))
    rows: list[dict[str, object]] = []
    for source in sources:
        rows.append(
            ranks(source)
            if options.ranks
            else row(source, options.planner, options.time_limit, options.ended)
        )
        print(shown(rows[-1]), flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(rows, indent=1))
    made = [line for line in rows if "error" not in line]
    if options.ranks:
        print(f"verified: {len(made)} of {len(rows)}")
        return 0 if len(made) == len(rows) else 1
    for word in ("tight", "fast"):
        print(f"{word}: {sum(bool(line[word]) for line in made)} of {len(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
