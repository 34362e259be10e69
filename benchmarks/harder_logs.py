"""Harder logs: many states, unusual rewards, a long memory, and behaviour that is not uniform.

Each rival learns from the same log and plans; its policy runs on the true system. The result is
`way`, how much of the way from the uniform policy to the optimum it goes: 0 is no better than
uniform, 1 is optimal.

    python benchmarks/harder_logs.py --out rows.jsonl               # continues where it stopped
    python benchmarks/harder_logs.py --systems memory-1 memory-2 --rivals em spectral last-2 last-3
    python benchmarks/harder_logs.py --behaviours reacting sticky few --systems tiger parr
    python benchmarks/harder_logs.py --systems hallway DIR/4x5x2.95.POMDP --rivals em truth \\
        --episodes 1000 5000 --steps 50 --device gpu --learn-seconds 300 --plan-seconds 60
    python benchmarks/harder_logs.py --show rows.jsonl              # the table of finished rows

Systems are files, built-in domains, or

- noisy-tiger: tiger, with Gaussian noise of half the rewards' standard deviation on its rewards;
- inspected: a machine wears out; each part that it makes is sound or flawed, and the reward depends
  on that observation;
- delayed-K: guess the side of a coin that was just seen; the reward comes K steps later;
- memory-K: repeat the symbol before the last K symbols.

Behaviours: uniform; sticky, which repeats its action with probability 0.7; reacting, whose random
probabilities depend on the last observation; few, which takes the first action in 80 % of the
steps. The logs have no propensities. `truth` is the ceiling: EM started at the true POMDP.
`written` is the policy that `rpsr learn` writes: a plan on a model of `em`, or on a table.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import control  # noqa: E402
import numpy as np  # noqa: E402
from rows import add_options, computed  # noqa: E402

import rpsr  # noqa: E402
from rpsr.evaluation import StochasticController, returns, simulate  # noqa: E402
from rpsr.learning import EMRPSR, LastKTable, SpectralRPSR, learn  # noqa: E402
from rpsr.models import POMDP  # noqa: E402
from rpsr.planning import AlphaPolicy, planner_by_name, solve  # noqa: E402
from rpsr.shards import merged  # noqa: E402

SYSTEMS = ("noisy-tiger", "inspected", "delayed-2", "memory-1", "memory-2")
BEHAVIOURS = ("uniform", "sticky", "reacting", "few")
RIVALS = ("em", "spectral", "last-1", "last-2", "last-3", "written", "truth")
NOISE, KEEPS, MOSTLY = 0.5, 0.7, 0.8
TEST_STEPS, TEST_EPISODES, TEST_SEED = 100, 2000, 977
KEY = ("system", "episodes", "steps", "seed", "behaviour", "rival")
TIMINGS = ("learning_seconds", "seconds")


def inspected():
    """A machine in three states of wear makes parts, which are sound or flawed, or is repaired."""
    moves = np.array(
        [[[0.8, 0.15, 0.05], [0, 0.8, 0.2], [0, 0, 1]], [[1, 0, 0], [1, 0, 0], [1, 0, 0]]]
    )
    sound = np.array([0.9, 0.6, 0.1])  # by the state after the step
    emissions = np.zeros((2, 3, 3))  # sound, flawed, repaired
    emissions[0] = np.stack([sound, 1 - sound, np.zeros(3)], axis=1)
    emissions[1, :, 2] = 1
    rewards = np.broadcast_to(np.array([1.0, -1.0, -0.5]), (2, 3, 3, 3))
    return POMDP.from_arrays(moves, emissions, rewards, [1, 0, 0], 0.95)


def guessing(delay, memory):
    """Random bits are seen; the action guesses the one before the last `memory` ones.

    The reward of a right guess comes after `delay` steps. A state is the last memory + 1 bits, the
    latest first, and which of the last `delay` guesses were right.
    """
    states = list(product(product((0, 1), repeat=memory + 1), product((0, 1), repeat=delay)))
    index = {state: i for i, state in enumerate(states)}
    n = len(states)
    moves, emissions, rewards = np.zeros((2, n, n)), np.zeros((2, n, 2)), np.zeros((2, n, n))
    for (i, (bits, pending)), action in product(enumerate(states), (0, 1)):
        queue = (*pending, int(action == bits[-1]))  # the oldest first
        rewards[action, i] = queue[0]
        for bit in (0, 1):
            moves[action, i, index[(bit, *bits[:-1]), queue[1:]]] = 0.5
        emissions[action, i, bits[0]] = 1
    return POMDP.from_arrays(moves, emissions, rewards, None, 0.95)


@cache
def system(name):
    if name == "noisy-tiger":
        return rpsr.load_pomdp("tiger").with_discount("0.95")
    if name == "inspected":
        return inspected()
    kind, _, number = name.partition("-")
    if kind in ("memory", "delayed") and number.isdigit():
        return guessing(*((0, int(number)) if kind == "memory" else (int(number), 0)))
    return rpsr.load_pomdp(name, normalize=True).with_discount("0.95")


def behaves(pomdp, behaviour, seed):
    n_actions, n_observations = len(pomdp.actions), len(pomdp.observations)
    if behaviour == "uniform":
        return StochasticController.stationary(pomdp)
    if behaviour == "sticky":
        return control.stubborn(pomdp, KEEPS)
    if behaviour == "few":
        chances = np.full((1, n_actions), (1 - MOSTLY) / max(n_actions - 1, 1))
        chances[0, 0] = MOSTLY
        successors = np.zeros((1, n_actions, n_observations), dtype=np.int64)
        return StochasticController(pomdp.actions, pomdp.observations, chances, successors, 0)
    rng = np.random.default_rng([seed, 2])
    chances = rng.dirichlet(np.ones(n_actions), size=n_observations + 1)
    chances = 0.9 * chances + 0.1 / n_actions
    successors = np.broadcast_to(
        np.arange(n_observations), (n_observations + 1, n_actions, n_observations)
    )
    return StochasticController(
        pomdp.actions, pomdp.observations, chances, successors.copy(), n_observations
    )


def log_of(name, episodes, steps, seed, behaviour):
    pomdp = system(name)
    run = {"episodes": episodes, "steps": steps, "seed": seed, "rewards": True, "ends": False}
    log = simulate(pomdp, behaves(pomdp, behaviour, seed), **run)
    if name == "noisy-tiger":
        drawn = np.random.default_rng([seed, 1]).standard_normal(log.steps)
        log = replace(log, rewards=log.rewards + NOISE * log.rewards.std() * drawn)
    return log


def earned(pomdp, policy):
    run = {"episodes": TEST_EPISODES, "steps": TEST_STEPS, "seed": TEST_SEED}
    return float(returns(simulate(pomdp, policy, ends=False, **run), pomdp.belief_model()).mean())


@cache
def ends_of_the_way(name):
    """The return of the uniform policy, and of a plan on the true system."""
    pomdp = system(name)
    solution = solve(pomdp, planner_by_name("pbvi", seed=0, max_points=600, epsilon=1e-4))
    best = earned(pomdp, AlphaPolicy(solution.model, solution.vectors))
    return earned(pomdp, StochasticController.stationary(pomdp)), best


def learned(rival, pomdp, log, seed, device, seconds):
    discount = 0.95
    if rival == "truth":
        return control.from_truth(pomdp, log)
    if rival == "em":
        how = {"seed": seed, "device": device, "time_limit": seconds}
        return EMRPSR(discount=discount, **how).fit(log).model_
    if rival == "spectral":
        return SpectralRPSR(discount=discount).fit(log).model_
    return LastKTable(discount=discount, k=int(rival.removeprefix("last-"))).fit(log).model_


def planned(model, seconds):
    """A policy for a model, by a planner with a time limit if one is given."""
    if seconds is None or model.kind == "last-k":
        return control.plan(model)
    solution = solve(model, planner_by_name("pbvi", seed=0, time_limit=seconds))
    return AlphaPolicy(model, solution.vectors)


def trial(item, device, learn_seconds, plan_seconds):
    name, episodes, steps, seed, behaviour, rival = item
    row = dict(zip(KEY, item, strict=True))
    began = time.process_time()
    try:
        pomdp = system(name)
        low, high = ends_of_the_way(name)
        log = log_of(name, episodes, steps, seed, behaviour)
        start = time.process_time()
        if rival == "written":
            how = {"seed": seed, "device": device, "time_limit": learn_seconds}
            result = learn("em", log, discount=0.95, plan=True, **how)
            model, policy = result.plan.model, result.safe.policy
            row["reasons"] = [reason.document() for reason in result.reasons]
        else:
            model = learned(rival, pomdp, log, seed, device, learn_seconds)
            policy = None
        row["learning_seconds"] = round(time.process_time() - start, 2)
        mean = earned(pomdp, policy or planned(model, plan_seconds))
        row |= {
            "uniform": low,
            "optimum": high,
            "return": mean,
            "way": (mean - low) / (high - low),
        }
        row["dimension"] = model.dimension
    except Exception as error:  # a rival that fails is a result, not the end of the table
        row |= {"way": None, "error": f"{type(error).__name__}: {error}"}
    return row | {"seconds": round(time.process_time() - began, 2)}


def run(arguments):
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.repeats)
    items = [
        (name, episodes, arguments.steps, seed, behaviour, rival)
        for seed in seeds
        for name in arguments.systems
        for episodes in arguments.episodes
        for behaviour in arguments.behaviours
        for rival in arguments.rivals
    ]
    how = {
        "device": arguments.device,
        "learn_seconds": arguments.learn_seconds,
        "plan_seconds": arguments.plan_seconds,
    }
    for done, row in computed(trial, items, KEY, TIMINGS, arguments, **how):
        print(done, row.get("way"), row.get("error", ""), flush=True)
    show(merged([arguments.out]).rows)


def show(rows):
    groups = {}
    for row in rows:
        name = Path(row["system"]).name
        task = (name, row["episodes"], row["steps"], row["behaviour"], row["rival"])
        groups.setdefault(task, []).append(row)
    print(
        f"\n{'system':18} {'episodes':>8} {'steps':>5} {'behaviour':9} {'rival':9} {'logs':>4} "
        f"{'least':>7} {'median':>7} dimension"
    )
    for (name, episodes, steps, behaviour, rival), part in sorted(groups.items()):
        ways = [-np.inf if row.get("way") is None else row["way"] for row in part]
        sizes = sorted(row["dimension"] for row in part if row.get("dimension"))
        print(
            f"{name:18} {episodes:8} {steps:5} {behaviour:9} {rival:9} {len(part):4} "
            f"{min(ways):7.3f} {float(np.median(ways)):7.3f} {sizes}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--behaviours", nargs="+", default=["uniform"], choices=BEHAVIOURS)
    parser.add_argument("--episodes", nargs="+", type=int, default=[1000])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--rivals", nargs="+", default=["em", "truth"], choices=RIVALS)
    parser.add_argument("--device", default="auto", help="where em runs: auto, cpu or gpu")
    parser.add_argument("--learn-seconds", type=float, help="em's time limit, as of `rpsr learn`")
    parser.add_argument("--plan-seconds", type=float, help="the time limit of each plan")
    add_options(parser, "harder_logs.jsonl")
    parser.add_argument("--show", nargs="+", help="files of rows: show their tables only")
    given = parser.parse_args()
    if given.show:
        show(merged(given.show).rows)
        return
    run(given)


if __name__ == "__main__":
    main()
