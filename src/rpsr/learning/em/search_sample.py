"""The outline of a log in partitions that EM needs at first: one pass, and a sample for the search.

The search over sizes needs many passes. It uses a sample of about `SAMPLE` steps: of every k
consecutive episodes, one is drawn at random, once. With episodes of 20 steps, 10,000 of them are
held out, so that the rule of one standard error tells sizes apart that differ by one hundredth
of the standard deviation of an episode's log-likelihood; more episodes would cost time, and would
rarely change the size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rpsr.io.records import Ints
from rpsr.learning.em.conversion import Facts
from rpsr.learning.em.fitted_pomdp import Encoded
from rpsr.learning.em.reward_families import (
    MOST_VALUES,
    RewardFamily,
    RewardRanges,
    family_of,
)
from rpsr.learning.ends import seen_at_ends
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs.parts import Chunks, few_long, stretches
from rpsr.logs.trajectories import Trajectories

SAMPLE = 2**20  # steps, for the search


@dataclass
class Outline:
    """The facts about all partitions that EM needs before it begins.

    The mean and the squares are floats, so outlines must be added in a fixed order.
    """

    counts: Counter[tuple[int, float]] = field(default_factory=Counter[tuple[int, float]])
    at_ends: Ints | int = 0
    elsewhere: Ints | int = 0
    episodes: int = 0
    longest: int = 0
    steps: int = 0
    range: tuple[float, float] = (np.inf, -np.inf)  # of rewards
    mean: float = 0.0
    squares: float = 0.0  # around the mean
    ranges: RewardRanges = field(default_factory=RewardRanges)
    parts: tuple[Chunks, ...] = ()

    @staticmethod
    def of_log(log: PreparedLog) -> Outline:
        """The outline of a stream, of which a few long recordings are cut into stretches."""
        survey = log.survey()
        survey.check(None)
        cut = few_long(survey.episodes, survey.longest_episode)
        outline = log.summed(_outlined if not cut else _outlined_cut, None, "counting rewards")
        outline.parts = tuple(map(_Cut, log.partitions)) if cut else log.partitions
        return outline

    def __add__(self, other: Outline) -> Outline:
        return Outline(
            self.counts + other.counts,
            self.at_ends + other.at_ends,
            self.elsewhere + other.elsewhere,
            self.episodes + other.episodes,
            max(self.longest, other.longest),
            self.steps + other.steps,
            (min(self.range[0], other.range[0]), max(self.range[1], other.range[1])),
            *_joint(
                (self.steps, self.mean, self.squares), (other.steps, other.mean, other.squares)
            ),
            self.ranges + other.ranges,
        )

    def add(self, log: Trajectories) -> None:
        """Count one more chunk; of rewards, no more than enough to know that there are many."""
        last, others = seen_at_ends(log)
        self.at_ends, self.elsewhere = self.at_ends + last, self.elsewhere + others
        self.episodes += log.episodes
        self.longest = max(self.longest, int(log.lengths.max(initial=0)))
        rewards = log.rewards_for("learning")
        if not len(rewards):
            return
        here = float(rewards.mean())
        added = len(rewards), here, float(((rewards - here) ** 2).sum())
        self.mean, self.squares = _joint(self._spread, added)
        self.steps += len(rewards)
        self.ranges = self.ranges + RewardRanges.of(log)
        low, high = self.range
        self.range = float(rewards.min(initial=low)), float(rewards.max(initial=high))
        if len(self.values) <= MOST_VALUES:
            values, places = np.unique(rewards, return_inverse=True)
            if len(values) > MOST_VALUES:
                values = values[: MOST_VALUES + 1]
            cells = np.bincount(
                log.actions * (int(places.max(initial=0)) + 1) + places.reshape(-1),
                minlength=len(log.action_names) * (int(places.max(initial=0)) + 1),
            ).reshape(len(log.action_names), -1)
            for action, place in np.argwhere(cells[:, : len(values)]).tolist():
                self.counts[action, float(values[place])] += int(cells[action, place])

    @property
    def _spread(self) -> tuple[int, float, float]:
        return self.steps, self.mean, self.squares

    def family(self, asked: RewardFamily | Literal["auto"]) -> RewardFamily:
        """The family of rewards."""
        return family_of(asked, len(self.values), self.ranges)

    def fits(self, asked: RewardFamily | Literal["auto"]) -> bool:
        """Whether partitions can be fitted one by one."""
        return self.family(asked) == "gaussian" or len(self.values) <= MOST_VALUES

    @property
    def values(self) -> list[float]:
        """The distinct rewards, in order."""
        return sorted({reward for _, reward in self.counts})

    def facts(self, sample: Trajectories) -> Facts:
        """The facts of the whole log."""
        last, others = np.asarray(self.at_ends) > 0, np.asarray(self.elsewhere) > 0
        final = last & ~(last & others).any()
        return Facts(
            sample.action_names,
            sample.observation_names,
            self.range,
            self.longest,
            (self.episodes, self.steps),
            tuple(np.array(sample.observation_names, dtype=object)[final].tolist()),
        )

    def encoded(self, sample: Trajectories, family: RewardFamily) -> Encoded:
        """A sample with the payoffs, ends and scale of the whole log."""
        last, others = np.asarray(self.at_ends) > 0, np.asarray(self.elsewhere) > 0
        known = replace(
            Encoded.of(sample, family),
            scale=self.squares / self.steps or 1.0,
            centre=self.mean,
            ends=bool(last.any()),
            final=last & ~(last & others).any(),
        )
        if family == "gaussian":
            return known
        payoffs = sorted(self.counts)
        return replace(
            known,
            payoff_actions=np.array([action for action, _ in payoffs], dtype=np.int64),
            payoff_rewards=np.array([reward for _, reward in payoffs]),
        )


def _joint(one: tuple[int, float, float], other: tuple[int, float, float]) -> tuple[float, float]:
    """The mean and the squares around it of two sets of numbers: how many, mean and squares."""
    (n, mean, squares), (m, added, more) = one, other
    apart, total = added - mean, max(n + m, 1)
    return mean + apart * m / total, squares + more + apart**2 * n * m / total


def _outlined(chunks: Chunks) -> Outline:
    outline = Outline()
    for chunk in chunks:
        outline.add(chunk)
    return outline


def _outlined_cut(chunks: Chunks) -> Outline:
    return _outlined(map(stretches, chunks))


@dataclass(frozen=True)
class _Cut:
    """Chunks whose long episodes are cut into stretches."""

    chunks: Chunks

    def __iter__(self) -> Iterator[Trajectories]:
        return map(stretches, self.chunks)


def sampled(outline: Outline, seed: int) -> Iterator[Trajectories]:
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
