"""Is a PSR enough? The verdicts of `psr_enough` on logs of systems whose answer is known.

`rpsr accuracy` proves whether a PSR represents the expected rewards of a system. Here each system
plays episodes of 30 uniform actions, `psr_enough` judges the log, and the verdicts are counted:

    python benchmarks/psr_enough.py --corpus DIR --out rows.jsonl   # continues where it stopped
    python benchmarks/psr_enough.py --shard 2/5 --out rows.2.jsonl  # then `rpsr merge rows.*.jsonl`
    python benchmarks/psr_enough.py --show rows.jsonl               # the tables of finished rows

The systems are the built-in domains and the files of a folder, of at most 64 states. `lost` is the
share of the reward variance that a PSR truly loses, by regression of the expected rewards on the
true PSR states along fresh histories. A system is one of three kinds:

- enough: the PSR is accurate on all reachable beliefs, and loses nothing;
- little: it is not accurate, but loses less than the tolerance of `psr_enough`;
- much: it loses more.

A false "no" is a "no" on the first two kinds, a false "yes" is a "yes" on the last.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from functools import cache
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from rows import add_options, computed  # noqa: E402

import rpsr  # noqa: E402
from rpsr import domains  # noqa: E402
from rpsr.evaluation import StochasticController, simulate  # noqa: E402
from rpsr.learning import psr_enough  # noqa: E402
from rpsr.models.filter_batch import filter_batch  # noqa: E402
from rpsr.shards import merged  # noqa: E402

STEPS, LARGEST = 30, 64
TOLERANCE = 0.05  # the default of `psr_enough`
HISTORIES, HISTORIES_SEED = 2000, 977  # fresh ones, for the share that is truly lost
KEY = ("source", "episodes", "seed")
TIMINGS = ("seconds",)
KINDS = ("enough", "little", "much")
VERDICTS = ("yes", "undecided", "no")


def log_of(pomdp, episodes, seed):
    uniform = StochasticController.stationary(pomdp)
    run = {"steps": STEPS, "rewards": True, "propensities": True, "ends": False}
    return simulate(pomdp, uniform, episodes=episodes, seed=seed, **run)


@cache
def truth(source):
    """Whether the PSR is accurate on reachable beliefs, and the share of variance that it loses."""
    pomdp = rpsr.load_pomdp(source, normalize=True)
    measured = rpsr.accuracy(pomdp)
    model = pomdp.belief_model()
    log = log_of(pomdp, HISTORIES, HISTORIES_SEED)
    actions, observations = log.actions.reshape(-1, STEPS), log.observations.reshape(-1, STEPS)
    batch = filter_batch(model, HISTORIES)
    beliefs = []
    for step in range(STEPS):
        beliefs.append(np.array(batch.states))
        batch.update(actions[:, step], observations[:, step])
    beliefs = np.concatenate(beliefs)
    rewards = beliefs @ model.rewards
    rewards -= rewards.mean(axis=0)
    states = beliefs @ measured.psr.basis
    left = rewards - states @ np.linalg.lstsq(states, rewards, rcond=1e-10)[0]
    variance = float((rewards**2).mean())
    lost = float((left**2).mean()) / variance if variance > 1e-18 else 0.0
    return bool(measured.accurate_reachable), lost


def kind(row):
    if row["accurate"]:
        return "enough"
    return "little" if row["lost"] <= TOLERANCE else "much"


def trial(item):
    source, episodes, seed = item
    began = time.process_time()
    row = dict(zip(KEY, item, strict=True))
    try:
        row["accurate"], row["lost"] = truth(source)
        verdict = psr_enough(log_of(rpsr.load_pomdp(source, normalize=True), episodes, seed))
        row |= verdict.document()
    except Exception as error:  # a failure is a result, not the end of the table
        row |= {"error": f"{type(error).__name__}: {error}"}
    return row | {"seconds": round(time.process_time() - began, 2)}


def small_sources(folder):
    """The files of a folder that have few states, and the domains that are not among them."""
    files = sorted(map(str, Path(folder).glob("*.[pP][oO][mM][dD][pP]"))) if folder else []
    names = [
        name
        for name in domains.NAMES
        if not any(Path(file).name.startswith(name) for file in files)
    ]
    return [
        source
        for source in (*names, *files)
        if len(rpsr.load_pomdp(source, normalize=True).states) <= LARGEST
    ]


def run(arguments):
    items = [
        (source, episodes, seed)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.repeats)
        for episodes in arguments.episodes
        for source in arguments.sources or small_sources(arguments.corpus)
    ]
    for done, row in computed(trial, items, KEY, TIMINGS, arguments):
        print(done, row.get("verdict") or row["error"], flush=True)
    show(merged([arguments.out]).rows)


def show(rows):
    failed = [row for row in rows if row.get("error")]
    rows = [row for row in rows if not row.get("error")]
    print(f"\n{'kind':8} {'episodes':>8} {'logs':>5} " + " ".join(f"{v:>9}" for v in VERDICTS))
    for chosen in KINDS:
        for episodes in sorted({row["episodes"] for row in rows}):
            part = [row for row in rows if kind(row) == chosen and row["episodes"] == episodes]
            counts = Counter(row["verdict"] for row in part)
            print(
                f"{chosen:8} {episodes:8} {len(part):5} "
                + " ".join(f"{counts[verdict]:9}" for verdict in VERDICTS)
            )
    for row in rows:
        wrong = "yes" if kind(row) == "much" else "no"
        if row["verdict"] == wrong:
            low, high = row["interval"]
            print(
                f"false {wrong}: {Path(row['source']).name}, {row['episodes']} episodes, seed "
                f"{row['seed']}: {row['statistic']:.3f} ({low:.3f} to {high:.3f}), truly "
                f"{row['lost']:.3f}, resolution {row['resolution']:.3f}"
            )
    for row in failed:
        print(f"failed: {row['source']}, {row['episodes']} episodes: {row['error']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", nargs="+", help="by default the small ones")
    parser.add_argument("--corpus", help="a folder of .pomdp files", default="")
    parser.add_argument("--episodes", nargs="+", type=int, default=[300, 1000, 3000])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=10_000)
    add_options(parser, "psr_enough.jsonl")
    parser.add_argument("--show", nargs="+", help="files of rows: show their tables only")
    given = parser.parse_args()
    if given.show:
        show(merged(given.show).rows)
        return
    run(given)


if __name__ == "__main__":
    main()
