"""Which tests run for a fault."""

import json
from pathlib import Path

import pytest
from tests.mutation.recorder import with_callees
from tests.mutation.selection import Record

from rpsr.kernels import njit

MODULE = Path("src/rpsr/planning/limits.py")
TEXT = """SMALL = 1
def f(x=2):
    y = x
    return y
def g():
    return 3
"""


@pytest.fixture
def record(tmp_path):
    rows = [
        ("tests/a.py::slow", 2.0, [3, 4]),
        ("tests/a.py::quick", 0.5, [3]),
        ("tests/a.py::other", 1.0, [6]),
        ("tests/planning/test_limits.py::own", 0.1, []),
    ]
    file = tmp_path / "lines.jsonl"
    texts = [
        json.dumps({"test": test, "seconds": seconds, "lines": {str(MODULE): lines}})
        for test, seconds, lines in rows
    ]
    file.write_text("\n".join(texts))
    return Record.read(file)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (3, ["quick", "slow", "own"]),  # those that run the line, then the module's own
        (4, ["slow", "own"]),
        (2, ["quick", "slow", "own"]),  # a default: those that run the function
        (1, ["quick", "other", "slow", "own"]),  # a constant: those that run the module
    ],
)
def test_the_tests_of_a_line_come_with_the_fastest_first(record, line, names):
    tests, left = record.select(MODULE, TEXT, line, seconds=60.0)
    assert ([test.partition("::")[2] for test in tests], left) == (names, 0)


def test_a_module_of_defaults_has_the_tests_of_its_folder(record):
    tests, _ = record.select(Path("src/rpsr/planning/settings.py"), "x = 1", 1, seconds=60.0)
    assert list(tests) == ["tests/planning/test_limits.py::own"]


def test_tests_that_take_too_long_together_are_left_out(record):
    tests, left = record.select(MODULE, TEXT, 3, seconds=2.5)
    assert (tests, left) == ({"tests/a.py::quick": 0.5, "tests/a.py::slow": 2.0}, 1)
    tests, left = record.select(MODULE, TEXT, 4, seconds=1.0)
    assert (list(tests), left) == (["tests/a.py::slow"], 1)  # one runs, however long it takes


@njit()
def inner(x):
    return x + 1


@njit()
def outer(x):
    return inner(x)


def test_a_kernel_runs_the_kernels_that_it_calls():
    assert with_callees({outer}) == {outer, inner}
    assert with_callees({inner}) == {inner}
