"""Logs with many symbols: rare observations are pooled, so that moments fit into memory.

Moments count tests after every interaction, so their size grows with the square of the number of
interactions. With more than `INTERACTIONS`, only the most frequent observations are kept, and all
others count as one. In the learned model this one is divided again: given an action, the
probability of the pool goes to its members in proportion to their counts. So predictions of a
pooled observation know its frequency, but not what it tells about the state beyond its pool.

Observations at ends of tasks are never pooled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.chunks import WithEnds
from rpsr.learning.moments.survey import Survey
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs.parts import Chunks, partitions
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators

INTERACTIONS = 1024  # without pooling
POOL = "other"
SOME = 5  # names in a message


@dataclass(frozen=True)
class Pooled:
    """Chunks whose observations are replaced by those of a pooling; iteration can be repeated."""

    chunks: Chunks
    names: tuple[str, ...]
    codes: Ints  # (O,): the new index of each observation

    def partitions(self) -> list[Chunks]:
        """The parts of the chunks."""
        return [replace(self, chunks=part) for part in partitions(self.chunks)]

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks."""
        for log in self.chunks:
            seen = self.codes[log.observations]
            yield replace(log, observations=seen, observation_names=self.names)


@dataclass(frozen=True, eq=False)
class Pooling:
    """Which observations of a log are pooled.

    names (O,): of all observations; kept: the indices of those that are not pooled, ascending.
    shares (A, O): the probability of a pooled observation, given an action and that the observation
    is pooled.
    """

    names: tuple[str, ...]
    kept: Ints
    shares: Floats

    @staticmethod
    def of(survey: Survey) -> Pooling | None:
        """The pooling of a surveyed log; None if it has few interactions."""
        n_actions, names = len(survey.action_names), survey.observation_names
        if n_actions * len(names) <= INTERACTIONS:
            return None
        final = survey.final.reshape(n_actions, -1)
        counts = survey.counts(1).reshape(n_actions, -1) + final  # (A, O)
        often = counts.sum(axis=0)
        order = np.argsort(-often, kind="stable")
        at_ends = np.flatnonzero(final.sum(axis=0))
        common = order[: max(INTERACTIONS // n_actions - 1 - len(at_ends), 1)]
        kept = np.union1d(common, at_ends)
        if len(kept) + 1 >= len(names):
            return None
        return Pooling(names, kept, _shares(counts, kept))

    @property
    def pooled(self) -> tuple[str, ...]:
        """The names of the pooled observations."""
        rest = np.setdiff1d(np.arange(len(self.names)), self.kept)
        return tuple(self.names[o] for o in rest.tolist())

    @property
    def codes(self) -> Ints:
        """(O,): the index of each observation among the kept ones, with the pool at the end."""
        codes = np.full(len(self.names), len(self.kept), dtype=np.int64)
        codes[self.kept] = np.arange(len(self.kept))
        return codes

    @property
    def note(self) -> str:
        """A line that says which observations were pooled."""
        pooled = self.pooled
        more = f" and {len(pooled) - SOME} more" if len(pooled) > SOME else ""
        return (
            f"{len(pooled)} of {len(self.names)} observations are rare and were pooled, because "
            f"moments of all would not fit into memory: {', '.join(pooled[:SOME])}{more}"
        )

    def log(self, log: PreparedLog) -> PreparedLog:
        """The log with pooled observations."""
        pool = POOL
        while pool in self.names:
            pool += "'"
        names = (*(self.names[o] for o in self.kept.tolist()), pool)
        if not log.streamed:
            return PreparedLog(tuple(Pooled(tuple(log), names, self.codes)), executor=log.executor)
        prepared = WithEnds(log.recorded, log.hidden_ends)
        return PreparedLog(Pooled(prepared, names, self.codes), executor=log.executor)

    def expanded(self, model: LinearModel) -> LinearModel:
        """A model of the pooled log as one of all observations."""
        n_actions, _, n = model.operators.shape
        arrays = np.zeros((n_actions, len(self.names), n, n))
        pool = len(self.kept)
        for a in range(n_actions):
            for place, o in enumerate(self.kept.tolist()):
                arrays[a, o] = model.operators.matrix(a, place)
            rest = self.codes == pool
            arrays[a, rest] = self.shares[a, rest, None, None] * model.operators.matrix(a, pool)
        return replace(
            model,
            operators=DenseOperators(arrays),
            observations=self.names,
            provenance=model.provenance | {"pooled": list(self.pooled)},
        )


def _shares(counts: Ints, kept: Ints) -> Floats:
    """The shares (A, O) of pooled observations; of an action that saw none, those of all."""
    rare = counts.astype(np.float64)
    rare[:, kept] = 0.0
    overall = rare.sum(axis=0)
    if not overall.sum():  # they occur only where a recording ends
        overall = np.ones(counts.shape[1])
        overall[kept] = 0.0
    rare[rare.sum(axis=1) == 0] = overall
    return rare / rare.sum(axis=1, keepdims=True)
