"""The mutation loop: damage a file, read it, keep what is new, count what fails.

An input joins the pool if it ended in something that no input before it ended in: another kind of
value, or another message. A child process does the work, so that an input that ends the process is
found, too: the parent finds it in memory that both share.
"""

from __future__ import annotations

import mmap
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from tests.fuzz.limits import Ending, ending
from tests.fuzz.mutations import LARGEST, damaged
from tests.fuzz.readers import Reader
from tests.fuzz.seeds import kept_inputs

POOL = 2000  # inputs
HEAD = 16  # bytes of a length in shared memory
LOOP_FAILED = 70  # exit status of the child
SMALL = 4000  # bytes of an input that is collected
SHRINKS = 300  # attempts to make a failing input smaller


@dataclass
class Tally:
    """Inputs read, and failures by kind: how often each was seen."""

    inputs: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])


def endings(
    reader: Reader, seed: int, folder: Path, *, limited: bool = True
) -> Iterator[tuple[bytes, Ending]]:
    """Inputs without end, each with what it ended in."""
    rng = random.Random(f"{reader.name} {seed}")
    path = folder / f"input{reader.suffix}"
    pool = [*reader.seeds, *(kept.read_bytes() for kept in kept_inputs(reader.name))]
    seen = set[str]()
    waiting = list(pool)
    while True:
        data = waiting.pop() if waiting else damaged(reader.name, rng, *rng.choices(pool, k=2))
        path.write_bytes(data)
        yield data, Ending("")  # about to be read
        ended = ending(reader, path, limited=limited)
        if ended.failure is None and ended.key not in seen:
            seen.add(ended.key)
            if len(pool) < POOL:
                pool.append(data)
            else:
                pool[rng.randrange(len(pool))] = data
        yield data, ended


def run(
    reader: Reader, *, seed: int, seconds: float, count: int | None = None, keep: Path | None = None
) -> Tally:
    """Fuzz a reader for some time, or for some inputs; failing inputs are kept in a folder."""
    shared = mmap.mmap(-1, HEAD + LARGEST)
    home = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(dir=home))
    try:
        reader.seeds  # noqa: B018 - made once, before the time begins
        total, ends, attempt = Tally(), time.monotonic() + seconds, 0
        while time.monotonic() < ends and (count is None or total.inputs < count):
            left = None if count is None else count - total.inputs
            tally_path = folder / "tally"
            child = os.fork()
            if child == 0:
                code = LOOP_FAILED
                try:
                    _child(reader, seed + 1000 * attempt, ends, left, folder, shared, keep)
                    code = 0
                except BaseException:  # of the loop itself
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            _add(total, tally_path)
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == LOOP_FAILED:
                raise RuntimeError("the loop itself failed")
            if status != 0:
                size = int.from_bytes(shared[:HEAD], "little")
                report(
                    reader, shared[HEAD : HEAD + size], Ending("crash", f"status {status}"), keep
                )
                total.failures["crash"] += 1
                total.inputs += 1
            attempt += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return total


def collect(reader: Reader, *, seed: int, seconds: float, most: int, target: Path) -> int:
    """Write small inputs that end in different ways, the rarest ones found; how many."""
    smallest: dict[str, bytes] = {}
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data in reader.seeds:
            path = folder / f"seed{reader.suffix}"
            path.write_bytes(data)
            ending(reader, path, limited=False)
        ends = time.monotonic() + seconds
        for data, ended in endings(reader, seed, folder):
            if ended.key and ended.failure is None:
                counts[ended.key] += 1
                if len(data) < len(smallest.get(ended.key, data + b" ")):
                    smallest[ended.key] = data
            if time.monotonic() > ends:
                break
        (target / reader.name).mkdir(parents=True, exist_ok=True)
        written, rarest = 0, sorted(smallest, key=lambda key: (counts[key], key))
        for key in rarest:
            if written == most:
                break
            if len(smallest[key]) < SMALL:
                data = _shrunk(reader, smallest[key], Ending(key), folder)
                (target / reader.name / _file_name(reader, key, data)).write_bytes(data)
                written += 1
    return written


def _file_name(reader: Reader, key: str, data: bytes) -> str:
    """A name by the ending and the content."""
    words = "-".join("".join(c if c.isalnum() else " " for c in key).split())[:50]
    return f"{words}-{crc32(data):08x}{reader.suffix}".lower()


def _add(total: Tally, path: Path) -> None:
    for line in path.read_text().splitlines() if path.exists() else []:
        number, _, key = line.partition(" ")
        if key == "inputs":
            total.inputs += int(number)
        else:
            total.failures[key] += int(number)
    path.unlink(missing_ok=True)


def _child(
    reader: Reader,
    seed: int,
    ends: float,
    count: int | None,
    folder: Path,
    shared: mmap.mmap,
    keep: Path | None,
) -> None:
    inputs, failures = 0, Counter[str]()

    def begin(data: bytes) -> None:
        shared[:HEAD] = len(data).to_bytes(HEAD, "little")
        shared[HEAD : HEAD + len(data)] = data

    for data in reader.seeds:  # modules are imported and kernels compiled before limits begin
        begin(data)
        path = folder / f"seed{reader.suffix}"
        path.write_bytes(data)
        ending(reader, path, limited=False)
    for data, ended in endings(reader, seed, folder):
        if not ended.key:
            begin(data)
            continue
        inputs += 1
        if ended.failure is not None:
            if not failures[ended.key]:
                report(reader, _shrunk(reader, data, ended, folder), ended, keep)
            failures[ended.key] += 1
        done = time.monotonic() > ends or inputs == count
        if done or inputs % 500 == 0:  # a crash loses the count of the last few
            lines = [f"{inputs} inputs", *(f"{n} {key}" for key, n in failures.items())]
            (folder / "tally").write_text("\n".join(lines))
        if done:
            return


def _shrunk(reader: Reader, data: bytes, ended: Ending, folder: Path) -> bytes:
    """A smaller input with the same failure."""
    path, size, tries = folder / f"smaller{reader.suffix}", len(data) // 2, 0
    while size and tries < SHRINKS and not ended.key.startswith("TooSlow"):
        at, changed = 0, False
        while at < len(data) and tries < SHRINKS:
            shorter, tries = data[:at] + data[at + size :], tries + 1
            path.write_bytes(shorter)
            if ending(reader, path).key == ended.key:
                data, changed = shorter, True
            else:
                at += size
        size = size if changed else size // 2
    return data


def report(reader: Reader, data: bytes, ended: Ending, keep: Path | None) -> None:
    """Print a failure, and keep its input."""
    print(f"{reader.name}: {ended.failure}", flush=True)
    if keep is None:
        print(f"  {data[:100]!r}", flush=True)
        return
    target = keep / reader.name
    target.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "-" for c in ended.key)[:60]
    (target / f"{name}-{len(data)}{reader.suffix}").write_bytes(data)
