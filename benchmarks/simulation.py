"""Simulation beside a loop that goes step by step, as the paper's authors' code does.

    python benchmarks/simulation.py [SOURCES...] [--rl-rpsr PATH] [--episodes N]

Episodes of 100 steps on one core, process time, kernels compiled before. First, steps a second of
the compiled simulation by controllers and by the uniform policy. Then milliseconds an episode that
follows the R-PSR's value function, simulated, and valued by the R-PSR's rewards: by `rpsr`, by a
plain Python loop over the same model, and, given the path of a checkout of rl-rpsr (which needs gym
and yaml installed), by the authors' own `simulate` and `model_rewards` on the same matrices and
value function, their logging turned off. Mean returns are shown because they must agree but for
noise (the slow ones run fewer episodes); the authors' loop leaves out the last step.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core for everyone

import importlib.util
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from arguments import arguments

from rpsr import POMDP
from rpsr.evaluation import StochasticController, returns, simulate
from rpsr.logs import Trajectories
from rpsr.planning import (
    AlphaPolicy,
    Solution,
    ValueIteration,
    extract_controller,
    solve,
    to_beliefs,
)
from rpsr.predictive import rpsr
from rpsr.reproduce import PAPER_DOMAINS, paper_domain
from rpsr.sources import load_pomdp

STEPS = 100


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = job()
    return time.process_time() - began, result


def throughput(sources: list[str], episodes: int) -> None:
    print(f"{'domain':14} {'nodes':>5} {'controller steps/s':>20} {'uniform steps/s':>18}")
    for source in sources:
        pomdp = open_source(source)
        controller = extract_controller(solve(pomdp, ValueIteration()))
        line = f"{pomdp.name:14} {len(controller):5}"
        for policy, width in ((controller, 20), (StochasticController.stationary(pomdp), 18)):
            run = partial(simulate, pomdp, policy, steps=STEPS, rewards=True, ends=False)
            run(episodes=1)  # compiles
            seconds = min(timed(partial(run, episodes=episodes))[0] for _ in range(3))
            line += f" {episodes * STEPS / seconds:{width},.0f}"
        print(line, flush=True)


def open_source(source: str) -> POMDP:
    return paper_domain(source) if source in PAPER_DOMAINS else load_pomdp(source)


class Loop:
    """Episodes one by one and step by step, in plain Python."""

    def __init__(self, solution: Solution) -> None:
        self.model, self.solution = solution.model, solution

    def simulate(self, episodes: int) -> list[list[tuple[int, int]]]:
        rng, model, plan = np.random.default_rng(0), self.model, self.solution
        done = []
        for _ in range(episodes):
            history, state = [], model.start
            for _ in range(STEPS):
                action = int(plan.actions[(plan.vectors @ state).argmax()])
                chances = np.clip(model.predict(state, action), 0, 1)
                observation = int(rng.multinomial(1, chances / chances.sum()).argmax())
                history.append((action, observation))
                state = model.update(state, action, observation)
            done.append(history)
        return done

    def value(self, histories: list[list[tuple[int, int]]]) -> float:
        model, total = self.model, 0.0
        for history in histories:
            state, weight = model.start, 1.0
            for action, observation in history:
                total += weight * model.expected_rewards(state)[action]
                weight *= model.discount
                state = model.update(state, action, observation)
        return total / len(histories)


class Ours:
    """`rpsr`: on the POMDP's hidden states, valued by the R-PSR, as `experiment` does it."""

    def __init__(self, pomdp: POMDP, solution: Solution) -> None:
        self.pomdp, self.model = pomdp, solution.model
        self.policy = AlphaPolicy.of(solution)
        self.value(self.simulate(1))  # compiles

    def simulate(self, episodes: int) -> Trajectories:
        return simulate(self.pomdp, self.policy, episodes=episodes, steps=STEPS, ends=False)

    def value(self, log: Trajectories) -> float:
        return float(returns(log, self.model).mean())


