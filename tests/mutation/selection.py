"""Which tests can notice a fault: those that run its line, the fastest first.

What `recorder` wrote says which tests run a line. A line that no test runs by itself, such as a
constant of a module, a default or a line of a fixture that is made once, has the tests of the
function, class or module around it; a module of which no test runs a line has those of its folder.
The tests in the module's own test file come last: a fixture may have run the line for them.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

Selection = tuple[dict[str, float], int]


@dataclass(frozen=True)
class Record:
    """Seconds of each test, and the tests that run each line of each module."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, set[str]]]

    @classmethod
    def read(cls, file: Path) -> Record:
        """The record in a file of JSON lines."""
        seconds: dict[str, float] = {}
        tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for text in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            seconds[row["test"]] = row["seconds"]
            for module, lines in row["lines"].items():
                for line in lines:
                    tests[module][line].add(row["test"])
        return cls(seconds, tests)

    def select(self, module: Path, text: str, line: int, seconds: float) -> Selection:
        """Tests that take so many seconds together, and how many more there are."""
        lines, folder = self.tests.get(module.as_posix(), {}), _folder(module)
        around = (
            {test for line, tests in lines.items() if first <= line <= last for test in tests}
            for first, last in _spans(ast.parse(text), line)
        )
        runs = next((tests for tests in around if tests), set[str]())
        own = f"{folder}/test_{module.stem}.py::" if runs else f"{folder}/"
        beside = {test for test in self.seconds if test.startswith(own)} - runs
        ordered = [*sorted(runs, key=self.seconds.__getitem__)]
        ordered += sorted(beside, key=self.seconds.__getitem__)
        totals = accumulate(self.seconds[test] for test in ordered)
        fit = max(1, sum(total <= seconds for total in totals))
        return {test: self.seconds[test] for test in ordered[:fit]}, len(ordered[fit:])


def _spans(tree: ast.Module, line: int) -> Iterator[tuple[int, int]]:
    """A line, the functions and classes around it from the inside out, and the module."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    yield line, line
    yield from sorted(spans, key=lambda span: span[1] - span[0])
    yield 0, 10**9


def _folder(module: Path) -> str:
    """The folder of a module's tests."""
    return f"tests/{module.relative_to('src/rpsr').parent.as_posix()}"
