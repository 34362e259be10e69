"""Planning online with a generative simulator: particles as the filter, scenarios as the search.

The state of the policy is a set of N states of the simulator, sampled from the belief. After an
action and an observation, particles are drawn at random and simulated, and those that give the same
observation are the next set; it is filled up by drawing from them again. If `ROUNDS` times N draws
give none, particles are perturbed (if the simulator can do that, see `simulator`) and tried once
more; if that fails too, the update raises `ImpossibleObservation`.

Actions depend on the seed and the history alone, unless the effort is given in seconds: every step
has random numbers of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.arguments import real, whole
from rpsr.errors import ImpossibleObservation, InputError
from rpsr.io.records import Floats
from rpsr.models.as_model import wrong_type
from rpsr.models.labels import Label
from rpsr.planning.online.effort import Effort
from rpsr.planning.online.history import extended
from rpsr.planning.online.scenario_tree import ScenarioTree
from rpsr.planning.online.simulator import Batches, States, is_simulator, same
from rpsr.planning.value.policies import Policy
from rpsr.showing import Shown, counted

PARTICLES, SCENARIOS = 2000, 200  # by default
ROUNDS = 20  # of N draws each, for one observation
START, FILTER, SEARCH = 0, 1, 2  # different random numbers


class ParticlePolicy(Shown, Policy):
    """A policy that searches a tree of sampled scenarios at every step (DESPOT).

    simulator: an object with `actions`, `discount`, `start` and `step` (see `Simulator`).
    seconds, trials: the effort per step; 1 second by default.
    particles: how many states represent the belief. scenarios: how many of them are searched.
    regularization: the penalty per action of the policy tree, in units of reward.
    seed: of all random numbers.
    """

    def __init__(
        self,
        simulator: Any,
        *,
        seconds: float | None = None,
        trials: int | None = None,
        particles: int = PARTICLES,
        scenarios: int = SCENARIOS,
        regularization: float = 0.0,
        seed: int = 0,
    ) -> None:
        if not is_simulator(simulator):
            members = "an object with actions, discount, start and step"
            raise wrong_type(simulator, "simulator", members)
        penalty = real(regularization)
        if penalty is None or not 0 <= penalty < np.inf:
            raise InputError(
                f"regularization: read {regularization!r}, expected a finite number from 0"
            )
        self.effort = Effort.of(seconds, trials)
        self.simulator, self._batches = simulator, Batches(simulator)
        self.particles = whole("particles", particles, 1)
        self.scenarios = whole("scenarios", scenarios, 1)
        self.regularization, self.seed = penalty, whole("seed", seed, 0)
        self.reset()

    def reset(self) -> None:
        """Return to the start, with new particles."""
        self._digest, self._action = 0, None
        self._states: States = self._batches.start(self._rng(START), self.particles)
        self._bounds: tuple[float, float] | None = None

    def _rng(self, purpose: int) -> np.random.Generator:
        """The random numbers of the current step."""
        return np.random.default_rng([self.seed, self._digest, purpose])

    @property
    def memory(self) -> Floats:
        """A number that tells histories apart, (1,)."""
        return np.array([float(self._digest)])

    @property
    def states(self) -> States:
        """The particles: states of the simulator, in an array; none after the end of an episode."""
        return self._states

    @property
    def estimates(self) -> tuple[float, float] | None:
        """The lower and upper bound of the last search, in its scenarios; None before a search."""
        return self._bounds

    def act(self) -> int:
        """The action for the current particles, after a search on the first call."""
        if self._action is None:
            self._action = self._searched() if len(self._states) else 0
        return self._action

    def _searched(self) -> int:
        clock, rng = self.effort.clock(), self._rng(SEARCH)
        count = len(self._states)
        few = self.scenarios <= count
        chosen = rng.choice(count, self.scenarios, replace=not few)
        tree = ScenarioTree(self._batches, self._states[chosen], rng, self.regularization, clock)
        tree.search(self.effort)
        self._bounds = tree.root.lower, tree.root.upper
        return tree.best()

    def update(self, action: Label, observation: Any) -> None:
        """Keep the particles that agree with an observation.

        Where actions and observations have names, a string is a name, an integer an index.
        """
        a, seen = self._batches.action(action), self._batches.observation(observation)
        if len(self._states):  # else the episode is over
            self._states = self._agreeing(a, seen)
        self._digest, self._action = extended(self._digest, a, seen), None

    def _agreeing(self, action: int, observation: Any) -> States:
        """N states after an action and an observation; none if the episode ends with it."""
        rng, kept, count, ended = self._rng(FILTER), list[States](), 0, False
        states: States = self._states
        for draw in range(ROUNDS + 1):
            if draw == ROUNDS:  # reinvigoration
                near = None if count else self._batches.perturbed(self._states, rng)
                if near is None:
                    break
                states = near
            elif draw > 0:
                states = self._states[rng.integers(len(self._states), size=self.particles)]
            after, seen, _, done = self._batches.step(states, action, rng)
            agree = same(seen, observation)
            ended = ended or bool((agree & done).any())
            kept.append(after[agree & ~done])
            count += len(kept[-1])
            if count >= self.particles or (ended and count == 0):
                break
        if count == 0 and not ended:
            names = self._batches.observations
            seen = observation if names is None else names[observation]
            raise ImpossibleObservation(
                f"none of {self.particles} particles gave observation {seen!r} after action "
                f"{self._batches.actions[action]!r}; use more particles (option `particles`), or "
                "give the simulator a method `perturb(state, rng)` that returns a nearby state"
            )
        agreeing = np.concatenate(kept)[: self.particles]
        if 0 < count < self.particles:
            agreeing = agreeing[rng.integers(count, size=self.particles)]
        return agreeing

    def title(self) -> str:
        """A description in one line."""
        return f"policy that searches {self.scenarios} scenarios for {self.effort}"

    def facts(self) -> list[tuple[str, str]]:
        """The simulator and the particles."""
        kind = type(self.simulator).__name__
        left = counted(len(self._states), "particle")
        return [("simulator", kind), ("state", left)]
