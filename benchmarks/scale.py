"""Learning from logs larger than memory: steps per second and core, peak memory, workers, Dask.

    python benchmarks/scale.py --folder DIR --steps 1000000 10000000 [-o FILE]   # speed and memory
    python benchmarks/scale.py --folder DIR --workers --steps 10000000           # on 1 and 2
    python benchmarks/scale.py --overhead                                        # Dask and the pool
    python benchmarks/scale.py --hmmlearn                                        # if installed

A log of 20-step episodes of random actions on 4x3 is written to DIR as Parquet, a million steps per
file, unless it is there. Every measurement is a process of its own, so that peak memory is its own.

Speed is steps per second of processor time, which other programs on the machine hardly change:
spectral moments (with the default plan), and one iteration of EM with 12 and 40 states, in memory
(one chunk, the first steps of the log), from Parquet (first pass), and from what the process keeps
of it (second pass), in memory or on disk. --workers measures seconds on the clock, so it needs an
idle machine; efficiency is the time of one worker over twice that of two. --overhead runs items
that sleep for a second on two workers.
hmmlearn fits observations only, which is less work: it has no actions and no rewards.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import rpsr
from rpsr.evaluation.simulation import simulate
from rpsr.learning.em import partition_cache
from rpsr.learning.em.partitioned_log import Partitioned, Views
from rpsr.learning.em.starts import random_start
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs import stream_logs, write_logs
from rpsr.parallel import Processes, spread, workers

DOMAIN, LENGTH, FILE = "4x3", 20, 10**6
SIZES = (12, 40)
KEYS = ("memory", "rate", "again", "disk")  # in memory, from Parquet, kept in memory and on disk


def write(folder: Path, steps: int) -> Path:
    """A folder with a log of this many steps."""
    target = folder / str(steps)
    target.mkdir(parents=True, exist_ok=True)
    pomdp = rpsr.load_pomdp(DOMAIN)
    for number in range(steps // FILE):
        file = target / f"{number:05}.parquet"
        if not file.exists():
            episodes = FILE // LENGTH
            log = simulate(
                pomdp,
                "uniform",
                episodes=episodes,
                steps=LENGTH,
                seed=number,
                rewards=True,
                ends=False,
            )
            write_logs(log, file)
    return target


def opened(folder: Path) -> PreparedLog:
    pomdp = rpsr.load_pomdp(DOMAIN)
    names = {"action_names": pomdp.actions, "observation_names": pomdp.observations}
    return PreparedLog.of(stream_logs(folder, **names))


def seconds(work) -> float:
    """Processor time of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def moments(folder: Path) -> dict:
    log = opened(folder)
    survey = log.survey()
    plan = WindowPlan.of(survey)
    Moments.of([next(iter(log))], plan)  # loads the kernel
    spent = seconds(lambda: Moments.of(log, plan))
    return {"what": "spectral moments", "rate": survey.steps / spent}


def iteration(folder: Path, states: int) -> dict:
    """One iteration of EM, in memory and from the folder."""
    views = Views.of(opened(folder), "auto", 0)
    whole, steps = views.whole, views.facts.size[1]
    assert isinstance(whole, Partitioned)
    fitted = random_start(views.encoded, states, np.random.default_rng(0))
    one = whole.encode(next(iter(whole.parts[0])))
    one.expected(fitted)  # loads the kernel
    held = seconds(lambda: one.expected(fitted))
    first, second = (seconds(lambda: whole.expected(fitted)) for _ in range(2))
    partition_cache.IN_MEMORY = 0
    whole = replace(whole, name="on disk")
    whole.expected(fitted)
    disk = seconds(lambda: whole.expected(fitted))
    return {
        "what": f"EM, {states} states",
        "memory": len(one.steps) / held,
        "rate": steps / first,
        "again": steps / second,
        "disk": steps / disk,
    }


def measured(job: str, folder: Path) -> dict:
    """A measurement in this process, and the process's peak memory in MB."""
    row = moments(folder) if job == "moments" else iteration(folder, int(job))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row | {"steps": int(folder.name), "peak": peak}


def speed(args: argparse.Namespace) -> list[dict]:
    rows = []
    for steps in args.steps:
        folder = write(args.folder, steps)
        for job in ("moments", *map(str, SIZES)):
            command = [sys.executable, __file__, "--measure", job, "--folder", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout)
            rows.append(row)
            rates = {key: f"{row[key] / 1e6:.2f}" for key in KEYS if key in row}
            print(
                f"{steps:>11} {row['what']:18} M steps/s {rates} {row['peak']:.0f} MB", flush=True
            )
    return rows


def scaling(args: argparse.Namespace) -> list[dict]:
    """Seconds of one iteration of EM with 12 states on 1 and on 2 processes."""
    rows = []
    for steps in args.steps:
        log = opened(write(args.folder, steps))
        views = Views.of(log, "auto", 0)
        fitted = random_start(views.encoded, SIZES[0], np.random.default_rng(0))
        times = []
        for jobs in (1, 2):
            with Processes(jobs) as pool:
                whole = Partitioned(views.whole.outline, views.whole.parts, pool)
                whole.expected(fitted)  # starts the processes, which keep what they have read
                began = time.perf_counter()
                whole.expected(fitted)
                times.append(time.perf_counter() - began)
        row = {"steps": steps, "seconds": times, "efficiency": times[0] / times[1] / 2}
        print(row, flush=True)
        rows.append(row)
    return rows


def overhead(args: argparse.Namespace) -> list[dict]:
    """Items of a second on two workers: seconds beyond the least possible, as a share."""
    from distributed import Client, LocalCluster

    items = [1.0] * args.items
    least = len(items) / 2
    rows = []

    def timed(name, executor):
        list(spread(time.sleep, [0.0] * 4, executor))  # starts the processes
        began = time.perf_counter()
        list(spread(time.sleep, items, executor))
        spent = time.perf_counter() - began
        rows.append({"executor": name, "items": len(items), "overhead": spent / least - 1})
        print(rows[-1], flush=True)

    with workers(2) as pool:
        timed("processes", pool)
    asked = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(processes=True, **asked) as cluster, Client(cluster) as client:
        timed("dask", client.get_executor(pure=False))
    return rows


def hmmlearn(args: argparse.Namespace) -> list[dict]:
    """One iteration of hmmlearn's EM on the observations of 100,000 steps."""
    from hmmlearn.hmm import CategoricalHMM

    pomdp = rpsr.load_pomdp(DOMAIN)
    log = simulate(pomdp, "uniform", episodes=FILE // 10 // LENGTH, steps=LENGTH, ends=False)
    rows = []
    for states in SIZES:
        times = []
        for iterations in (1, 3):
            model = CategoricalHMM(states, n_iter=iterations, tol=-np.inf, random_state=0)
            column = log.observations[:, None].astype(np.int32)
            times.append(seconds(lambda m=model, x=column: m.fit(x, log.lengths)))
        rate = 2 * log.steps / (times[1] - times[0])
        rows.append({"what": f"hmmlearn, {states} states, observations only", "rate": rate})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--steps", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path)
    for name in ("workers", "overhead", "hmmlearn"):
        parser.add_argument(f"--{name}", action="store_true")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measured(args.measure, args.folder)))
        return
    jobs = {"scaling": scaling, "overhead": overhead, "hmmlearn": hmmlearn, "speed": speed}
    asked = {"scaling": args.workers, "overhead": args.overhead, "hmmlearn": args.hmmlearn}
    asked["speed"] = not any(asked.values())
    numbers = {name: job(args) for name, job in jobs.items() if asked[name]}
    if args.output:
        args.output.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
