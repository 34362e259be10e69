import time

import numba

from rpsr.compiling import compiled_seconds
from rpsr.planning.limits import Clock


def test_compiling_is_timed_once_however_deep_it_nests_and_no_planning():
    @numba.njit
    def inner(x: float) -> float:
        return x + 1

    @numba.njit
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
