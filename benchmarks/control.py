"""Control from logs: what policies of learned models earn, as a fraction of the optimum.

Logs are 20-step episodes of a uniform policy (heaven/hell: 200-step episodes of a policy that keeps
its action with probability 0.7, because a uniform one hardly ever earns anything there). Every
rival learns from the same log, plans, and is run on the true system for 100 steps; returns are
expected rewards given what happened, so that only histories are sampled. Seeds below 1,000 were
used while the recipes were made; a report counts from 10,000.

    python benchmarks/control.py --jobs 16 --out rows.jsonl         # continues where it stopped
    python benchmarks/control.py --shard 2/5 --out rows.2.jsonl     # then `rpsr merge rows.*.jsonl`
    python benchmarks/control.py --scheduler tcp://10.0.0.1:8786    # on workers, see `rows`
    python benchmarks/control.py --show rows.jsonl                  # the tables of finished rows
    python benchmarks/control.py --domains tiger --episodes 1000 --repeats 4 --first-seed 0
    python benchmarks/control.py --rivals gru                       # examples/gru.py; needs torch
    python benchmarks/control.py --rivals em --noise 0.5            # Gaussian noise on the rewards
    python benchmarks/control.py --rivals truth                     # EM that starts at the answer

`truth` is no rival but a ceiling: EM by likelihood alone, started at the true POMDP. Where that
misses a target, the log does not hold the answer, and no search for a better optimum would help.

A row for every domain, number of episodes, seed and rival goes to the file as it is done, as a JSON
line; the rows do not depend on the number of jobs or on a Dask scheduler (--scheduler). A table at
the end says how many repeats reached the target. A second one compares `em` with the best rival
and with the ceiling, seed by seed, so that a log that is hard for one is hard for both. The error
of their difference counts the logs (how differences vary over seeds) and the test (all seeds share
its episodes, so its error does not shrink with their number); beyond two errors a difference is
called above or below.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from rows import add_options, computed  # noqa: E402

import rpsr  # noqa: E402
from rpsr.evaluation import StochasticController, returns, simulate  # noqa: E402
from rpsr.learning import EMRPSR, LastKTable, SpectralPSR  # noqa: E402
from rpsr.learning.em.conversion import Facts, as_pomdp, as_rpsr  # noqa: E402
from rpsr.learning.em.estimator import NO_PRIOR  # noqa: E402
from rpsr.learning.em.fitted_pomdp import Encoded, FittedPOMDP, Prior, iterate  # noqa: E402
from rpsr.planning import AlphaPolicy, planner_by_name, solve  # noqa: E402
from rpsr.shards import merged  # noqa: E402

DISCOUNT = "0.95"
TARGETS = {  # the episodes of a log, and the fraction of the optimum to reach
    "loadunload": (100, 0.97),
    "tiger": (1000, 0.97),
    "4x3": (1000, 0.97),
    "parr": (1000, 0.97),
    "paint": (1000, 0.97),
    "stand-tiger": (1000, 0.95),
    "heavenhell": (1000, 0.90),
}
RIVALS = ("em", "last-1", "last-2", "last-3", "em-blind", "psr")
EXTRA = ("gru",)  # not part of rpsr, so only by name
CEILING = "truth"
DOUBT, ITERATIONS = 0.01, 150  # of the ceiling: what EM may move, and how long it may
GRU = Path(__file__).parents[1] / "examples" / "gru.py"
STEPS, STUBBORN_STEPS, KEEPS = 20, 200, 0.7
TEST_STEPS, TEST_EPISODES, TEST_SEED = 100, 4000, 977


def stubborn(pomdp, keeps):
    """A policy that repeats its last action with probability `keeps` and else draws any."""
    n_actions, n_observations = len(pomdp.actions), len(pomdp.observations)
    fresh = np.full(n_actions, 1 / n_actions)
    probabilities = np.vstack([keeps * np.eye(n_actions) + (1 - keeps) * fresh, fresh])
    successors = np.broadcast_to(
        np.arange(n_actions)[None, :, None], (n_actions + 1, n_actions, n_observations)
    )
    return StochasticController(
        pomdp.actions, pomdp.observations, probabilities, successors.copy(), n_actions
    )


def log_of(domain, episodes, seed, noise=0.0):
    pomdp = rpsr.load_pomdp(domain).with_discount(DISCOUNT)
    keeps, steps = (KEEPS, STUBBORN_STEPS) if domain == "heavenhell" else (0.0, STEPS)
    log = simulate(
        pomdp,
        stubborn(pomdp, keeps),
        episodes=episodes,
        steps=steps,
        seed=seed,
        rewards=True,
        propensities=True,
    )
    if noise:
        drawn = np.random.default_rng([seed, 1]).standard_normal(log.steps)
        log = replace(log, rewards=log.rewards + noise * log.rewards.std() * drawn)
    return pomdp, log


@cache
def gru():
    """The example, as a module."""
    spec = importlib.util.spec_from_file_location("gru", GRU)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def from_truth(pomdp, log):
    """The POMDP of highest likelihood near the true one, read as EM's own result is."""
    encoded = Encoded.of(log)
    model = pomdp.belief_model()
    n_actions, n_observations, n = model.operators.shape
    joint = np.array(
        [[model.operators.matrix(a, o) for o in range(n_observations)] for a in range(n_actions)]
    )
    moves = joint.sum(axis=1)
    reached = moves.sum(axis=1)[:, None]
    emissions = np.divide(
        joint.sum(axis=2), reached, out=np.zeros((n_actions, n_observations, n)), where=reached > 0
    )
    apart = model.rewards.T[encoded.payoff_actions] - encoded.payoff_rewards[:, None]
    width = 1e-9 if encoded.family == "categorical" else 0.25 * np.sqrt(encoded.scale)
    pairs = np.exp(-0.5 * (apart / width) ** 2)
    doubted = [
        (1 - DOUBT) * table + DOUBT / table.shape[axis]
        for table, axis in ((model.start, 0), (moves, 2), (emissions, 1), (pairs, 0))
    ]
    visits = np.zeros((n_actions, n))
    start = FittedPOMDP(*doubted, np.zeros(len(pairs)), model.rewards.T, visits, -1)
    fitted = iterate(start, encoded, Prior(NO_PRIOR), ITERATIONS)
    return as_rpsr(as_pomdp(fitted, Facts.of(log), float(DISCOUNT), EMRPSR.enough))


