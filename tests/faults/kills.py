"""Kill commands at random moments: every file is whole or absent, and the next run completes them.

A command runs in a copy of this process, which has already loaded the library, so that most of its
time is its own work. SIGKILL ends it and all processes that it started. Then every file that it
wrote is read. After some kills, the command runs to its end, and its files are compared with those
of a run that was left alone.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rpsr import load
from rpsr.cli.app import main
from rpsr.io.temporary import SUFFIX
from rpsr.logs import read_logs
from rpsr.models.as_model import as_linear
from rpsr.planning import autosave, load_policy
from rpsr.planning.files.checkpoint import load_checkpoint

LONGEST = 600.0  # seconds of a run that is not killed
POLL = 0.002  # seconds


@dataclass(frozen=True)
class Verb:
    """A command. check: reads a file. same: whether two files hold the same result."""

    name: str
    arguments: tuple[str, ...]
    check: Callable[[Path], object]
    same: Callable[[Path, Path], bool] = lambda one, other: one.read_bytes() == other.read_bytes()


class Violation(AssertionError):
    """A file that is damaged, or another result than without kills."""


def _rows(path: Path) -> object:
    """Whole lines, but for the last one: rows are appended, and the next run removes it."""
    *lines, cut = path.read_bytes().split(b"\n")
    first = b'{"domain": "'
    if cut and not (cut.startswith(first) or first.startswith(cut)):
        raise ValueError(f"a row begins with {cut[:20]!r}")
    return [json.loads(line) for line in lines]


def _same_rows(one: Path, other: Path) -> bool:
    """Whether rows are equal, but for times."""
    rows = ([json.loads(line) for line in path.read_bytes().splitlines()] for path in (one, other))
    first, second = ([row | {"seconds": 0} for row in found] for found in rows)
    return first == second


def _log(path: Path) -> object:
    return read_logs(path)


def _planned(path: Path) -> object:
    model = as_linear(load("hallway"))
    return load_policy(path, model) if path.suffix == ".json" else load_checkpoint(path, model)


def _same_goal(one: Path, other: Path) -> bool:
    """Whether both plans reach their goal, and their bounds can both be true.

    A planner that resumes has other vectors than one that was never killed.
    """
    if one.suffix == ".json":
        return True
    model = as_linear(load("hallway"))
    first, second = (load_checkpoint(path, model) for path in (one, other))
    assert first.upper is not None
    assert second.upper is not None
    reached = max(first.upper - first.lower, second.upper - second.lower) <= EPSILON
    return reached and max(first.lower, second.lower) <= min(first.upper, second.upper)


def _reproduced(path: Path) -> object:
    content = path.read_bytes()
    match path.suffix:
        case ".json":
            return json.loads(content)
        case ".html" | ".svg":
            if not content.rstrip().endswith((b"</html>", b"</svg>")):
                raise ValueError("the end is missing")
        case ".png":
            if not content.endswith(b"IEND\xaeB`\x82"):
                raise ValueError("the end is missing")
    return content


EPSILON = 0.6
DOMAINS = ("tiger", "loadunload", "shuttle")
SOLVE = ("solve", "hallway", "--planner", "sarsop", "--epsilon", str(EPSILON))
LEARN = ("learn", "../log.jsonl", "--estimator", "spectral", "--discount", "0.9")
VERBS = {
    verb.name: verb
    for verb in (
        Verb("solve", (*SOLVE, "--checkpoint", "c.ckpt", "-o", "p.json"), _planned, _same_goal),
        Verb("accuracy", ("accuracy", *DOMAINS, "-o", "rows.jsonl"), _rows, _same_rows),
        Verb("simulate", ("simulate", "tiger", "-o", "log.jsonl", "--episodes", "30"), _log),
        Verb("learn", (*LEARN, "-o", "model.rpsr"), load),
        Verb("convert", ("convert", "hallway", "out.pomdp"), load),
        Verb("reproduce", ("reproduce", "--quick", "--out", ".", "--jobs", "1"), _reproduced),
    )
}


def run(verb: Verb, folder: Path, seconds: float) -> int | None:
    """Run a command in a folder for some time; its exit code, or None if it was killed."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setsid()  # so that it is killed with its children
            os.chdir(folder)
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            autosave.EVERY = 0.02
            code = main(list(verb.arguments))
        finally:
            os._exit(code)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(POLL, max(0.0, ends - time.monotonic())))
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it has not called setsid yet
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None


def files(folder: Path) -> list[str]:
    """The files of a folder by name, without temporary ones."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(folder)) for path in found if path.suffix != SUFFIX]


def _check(verb: Verb, folder: Path) -> None:
    for name in files(folder):
        try:
            verb.check(folder / name)
        except Exception as error:
            raise Violation(f"{verb.name}: {name} is damaged: {error}") from error


def _compare(verb: Verb, alone: Path, killed: Path) -> None:
    timings = {"timings.json"}  # of a reproduction: the only file with durations
    names, others = set(files(alone)), set(files(killed))
    if names != others:
        raise Violation(f"{verb.name}: other files, {sorted(names ^ others)}")
    for name in names - timings:
        if not verb.same(alone / name, killed / name):
            raise Violation(f"{verb.name}: {name} differs from that of a run that was left alone")


def kill(verb: Verb, kills: int, seed: int, home: Path, *, say: Callable[[str], object]) -> None:
    """Kill a command some times; a `Violation` says what was wrong.

    A moment is drawn from the shortest run so far that began with nothing and ended: later ones
    need not compile kernels.
    """
    rng = random.Random(f"{verb.name} {seed}")
    alone, folder = home / "alone", home / "killed"
    if verb.name == "learn":
        run(VERBS["simulate"], home, LONGEST)
    shortest = LONGEST

    def run_for(where: Path, seconds: float) -> int | None:
        nonlocal shortest
        begun, clock = any(where.iterdir()), time.monotonic()
        code = run(verb, where, seconds)
        if code is not None and not begun:
            shortest = min(shortest, time.monotonic() - clock)
        return code

    def run_to_its_end(where: Path) -> None:
        if (code := run_for(where, LONGEST)) != 0:
            raise Violation(f"{verb.name}: exit code {code}")

    alone.mkdir()
    run_to_its_end(alone)
    runs = killed = 0
    while killed < kills:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for _ in range(min(rng.randrange(1, 6), kills - killed)):
            killed += run_for(folder, rng.random() * shortest) is None
            runs += 1
            _check(verb, folder)
        run_to_its_end(folder)
        _check(verb, folder)
        if left := [p.name for p in folder.rglob(f"*{SUFFIX}")]:
            raise Violation(f"{verb.name}: temporary files remain: {left}")
        _compare(verb, alone, folder)
    ended = "every file whole, the same result in the end"
    say(f"{verb.name}: {killed} killed of {runs} runs; {ended}")
