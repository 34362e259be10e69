"""`python -m tests.mutation --count 300`: how many of a sample of small faults the tests notice.

Each mutant of the sample (drawn by `--seed`, so that a run can be repeated) is put into a copy of
the project, and the tests of its package run there until one fails. A mutant that none notices
survives, and is printed with its place. `--index` runs one again. Rows go to `--out` as they come,
and a run continues after what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import Queue

from tests.mutation.mutants import Mutant, count, mutant

ROOT = Path(__file__).parents[2]
PACKAGES = ("predictive", "planning", "learning")
# A mutant that takes this many times as long as the tests without a fault counts as noticed.
PATIENCE, LEAST_SECONDS = 5.0, 120.0


def tests_of(module: Path) -> list[str]:
    """The tests that a module's fault should fail: those of its room, then those beside it."""
    below = module.relative_to("src/rpsr")
    room = Path("tests") / below.parent
    own = room / f"test_{below.stem}.py"
    found = [path for path in (own, room, Path("tests") / below.parts[0]) if (ROOT / path).exists()]
    return list(dict.fromkeys(map(str, found)))


def sample(packages: list[str], seed: int) -> Iterator[tuple[Path, int, Mutant]]:
    """Mutants in random order: module, its number there, and the mutant."""
    modules = [
        path.relative_to(ROOT)
        for package in packages
        for path in sorted((ROOT / "src" / "rpsr" / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    texts = {module: (ROOT / module).read_text(encoding="utf-8") for module in modules}
    places = [(module, number) for module in modules for number in range(count(texts[module]))]
    random.Random(seed).shuffle(places)
    for module, number in places:
        yield module, number, mutant(texts[module], number)


def noticed(copy: Path, module: Path, made: Mutant) -> tuple[bool, float]:
    """Whether a test fails in a copy of the project with the mutant, and after how many seconds."""
    target = copy / module
    whole, began = target.read_text(encoding="utf-8"), time.perf_counter()
    target.write_text(made.text, encoding="utf-8")
    places = {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "OPENBLAS_NUM_THREADS": "1"}
    limit = LEAST_SECONDS * PATIENCE
    try:
        for tests in tests_of(module):
            words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests]
            done = subprocess.run(
                words, cwd=copy, env=os.environ | places, capture_output=True, timeout=limit
            )
            if done.returncode not in (0, 5):  # 5: there are no tests
                return True, time.perf_counter() - began
    except subprocess.TimeoutExpired:
        return True, time.perf_counter() - began
    finally:
        target.write_text(whole, encoding="utf-8")
    return False, time.perf_counter() - began


def main() -> int:
    """Run a sample; exit status 1 if a mutant survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--index", type=int, help="run only this one of the sample")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(PACKAGES), help="packages or rooms")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, added to")
    given = parser.parse_args()
    drawn = list(enumerate(islice(sample(given.only, given.seed), given.count)))
    if given.index is not None:
        drawn = [each for each in drawn if each[0] == given.index]
    rows = _kept(given.out)
    waiting = [each for each in drawn if each[0] not in rows]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        copies: Queue[Path] = Queue()
        for job in range(given.jobs):
            copies.put(_copied(Path(folder) / str(job)))

        def run(each: tuple[int, tuple[Path, int, Mutant]]) -> dict[str, object]:
            index, (module, number, made) = each
            copy = copies.get()
            try:
                killed, seconds = noticed(copy, module, made)
            finally:
                copies.put(copy)
            where = {"index": index, "module": str(module), "number": number, "line": made.line}
            change = {"before": made.before, "after": made.after}
            return where | change | {"killed": killed, "seconds": round(seconds, 1)}

        for row in pool.map(run, waiting):
            rows[int(str(row["index"]))] = row
            if given.out is not None:
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            if not row["killed"]:
                print(f"{row['module']}:{row['line']}: {row['before']}  ->  {row['after']}")
            killed = sum(bool(each["killed"]) for each in rows.values())
            print(f"{len(rows)}/{len(drawn)}: {killed} noticed", file=sys.stderr)
    return int(any(not row["killed"] for row in rows.values()))


def _kept(out: Path | None) -> dict[int, dict[str, object]]:
    if out is None or not out.exists():
        return {}
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {row["index"]: row for row in rows}


def _copied(copy: Path) -> Path:
    """The project's sources and tests in a folder of their own, compiled kernels included."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, copy / name)
    shutil.copytree(ROOT / "docs", copy / "docs")
    return copy


if __name__ == "__main__":
    sys.exit(main())
