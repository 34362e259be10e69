"""Kernels are interpreted while problems are small and patience lasts, and compiled after that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import rpsr
from rpsr import kernels
from rpsr.kernels import Kernel, announced, interpreted_first, interpreting, njit


@njit()
def half(x):
    return x / 2


@njit()
def halves(numbers):
    total = np.int64(2**62)
    for i in range(len(numbers)):
        numbers[i] = half(numbers[i])
        total = total * 3 + i  # wraps around
    return total


@pytest.fixture
def patient(monkeypatch):
    monkeypatch.setattr(kernels, "_spent", [0.0])
    monkeypatch.setattr(kernels, "PATIENCE", 1000.0)


def test_both_ways_agree(patient):
    first, second = np.arange(5.0), np.arange(5.0)
    with interpreted_first(True):
        interpreted = halves(first)
    assert interpreted == halves(second)
    assert (first == second).all()
    assert (first == np.arange(5) / 2).all()


def test_nothing_is_interpreted_unless_the_problem_is_small(patient):
    assert not interpreting()
    with interpreted_first(False):
        assert not interpreting()
    with interpreted_first(True):
        assert interpreting()
    assert not interpreting()


def test_patience_ends(monkeypatch, patient):
    monkeypatch.setattr(kernels, "PATIENCE", 0.0)
    with interpreted_first(True):
        assert not interpreting()
    monkeypatch.setattr(kernels, "PATIENCE", 1e-9)
    with interpreted_first(True):
        halves(np.arange(3.0))
        assert not interpreting()


def test_compiling_is_announced_once():
    announcements: list[str] = []
    with announced(lambda: announcements.append("now")):
        for _ in range(2):
            njit()(lambda x: x + 1)(1)
    njit()(lambda x: x + 2)(1)
    assert announcements == ["now"]


@pytest.mark.parametrize("planner", ["vi", "sarsop", "policy-iteration"])
def test_planners_compute_the_same_either_way(planner, patient, monkeypatch):
    first = rpsr.solve(rpsr.load("tiger"), planner)
    monkeypatch.setattr(kernels, "PATIENCE", 0.0)
    second = rpsr.solve(rpsr.load("tiger"), planner)
    assert (first.value, first.lower, first.upper) == (second.value, second.lower, second.upper)
    assert (first.vectors == second.vectors).all()
    assert first.iterations == second.iterations


def test_a_first_plan_for_a_small_problem_needs_no_compiler():
    code = (
        "import sys, rpsr\n"
        "for planner in ('vi', 'sarsop'):\n"
        "    plan = rpsr.solve(rpsr.load('tiger'), planner)\n"
        "    print(plan.lower, plan.upper)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *values, compiler = done.stdout.split()
    for lower, upper in zip(values[::2], values[1::2], strict=True):
        assert float(lower) <= 19.371368374 <= float(upper)
        assert float(upper) - float(lower) < 1e-2
    assert compiler == "False"


def test_a_kernel_is_known_by_its_name():
    assert isinstance(halves, Kernel)
    assert halves.__name__ == "halves"


SIGNATURES = """
import sys, rpsr
from rpsr import kernels

kernels.PATIENCE = 0.0
rpsr.solve(rpsr.load("4x3"), "sarsop", max_iterations=30)
found = {
    kernel.py_func.__module__ + "." + kernel.__name__: len(kernel.dispatcher.overloads)
    for name, module in list(sys.modules.items()) if name.startswith("rpsr.")
    for kernel in vars(module).values()
    if isinstance(kernel, kernels.Kernel) and "dispatcher" in vars(kernel)
}
print(*(name for name, count in found.items() if count > 1))
print(sum(found.values()))
"""


def test_a_run_compiles_each_kernel_once(tmp_path):
    """A second signature, of a narrower index or a literal, is compiled as long as the first."""
    settings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}
    command = [sys.executable, "-W", "ignore", "-c", SIGNATURES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    more_than_once, compiled = done.stdout.splitlines()
    assert more_than_once == ""
    assert int(compiled) > 20


@njit()
def moved(numbers, raised):
    """Moves numbers to the front, one by one; an interrupt in between would lose some."""
    for i in range(len(numbers) - 1):
        if i == 1:
            signal.raise_signal(raised)
        numbers[i] = numbers[i + 1]


@pytest.mark.parametrize("raised", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_an_interpreted_kernel_is_handled_after_it(patient, raised):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before, numbers = signal.signal(raised, interrupt), np.arange(4.0)
    try:
        with pytest.raises(KeyboardInterrupt), interpreted_first(True):
            moved(numbers, int(raised))
        assert signal.getsignal(raised) is interrupt
    finally:
        signal.signal(raised, before)
    assert numbers.tolist() == [1.0, 2.0, 3.0, 3.0]


def test_a_kernel_in_another_thread_leaves_signals_alone(patient):
    halves = []

    def work():
        with interpreted_first(True):
            halves.append(half(3.0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert halves == [1.5]


def test_ctrl_c_while_a_kernel_is_loaded_is_ctrl_c():
    @njit()
    def kernel():
        return 1

    def loading(cause):
        raise SystemError("returned a result with an exception set") from cause

    kernel.__dict__["dispatcher"] = lambda: loading(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        kernel()
    kernel.__dict__["dispatcher"] = lambda: loading(ValueError())
    with pytest.raises(SystemError):
        kernel()
