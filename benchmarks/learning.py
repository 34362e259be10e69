"""What spectral estimators make of a log: how well they predict, how error falls, how fast it is.

    python benchmarks/learning.py --prediction [--steps N...] [--runs N] [--corpus DIR] [-o FILE]
    python benchmarks/learning.py --prediction --shard 2/5 --out ROWS.2.jsonl    # then `rpsr merge`
    python benchmarks/learning.py --consistency [--figure FILE] [-o FILE]
    python benchmarks/learning.py --speed
    python benchmarks/learning.py --memory [--steps N...]

--prediction: one trajectory of random actions; mean squared error, an observation and step, of the
one-step predictions on a fresh trajectory of 50,000 steps against the true model's (its first 500
steps left out: the learned model does not know where it starts). The rank of the true PSR is given.
Beside it, what the toolkit `tom` (M. Thon) reached with its plain and its weighted estimator, from
the published settings, on the same kind of data; "over tom" is the mean error of weighting
'variance' over tom's weighted one, with its standard error. Both are means over a few runs, so an
error is "as good" up to two standard errors of a difference of two such means, and "worse" beyond.
The bridge is not a built-in domain: it needs the folder of the classic files.

--consistency: the root of the same error for growing logs, which should fall as steps^-1/2.

-o writes the numbers behind both as JSON, what the documentation shows.

--speed: seconds on this machine from a log of a million steps in memory to a model of rank 20.

--memory: the most memory that a process took which learned from a folder of logs, streamed, beside
what one takes that only learns from a single short file: it should not grow with the log.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numba import njit
from rows import add_options, computed

from rpsr import POMDP
from rpsr.learning import SpectralPSR, SpectralRPSR, filtered
from rpsr.logs import Trajectories, write_logs
from rpsr.report.plots.style import COLOURS, COLUMN, DASHES, INK, MARKERS, new_figure, styled
from rpsr.sources import load_pomdp

DOMAINS = {  # rank of the PSR; errors of tom, plain and weighted, at 10^4, 10^5 and 10^6 steps
    "tiger": (2, (3.8e-4, 4.2e-5, 5.4e-6), (4.4e-4, 4.4e-5, 4.0e-6)),
    "paint": (2, (1.1e-3, 8.9e-5, 8.9e-5), (3.2e-4, 4.1e-5, 3.6e-6)),
    "bridge-repair.POMDP": (5, (2.1e-2, 6e-3, 2.7e-2), (8.5e-3, 7.3e-4, 5.6e-5)),
    "network": (7, (2.0e-2, 7e-3, 7e-3), (4.4e-3, 1.6e-3, 8.0e-5)),
    "shuttle": (7, (6.6e-3, 2.2e-3, 7.6e-4), (1.2e-3, 8.4e-5, 8.4e-6)),
    "4x3": (10, (2.0e-2, 1.6e-2, 3.5e-2), (8.7e-3, 1.1e-3, 1.1e-4)),
    "cheese": (11, (1.7e-2, 2.1e-2, 1.4e-3), (2.3e-3, 1.3e-3, 4.7e-5)),
}
WEIGHTINGS = ("plain", "scaled", "variance")
TEST_STEPS, BURN_IN = 50_000, 500


@njit(cache=True)
def _walk(joint, state, draws):
    """Actions and observations of one trajectory; joint (A, S, S * O) is cumulated."""
    n_actions, n_states, width = joint.shape
    n_observations = width // n_states
    actions = np.empty(len(draws), dtype=np.int64)
    seen = np.empty(len(draws), dtype=np.int64)
    states = np.empty(len(draws), dtype=np.int64)
    for t in range(len(draws)):
        a = min(int(draws[t, 0] * n_actions), n_actions - 1)
        row = joint[a, state]
        both = min(np.searchsorted(row, draws[t, 1] * row[-1], side="right"), width - 1)
        actions[t], states[t], seen[t] = a, state, both % n_observations
        state = both // n_observations
    return actions, seen, states


def trajectory(pomdp: POMDP, steps: int, seed: int) -> Trajectories:
    """One trajectory of uniformly random actions."""
    model = pomdp.belief_model()
    n_actions, n_observations, n = model.operators.shape
    joint = np.array(
        [
            np.stack([model.operators.matrix(a, o) for o in range(n_observations)], axis=-1)
            for a in range(n_actions)
        ]
    ).reshape(n_actions, n, n * n_observations)
    rng = np.random.default_rng(seed)
    first = int(rng.choice(n, p=model.start))
    actions, seen, states = _walk(np.cumsum(joint, axis=2), first, rng.random((steps, 2)))
    return Trajectories(
        model.actions,
        model.observations,
        actions,
        seen,
        np.array([0, steps]),
        np.array([False]),
        rewards=model.rewards[states, actions],
    )


def find(name: str, corpus: Path | None) -> POMDP | None:
    """A built-in domain, or a file of the corpus."""
    if not name.endswith(".POMDP"):
        return load_pomdp(name)
    return None if corpus is None else load_pomdp(str(corpus / name))


def errors(pomdp: POMDP, rank: int, steps: int, runs: int, weightings=WEIGHTINGS) -> dict:
    """The squared errors of each weighting, one a run."""
    test = trajectory(pomdp, TEST_STEPS, 10**6)
    truth = filtered(pomdp.belief_model(), test).predictions
    squared: dict[str, list[float]] = {weighting: [] for weighting in weightings}
    for run in range(runs):
        log = trajectory(pomdp, steps, run)
        for weighting in weightings:
            estimator = SpectralPSR(rank=rank, weighting=weighting, starts="stationary")
            said = filtered(estimator.fit(log).model_, test).predictions
            squared[weighting].append(float(((said - truth) ** 2)[BURN_IN:].mean()))
    return squared


KEY = ("domain", "steps", "runs")


def trial(item, corpus: Path | None) -> dict:
    """The errors of one domain and length of logs, as a row."""
    name, steps, runs = item
    row = dict(zip(KEY, item, strict=True)) | {"rank": DOMAINS[name][0]}
    pomdp = find(name, corpus)
    if pomdp is None:
        return row | {"error": "needs --corpus"}
    return row | {"errors": errors(pomdp, row["rank"], steps, runs), "error": None}


def prediction(args: argparse.Namespace) -> dict:
    """The table of prediction errors."""
    if args.out is not None:
        items = [(name, steps, args.runs) for name in DOMAINS for steps in args.steps]
        for done, row in computed(trial, items, KEY, (), args, corpus=args.corpus):
            print(done, row["error"] or "", flush=True)
        return {}
    cells = "".join(f"{w:>10}" for w in WEIGHTINGS)
    print(f"{'domain':22}{'steps':>9}{cells}{'tom plain':>11}{'weighted':>10}  over tom")
    rows, verdicts = [], []
    for name, (rank, plain, weighted) in DOMAINS.items():
        pomdp = find(name, args.corpus)
        if pomdp is None:
            print(f"{name:22} needs --corpus")
            continue
        for steps in args.steps:
            squared = errors(pomdp, rank, steps, args.runs)
            row = {"domain": name, "rank": rank, "steps": steps, "errors": squared}
            means = {w: float(np.mean(squared[w])) for w in WEIGHTINGS}
            line = f"{name:22}{steps:>9}" + "".join(f"{means[w]:>10.1e}" for w in WEIGHTINGS)
            column = {10**4: 0, 10**5: 1, 10**6: 2}.get(steps)
            if column is not None:
                target = weighted[column]
                noise = float(np.std(squared["variance"], ddof=1) / np.sqrt(args.runs))
                excess = means["variance"] - target
                verdict = "better" if excess <= 0 else "as good"
                if excess > 2 * np.sqrt(2) * noise:
                    verdict = "worse"
                verdicts.append(verdict)
                line += f"{plain[column]:>11.1e}{target:>10.1e}"
                line += f"  {means['variance'] / target:.2f} ± {noise / target:.2f} {verdict}"
                row |= {"tom": target, "verdict": verdict}
            rows.append(row)
            print(line, flush=True)
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in ("better", "as good", "worse"))
    print(f"of {len(verdicts)} cells: {counts}")
    return {"prediction": rows}


def consistency(args: argparse.Namespace) -> dict:
    """Error against the length of the log."""
    lengths = [1000 * 2**k for k in range(0, 11, 2)]
    curves = {}
    for name in ("tiger", "network", "4x3"):
        pomdp = load_pomdp(name)
        squared = [
            errors(pomdp, DOMAINS[name][0], n, args.runs, ("variance",))["variance"]
            for n in lengths
        ]
        curves[name] = [float(np.sqrt(np.mean(part))) for part in squared]
        slope = np.polyfit(np.log(lengths[2:]), np.log(curves[name][2:]), 1)[0]
        shown = " ".join(f"{value:.2e}" for value in curves[name])
        print(f"{name:10} root mean square error {shown}", flush=True)
        print(f"{'':10} from {lengths[2]} steps on it falls as steps^{slope:.2f}", flush=True)
    if args.figure:
        plot_consistency(lengths, curves).savefig(args.figure)
    return {"steps": lengths, "curves": curves}


@styled
def plot_consistency(steps: list[int], curves: dict[str, list[float]]) -> Figure:
    """Errors by the length of the log, with a line that falls as its root."""
    figure = new_figure(COLUMN, 2.9)
    axes = figure.add_subplot()
    for (name, curve), colour, dash, marker in zip(
        curves.items(), COLOURS, DASHES, MARKERS, strict=False
    ):
        axes.plot(steps, curve, color=colour, linestyle=dash, marker=marker, label=name)
    guide = [curves["tiger"][0] / 2 * (n / steps[0]) ** -0.5 for n in steps]
    axes.plot(steps, guide, color=INK, linewidth=0.8, label="steps to the power \u2212\u00bd")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, form in ((axes.xaxis, ",.0f"), (axes.yaxis, "g")):
        axis.set_major_formatter(lambda value, _, form=form: format(value, form))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("steps of log")
    axes.set_ylabel("error of one-step predictions")
    axes.legend()
    return figure


def speed(args: argparse.Namespace) -> None:
    """Seconds from a million steps in memory to a model of rank 20."""
    for name in ("4x3", "cheese", "shuttle"):
        log = trajectory(load_pomdp(name), 10**6, 0)
        for weighting in WEIGHTINGS:
            times = []
            for _ in range(2):  # the first run compiles or loads kernels
                began = time.process_time()
                SpectralRPSR(rank=20, weighting=weighting, starts="stationary").fit(log)
                times.append(time.process_time() - began)
            print(f"{name:10} {weighting:10} {times[-1]:6.2f} s", flush=True)


LEARN = """
import resource, sys
from rpsr.learning import SpectralRPSR
from rpsr.logs import stream_logs
SpectralRPSR(rank=9).fit(stream_logs(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def memory(args: argparse.Namespace) -> None:
    """Megabytes of a process that learns from a streamed log, by the log's length."""
    model = load_pomdp("loadunload")
    for steps in args.steps:
        with tempfile.TemporaryDirectory() as folder:
            for part in range(10):
                log = trajectory(model, steps // 10, part)
                cut = np.arange(0, log.steps + 1, 100)
                episodes = replace(log, offsets=cut, terminated=np.zeros(len(cut) - 1, dtype=bool))
                write_logs(episodes, Path(folder) / f"{part}.jsonl")
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**20
            command = [sys.executable, "-c", LEARN, folder]
            used = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            print(f"{steps:>9} steps, {size:7.1f} MB of files: {used.strip()} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("prediction", "consistency", "speed", "memory"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--steps", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    add_options(parser, None)
    args = parser.parse_args()
    where = (args.jobs, args.scheduler, args.scheduler_file, args.shard)
    if args.out is None and any(option is not None for option in where):
        parser.error("parts of --prediction, and work on other processes, need --out ROWS.jsonl")
    numbers = {}
    for job in (prediction, consistency, speed, memory):
        if getattr(args, job.__name__):
            numbers |= job(args) or {}
    if args.output:
        args.output.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
