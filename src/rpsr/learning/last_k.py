"""The baseline that people try first: a table over the last k pairs of action and observation.

A context is the tuple of the last k pairs, an episode's beginning standing for one. Contexts are
states that a log shows, so the table is a linear model whose states are corners of a simplex:
counts give P(o | c, a), mixed with those of the context without its oldest pair as if that had been
seen `backoff` times; what follows (c, a, o) is the longest context that the log knows. `reachable`
plans on it exactly, as on any finite problem. Held-out episodes choose k.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.learning.diagnostics import diagnose
from rpsr.logs.trajectories import Trajectories
from rpsr.models.domain import Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators

Context = tuple[int, ...]  # pairs a * O + o, oldest first
WORTH = 0.005  # nats a step that a longer context must bring
START = -1  # the beginning of an episode, as if it were a pair


@dataclass(kw_only=True, eq=False)
class LastKTable:
    """A model whose state is the last k pairs. `fit` gives `model_`, `k_` and `rank_`.

    k: how many pairs, or None for the best by held-out episodes among 1, ..., longest.
    backoff: how much a shorter context counts. holdout: the share of episodes kept for choosing.
    """

    discount: float | None = None
    k: int | None = None
    longest: int = 3
    backoff: float = 1.0
    holdout: float = 0.2
    seed: int = 0
    model_: LinearModel = field(init=False, repr=False)
    k_: int = field(init=False, repr=False)
    rank_: int = field(init=False, repr=False)

    def fit(self, trajectories: Trajectories) -> LastKTable:
        """Count contexts; needs rewards."""
        if trajectories.rewards is None or trajectories.steps == 0:
            raise InputError("these episodes have no rewards, expected them for learning")
        order = np.random.default_rng(self.seed).permutation(trajectories.episodes)
        kept_out = max(1, round(self.holdout * len(order)))
        self.held_out_ = np.sort(order[:kept_out])
        self.k_ = self.k or self._best(trajectories, np.sort(order[kept_out:]))
        self.model_ = self.table(trajectories, self.k_)
        self.rank_ = self.model_.dimension
        return self

    def _best(self, trajectories: Trajectories, training: np.ndarray) -> int:
        if len(training) == 0:
            return 1
        log, held_out = trajectories.select(training), trajectories.select(self.held_out_)
        scores: list[float] = []
        for k in range(1, self.longest + 1):
            found = diagnose(self.table(log, k), held_out)
            spread = max(found.reward_rmse or 0.0, 1e-3 * (found.reward_std or 0.0), 1e-12)
            scores.append(found.loglik - float(np.log(spread)))
        return 1 + int(np.argmax(np.array(scores) >= max(scores) - WORTH))

    def table(self, log: Trajectories, k: int) -> LinearModel:
        """The model of the last k pairs."""
        assert log.rewards is not None
        n_actions, n_observations = len(log.action_names), len(log.observation_names)
        counts: dict[Context, Floats] = defaultdict(lambda: np.zeros((n_actions, n_observations)))
        sums: dict[Context, Floats] = defaultdict(lambda: np.zeros(n_actions))
        pairs = log.actions * n_observations + log.observations
        for first, last in zip(log.offsets[:-1].tolist(), log.offsets[1:].tolist(), strict=True):
            past: Context = (START,)
            steps = zip(
                log.actions[first:last].tolist(),
                log.observations[first:last].tolist(),
                log.rewards[first:last].tolist(),
                pairs[first:last].tolist(),
                strict=True,
            )
            for action, observation, reward, pair in steps:
                for begin in range(len(past) + 1):
                    counts[past[begin:]][action, observation] += 1
                    sums[past[begin:]][action] += reward
                past = (*past, pair)[-k:]
            _ = counts[past], sums[past]  # an episode's last context has been reached as well
        return self._model(log, counts, sums, k)

    def _model(
        self, log: Trajectories, counts: dict[Context, Floats], sums: dict[Context, Floats], k: int
    ) -> LinearModel:
        n_actions, n_observations = len(log.action_names), len(log.observation_names)
        contexts = sorted(counts, key=lambda context: (len(context), context))
        number = {context: i for i, context in enumerate(contexts)}
        n = len(contexts)
        chances = np.zeros((n, n_actions, n_observations))
        rewards = np.zeros((n, n_actions))
        for i, context in enumerate(contexts):  # the shorter ones come first
            weight = self.backoff
            if context:
                back = number[_known(context[1:], number)]
                prior, mean = chances[back], rewards[back]
            else:
                prior = np.full((n_actions, n_observations), 1.0 / n_observations)
                mean = np.full(
                    n_actions, float(log.rewards.mean()) if log.rewards is not None else 0
                )
            seen = counts[context].sum(axis=1)
            chances[i] = (counts[context] + weight * prior) / (seen + weight)[:, None]
            rewards[i] = (sums[context] + weight * mean) / (seen + weight)
        process = tuple(
            tuple(
                _moves(contexts, number, chances[:, a, o], a * n_observations + o, k)
                for o in range(n_observations)
            )
            for a in range(n_actions)
        )
        return LinearModel(
            kind="last-k",
            name=f"last {k} pairs",
            actions=log.action_names,
            observations=log.observation_names,
            start=np.eye(n)[number[(START,)]],
            operators=SparseOperators(process),
            normalizer=np.ones(n),
            rewards=rewards,
            discount=self.discount,
            domain=Simplex(n),
            provenance={
                "estimator": "last-k",
                "k": k,
                "episodes": log.episodes,
                "steps": log.steps,
            },
        )


def _known(context: Context, number: dict[Context, int]) -> Context:
    """The longest end of a context that has a number; the empty one always has."""
    while context and context not in number:
        context = context[1:]
    return context


def _moves(
    contexts: list[Context], number: dict[Context, int], chances: Floats, pair: int, k: int
) -> sp.csr_array:
    """From each context to what one more pair makes of it, (n, n)."""
    n = len(contexts)
    targets = [number[_known((*context, pair)[-k:], number)] for context in contexts]
    return sp.csr_array((chances, (np.arange(n), np.array(targets))), shape=(n, n))
