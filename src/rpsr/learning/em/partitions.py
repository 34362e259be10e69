"""EM on a log that does not fit into memory: expected counts are sums over its partitions.

Every iteration reads the partitions, here or on the workers of an executor, with the current
parameters, and adds up their expected counts in order. So the result does not depend on who reads
them. Each process keeps the partitions that it has encoded (see `kept_partitions`).

The search over sizes needs many passes. It uses a sample of about `SAMPLE` steps: of every k
consecutive episodes, one is drawn at random, once. With episodes of 20 steps, 10,000 of them are
held out, so that the rule of one standard error tells sizes apart that differ by one hundredth
of the standard deviation of an episode's log-likelihood; more episodes would cost time, and would
rarely change the size. The chosen candidates are fitted to everything.

Rewards must be categories. A log with continuous rewards, or with more than `MOST_VALUES` different
ones, is read into memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import uuid4

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats, Ints
from rpsr.learning.em.conversion import Facts
from rpsr.learning.em.devices import Device
from rpsr.learning.em.kept_partitions import kept
from rpsr.learning.em.steps import (
    FEW_VALUES,
    Encoded,
    FittedPOMDP,
    RewardFamily,
    counts_of,
)
from rpsr.learning.ends import seen_at_ends
from rpsr.learning.hyperparameters import check_range
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs.parts import Chunks, few_long, stretches
from rpsr.logs.trajectories import Trajectories, join
from rpsr.parallel import in_order
from rpsr.showing import counted

SAMPLE = 2**20  # steps, for the search
MOST_VALUES = 256  # distinct rewards of a log that is read in partitions


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
        outline = _Outline.of_log(log) if log.streamed else None
        if outline is None or not outline.fits(family):
            episodes = log.episodes
            _check_size(episodes.episodes, episodes.steps)
            encoded = replace(Encoded.of(episodes, family), device=device)
            return Views(episodes, encoded, encoded, Facts.of(episodes))
        _check_size(outline.episodes, outline.steps)
        check_range(outline.low, outline.high)
        sample = join(list(_sampled(outline, seed)))
        known = outline.encoded(sample, "categorical" if family == "auto" else family)
        whole = Partitioned(known.select(np.arange(0)), outline.parts, log.executor)
        encoded = replace(whole.encode(sample), device=device)
        return Views(sample, encoded, whole, outline.facts(sample))


def _check_size(episodes: int, steps: int) -> None:
    """Refuse a log that is too small to hold out episodes."""
    if episodes < 2 or steps == 0:
        raise DataError(f"read {counted(episodes, 'episode')}, expected at least 2, with steps")


@dataclass
class _Outline:
    """What EM must know of all partitions before it begins; sums of integers."""

    counts: Counter[tuple[int, float]] = field(default_factory=Counter[tuple[int, float]])
    at_ends: Ints | int = 0
    elsewhere: Ints | int = 0
    episodes: int = 0
    longest: int = 0
    parts: tuple[Chunks, ...] = ()

    @staticmethod
    def of_log(log: PreparedLog) -> _Outline:
        """The outline of a stream, of which a few long recordings are cut into stretches."""
        survey = log.survey()
        survey.check(None)
        cut = few_long(survey.episodes, survey.longest_episode)
        found = log.summed(_outlined if not cut else _outlined_cut, None, "counting rewards")
        found.parts = tuple(map(_Cut, log.partitions)) if cut else log.partitions
        return found

    def __add__(self, other: _Outline) -> _Outline:
        return _Outline(
            self.counts + other.counts,
            self.at_ends + other.at_ends,
            self.elsewhere + other.elsewhere,
            self.episodes + other.episodes,
            max(self.longest, other.longest),
        )

    def add(self, log: Trajectories) -> None:
        """Count one more chunk; of rewards, no more than enough to know that there are many."""
        last, others = seen_at_ends(log)
        self.at_ends, self.elsewhere = self.at_ends + last, self.elsewhere + others
        self.episodes += log.episodes
        self.longest = max(self.longest, int(log.lengths.max(initial=0)))
        if len(self.values) <= MOST_VALUES:
            rewards = log.rewards_for("learning")
            values, places = np.unique(rewards, return_inverse=True)
            if len(values) > MOST_VALUES:
                values = values[: MOST_VALUES + 1]
            cells = np.bincount(
                log.actions * (int(places.max(initial=0)) + 1) + places.reshape(-1),
                minlength=len(log.action_names) * (int(places.max(initial=0)) + 1),
            ).reshape(len(log.action_names), -1)
            for action, place in np.argwhere(cells[:, : len(values)]).tolist():
                self.counts[action, float(values[place])] += int(cells[action, place])

    def fits(self, family: RewardFamily | Literal["auto"]) -> bool:
        """Whether rewards are categories, as partitions need them."""
        most = FEW_VALUES if family == "auto" else MOST_VALUES
        return family != "gaussian" and len(self.values) <= most

    @property
    def values(self) -> list[float]:
        """The distinct rewards, in order."""
        return sorted({reward for _, reward in self.counts})

    @property
    def low(self) -> float:
        """The smallest reward."""
        return min(self.values, default=0.0)

    @property
    def high(self) -> float:
        """The largest reward."""
        return max(self.values, default=0.0)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return self.counts.total()

    def facts(self, sample: Trajectories) -> Facts:
        """The facts of the whole log."""
        last, others = np.asarray(self.at_ends) > 0, np.asarray(self.elsewhere) > 0
        final = last & ~(last & others).any()
        return Facts(
            sample.action_names,
            sample.observation_names,
            (self.low, self.high),
            self.longest,
            (self.episodes, self.steps),
            tuple(np.array(sample.observation_names, dtype=object)[final].tolist()),
        )

    def encoded(self, sample: Trajectories, family: RewardFamily) -> Encoded:
        """A sample with the payoffs, ends and scale of the whole log."""
        pairs = sorted(self.counts)
        rewards = np.array([reward for _, reward in pairs])
        times = np.array([self.counts[pair] for pair in pairs], dtype=np.float64)
        mean = (times * rewards).sum() / times.sum()
        last, others = np.asarray(self.at_ends) > 0, np.asarray(self.elsewhere) > 0
        return replace(
            Encoded.of(sample, "categorical"),
            payoff_actions=np.array([action for action, _ in pairs], dtype=np.int64),
            payoff_rewards=rewards,
            family=family,
            scale=float((times * (rewards - mean) ** 2).sum() / times.sum()) or 1.0,
            ends=bool(last.any()),
            final=last & ~(last & others).any(),
        )


def _outlined(chunks: Chunks) -> _Outline:
    found = _Outline()
    for chunk in chunks:
        found.add(chunk)
    return found


def _outlined_cut(chunks: Chunks) -> _Outline:
    return _outlined(map(stretches, chunks))


@dataclass(frozen=True)
class _Cut:
    """Chunks whose long episodes are cut into stretches."""

    chunks: Chunks

    def __iter__(self) -> Iterator[Trajectories]:
        return map(stretches, self.chunks)


def _sampled(outline: _Outline, seed: int) -> Iterator[Trajectories]:
    """One episode of every k, drawn at random, so that about `SAMPLE` steps are left."""
    every = max(1, -(-outline.steps // SAMPLE))
    blocks = -(-outline.episodes // every)
    rng = np.random.default_rng([seed, 0])
    drawn = np.arange(blocks) * every + rng.integers(every, size=blocks)
    drawn = drawn[drawn < outline.episodes]
    first = 0
    for part in outline.parts:
        for chunk in part:
            mine = drawn[(drawn >= first) & (drawn < first + chunk.episodes)]
            yield chunk.select(mine - first)
            first += chunk.episodes


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A log in partitions, for iterations of EM; see `Encoded`.

    outline: an `Encoded` without episodes, whose payoffs are those of all partitions.
    """

    outline: Encoded
    parts: tuple[Chunks, ...]
    executor: Executor | None = None
    name: str = field(default_factory=lambda: uuid4().hex)  # of what processes keep

    def expected(self, parameters: FittedPOMDP) -> tuple[list[Floats], float]:
        """Expected counts and the log-likelihood, as `counts_of` returns them."""
        work = _Expectation(self.outline, parameters, self.name)
        items = list(enumerate(self.parts))
        counts: list[Floats] = []
        total = 0.0
        for part, likelihood in in_order(work, items, self.executor, None, "partition"):
            counts = [a + b for a, b in zip(counts, part, strict=True)] if counts else part
            total += likelihood
        return counts, total

    def encode(self, log: Trajectories) -> Encoded:
        """Some episodes of the log, as integers."""
        return encode(self.outline, log)


def encode(outline: Encoded, log: Trajectories) -> Encoded:
    """A chunk of a log with the payoffs of an outline."""
    values = np.unique(outline.payoff_rewards)
    numbers = np.zeros((outline.sizes[0], len(values)), dtype=np.int64)
    places = np.searchsorted(values, outline.payoff_rewards)
    numbers[outline.payoff_actions, places] = np.arange(len(places))
    payoffs = numbers[log.actions, np.searchsorted(values, log.rewards_for("learning"))]
    return replace(
        outline,
        steps=np.stack([log.actions, log.observations, payoffs], axis=1),
        offsets=log.offsets.copy(),
        terminated=log.terminated.copy(),
    )


@dataclass(frozen=True)
class _Expectation:
    """The expected counts of one partition, and its log-likelihood."""

    outline: Encoded
    parameters: FittedPOMDP
    name: str

    def __call__(self, item: tuple[int, Chunks]) -> tuple[list[Floats], float]:
        number, part = item
        counts: list[Floats] = []
        total = 0.0
        chunks = (encode(self.outline, chunk) for chunk in part)
        for log in kept(self.name, number, chunks, self.outline):
            found, likelihood = counts_of(self.parameters, log)
            counts = [a + b for a, b in zip(counts, found, strict=True)] if counts else found
            total += likelihood
        return counts, total
