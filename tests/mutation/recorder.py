"""A pytest plugin: which lines each test runs, and its processor time, as JSON lines.

It adds one row to a file for each test that passes, and skips tests that have a row. Compiled
kernels run without Python's knowledge, so a call of a kernel counts as a run of all its lines, and
of those of the kernels that it calls.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

from rpsr.kernels import Kernel

ROOT = Path(__file__).parents[2]


class Recorder:
    """Adds a row for each test to a file."""

    def __init__(self, file: Path) -> None:
        self.file, self.passed, self.called = file, True, set[Kernel]()
        called, call = self.called, Kernel.__call__

        def noted(kernel: Kernel, *arguments: Any) -> Any:
            called.add(kernel)
            return call(kernel, *arguments)

        Kernel.__call__ = noted

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        done = {json.loads(row)["test"] for row in known.splitlines()}
        items[:] = [item for item in items if item.nodeid not in done]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= report.outcome == "passed"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.passed, began = True, sum(os.times()[:4])
        self.called.clear()
        tracer = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{ROOT}/src/rpsr/*"], messages=False
        )
        tracer.set_option("run:disable_warnings", ["no-data-collected"])
        with tracer.collect():
            result = yield
        seconds, data = sum(os.times()[:4]) - began, tracer.get_data()
        lines = {file: set(data.lines(file) or ()) for file in data.measured_files()}
        for kernel in with_callees(self.called):
            code = kernel.py_func.__code__  # type: ignore[attr-defined]
            lines.setdefault(code.co_filename, set()).update(
                line for _, _, line in code.co_lines() if line is not None
            )
        if self.passed:
            inside = {str(Path(file).relative_to(ROOT)): sorted(lines[file]) for file in lines}
            row = {"test": item.nodeid, "seconds": round(seconds, 3), "lines": inside}
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        return result


def with_callees(kernels: set[Kernel]) -> set[Kernel]:
    """Kernels and those that they call, directly or not."""
    reached, waiting = set[Kernel](), list(kernels)
    while waiting:
        kernel = waiting.pop()
        if kernel not in reached:
            reached.add(kernel)
            function: Any = kernel.py_func
            named = (function.__globals__.get(name) for name in function.__code__.co_names)
            waiting += [value for value in named if isinstance(value, Kernel)]
    return reached
