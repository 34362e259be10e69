"""Steps per second of the vector environment beside others, on one core, in one run.

    python benchmarks/environments.py [SOURCES...] [--envs B]

Beside it: Gymnasium's `SyncVectorEnv` over the single environment, and the tabular POMDP of POBAX
(a JAX environment: `vmap` over B copies of its jitted step, its automatic reset included) where
jax, gymnax and pobax are installed. Uniform actions are drawn before the clock starts. Process
time, best of three; kernels and programs are compiled before. A ratio is ours divided by theirs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import rpsr
from rpsr.envs import ID, make


def rate(step: Callable[[int], Any], count: int, envs: int) -> float:
    """Steps per second: best of three."""
    step(0)
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        for i in range(count):
            step(i)
        best = min(best, time.process_time() - began)
    return count * envs / best


def ours(pomdp: Any, envs: int, actions: np.ndarray) -> float:
    env = make(pomdp, num_envs=envs)
    env.reset(seed=0)
    return rate(lambda i: env.step(actions[i % len(actions)]), 2000, envs)


def sync(pomdp: Any, envs: int, actions: np.ndarray) -> float:
    env = gymnasium.make_vec(
        ID, num_envs=envs, vectorization_mode="sync", source=pomdp, disable_env_checker=True
    )
    env.reset(seed=0)
    return rate(lambda i: env.step(actions[i % len(actions)]), 5, envs)


def pobax(pomdp: Any, envs: int, actions: np.ndarray) -> float | None:
    if importlib.util.find_spec("jax") is None or importlib.util.find_spec("pobax") is None:
        return None
    import jax
    import pobax as package  # pyright: ignore

    # `pobax.envs` needs modules that its package does not have; the class needs only gymnax.
    path = Path(package.__path__[0]) / "envs" / "classic" / "pomdp.py"
    spec = importlib.util.spec_from_file_location("pobax_pomdp", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    moves = np.stack([pomdp.transition(a).toarray() for a in pomdp.actions])
    # Its observations depend on the state alone, its rewards on (a, s, s').
    phi = pomdp.emission(0).toarray()
    pay = np.broadcast_to(pomdp.R.T[:, :, None], moves.shape)
    # Its own jit declares the action static, which vmap refuses; the outer jit compiles all of it.
    plain = {"step_env": module.POMDP.step_env.__wrapped__}
    env = type("Plain", (module.POMDP,), plain)(moves, pay, pomdp.start, pomdp.discount, phi)
    params = env.default_params
    keys = jax.random.split(jax.random.PRNGKey(0), envs)
    step = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
    held = {"keys": keys, "state": jax.vmap(env.reset, in_axes=(0, None))(keys, params)[1]}
    given = [jax.numpy.array(row) for row in actions]
    split = jax.jit(jax.vmap(lambda key: jax.random.split(key)))

    def once(i: int) -> None:
        both = split(held["keys"])
        held["keys"] = both[:, 0]
        result = step(both[:, 1], held["state"], given[i % len(given)], params)
        held["state"] = jax.block_until_ready(result)[1]

    return rate(once, 200, envs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", default=["tiger", "4x3", "hallway"])
    parser.add_argument("--envs", type=int, default=1024)
    options = parser.parse_args()
    heads = ("steps/s", "SyncVectorEnv", "ratio", "POBAX", "ratio")
    widths = (14, 14, 8, 14, 8)
    head = "".join(f"{name:>{width}}" for name, width in zip(heads, widths, strict=True))
    print(f"{'domain':12}{head}")
    for source in options.sources:
        pomdp = rpsr.load_pomdp(source)
        rng = np.random.default_rng(0)
        actions = rng.integers(len(pomdp.actions), size=(64, options.envs))
        mine, theirs, jaxed = (f(pomdp, options.envs, actions) for f in (ours, sync, pobax))
        line = f"{source:12}{mine:14,.0f}{theirs:14,.0f}{mine / theirs:8.0f}"
        print(line + ("" if jaxed is None else f"{jaxed:14,.0f}{mine / jaxed:8.1f}"), flush=True)


if __name__ == "__main__":
    main()