def learned(rival, pomdp, log, seed):
    """The model that a rival learns, or the policy of one that has no model."""
    discount = float(DISCOUNT)
    if rival == CEILING:
        return from_truth(pomdp, log)
    if rival == "gru":
        return gru().learn(log, discount, seed)
    if rival == "em":
        return EMRPSR(discount=discount, seed=seed).fit(log).model_
    if rival == "em-blind":
        return EMRPSR(discount=discount, seed=seed, rewards="none").fit(log).model_
    if rival == "psr":
        return SpectralPSR(discount=discount).fit(log).model_
    return LastKTable(discount=discount, k=int(rival.removeprefix("last-"))).fit(log).model_


def plan(model):
    """A policy for a model: exact where its states are finitely many and known."""
    if model.kind == "last-k":
        return contexts_controller(model)
    solution = solve(model, planner_by_name("pbvi", seed=0))
    return AlphaPolicy(model, solution.vectors)


def contexts_controller(model):
    """The best action in every context, a finite problem, by value iteration."""
    n_actions, n_observations, n = model.operators.shape
    values = np.zeros(n)
    for _ in range(400):
        ahead = model.rewards.copy()
        for a in range(n_actions):
            for o in range(n_observations):
                ahead[:, a] += model.discount * model.operators.right(values[None], a, o)[0]
        following = ahead.max(axis=1)
        if np.abs(following - values).max() < 1e-9:
            break
        values = following
    successors = np.empty((n, n_actions, n_observations), dtype=np.int64)
    for a in range(n_actions):
        for o in range(n_observations):
            successors[:, a, o] = model.operators.matrix(a, o).argmax(axis=1)
    return StochasticController(
        model.actions,
        model.observations,
        np.eye(n_actions)[ahead.argmax(axis=1)],
        successors,
        int(model.start.argmax()),
    )


def earned(pomdp, policy):
    """Mean expected return of 100 steps and its standard error."""
    run = {"episodes": TEST_EPISODES, "steps": TEST_STEPS, "seed": TEST_SEED}
    if hasattr(policy, "act_all"):  # all episodes at once
        values = gru().earned(pomdp, policy, **run)
    else:
        values = returns(simulate(pomdp, policy, ends=False, **run), pomdp.belief_model())
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


@cache
def optimum(domain):
    """What a plan on the true model earns, on the same test seeds."""
    pomdp = rpsr.load_pomdp(domain).with_discount(DISCOUNT)
    solution = solve(pomdp, planner_by_name("pbvi", seed=0, max_points=600, epsilon=1e-4))
    return earned(pomdp, AlphaPolicy(solution.model, solution.vectors))[0]


KEY = ("domain", "episodes", "seed", "rival", "noise")
TIMINGS = ("learning_seconds", "seconds")


def trial(item):
    domain, episodes, seed, rival, noise = item
    row = dict(zip(KEY, item, strict=True)) | {"optimum": optimum(domain)}
    began = time.process_time()
    pomdp, log = log_of(domain, episodes, seed, noise)
    try:
        model = learned(rival, pomdp, log, seed)
        row["learning_seconds"] = round(time.process_time() - began, 2)
        mean, stderr = earned(pomdp, model if rival in EXTRA else plan(model))
        row |= {"return": mean, "stderr": stderr}
        row["dimension"] = len(model.memory) if rival in EXTRA else model.dimension
    except Exception as error:  # a rival that fails is a result, not the end of the table
        row |= {"dimension": None, "return": None, "error": f"{type(error).__name__}: {error}"}
    return row | {"seconds": round(time.process_time() - began, 2)}


