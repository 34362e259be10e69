"""The baseline: a table over the last k interactions.

A context c is the tuple of the last k interactions, or fewer after the start of an episode, which
counts as one. The log determines the context of every step, so the table is a linear model whose
states are the corners of a simplex. With counts n, and c' the context c without its oldest
interaction,

    P(o | c, a) = (n(c, a, o) + backoff P(o | c', a)) / (n(c, a) + backoff).

The context after (c, a, o) is its longest suffix in the log. `reachable` plans on the table
exactly, as on any finite problem. Held-out episodes choose k.

If tasks ended, one more context is the end, which has reward 0 and is never left. It follows the
observations that occur at ends only (`prepared_log` makes sure that there are such observations).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from rpsr.errors import DataError
from rpsr.io.records import Bools, Floats
from rpsr.learning.base import Estimator
from rpsr.learning.caution import Caution
from rpsr.learning.diagnostics import judged
from rpsr.learning.ends import final_names, final_observations
from rpsr.learning.estimated_models import Filtered
from rpsr.learning.findings import Findings
from rpsr.learning.parameter_checks import AUTO, DISCOUNT, FROM_0, FROM_1, POSITIVE, SHARE
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs.trajectories import Trajectories
from rpsr.models.domain import Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import Sparse, SparseOperators
from rpsr.showing import counted

Context = tuple[int, ...]  # interactions a * O + o, oldest first
WORTH = 0.005  # nats per step that a longer context must gain
START = -1  # the beginning of an episode, as if it were an interaction


@dataclass(kw_only=True, eq=False)
class LastKTable(Estimator):
    """A model whose state is the last k interactions. `fit` gives `model_` and `k_`.

    k: the number of interactions, or 'auto': the best by held-out episodes among 1, ..., longest.
    backoff: the weight of a shorter context, in counts. holdout: the share of episodes held out to
    choose k, drawn with the random seed.
    """

    rank_parameter = "k"
    compares_with_table = False  # it is that table
    _ranges: ClassVar = {
        "discount": DISCOUNT,
        "k": AUTO | FROM_1,
        "longest": FROM_1,
        "backoff": POSITIVE,
        "holdout": SHARE,
        "seed": FROM_0,
    }

    discount: float | None = None
    k: int | Literal["auto"] = "auto"
    longest: int = 3
    backoff: float = 1.0
    holdout: float = 0.2
    seed: int = 0
    k_: int = field(init=False, repr=False)
    table_: Table = field(init=False, repr=False)

    def learn(self, log: PreparedLog) -> None:
        """Count contexts in a log with rewards. A stream is read into memory."""
        episodes = log.episodes
        episodes.rewards_for("learning")
        if episodes.steps == 0:
            raise DataError("the log has no steps")
        self.k_ = self._best(episodes) if self.k == "auto" else self.k
        self.table_ = self._count(episodes, self.k_)
        self.fitted_ = self.model_ = self.table_.model(episodes, self.discount)
        self.caution_ = Caution()

    def findings(self) -> Findings:
        """The results: the length of contexts."""
        origin = f"one for each sequence of up to {counted(self.k_, 'interaction')} in the log"
        return Findings(self.rank_, origin, context=self.k_, caution=self.caution_)

    def predictions(self, log: Trajectories) -> Filtered:
        """Those of the model, looked up in the table instead of filtered."""
        log.check_names(self.model_.actions, self.model_.observations, "the model's are")
        return self.table_.predictions(log)

    def _best(self, log: Trajectories) -> int:
        order = np.random.default_rng(self.seed).permutation(log.episodes)
        kept_out = max(1, round(self.holdout * len(order)))
        training, held_out = (
            log.select(np.sort(part)) for part in np.split(order, [kept_out])[::-1]
        )
        if training.episodes == 0:
            return 1
        scores: list[float] = []
        for k in range(1, self.longest + 1):
            diagnosis = judged([(self._count(training, k).predictions(held_out), held_out)])
            scores.append(diagnosis.score)
        return 1 + int(np.argmax(np.array(scores) >= max(scores) - WORTH))

    def _count(self, log: Trajectories, k: int) -> Table:
        """The table of the last k interactions."""
        assert log.rewards is not None
        shape = (len(log.action_names), len(log.observation_names))
        final = final_observations(log)
        counts: dict[Context, Floats] = defaultdict(lambda: np.zeros(shape))
        sums: dict[Context, Floats] = defaultdict(lambda: np.zeros(shape[0]))
        for (past, action, observation), reward in zip(_walk(log, k), log.rewards, strict=True):
            for begin in range(len(past) + 1):
                counts[past[begin:]][action, observation] += 1
                sums[past[begin:]][action] += reward
            reached = (*past, action * shape[1] + observation)[-k:]
            if not final[observation]:
                _ = counts[reached], sums[reached]  # an episode's last context gets a number, too
        contexts = sorted(counts, key=lambda context: (len(context), context))
        number = {context: i for i, context in enumerate(contexts)}
        chances = np.zeros((len(contexts), *shape))
        rewards = np.zeros((len(contexts), shape[0]))
        prior, mean = np.full(shape, 1.0 / shape[1]), np.full(shape[0], log.rewards.mean())
        for i, context in enumerate(contexts):  # the shorter ones come first
            if context:
                back = number[_known(context[1:], number)]
                prior, mean = chances[back], rewards[back]
            seen = counts[context].sum(axis=1) + self.backoff
            chances[i] = (counts[context] + self.backoff * prior) / seen[:, None]
            rewards[i] = (sums[context] + self.backoff * mean) / seen
        return Table(k, number, chances, rewards, final)


@dataclass(frozen=True, eq=False)
class Table:
    """n numbered contexts, with probabilities (n, A, O) of observations, mean rewards (n, A).

    final (O,): the observations after which the task is over.
    """

    k: int
    number: dict[Context, int]
    chances: Floats
    rewards: Floats
    final: Bools

    def predictions(self, log: Trajectories) -> Filtered:
        """The table's predictions at every step of a log."""
        contexts = [self.number[_known(past, self.number)] for past, *_ in _walk(log, self.k)]
        rows = np.array(contexts, dtype=np.int64)
        nothing = np.empty((0, len(self.number)))
        return Filtered(
            self.chances[rows, log.actions], self.rewards[rows, log.actions], nothing, 0.0, 0
        )

    def model(self, log: Trajectories, discount: float | None) -> LinearModel:
        """The table as a linear model over the names of a log; the end, if any, is last."""
        contexts, n_actions, n_observations = self.chances.shape
        n = contexts + int(self.final.any())
        process = tuple(
            tuple(self._moves(a, o, n) for o in range(n_observations)) for a in range(n_actions)
        )
        return LinearModel(
            kind="last-k",
            name=f"last {counted(self.k, 'interaction')}",
            actions=log.action_names,
            observations=log.observation_names,
            start=np.bincount([self.number[(START,)]], minlength=n).astype(np.float64),
            operators=SparseOperators(process),
            normalizer=np.ones(n),
            rewards=np.pad(self.rewards, ((0, n - contexts), (0, 0))),
            discount=discount,
            domain=Simplex(n),
            estimator="LastKTable",
            final=final_names(log),
            provenance={"k": self.k, "episodes": log.episodes, "steps": log.steps},
        )

    def _moves(self, action: int, observation: int, n: int) -> Sparse:
        """The transitions of contexts by one more interaction, (n, n)."""
        contexts, _, n_observations = self.chances.shape
        interaction = action * n_observations + observation
        targets = np.full(n, n - 1)
        if not self.final[observation]:
            targets[:contexts] = [
                self.number[_known((*context, interaction)[-self.k :], self.number)]
                for context in self.number
            ]
        shown = self.final if self.final.any() else np.ones(n_observations)  # by the end
        chances = np.full(n, shown[observation] / shown.sum())
        chances[:contexts] = self.chances[:, action, observation]
        return sp.csr_array((chances, (np.arange(n), targets)), shape=(n, n))


def _walk(log: Trajectories, k: int) -> Iterator[tuple[Context, int, int]]:
    """For every step of a log: the context before it, the action, the observation."""
    n_observations = len(log.observation_names)
    steps = list(zip(log.actions.tolist(), log.observations.tolist(), strict=True))
    for first, last in pairwise(log.offsets.tolist()):
        past: Context = (START,)
        for action, observation in steps[first:last]:
            yield past, action, observation
            past = (*past, action * n_observations + observation)[-k:]


def _known(context: Context, number: dict[Context, int]) -> Context:
    """The longest end of a context that has a number; the empty one always has."""
    while context and context not in number:
        context = context[1:]
    return context
