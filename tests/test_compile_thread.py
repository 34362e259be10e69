"""Kernels are compiled in a thread of their own, for which nobody waits past a limit or Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from math import inf

import numba
import pytest
from numba.core import event

from rpsr import compile_thread
from rpsr.compile_limit import (
    Cutoff,
    NotCompiled,
    compiled_seconds,
    compiling_until,
    still_compiling,
)
from rpsr.compile_thread import apart
from rpsr.kernels import njit


class Late(Exception):
    """What the cutoffs of these tests raise."""


class SlowCompiler:
    """Begins to compile, and ends when it is told to; then it notices whether it is abandoned."""

    def __init__(self, begun=lambda: None):
        self.begun, self.released, self.calls = begun, threading.Event(), 0

    def __call__(self, signature):
        self.calls += 1
        event.start_event("numba:compile")
        self.begun()
        assert self.released.wait(60)
        event.start_event("numba:run_pass")
        return signature


@pytest.fixture(autouse=True)
def watched():
    """The compiler is watched from the first kernel on."""
    assert njit()(lambda x: x)(1) == 1


@pytest.fixture
def compiler():
    made = SlowCompiler()
    yield made
    made.released.set()
    while still_compiling():
        pass


def ended():
    for work in list(compile_thread._abandoned):
        work.join(60)
    return not still_compiling()


def test_nobody_waits_past_the_cutoff(compiler):
    cutoff, before = Cutoff(Late, 0.0), compiled_seconds()
    cutoff.end = compile_thread.time.perf_counter() + 0.05
    with compiling_until(cutoff), pytest.raises(NotCompiled):
        apart(compiler)(1)
    assert still_compiling()
    assert cutoff.seconds == compiled_seconds() - before > 0
    with compiling_until(cutoff), pytest.raises(NotCompiled):  # it has the compiler's lock
        apart(compiler)(1)
    assert compiler.calls == 1
    compiler.released.set()
    assert ended()


def test_past_the_cutoff_kernels_are_loaded_and_not_compiled(compiler):
    with compiling_until(Cutoff(Late, 0.0)):
        assert apart(lambda signature: 2 * signature)(3) == 6
        with pytest.raises(NotCompiled):
            apart(compiler)(1)
    assert ended()  # before it waited for anything


def test_without_a_cutoff_one_waits_for_the_end(compiler):
    threading.Timer(0.05, compiler.released.set).start()
    assert apart(compiler)(7) == 7
    assert not still_compiling()


def test_a_kernel_called_by_another_is_compiled_in_the_same_thread():
    threads = []

    def inner(signature):
        threads.append(threading.current_thread())
        return signature

    def outer(signature):
        threads.append(threading.current_thread())
        return apart(inner)(signature)

    assert apart(outer)(1) == 1
    assert threads[0] is threads[1] is not threading.current_thread()


def test_errors_of_the_compiler_are_raised_where_it_was_called():
    def wrong(signature):
        raise TypeError("no such signature")

    with pytest.raises(TypeError, match="no such signature"):
        apart(wrong)(1)


def test_where_no_thread_can_be_started_kernels_are_compiled_here(monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert apart(lambda signature: threading.current_thread())(1) is threading.current_thread()


def test_a_cutoff_belongs_to_one_thread(compiler):
    results = []
    other = threading.Thread(target=lambda: results.append(apart(compiler)(5)))
    other.start()
    with compiling_until(Cutoff(Late, 0.0)), pytest.raises(NotCompiled):
        apart(compiler)(1)
    assert results == []
    compiler.released.set()
    other.join(60)
    assert results == [5]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX signals")
def test_ctrl_c_ends_the_waiting():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    slow = SlowCompiler(begun=lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            apart(slow)(1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert still_compiling()
    slow.released.set()
    assert ended()


class AbandonedAt(event.Listener):
    """Lets nobody wait any more for a compilation from its nth pass on."""

    def __init__(self, passes: int) -> None:
        self.left = passes

    def on_start(self, event):
        self.left -= 1
        if self.left < 0:
            compile_thread._here.work.abandoned = True

    def on_end(self, event):
        pass


@njit()
def squares(n):
    total = 0
    for i in range(n):
        total += square(i)
    return total


@njit()
def square(i):
    return i * i


def test_kernels_are_right_after_compilations_that_ended_early(monkeypatch):
    """A kernel and the one it calls, ended before each of many passes, and compiled at last."""
    cut = 0
    for passes in range(0, 200, 3):
        with event.install_listener("numba:run_pass", AbandonedAt(passes)):
            try:
                with compiling_until(Cutoff(Late, inf)):
                    result = squares(10)
                break
            except Late:
                cut += 1
    assert result == 285
    assert cut > 10
    assert len(squares.dispatcher.overloads) == len(square.dispatcher.overloads) == 1
    assert square(4) == 16


def test_a_missing_kernel_may_be_interpreted():
    @njit()
    def twice(x):
        return 2 * x

    cutoff = Cutoff(Late, 0.0)
    with compiling_until(cutoff), pytest.raises(Late):
        twice(4)
    with compiling_until(cutoff, interpret=True):
        assert twice(4) == 8
    assert cutoff.unfinished
    assert not twice.dispatcher.overloads
    assert twice(4) == 8


def test_a_kernel_is_compiled_inside_a_function_of_somebody_else():
    """That function's compiler holds the lock which a thread of its own would wait for."""
    inner = njit()(lambda x: x + 1)

    def outer(x):
        return inner(x) * 2

    assert numba.njit(outer)(3) == 8