def run(arguments):
    domains = arguments.domains or list(TARGETS)
    items = [
        (domain, episodes, seed, rival, arguments.noise)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.repeats)
        for domain in domains
        for episodes in arguments.episodes or [TARGETS[domain][0]]
        for rival in arguments.rivals
    ]
    for done, row in computed(trial, items, KEY, TIMINGS, arguments):
        print(done, f"{share(row):.3f}", flush=True)
    show(merged([arguments.out]).rows)


def show(rows):
    tasks = {}  # (domain, episodes, noise) -> rival -> seed -> row
    for row in rows:
        domain, episodes, seed, rival, noise = (row[part] for part in KEY)
        tasks.setdefault((domain, episodes, noise), {}).setdefault(rival, {})[seed] = row
    print(
        f"\n{'domain':12} {'episodes':>8} {'noise':>5} {'rival':9} {'reached':>8} {'least':>7} "
        f"{'median':>7}"
    )
    for (domain, episodes, noise), rivals in sorted(tasks.items()):
        target = TARGETS[domain][1]
        for rival, rows in sorted(rivals.items()):
            shares = [share(row) for row in rows.values()]
            reached = f"{sum(s >= target for s in shares)}/{len(shares)}"
            print(
                f"{domain:12} {episodes:8} {noise:5} {rival:9} {reached:>8} {min(shares):7.3f} "
                f"{float(np.median(shares)):7.3f}   target {target}"
            )
    heads = f"{'seeds':>5} {'em':>7} {'mean':>7} {'best':>9} {'median':>7} {'mean':>7}"
    print(f"\n{'domain':12} {'episodes':>8} {'noise':>5} {heads} difference")
    for (domain, episodes, noise), rivals in sorted(tasks.items()):
        ours = rivals.pop("em", {})
        pairs = [Pair(name, ours, rows) for name, rows in rivals.items()]
        pairs = [pair for pair in pairs if len(pair.shares)]
        best = sorted((p for p in pairs if p.rival != CEILING), key=lambda p: p.means[1])[-1:]
        for pair in best + [pair for pair in pairs if pair.rival == CEILING]:
            print(f"{domain:12} {episodes:8} {noise:5} {pair}")


class Pair:
    """`em` beside a rival, on the seeds that both have. shares (n, 2): fractions of the optimum."""

    def __init__(self, rival, ours, theirs):
        both = [(ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())]
        self.rival = rival
        self.shares = np.array([[share(row) for row in rows] for rows in both])
        tests = [
            [row.get("stderr", 0.0) / row.get("optimum", 1.0) for row in rows] for rows in both
        ]
        self.test_variance = np.square(tests).sum() / max(len(both), 1)

    @property
    def means(self):
        return self.shares.mean(axis=0)

    def __str__(self):
        n, medians, means = len(self.shares), np.median(self.shares, axis=0), self.means
        difference = means[0] - means[1]
        error = np.inf  # of one seed nothing follows, nor of failures
        if n > 1 and np.isfinite(self.shares).all():
            spread = np.var(self.shares[:, 0] - self.shares[:, 1], ddof=1)
            error = np.sqrt(spread / n + self.test_variance)
        verdict = (
            "level" if abs(difference) <= 2 * error else "above" if difference > 0 else "below"
        )
        return (
            f"{n:5} {medians[0]:7.3f} {means[0]:7.3f} {self.rival:>9} {medians[1]:7.3f} "
            f"{means[1]:7.3f} {difference:+.3f} +- {error:.3f} {verdict}"
        )


def share(row):
    """The return as a fraction of the optimum; a rival that failed is below everything."""
    return -np.inf if row.get("return") is None else row["return"] / row["optimum"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domains", nargs="+", choices=list(TARGETS))
    parser.add_argument("--episodes", nargs="+", type=int, help="by default each domain's own")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument(
        "--rivals", nargs="+", default=list(RIVALS), choices=(*RIVALS, CEILING, *EXTRA)
    )
    parser.add_argument(
        "--noise", type=float, default=0.0, help="on rewards, in their standard deviations"
    )
    add_options(parser, "control.jsonl")
    parser.add_argument("--show", nargs="+", help="files of rows: show their tables only")
    given = parser.parse_args()
    if given.show:
        show(merged(given.show).rows)
        return
    if "gru" in given.rivals and importlib.util.find_spec("torch") is None:
        parser.error("the rival gru is examples/gru.py, which needs torch: pip install torch")
    run(given)


if __name__ == "__main__":
    main()
