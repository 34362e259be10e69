"""Control from logs: what policies of learned models earn, as a fraction of the optimum.

Logs are 20-step episodes of a uniform policy (heaven/hell: 200-step episodes of a policy that keeps
its action with probability 0.7, because a uniform one hardly ever earns anything there). Every
rival learns from the same log, plans, and is run on the true system for 100 steps; returns are
expected rewards given what happened, so that only histories are sampled. Seeds below 1,000 were
used while the recipes were made; a report counts from 10,000.

    python benchmarks/control.py --jobs 16 --out rows.json          # goes on where it stopped
    python benchmarks/control.py --domains tiger --episodes 1000 --repeats 4 --first-seed 0

A row for every domain, number of episodes, seed and rival goes to the file as it is done, and a
table at the end says how many repeats reached the target.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import rpsr  # noqa: E402
from rpsr.evaluation import StochasticController, returns, simulate  # noqa: E402
from rpsr.learning import EMRPSR, LastKTable, SpectralPSR  # noqa: E402
from rpsr.planning import AlphaPolicy, planner_by_name, solve  # noqa: E402

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


def log_of(domain, episodes, seed):
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
    return pomdp, log


def learned(rival, log, seed):
    """The model that a rival learns."""
    discount = float(DISCOUNT)
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
        return AlphaPolicy(model, np.array([_context_values(model)]))
    solution = solve(model, planner_by_name("pbvi", seed=0))
    return AlphaPolicy(model, solution.vectors)


def _context_values(model):
    """The value of every context: a finite problem, by value iteration."""
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
    return values


def earned(pomdp, policy, episodes=TEST_EPISODES):
    """Mean expected return of 100 steps and its standard error."""
    log = simulate(pomdp, policy, episodes=episodes, steps=TEST_STEPS, seed=TEST_SEED, ends=False)
    values = returns(log, pomdp.belief_model())
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def optimum(domain):
    """What a plan on the true model earns, on the same test seeds."""
    pomdp = rpsr.load_pomdp(domain).with_discount(DISCOUNT)
    solution = solve(pomdp, planner_by_name("pbvi", seed=0, points=600, epsilon=1e-4))
    return earned(pomdp, AlphaPolicy(solution.model, solution.vectors))[0]


def trial(domain, episodes, seed, rival):
    began = time.process_time()
    pomdp, log = log_of(domain, episodes, seed)
    row = {"domain": domain, "episodes": episodes, "seed": seed, "rival": rival}
    try:
        model = learned(rival, log, seed)
        row["learning_seconds"] = round(time.process_time() - began, 2)
        mean, stderr = earned(pomdp, plan(model))
        row |= {"dimension": model.dimension, "return": mean, "stderr": stderr}
    except Exception as error:  # a rival that fails is a result, not the end of the table
        row |= {"dimension": None, "return": None, "error": f"{type(error).__name__}: {error}"}
    return row | {"seconds": round(time.process_time() - began, 2)}


def key(row):
    return row["domain"], row["episodes"], row["seed"], row["rival"]


def run(arguments):
    domains = arguments.domains or list(TARGETS)
    out = Path(arguments.out)
    state = json.loads(out.read_text()) if out.exists() else {"optimum": {}, "rows": []}
    done = {key(row) for row in state["rows"]}
    wanted = [
        (domain, episodes, seed, rival)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.repeats)
        for domain in domains
        for episodes in arguments.episodes or [TARGETS[domain][0]]
        for rival in arguments.rivals
        if (domain, episodes, seed, rival) not in done
    ]

    def keep():
        out.write_text(json.dumps(state, indent=1) + "\n")

    with ProcessPoolExecutor(arguments.jobs) as pool:
        optima = {d: pool.submit(optimum, d) for d in domains if d not in state["optimum"]}
        trials = [pool.submit(trial, *each) for each in wanted]
        state["optimum"] |= {domain: future.result() for domain, future in optima.items()}
        for number, future in enumerate(as_completed(trials), 1):
            row = future.result()
            state["rows"].append(row)
            keep()
            best = state["optimum"][row["domain"]]
            share = "failed" if row["return"] is None else f"{row['return'] / best:.3f}"
            print(f"{number}/{len(trials)}", *key(row), share, row["seconds"], flush=True)
    keep()
    show(state, domains)


def show(state, domains):
    print(f"\n{'domain':12} {'episodes':>8} {'rival':9} {'reached':>8} {'least':>7} {'median':>7}")
    groups = {}
    for row in state["rows"]:
        groups.setdefault((row["domain"], row["episodes"], row["rival"]), []).append(row)
    for (domain, episodes, rival), rows in sorted(groups.items()):
        if domain not in domains:
            continue
        best, target = state["optimum"][domain], TARGETS[domain][1]
        shares = [-np.inf if r["return"] is None else r["return"] / best for r in rows]
        reached = f"{sum(s >= target for s in shares)}/{len(shares)}"
        print(
            f"{domain:12} {episodes:8} {rival:9} {reached:>8} {min(shares):7.3f} "
            f"{float(np.median(shares)):7.3f}   target {target}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domains", nargs="+", choices=list(TARGETS))
    parser.add_argument("--episodes", nargs="+", type=int, help="by default each domain's own")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--rivals", nargs="+", default=list(RIVALS), choices=RIVALS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="control.json")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
