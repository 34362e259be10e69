"""`python -m tests.mutation FOLDER --count 300`: how many of a sample of faults the tests notice.

First the tests run once, in a copy of the project in the folder, and `lines.jsonl` there says which
test runs which lines (`--record` adds the tests that it lacks; `--tests` says which to record).
Then each mutant of the sample, which `--seed` draws, is put into the copy, and the tests that run
its line run until one fails. A mutant that none notices survives, and is printed with its place.
Rows go to `mutants.jsonl` in the folder as they come, and a run continues after what is there.
`--index` runs some again. `--check` runs the tests that noticed once more without a fault, and
prints those that fail.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant, count, mutant
from tests.mutation.running import Tests, record
from tests.mutation.selection import Record

ROOT = Path(__file__).parents[2]
PACKAGES = ("predictive", "planning", "learning")
TESTS = (*PACKAGES, "evaluation", "cli", "test_showing.py", "test_testing.py")
# A mutant counts as noticed if a test takes this many times as long as without it, and so many
# seconds to start; interpreting and compiling a changed kernel takes more.
PATIENCE, STARTING, COMPILING = 5.0, 60.0, 300.0


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


def noticed(
    copy: Path, module: Path, text: str, seconds: dict[str, float], most: float
) -> tuple[str, int]:
    """The test that fails in a copy of the project with a module's text; and how many ran.

    seconds: of processor time for each test; most: for all of them.
    """
    target = copy / module
    whole, times = target.read_text(encoding="utf-8"), target.stat()
    compiled = "njit" in whole or "NamedTuple" in whole  # a part of kernels
    starting = COMPILING if compiled else STARTING
    limits = {test: starting + PATIENCE * seconds[test] for test in seconds}
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(copy, limits, most, Path(folder) if compiled else None)
        try:
            target.write_text(text, encoding="utf-8")
            return tests.failed()
        finally:
            target.write_text(whole, encoding="utf-8")
            # Kernels that were compiled from it stay valid.
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def failing(copy: Path, rows: list[dict[str, Any]], seconds: dict[str, float]) -> Iterator[str]:
    """Tests that noticed a mutant of one module, but fail without one, too."""
    module = Path(rows[0]["place"].partition(":")[0])
    text = (copy / module).read_text(encoding="utf-8")
    tests = {row["noticed"]: seconds[row["noticed"]] for row in rows if row["noticed"] in seconds}
    while tests and (test := noticed(copy, module, text, tests, inf)[0]):
        yield test
        del tests[test]


def main() -> int:
    """Run a sample; exit status 1 if a mutant survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("folder", type=Path, help="keeps the copy and what was found")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--index", type=int, nargs="*", help="run these of the sample again")
    parser.add_argument("--only", nargs="*", default=list(PACKAGES), help="packages or subpackages")
    parser.add_argument("--record", action="store_true", help="record tests that are new")
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="to record, in tests/")
    parser.add_argument("--seconds", type=float, default=30.0, help="of processor time per mutant")
    parser.add_argument("--check", action="store_true", help="run what noticed without a fault")
    given = parser.parse_args()
    folder = given.folder.resolve()
    copy, lines, out = (folder / name for name in ("copy", "lines.jsonl", "mutants.jsonl"))
    _copy(copy)
    if given.record or not lines.exists():
        record(copy, [f"tests/{name}" for name in given.tests], lines)
    known, rows = Record.read(lines), _kept(out)
    if given.check:
        of_module: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows.values():
            of_module[row["place"].partition(":")[0]].append(row)
        failed = [
            test for part in of_module.values() for test in failing(copy, part, known.seconds)
        ]
        print(*failed, sep="\n")
        return int(bool(failed))
    drawn = enumerate(islice(sample(given.only, given.seed), given.count))
    for index, (module, number, made) in drawn:
        if index not in given.index if given.index is not None else index in rows:
            continue
        began, text = time.perf_counter(), (ROOT / module).read_text(encoding="utf-8")
        tests, left = known.select(module, text, made.line, given.seconds)
        by, run = noticed(copy, module, made.text, tests, given.seconds) if tests else ("", 0)
        rows[index] = {
            "index": index,
            "place": f"{module}:{made.line}",
            "number": number,
            "change": f"{made.before}  ->  {made.after}",
            "noticed": by,
            "tests": run,
            "left": len(tests) - run + left,
            "seconds": round(time.perf_counter() - began, 1),
        }
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[index]) + "\n")
        if not by:
            print(f"{index}: {module}:{made.line}: {made.before}  ->  {made.after}", flush=True)
        killed = sum(bool(one["noticed"]) for one in rows.values())
        print(f"{len(rows)}/{given.count}: {killed} noticed", file=sys.stderr)
    return int(any(not row["noticed"] for row in rows.values()))


def _kept(out: Path) -> dict[int, dict[str, Any]]:
    texts = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    return {row["index"]: row for row in map(json.loads, texts)}


def _copy(copy: Path) -> None:
    """Put the project into a folder, where faults do no harm; kernels compiled there remain."""
    skipped = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "reproduction")
    shutil.copytree(ROOT, copy, ignore=skipped, dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(main())
