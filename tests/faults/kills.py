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
from rpsr.evaluation import evaluate
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
    first, second = ([row | {"seconds": 0} for row in part] for part in rows)
    return first == second


def _log(path: Path) -> object:
    return read_logs(path)


def _solve(name: str, source: str, epsilon: float) -> Verb:
    """Planning with a checkpoint, c.ckpt, and a policy, p.json.

    A planner that resumes has other vectors than one that was never killed. So two checkpoints are
    the same if both reach the goal and their bounds can both be true, and two policies if each
    earns at least the lower bound beside it.
    """

    def check(path: Path) -> object:
        model = as_linear(load(source))
        return load_policy(path, model) if path.suffix == ".json" else load_checkpoint(path, model)

    def same(one: Path, other: Path) -> bool:
        model = as_linear(load(source))
        plans = [load_checkpoint(path.with_name("c.ckpt"), model) for path in (one, other)]
        if one.suffix == ".json":
            pairs = zip((one, other), plans, strict=True)
            return all(_earns(source, path, plan.lower) for path, plan in pairs)
        bounds = [(plan.lower, plan.upper) for plan in plans if plan.upper is not None]
        lowers, uppers = zip(*bounds, strict=True)
        reached = len(bounds) == 2 and all(upper - lower <= epsilon for lower, upper in bounds)
        return reached and max(lowers) <= min(uppers)

    words = ("solve", source, "--planner", "sarsop", "--epsilon", str(epsilon))
    return Verb(name, (*words, "--checkpoint", "c.ckpt", "-o", "p.json"), check, same)


def _earns(source: str, path: Path, lower: float) -> bool:
    """Whether a policy earns a lower bound when simulated: five standard errors are allowed for."""
    pomdp = load(source)
    policy = load_policy(path, as_linear(pomdp))
    (row,) = evaluate(pomdp, policy, models=["pomdp"], episodes=EPISODES, seed=0)
    assert row.stderr is not None
    return row.mean + 5 * row.stderr + (row.cut_off or 0.0) >= lower


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


EPISODES = 1000
DOMAINS = ("tiger", "loadunload", "shuttle")
LEARN = ("learn", "../log.jsonl", "--estimator", "spectral", "--discount", "0.9")
VERBS = {
    verb.name: verb
    for verb in (
        _solve("solve", "hallway", 0.6),
        Verb("accuracy", ("accuracy", *DOMAINS, "-o", "rows.jsonl"), _rows, _same_rows),
        Verb("simulate", ("simulate", "tiger", "-o", "log.jsonl", "--episodes", "30"), _log),
        Verb("learn", (*LEARN, "-o", "model.rpsr"), load),
        Verb("convert", ("convert", "hallway", "out.pomdp"), load),
        Verb("reproduce", ("reproduce", "--quick", "--out", ".", "--jobs", "1"), _reproduced),
    )
}


SMALL_SOLVE = _solve("small solve", "shuttle", 0.1)


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
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(folder)) for path in paths if path.suffix != SUFFIX]


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
