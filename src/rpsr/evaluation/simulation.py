"""Simulation of any policy on any POMDP or linear model, in blocks with their own seeds.

The size of a block depends only on the length of the episodes, and each block has its own spawned
seed (`numpy.random.SeedSequence.spawn`). So equal seeds give equal episodes for any number of
workers, and a long simulation can be written block by block.

A policy that is a `StochasticController` (uniform, finite-state controllers, policy trees, and
greedy policies that reach few states) runs compiled on a POMDP. Other greedy policies filter all
episodes of a block together. Any other object with `reset`, `act` and `update` is called step by
step, in this process and in order. A stochastic one may have `probabilities() -> (A,)`: the
simulator then samples actions with its own seeds instead of calling `act`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from rpsr.arguments import whole
from rpsr.errors import InputError, ModelError
from rpsr.evaluation.greedy import horizon_of, tabulate
from rpsr.evaluation.running import Job
from rpsr.evaluation.simulators import run_episodes
from rpsr.evaluation.stochastic import StochasticController, check_fit
from rpsr.evaluation.systems import ending_observations, sampler
from rpsr.logs.trajectories import Trajectories
from rpsr.models.as_model import as_model
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.as_policy import AnyPolicy as Followed
from rpsr.planning.as_policy import as_policy
from rpsr.planning.online.simulator import Simulator, is_simulator
from rpsr.planning.value.controllers import ControllerPolicy
from rpsr.planning.value.policies import AlphaPolicy, Policy, StagedPolicy, UniformPolicy
from rpsr.planning.value.trees import TreePolicy

BLOCK = 256  # episodes, fewer where they are long
BLOCK_STEPS = 2**18

AnyPolicy = Followed | StochasticController  # `runnable` converts it
Progress = Callable[[int, int], None]


# All arguments except system and policy are keyword options.
def simulate(
    system: POMDP | LinearModel | Simulator,
    policy: AnyPolicy,
    *,
    episodes: int,
    steps: int,
    seed: int = 0,
    rewards: bool = False,
    states: bool = False,
    propensities: bool = False,
    ends: bool = True,
    workers: int = 1,
    progress: Progress | None = None,
) -> Trajectories:
    """Simulate episodes of a policy on a system; equal seeds give equal episodes for any workers.

    system: a POMDP or a linear model, or a simulator of one's own, as for planning online; on it
    runs a policy with `reset`, `act` and `update`, or "uniform".
    policy: a plan, a policy, a controller, a tree, or "uniform" for uniformly random actions.
    rewards: record R(s, a, s', o) for a POMDP, x R[:, a] for a linear model, or what a simulator
    returns.
    states: record a POMDP's hidden states. propensities: the probability of each action taken.
    ends: an episode ends, and counts as terminated, at an observation that only absorbing states
    emit (`rpsr.models.terminal.final_observations`); for a learned model, at one that occurs only
    at ends in its log. If False, all episodes have all steps. Those of a simulator end where its
    `step` says so.
    A `UniformPolicy` uses the simulation's seed, not its own generator.
    progress: called with the number of finished episodes and the total.
    """
    blocks = simulate_blocks(
        system,
        policy,
        episodes=episodes,
        steps=steps,
        seed=seed,
        rewards=rewards,
        states=states,
        propensities=propensities,
        ends=ends,
        workers=workers,
        progress=progress,
    )
    return _joined(list(blocks))


# The arguments are those of `simulate`.
def simulate_blocks(
    system: POMDP | LinearModel | Simulator,
    policy: AnyPolicy,
    *,
    episodes: int,
    steps: int,
    seed: int = 0,
    rewards: bool = False,
    states: bool = False,
    propensities: bool = False,
    ends: bool = True,
    workers: int = 1,
    progress: Progress | None = None,
) -> Iterator[Trajectories]:
    """The episodes of `simulate`, block by block, for simulations larger than memory.

    A simulator's are one block.
    """
    for name, value in (("episodes", episodes), ("steps", steps), ("workers", workers)):
        whole(name, value, 1)
    whole("seed", seed, 0)
    if is_simulator(system):
        if states or not ends:
            given = "states=True" if states else "ends=False"
            raise InputError(f"{given}: not possible for a simulator; leave it out")
        log = run_episodes(system, policy, episodes, steps, seed)
        log = replace(
            log,
            rewards=log.rewards if rewards else None,
            propensities=log.propensities if propensities else None,
        )
        return _reported(iter([log]), episodes, progress)
    system = as_model(system, "system")
    if states and not isinstance(system, POMDP):
        raise ModelError(f"a {system.kind} model has no hidden states to record")
    final = ending_observations(system) & ends
    followed = runnable(policy, system)
    table = as_table(followed, system, steps)
    job = Job(system, sampler(system), followed if table is None else table, steps, final)
    sizes = _block_sizes(episodes, steps)
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))

    def block(index: int) -> Trajectories:
        log = job.run(np.random.default_rng(seeds[index]), sizes[index])
        return log.trajectories(system, rewards, states, propensities)

    return _reported(_in_order(block, len(sizes), 1 if job.serial else workers), episodes, progress)


def _block_sizes(episodes: int, steps: int) -> list[int]:
    size = max(1, min(BLOCK, BLOCK_STEPS // steps))
    whole, rest = divmod(episodes, size)
    return [size] * whole + [rest] * (rest > 0)


def _in_order(
    block: Callable[[int], Trajectories], count: int, workers: int
) -> Iterator[Trajectories]:
    """Blocks in order; the number that are computed or waiting is limited."""
    if workers == 1:
        yield from map(block, range(count))
        return
    with ThreadPoolExecutor(workers) as pool:
        for first in range(0, count, 4 * workers):
            yield from pool.map(block, range(first, min(count, first + 4 * workers)))


def _reported(
    blocks: Iterator[Trajectories], episodes: int, progress: Progress | None
) -> Iterator[Trajectories]:
    done = 0
    for block in blocks:
        done += block.episodes
        if progress is not None:
            progress(done, episodes)
        yield block


def runnable(policy: AnyPolicy, system: POMDP | LinearModel) -> StochasticController | Policy:
    """An argument as a controller (unchanged) or as a policy at its start."""
    return policy if isinstance(policy, StochasticController) else as_policy(policy, system)


def as_table(
    policy: StochasticController | Policy, system: POMDP | LinearModel, steps: int | None
) -> StochasticController | None:
    """A policy as a controller for a number of steps, checked against the system, or None."""
    match policy:
        case StochasticController():
            table = policy
        case UniformPolicy():
            table = StochasticController.stationary(policy.model)
        case ControllerPolicy():
            table = StochasticController.of(policy.controller)
        case TreePolicy():
            table = StochasticController.of_tree(policy.tree)
        case AlphaPolicy() | StagedPolicy():
            names = policy.model.actions, policy.model.observations
            check_fit(*names, horizon_of(policy), system, steps)
            if policy.model.estimated:
                return None  # a robust filter has no table of states
            return tabulate(policy, steps=steps)
        case _:
            return None
    table.check(system, steps)
    return table


def why_no_table(policy: AnyPolicy, system: POMDP | LinearModel) -> str:
    """Why a policy on a system has no exact return, if it has none."""
    if isinstance(system, LinearModel) and not system.domain.known:
        return "the model's valid states are unknown, as of a learned one"
    if not isinstance(policy, AlphaPolicy | StagedPolicy):
        return "the policy is not a finite table of actions"
    if policy.model.estimated:
        return "the policy filters with a learned model, which corrects its own predictions"
    return "the policy reaches too many states to become a finite controller"


def _joined(blocks: list[Trajectories]) -> Trajectories:
    """Blocks of episodes as one."""
    columns: dict[str, Any] = {}
    for name in ("actions", "observations", "rewards", "propensities", "states", "terminated"):
        parts = [getattr(block, name) for block in blocks]
        columns[name] = None if parts[0] is None else np.concatenate(parts)
    lengths = np.concatenate([block.lengths for block in blocks])
    return Trajectories(
        action_names=blocks[0].action_names,
        observation_names=blocks[0].observation_names,
        offsets=np.append(0, np.cumsum(lengths)),
        **columns,
    )
