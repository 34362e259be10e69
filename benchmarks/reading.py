"""How long reading takes, beside the least any reader could do and beside a peer.

    python benchmarks/reading.py [FILES...] [--peer] [--repeats N]

For each file, in one process, alternating: `rpsr` reads it; the same bytes are split into tokens
and their numbers converted by numpy, with no meaning attached ("split"); and, with --peer, the
package rl_parsers reads it, if it is installed. The best of N repeats counts. Without FILES: the
larger files of the folder that RPSR_CORPUS names, or else built-in domains written to text.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rpsr.domains import build
from rpsr.io.files import read_bytes
from rpsr.io.pomdp.reader import read_pomdp
from rpsr.sources import save

LARGE = 200_000  # bytes, as stored
BUILT_IN = ("hallway2", "tag", "rock-sample:n=5,k=5")


def split_and_convert(text: bytes) -> np.ndarray:
    """The floor: tokens, and floats of those that start like a number."""
    tokens = text.replace(b":", b" ").split()
    return np.array([t for t in tokens if t[0] in b"0123456789.+-"], dtype=np.float64)


def best_of(repeats: int, jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest time of each job, the jobs taking turns."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            began = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def default_files(folder: Path) -> list[Path]:
    corpus = os.environ.get("RPSR_CORPUS")
    if corpus:
        paths = [p for p in sorted(Path(corpus).iterdir()) if ".pomdp" in p.name.lower()]
        return [p for p in paths if p.stat().st_size >= LARGE]
    files = [folder / f"{name.partition(':')[0]}.pomdp" for name in BUILT_IN]
    for name, file in zip(BUILT_IN, files, strict=True):
        save(build(name), file)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--peer", action="store_true", help="also time rl_parsers")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = ["rpsr", "split", "rl_parsers"] if options.peer else ["rpsr", "split"]
        heads = " ".join(f"{name + ' s':>12}" for name in names)
        print(f"{'file':28} {'bytes':>9} {heads}  ratios")
        for file in options.files or default_files(Path(folder)):
            text = read_bytes(file)
            jobs: dict[str, Callable[[], object]] = {
                "rpsr": lambda file=file: read_pomdp(file, normalize=True),
                "split": lambda file=file: split_and_convert(read_bytes(file)),
            }
            if options.peer:
                from rl_parsers.pomdp import parse  # pyright: ignore

                jobs["rl_parsers"] = lambda text=text: parse(text.decode())
            times = best_of(options.repeats, jobs)
            shown = " ".join(f"{times[n]:12.3f}" for n in names)
            ratios = [f"rpsr/{n} {times['rpsr'] / times[n]:.2f}" for n in names[1:]]
            print(f"{file.name:28} {len(text):9} {shown}  {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
