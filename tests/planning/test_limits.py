import time

import pytest

from rpsr.compile_limit import compiled_seconds
from rpsr.kernels import njit
from rpsr.planning.limits import Clock, LimitReached


def test_compiling_is_timed_once_however_deep_it_nests_and_no_planning():
    @njit()
    def inner(x: float) -> float:
        return x + 1

    @njit()
    def outer(x: float) -> float:
        return inner(x) * 2

    before, began = compiled_seconds(), time.perf_counter()
    clock = Clock(lambda row: None)
    assert outer(1.0) == 4.0
    counted, compiled = clock.seconds, compiled_seconds() - before
    took = time.perf_counter() - began
    assert 0 < compiled <= took
    assert 0 <= counted <= took - compiled
    assert outer(2.0) == 6.0
    assert compiled_seconds() == before + compiled


def test_a_share_of_the_time_has_all_other_limits():
    clock = Clock(lambda row: None, time_limit=1000.0, memory_limit=100, held=90)
    part = clock.share(0.5)
    assert part.time_limit is not None
    assert part.time_limit < 1000
    part.claim(10)
    with pytest.raises(LimitReached):
        part.claim(11)
