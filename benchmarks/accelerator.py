"""One iteration of EM on an accelerator beside all cores of the same machine.

    python benchmarks/accelerator.py [--states 12 40 100 256] [--steps 4000000] [--jobs 16]

Episodes of 20 random steps, 4 actions, 16 observations, 8 payoffs, in double precision. "cores" is
the compiled pass (`kernels.expect`) on equal shares of the episodes, one process for each core.
"device" is `jax_kernels.Resident` after its first iteration, which compiles: parameters go to the
device and counts come back in each iteration; "first" also moves the log there. Counts are
compared, and the largest relative difference is shown.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from rpsr.learning.em import jax_kernels  # noqa: E402
from rpsr.learning.em.kernels import expect  # noqa: E402

LENGTH, ACTIONS, OBSERVATIONS, PAYOFFS, REPEATS = 20, 4, 16, 8, 3


def model(states: int, rng: np.random.Generator):
    """Random parameters: start (S,), T (A, S, S), O (A, O, S), W (J, S)."""
    emissions = rng.dirichlet(np.ones(OBSERVATIONS), size=(ACTIONS, states))
    return (
        rng.dirichlet(np.ones(states)),
        rng.dirichlet(np.ones(states), size=(ACTIONS, states)),
        np.ascontiguousarray(emissions.transpose(0, 2, 1)),
        rng.random((PAYOFFS, states)),
    )


def episodes(steps: int, rng: np.random.Generator):
    """Random episodes: steps (L, 3), offsets (N + 1,), terminated (N,)."""
    count = steps // LENGTH
    symbols = [rng.integers(0, size, count * LENGTH) for size in (ACTIONS, OBSERVATIONS, PAYOFFS)]
    return np.stack(symbols, axis=1), np.arange(count + 1) * LENGTH, np.zeros(count, np.bool_)


def share(parameters, log):
    """Expected counts of a share of the episodes, and the seconds of its second pass."""
    for _ in range(2):  # the first compiles
        counts = [np.zeros_like(array) for array in parameters]
        began = time.perf_counter()
        expect(*parameters, *log, -1, *counts)
        took = time.perf_counter() - began
    return counts, took


def on_cores(parameters, log, jobs: int):
    """Counts by all cores, and the seconds of the slowest share."""
    steps, offsets, terminated = log
    cuts = np.linspace(0, len(terminated), jobs + 1).astype(int)
    parts = [
        (
            steps[offsets[a] : offsets[b]].copy(),
            offsets[a : b + 1] - offsets[a],
            terminated[a:b].copy(),
        )
        for a, b in pairwise(cuts)
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        done = list(pool.map(share, [parameters] * jobs, parts))
    return [sum(counted) for counted in zip(*(counts for counts, _ in done), strict=True)], max(
        took for _, took in done
    )


def on_device(parameters, log):
    """Counts by the device, seconds with the log's transfer, seconds of a later iteration."""
    jax_kernels.Resident(*log).expect(*parameters, -1)  # compiles
    began = time.perf_counter()
    resident = jax_kernels.Resident(*log)
    resident.expect(*parameters, -1)
    first, later = time.perf_counter() - began, np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        counts, _ = resident.expect(*parameters, -1)
        later = min(later, time.perf_counter() - began)
    return counts, first, later


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, nargs="+", default=[12, 40, 100, 256])
    parser.add_argument("--steps", type=int, default=4_000_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    log = episodes(options.steps, rng)
    print(f"{options.steps} steps on {options.jobs} cores and on {jax_kernels.description()}")
    print("millions of steps per second")
    print(f"{'states':>6} {'cores':>8} {'first':>8} {'device':>8} {'ratio':>6} {'difference':>11}")
    for states in options.states:
        parameters = model(states, rng)
        expected, cores = on_cores(parameters, log, options.jobs)
        counts, first, later = on_device(parameters, log)
        apart = max(
            float(np.abs(a - b).max() / np.abs(a).max())
            for a, b in zip(expected, counts, strict=True)
        )
        rates = [options.steps / 1e6 / seconds for seconds in (cores, first, later)]
        print(
            f"{states:6} {rates[0]:8.2f} {rates[1]:8.2f} {rates[2]:8.2f} "
            f"{rates[2] / rates[0]:6.1f} {apart:11.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
