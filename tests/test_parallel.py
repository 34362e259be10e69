"""Work spread over nothing, processes and Dask: the same results, whatever dies on the way."""

import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from rpsr import parallel
from rpsr.errors import RpsrError
from rpsr.packing import packed, unpacked
from rpsr.parallel import AGAIN, Processes, spread, workers


def test_without_an_executor_items_run_here(deeds):
    assert list(spread(deeds.double, [1, 2, 3])) == [(1, 2), (2, 4), (3, 6)]
    assert [pid for _, pid in spread(deeds.where, [1])] == [os.getpid()]


def test_processes_say_the_same_elsewhere(deeds):
    with Processes(2) as pool:
        assert sorted(spread(deeds.double, range(5), pool)) == [(i, 2 * i) for i in range(5)]
        processes = {pid for _, pid in spread(deeds.where, range(8), pool)}
    assert os.getpid() not in processes
    assert len(processes) <= 2


def test_an_exception_of_the_work_is_raised_here(deeds):
    with Processes(2) as pool, pytest.raises(ValueError, match="no 1"):
        list(spread(deeds.fail, [1], pool))


def test_what_cannot_be_sent_is_an_error_and_not_a_dead_process(deeds):
    with Processes(1) as pool:
        with pytest.raises(AttributeError, match="Can't pickle local object"):
            list(spread(_maker, ["a result that is a lambda"], pool))
        assert list(spread(deeds.double, [4], pool)) == [(4, 8)]


def test_an_exception_that_cannot_be_sent_keeps_its_reason(deeds):
    with Processes(1) as pool:
        for how, kind, said in (
            ("out", RpsrError, "ValueError: the reason"),
            ("back", RpsrError, "Odd: the reason"),
            ("end", EOFError, "the reason"),
        ):
            with pytest.raises(kind, match=said):
                list(spread(deeds.fail_oddly, [how], pool))


class Losing(Executor):
    """Loses the first results of every item, as Dask's does if a worker dies at a bad moment."""

    def __init__(self, times):
        self.times, self.tried = times, {}

    def submit(self, fn, /, item):
        future = Future()
        self.tried[item] = self.tried.get(item, 0) + 1
        if self.tried[item] <= self.times:
            future.set_exception(ValueError("too many values to unpack (expected 3)"))
        else:
            future.set_result(fn(item))
        return future


def test_a_result_that_an_executor_loses_is_computed_again(deeds):
    assert sorted(spread(deeds.double, [1, 2], Losing(AGAIN))) == [(1, 2), (2, 4)]
    losing = Losing(1 + AGAIN)
    with pytest.raises(ValueError, match="too many values"):
        list(spread(deeds.double, [1], losing))
    assert list(losing.tried.values()) == [1 + AGAIN]
    work = Losing(0)
    with pytest.raises(ValueError, match="no 1") as raised:
        list(spread(deeds.fail, [1], work))
    assert list(work.tried.values()) == [1]  # an error of the work is its result
    assert "in fail" in raised.value.__notes__[0]


def test_arrays_arrive_as_they_left():
    arrays = np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3))), np.arange(3.0)
    for array in arrays[:2]:
        array.setflags(write=False)
    arrived = unpacked(packed(arrays))
    assert [array.flags.writeable for array in arrived] == [False, False, True]
    assert all(map(np.array_equal, arrived, arrays))


def _maker(what):
    return lambda: what


def test_an_item_whose_process_dies_is_run_again(deeds, tmp_path):
    items = [str(tmp_path / name) for name in ("one", "two", "three")]
    with Processes(2) as pool:
        assert dict(spread(deeds.die_once, items, pool)) == {i: Path(i).name for i in items}
    assert [Path(item).stat().st_size for item in items] == [2, 2, 2]


def test_an_item_that_always_kills_is_lost_alone_after_three_repetitions(deeds, tmp_path):
    items = [str(tmp_path / name) for name in ("a", "deadly-1", "b", "deadly-2", "c")]
    with Processes(2) as pool:
        results = dict(spread(deeds.die, items, pool))
    assert [results[item] for item in items] == ["a", None, "b", None, "c"]
    assert [Path(item).stat().st_size for item in items] == [1, 1 + AGAIN, 1, 1 + AGAIN, 1]


def test_a_pool_of_the_standard_library_is_an_executor_too(deeds, tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(spread(deeds.double, [1, 2], pool)) == [(1, 2), (2, 4)]
        deadly = str(tmp_path / "deadly")
        assert list(spread(deeds.die, [deadly], pool)) == [(deadly, None)]
        assert list(spread(deeds.double, [1], pool)) == [(1, None)]  # it does not recover


def test_work_that_is_given_up_ends_its_processes(deeds, tmp_path):
    pool = Processes(1)
    ((_, pid),) = spread(deeds.where, [0], pool)
    pool.__exit__(KeyboardInterrupt, None, None)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_workers_are_one_kind_at_a_time():
    with workers() as executor:
        assert executor is None
    with workers(1) as executor:
        assert executor is None
    with workers(2) as executor:
        assert isinstance(executor, Processes)
    with pytest.raises(RpsrError, match="one of"), workers(2, scheduler="tcp://127.0.0.1:1"):
        pass


def test_the_threads_of_linear_algebra_are_counted_again_afterwards(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with parallel.one_thread_each():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ
