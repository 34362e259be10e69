"""EM on a log that does not fit into memory: expected counts are sums over its partitions.

Every iteration reads the partitions, here or on the workers of an executor, with the current
parameters, and adds up their expected counts in a tree (see `tree_sums`). So the result does not
depend on who reads them. Each process keeps what it has encoded (see `partition_cache`).

The search over sizes uses a sample (`search_sample`). The chosen candidates are fitted to all of
the log.

Of continuous rewards, the search has bins (`bins`), and partitions add up the sums that Gaussians
need (`gaussian`). A log with many different rewards that are to be categories is read into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import Literal
from uuid import uuid4

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats, Ints
from rpsr.learning.em.bins import Bins, unbinned
from rpsr.learning.em.conversion import Facts
from rpsr.learning.em.devices import Device
from rpsr.learning.em.fitted_pomdp import (
    Encoded,
    FittedPOMDP,
    Log,
    counts_of,
    likelihoods,
    with_payoffs,
)
from rpsr.learning.em.gaussian import densities, reward_sums
from rpsr.learning.em.partition_cache import kept
from rpsr.learning.em.reward_families import RewardFamily
from rpsr.learning.em.search_sample import Outline, sampled
from rpsr.learning.parameter_checks import check_range
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs.parts import Chunks
from rpsr.logs.trajectories import Trajectories, join
from rpsr.showing import counted
from rpsr.tree_sums import summed

Expected = tuple[list[Floats], float]  # counts, and the log-likelihood
BLOCK = 2**16  # steps whose densities of continuous rewards are in memory


@dataclass(frozen=True)
class Views:
    """A log as EM needs it: a part in memory for the search, and all of it for the final fits.

    sample: the episodes of the search, and `encoded` the same. whole: all episodes. facts: of all.
    """

    sample: Trajectories
    encoded: Encoded
    whole: Encoded | Partitioned
    facts: Facts

    @staticmethod
    def of(
        log: PreparedLog,
        family: RewardFamily | Literal["auto"],
        seed: int,
        device: Device = "cpu",
    ) -> Views:
        """The views of a log; one in memory is its own sample, and may be on another device."""
        outline = Outline.of_log(log) if log.streamed else None
        if outline is None or not outline.fits(family):
            episodes = log.episodes
            _check_size(episodes.episodes, episodes.steps)
            encoded = replace(Encoded.of(episodes, family), device=device)
            return Views(episodes, encoded, encoded, Facts.of(episodes))
        _check_size(outline.episodes, outline.steps)
        check_range(*outline.range)
        sample = join(list(sampled(outline, seed)))
        known = outline.encoded(sample, outline.family(family))
        empty = known.select(np.arange(0))
        if known.family == "gaussian":
            empty = with_payoffs(empty, empty.steps[:, :2], np.zeros(0))
        else:
            known = encode(empty, sample)
        whole = Partitioned(empty, outline.parts, log.executor)
        return Views(sample, replace(known, device=device), whole, outline.facts(sample))

    def to_fit(self, start: FittedPOMDP, payoff_of: Ints) -> tuple[FittedPOMDP, Log]:
        """A POMDP of the search and the log to fit it to; `payoff_of` (J,) is that of `binned`."""
        if isinstance(self.whole, Partitioned) and self.whole.continuous:
            return start, replace(self.whole, bins=Bins.of(self.encoded, payoff_of))
        return unbinned(start, payoff_of), self.whole

    def likelihoods(self, fitted: FittedPOMDP) -> Floats:
        """The log-likelihood of each episode of the sample, (N,)."""
        if not isinstance(self.whole, Partitioned) or not self.whole.continuous:
            return likelihoods(fitted, self.encoded)
        logs = map(self.whole.encode, _blocks(self.sample))
        return np.concatenate([likelihoods(_paid(fitted, log), log) for log in logs])

    def selected(self, episodes: Ints) -> Log:
        """Some episodes of the sample, possibly several times, for iterations of EM."""
        if not isinstance(self.whole, Partitioned) or not self.whole.continuous:
            return self.encoded.select(episodes)
        return Partitioned(self.whole.outline, ((self.sample.select(episodes),),))


def _check_size(episodes: int, steps: int) -> None:
    """Refuse a log that is too small to hold out episodes."""
    if episodes < 2 or steps == 0:
        read = f"read {counted(episodes, 'episode')} with {counted(steps, 'step')} in all"
        raise DataError(f"{read}, expected at least 2 episodes and a step")


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A log in partitions, for iterations of EM; see `Encoded`.

    outline: an `Encoded` without episodes, whose payoffs are those of all partitions.
    """

    outline: Encoded
    parts: tuple[Chunks, ...]
    executor: Executor | None = None
    name: str = field(default_factory=lambda: uuid4().hex)  # of what processes keep
    bins: Bins | None = None  # of continuous rewards, in parameters of the search

    @property
    def continuous(self) -> bool:
        """Whether rewards are Gaussian: every step of a partition is a payoff."""
        return self.outline.family == "gaussian"

    def expected(self, parameters: FittedPOMDP) -> Expected:
        """Expected counts and the log-likelihood, as `counts_of` returns them.

        Of continuous rewards, `reward_sums` in place of the counts of payoffs.
        """
        work = _Expectation(self.outline, parameters, self.name, self.bins)
        items = list(enumerate(self.parts))
        return summed(work, items, self.executor, _added, None, "partition")

    def encode(self, log: Trajectories) -> Encoded:
        """Some episodes of the log, as integers."""
        return encode(self.outline, log)


def encode(outline: Encoded, log: Trajectories) -> Encoded:
    """A chunk of a log with the payoffs of an outline; continuous rewards are its own payoffs."""
    outline = replace(outline, offsets=log.offsets.copy(), terminated=log.terminated.copy())
    if outline.family == "gaussian":
        interactions = np.stack([log.actions, log.observations], axis=1)
        return with_payoffs(
            outline, interactions, np.asarray(log.rewards_for("learning"), np.float64)
        )
    values = np.unique(outline.payoff_rewards)
    numbers = np.zeros((outline.sizes[0], len(values)), dtype=np.int64)
    places = np.searchsorted(values, outline.payoff_rewards)
    numbers[outline.payoff_actions, places] = np.arange(len(places))
    payoffs = numbers[log.actions, np.searchsorted(values, log.rewards_for("learning"))]
    return replace(outline, steps=np.stack([log.actions, log.observations, payoffs], axis=1))


def _blocks(log: Trajectories) -> Iterator[Trajectories]:
    """A log in parts of whole episodes, of about `BLOCK` steps."""
    ends = np.searchsorted(log.offsets, np.arange(BLOCK, log.steps, BLOCK))
    for episodes in np.split(np.arange(log.episodes), np.unique(ends)):
        if len(episodes):
            yield log.select(episodes)


def _paid(parameters: FittedPOMDP, log: Encoded, bins: Bins | None = None) -> FittedPOMDP:
    """The parameters with the likelihoods of the continuous rewards of a log."""
    if parameters.variances is None:
        assert bins is not None, "a search has bins"
        return bins.unbinned(parameters, log)
    payoffs, log_scale = densities(log, parameters.means, parameters.variances)
    return replace(parameters, payoffs=payoffs, log_scale=log_scale)


@dataclass(frozen=True)
class _Expectation:
    """The expected counts of one partition, and its log-likelihood."""

    outline: Encoded
    parameters: FittedPOMDP
    name: str
    bins: Bins | None

    def __call__(self, item: tuple[int, Chunks]) -> Expected:
        number, part = item
        pieces = chain.from_iterable(map(_blocks, part)) if self.continuous else part
        chunks = (encode(self.outline, piece) for piece in pieces)
        counts = map(self._expected, kept(self.name, number, chunks, self.outline))
        return reduce(_added, counts)

    def _expected(self, log: Encoded) -> Expected:
        paid = _paid(self.parameters, log, self.bins) if self.continuous else self.parameters
        counts, likelihood = counts_of(paid, log)
        if self.continuous:
            counts[3] = reward_sums(log, counts[3])
        return counts, likelihood

    @property
    def continuous(self) -> bool:
        return self.outline.family == "gaussian"


def _added(one: Expected, other: Expected) -> Expected:
    return [a + b for a, b in zip(one[0], other[0], strict=True)], one[1] + other[1]
