"""One block of episodes: compiled, in parallel, or with one policy object step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rpsr.errors import ImpossibleObservation, ModelError
from rpsr.evaluation.greedy import Greedy, greedy_actions
from rpsr.evaluation.kernels import episodes as compiled_episodes
from rpsr.evaluation.stochastic import StochasticController, cumulative
from rpsr.evaluation.systems import FilteredStates, HiddenStates
from rpsr.io.records import Bools, Floats, Ints
from rpsr.logs.trajectories import Trajectories
from rpsr.models.filter_batch import filter_batch
from rpsr.models.labels import Index
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.value.policies import AlphaPolicy, Policy, StagedPolicy


@dataclass(frozen=True)
class Log:
    """The steps of B episodes of up to T steps: tables (B, T) and lengths (B,)."""

    actions: Ints
    observations: Ints
    rewards: Floats
    propensities: Floats
    states: Ints
    lengths: Ints
    terminated: Bools

    def trajectories(
        self, system: POMDP | LinearModel, rewards: bool, states: bool, propensities: bool
    ) -> Trajectories:
        """The episodes, with the requested columns."""
        taken = np.arange(self.actions.shape[1]) < self.lengths[:, None]
        return Trajectories(
            action_names=system.actions,
            observation_names=system.observations,
            actions=self.actions[taken],
            observations=self.observations[taken],
            offsets=np.append(0, np.cumsum(self.lengths)),
            terminated=self.terminated,
            rewards=self.rewards[taken] if rewards else None,
            propensities=self.propensities[taken] if propensities else None,
            states=self.states[taken] if states else None,
        )


@dataclass(frozen=True, eq=False)
class Job:
    """A policy on a system; final (O,): the observations that end an episode."""

    system: POMDP | LinearModel
    sampler: HiddenStates | FilteredStates
    policy: StochasticController | Policy
    steps: int
    final: Bools

    @property
    def serial(self) -> bool:
        """Whether the policy is a single object, which only one thread may use."""
        # Those that act by a value function filter the states of all episodes together.
        return not isinstance(self.policy, StochasticController | AlphaPolicy | StagedPolicy)

    def run(self, rng: np.random.Generator, batch: int) -> Log:
        """One block of episodes."""
        policy = self.policy
        if isinstance(policy, StochasticController):
            if isinstance(self.sampler, HiddenStates):
                return self._compiled(rng, batch, policy, self.sampler)
            return self._together(rng, batch, _Table(policy))
        if isinstance(policy, AlphaPolicy | StagedPolicy):
            return self._together(rng, batch, _Filtered(policy))
        asked = Asked(policy, len(self.system.actions))
        logs = [vars(self._together(rng, 1, asked)) for _ in range(batch)]
        return Log(**{name: np.concatenate([log[name] for log in logs]) for name in logs[0]})

    def _compiled(
        self, rng: np.random.Generator, batch: int, table: StochasticController, at: HiddenStates
    ) -> Log:
        log = np.zeros((batch, self.steps, 5), dtype=np.int64)
        lengths = compiled_episodes(
            rng,
            at.outcomes,
            self.final,
            table.cumulative,
            table.successors,
            table.first,
            log,
        )
        if lengths.min() < 0:
            episode = int(lengths.argmin())
            raise self._lost(*log[episode, -lengths[episode] - 1, 1:3].tolist())
        outcomes, actions, observations, states, nodes = np.moveaxis(log, 2, 0)
        last = observations[np.arange(batch), lengths - 1]
        return Log(
            actions,
            observations,
            at.rewards[outcomes],
            table.probabilities[nodes, actions],
            states,
            lengths,
            self.final[last],
        )

    def _together(self, rng: np.random.Generator, batch: int, follower: _Follower) -> Log:
        """B episodes side by side, step by step."""
        shape = (batch, self.steps)
        log = Log(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape, dtype=np.int64),
            np.full(batch, self.steps, dtype=np.int64),
            np.zeros(batch, dtype=np.bool_),
        )
        follower.begin(batch)
        at: Any = self.sampler.begin(rng, batch)
        for step in range(self.steps):
            actions, log.propensities[:, step] = follower.act(rng, step)
            log.actions[:, step] = actions
            if isinstance(self.sampler, HiddenStates):
                log.states[:, step] = at
            at, seen, log.rewards[:, step] = self.sampler.step(rng, at, actions)
            log.observations[:, step] = seen
            ended = self.final[seen] & ~log.terminated
            log.lengths[ended] = step + 1
            log.terminated[ended] = True
            if log.terminated.all() or step + 1 == self.steps:
                break
            taken_in = follower.update(actions, seen) | log.terminated
            if not taken_in.all():
                lost = int(taken_in.argmin())
                raise self._lost(int(actions[lost]), int(seen[lost]))
        return log

    def _lost(self, action: int, observation: int) -> ImpossibleObservation:
        names = self.system.actions[action], self.system.observations[observation]
        return ImpossibleObservation(
            f"the policy cannot continue: its model rules out observation {names[1]!r} after "
            f"action {names[0]!r}, but the simulated system produced it"
        )


class _Follower(Protocol):
    """A policy followed in B episodes at once."""

    def begin(self, batch: int) -> None:
        """Start B episodes."""
        ...

    def act(self, rng: np.random.Generator, step: int) -> tuple[Ints, Floats]:
        """The action of each episode and its probability, (B,) and (B,)."""
        ...

    def update(self, actions: Ints, observations: Ints) -> Bools:
        """Update with actions and observations; whether each was possible, (B,)."""
        ...


class _Table:
    """A controller: one node per episode."""

    def __init__(self, table: StochasticController) -> None:
        self._table = table

    def begin(self, batch: int) -> None:
        self._nodes = np.full(batch, self._table.first, dtype=np.int64)

    def act(self, rng: np.random.Generator, step: int) -> tuple[Ints, Floats]:
        drawn = rng.random(len(self._nodes))
        actions = (self._table.cumulative[self._nodes] <= drawn[:, None]).sum(axis=1)
        return actions, self._table.probabilities[self._nodes, actions]

    def update(self, actions: Ints, observations: Ints) -> Bools:
        following = self._table.successors[self._nodes, actions, observations]
        self._nodes = np.maximum(following, 0)
        return following >= 0


class _Filtered:
    """A greedy policy: one filtered state of its model per episode."""

    def __init__(self, policy: Greedy) -> None:
        self._policy = policy

    def begin(self, batch: int) -> None:
        self._batch = filter_batch(self._policy.model, batch)

    def act(self, rng: np.random.Generator, step: int) -> tuple[Ints, Floats]:
        states = self._batch.states
        return greedy_actions(self._policy, states, step), np.ones(len(states))

    def update(self, actions: Ints, observations: Ints) -> Bools:
        return self._batch.update(actions, observations)


class Asked:
    """Any other policy, one episode at a time."""

    def __init__(self, policy: Policy, n_actions: int) -> None:
        self.policy = policy
        self._n_actions = n_actions

    def begin(self, batch: int) -> None:
        """Reset the policy."""
        assert batch == 1, "a policy object runs one episode at a time"
        self.policy.reset()

    def act(self, rng: np.random.Generator, step: int) -> tuple[Ints, Floats]:
        """Its action and the probability of it, (1,) and (1,)."""
        probabilities = getattr(self.policy, "probabilities", None)
        if probabilities is None:
            action, chance = self.policy.act(), 1.0
            if not 0 <= action < self._n_actions:
                raise ModelError(
                    f"the policy chose action {action}, expected the index of an action, 0 to "
                    f"{self._n_actions - 1}"
                )
            return np.array([action], dtype=np.int64), np.array([chance])
        row = np.asarray(probabilities(), dtype=np.float64)
        sound = row.shape == (self._n_actions,) and (row >= 0).all()
        if not sound or not abs(row.sum() - 1) <= 1e-9:
            raise ModelError(
                f"the policy's probabilities: read {row}, "
                f"expected {self._n_actions} numbers that are not negative and sum to 1"
            )
        action = int((cumulative(row[None])[0] <= rng.random()).sum())
        return np.array([action]), row[[action]]

    def update(self, actions: Ints, observations: Ints) -> Bools:
        """Tell it the observation of its episode."""
        self.policy.update(int(actions[0]), Index(observations[0]))
        return np.ones(1, dtype=np.bool_)
