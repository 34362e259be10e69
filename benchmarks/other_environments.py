"""Policies learned from uniform logs of environments that were not made here.

    python benchmarks/other_environments.py [NAMES...] [--episodes N] [--out FILE.json]

Gymnasium's toy-text environments with reduced observations, CartPole without velocities in bins
and, where popgym is installed, some of its discrete ones. Each is recorded with uniform actions;
each estimator learns a model, PBVI plans on it for up to 20 seconds, and the plan plays 300 new
episodes. Mean undiscounted returns, with standard errors, beside those of uniform actions.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.wrappers import TransformObservation
from sklearn.preprocessing import KBinsDiscretizer

import rpsr
from rpsr.envs import record
from rpsr.learning import EMRPSR, LastKTable, SpectralRPSR
from rpsr.planning import AlphaPolicy

PLAYED = 300


def blackjack() -> Any:
    return gymnasium.make("Blackjack-v1")


def frozen_lake() -> Any:
    """Slippery; only the column is observed."""
    lake = gymnasium.make("FrozenLake-v1")
    return TransformObservation(lake, lambda s: s % 4, Discrete(4))


def taxi() -> Any:
    """The place of the taxi and the destination are observed, the passenger is not."""
    cab = gymnasium.make("Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3")

    def seen(state: int) -> np.ndarray:
        row, column, _, destination = cab.unwrapped.decode(state)  # pyright: ignore
        return np.array([row, column, destination])

    return TransformObservation(cab, seen, MultiDiscrete([5, 5, 4]))


def cart_pole() -> Any:
    """The cart's position in three bins and the pole's angle in six; velocities are hidden."""
    cart = gymnasium.make("CartPole-v1")
    cart.action_space.seed(0)
    seen = [cart.reset(seed=0)[0]]
    while len(seen) < 2000:
        observation, _, terminated, truncated, _ = cart.step(cart.action_space.sample())
        seen.append(cart.reset()[0] if terminated or truncated else observation)
    bins = KBinsDiscretizer([3, 6], encode="ordinal", quantile_method="averaged_inverted_cdf")
    bins.fit(np.array(seen)[:, [0, 2]])

    def binned(observation: np.ndarray) -> np.ndarray:
        return bins.transform(observation[None, [0, 2]])[0].astype(np.int64)

    return TransformObservation(cart, binned, MultiDiscrete([3, 6]))


def popgym(name: str) -> Callable[[], Any]:
    def build() -> Any:
        import popgym as package  # pyright: ignore

        return getattr(package.envs, name)()

    return build


ENVIRONMENTS: dict[str, tuple[Callable[[], Any], int]] = {
    "Blackjack": (blackjack, 20_000),
    "FrozenLake, column seen": (frozen_lake, 5_000),
    "Taxi, passenger hidden": (taxi, 500),
    "CartPole, no velocities": (cart_pole, 1_000),
    "popgym RepeatFirstEasy": (popgym("RepeatFirstEasy"), 500),
    "popgym RepeatPreviousEasy": (popgym("RepeatPreviousEasy"), 500),
}


def estimators() -> dict[str, Any]:
    return {
        "last-k": LastKTable(discount=0.99),
        "spectral": SpectralRPSR(discount=0.99),
        "em": EMRPSR(discount=0.99),
    }


def mean_return(log: Any) -> tuple[float, float]:
    returns = log.padded("rewards", 0.0).sum(axis=1)
    return float(returns.mean()), float(returns.std() / np.sqrt(len(returns)))


def compare(name: str, build: Callable[[], Any], episodes: int) -> list[dict[str, Any]]:
    env = build()
    log = record(env, "uniform", episodes, initial="step", seed=0)
    value, error = mean_return(log)
    rows: list[dict[str, Any]] = [{"policy": "uniform", "return": value, "error": error}]
    print(f"\n{name}: {log!r}, {len(log.observation_names)} observations", rows[0], flush=True)
    for kind, estimator in estimators().items():
        began, row = time.process_time(), {"policy": kind}
        try:
            model = estimator.fit(log).model_
            plan = rpsr.solve(model, "pbvi", time_limit=20)
            # By the best vector: looking one step ahead is slow with hundreds of observations.
            policy = AlphaPolicy(model, plan.vectors, actions=plan.actions)
            played = record(env, policy, PLAYED, initial="step", seed=1)
            row["return"], row["error"] = mean_return(played)
            row["dimension"] = model.dimension
        except (rpsr.RpsrError, MemoryError) as error:
            row["failure"] = str(error)
        row["seconds"] = time.process_time() - began
        rows.append(row)
        print(row, flush=True)
    return [{"environment": name, "episodes": episodes, **row} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name, (build, episodes) in ENVIRONMENTS.items():
        if options.names and not any(part.lower() in name.lower() for part in options.names):
            continue
        try:
            rows += compare(name, build, options.episodes or episodes)
        except ImportError as error:
            print(f"\n{name}: {error}")
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
