"""Fuzzing guided by coverage, with Atheris (`pip install -e '.[fuzz]'`, on Linux).

Atheris chooses inputs by the branches that they reach. The entry points, the damage and the limits
are those of the loop without it.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

LONGEST = 2**16  # bytes of an input


def fuzz_guided(name: str, seconds: float, seed: int, keep: Path | None) -> int:
    """Fuzz one reader; the exit code. Atheris ends its process, so it runs in a child."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        child = os.fork()
        if child == 0:
            _fuzz(name, seconds, seed, keep, folder)
        _, status = os.waitpid(child, 0)
        counted = (folder / "counted").read_text() if (folder / "counted").exists() else "0 0"
        inputs, failures = map(int, counted.split())
    print(f"{name}: {inputs:,} inputs, {failures} kinds of failure", flush=True)
    return 1 if failures or status else 0


def _fuzz(name: str, seconds: float, seed: int, keep: Path | None, folder: Path) -> None:
    import atheris

    with atheris.instrument_imports(include=["rpsr"]):
        from tests.fuzz.limits import ending
        from tests.fuzz.loop import report
        from tests.fuzz.mutations import damaged
        from tests.fuzz.readers import READERS
        from tests.fuzz.seeds import kept_inputs

        reader = READERS[name]
        corpus = [*reader.seeds, *(path.read_bytes() for path in kept_inputs(name))]
        path, failures, inputs = folder / f"input{reader.suffix}", Counter[str](), 0
        path.write_bytes(corpus[0])
        ending(reader, path)  # imports what is imported on first use
    start = folder / "corpus"
    start.mkdir()
    for number, data in enumerate(corpus):
        (start / str(number)).write_bytes(data)

    def one_input(data: bytes) -> None:
        nonlocal inputs
        path.write_bytes(data)
        ended, inputs = ending(reader, path), inputs + 1
        if ended.failure is not None:
            failures[ended.key] += 1
            if failures[ended.key] == 1:
                report(reader, data, ended, keep)
        if ended.failure is not None or inputs % 100 == 0:
            (folder / "counted").write_text(f"{inputs} {len(failures)}")

    def mutated(data: bytes, longest: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.random() < 0.5:
            return atheris.Mutate(data, longest)
        return damaged(name, rng, data or b" ", rng.choice(corpus))[:longest]

    # Failures are reported and counted here, so its own limits are off.
    options = [f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", f"-max_len={LONGEST}"]
    options += ["-rss_limit_mb=0", "-timeout=120", "-verbosity=0", str(start)]
    atheris.Setup([sys.argv[0], *options], one_input, custom_mutator=mutated)
    atheris.Fuzz()
    os._exit(0)