class Authors:
    """The authors' simulation of an R-PSR by its own value function."""

    def __init__(self, path: Path) -> None:
        sys.path.insert(0, str(path))
        # Its loader of files and its beliefs are not used here, so the package behind them need
        # not exist.
        loader, belief = ModuleType("gym_pomdps"), ModuleType("gym_pomdps.belief")
        loader.POMDP = object  # pyright: ignore
        for name in ("belief_step", "expected_obs", "expected_reward"):
            setattr(belief, name, None)
        sys.modules.setdefault("gym_pomdps", loader)
        sys.modules.setdefault("gym_pomdps.belief", belief)
        logging.disable(logging.CRITICAL)
        script = next((path / "scripts").glob("*eval.py"))
        spec = importlib.util.spec_from_file_location("authors_evaluation", script)
        assert spec is not None
        assert spec.loader is not None
        self.script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.script)

    def follow(self, pomdp: POMDP, solution: Solution) -> Authors:
        """Make their model, with their own search, and their policy of a value function."""
        from rl_rpsr import rpsr as theirs  # pyright: ignore
        from rl_rpsr.policy import ModelPolicy  # pyright: ignore
        from rl_rpsr.util import SearchType  # pyright: ignore
        from rl_rpsr.value_function import Alpha, ValueFunction  # pyright: ignore

        process = self.process(pomdp)
        core = theirs.searcher_factory(SearchType.BFS).search(process)
        self.model = theirs.RPSR_Model(process, core)
        # The value function in their coordinates, from its values at the states.
        vectors = to_beliefs(solution.model, solution.vectors) @ self.model.V_PI.T
        pairs = zip(solution.actions.tolist(), vectors, strict=True)
        value_function = ValueFunction([Alpha(a, vector) for a, vector in pairs], horizon=0)
        self.env = theirs.RPSR(self.model, seed=0)
        self.policy = ModelPolicy(self.model, value_function)
        return self

    def simulate(self, episodes: int) -> list[Any]:
        return [self.script.simulate(self.env, self.policy, STEPS) for _ in range(episodes)]

    def value(self, done: list[Any]) -> float:
        total = 0.0
        for one in done:
            rewards = self.script.model_rewards(self.model, one.actions, one.observations)
            total += self.script.return_(rewards, self.model.discount)
        return total / len(done)

    def process(self, pomdp: POMDP) -> Hashable:
        """A model of the shape they expect."""
        return Hashable(
            G=np.array([[process.toarray().T for process in row] for row in pomdp.D]),
            R=np.array(pomdp.R),
            start=np.array(pomdp.start),
            discount=pomdp.discount,
            actions=pomdp.actions,
            observations=pomdp.observations,
            state_space=SimpleNamespace(n=len(pomdp.states)),
            action_space=SimpleNamespace(n=len(pomdp.actions)),
            observation_space=SimpleNamespace(n=len(pomdp.observations)),
        )


class Hashable(SimpleNamespace):
    """A namespace that can be a key of the authors' caches."""

    __hash__ = object.__hash__


def compare(sources: list[str], authors: Authors | None, episodes: int) -> None:
    head = f"{'domain':14} {'by':8} {'simulate ms':>12} {'ratio':>8} {'value ms':>9} {'ratio':>8}"
    print(f"\n{head}  mean")
    for source in sources:
        pomdp = open_source(source)
        # Greedy without looking ahead, as the authors are, must be so everywhere: no faces.
        solution = solve(rpsr(pomdp), ValueIteration(faces=False))
        few = max(1, episodes // 50)
        rivals: list[tuple[str, Any, int]] = [("rpsr", Ours(pomdp, solution), episodes)]
        rivals.append(("loop", Loop(solution), few))
        if authors is not None:
            rivals.append(("authors", authors.follow(pomdp, solution), few))
        base: list[float] = []
        for name, rival, count in rivals:
            spent, log = timed(partial(rival.simulate, count))
            valued, mean = timed(partial(rival.value, log))
            times = [1000 * spent / count, 1000 * valued / count]
            base = base or times
            ratios = [mine / least for mine, least in zip(times, base, strict=True)]
            cells = f"{times[0]:12.4f} {ratios[0]:8.1f} {times[1]:9.4f} {ratios[1]:8.1f}"
            print(f"{pomdp.name:14} {name:8} {cells}  {mean:.3f}", flush=True)


def main() -> None:
    parser = arguments(__doc__, "--rl-rpsr")
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--episodes", type=int, default=1000)
    options = parser.parse_args()
    sources = options.sources or list(PAPER_DOMAINS)
    throughput(sources, 10 * options.episodes)
    authors = None if options.rl_rpsr is None else Authors(options.rl_rpsr)
    compare(sources, authors, options.episodes)


if __name__ == "__main__":
    main()
