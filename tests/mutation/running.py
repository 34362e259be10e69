"""Tests of a copy of the project, each run in a process of its own.

Processes are forked from one that has imported the libraries, since starting would take longer
than most tests.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = ["hypothesis.extra.numpy", "matplotlib.figure", "numba", "pytest", "rich.console"]
LIBRARIES += ["scipy.optimize", "scipy.sparse.linalg"]
OPTIONS = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
# Seconds for which kernels are interpreted if one of them is changed: compiling all that call it
# takes longer than most tests need.
INTERPRETING = 20.0
MEMORY = 8 << 30  # bytes
WAITING = 1800.0  # seconds, for a process that uses no processor


@dataclass(frozen=True)
class Tests:
    """Tests of a copy, with the processor time in seconds that each may take at most.

    No test begins after so many `seconds`. In the folder `kernels`, kernels are compiled; they are
    interpreted first.
    """

    copy: Path
    limits: dict[str, float]
    seconds: float
    kernels: Path | None = None

    def failed(self) -> tuple[str, int]:
        """The first test that fails, empty if all pass; and how many ran."""
        return _forked(WAITING, _run, self)


def record(copy: Path, rooms: list[str], lines: Path) -> None:
    """Write to a file which lines the tests of a copy run."""
    _forked(None, _record, copy, rooms, lines)


def _forked(waiting: float | None, task: Any, *arguments: Any) -> Any:
    """What a task returns in a process of its own, or how that process ended without."""
    context = get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_sent, args=(there, task, *arguments))
    process.start()
    there.close()
    try:
        if not here.poll(waiting):
            process.kill()
        result = here.recv()
    except EOFError:
        process.join()
        ended = -(process.exitcode or 0)
        return ("time" if ended == signal.SIGXCPU else f"exit status {process.exitcode}"), 0
    process.join()
    if isinstance(result, Exception):
        raise result
    return result


def _sent(there: Connection, task: Any, *arguments: Any) -> None:
    try:
        there.send(task(*arguments))
    except Exception as error:
        there.send(error)


def _run(tests: Tests) -> tuple[str, int]:
    _enter(tests.copy)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if tests.kernels is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(tests.kernels)
        importlib.import_module("numba").config.reload_config()
        kernels = importlib.import_module("rpsr.kernels")
        vars(kernels)["interpreting"] = lambda: kernels._spent[0] < INTERPRETING
    watch = _Watch(tests)
    status = pytest.main([*OPTIONS, "-x", *tests.limits], plugins=[watch])
    return watch.failed or (f"exit status {status}" if status else ""), watch.begun


def _record(copy: Path, rooms: list[str], lines: Path) -> None:
    _enter(copy)
    recorder = importlib.import_module("tests.mutation.recorder").Recorder(lines)
    pytest.main([*OPTIONS, *rooms], plugins=[recorder])


def _enter(copy: Path) -> None:
    """Import the project from a copy, here and in processes that tests start."""
    os.chdir(copy)
    sys.dont_write_bytecode = False
    paths = [str(copy / "src"), str(copy)]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path[:0] = paths
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "rpsr")]:
        del sys.modules[name]


class _Watch:
    """Notes the test that fails, and ends the process if one takes too long."""

    def __init__(self, tests: Tests) -> None:
        self.tests, self.failed, self.begun, self.began = tests, "", 0, time.process_time()

    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        # Of the processor's time, which does not depend on what else the machine does.
        now = time.process_time()
        if now - self.began > self.tests.seconds:
            return True  # nothing is left to do for this test
        most = int(now + self.tests.limits[item.nodeid] + 1)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        self.begun += 1
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid
