"""How often each name and each length of episodes occurs in a log; names that look misspelled.

Any name in a log is valid, so a misspelling silently adds an action or observation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil, log10

import numpy as np

from rpsr.io.records import Ints
from rpsr.logs.parts import few_long
from rpsr.logs.trajectories import Trajectories

SELDOM, SHARE = 3, 1e-4  # a name below this count and this share of steps may be a misspelling
OFTEN = 100  # occurrences of a name, before others count as its misspellings
MOST = 20  # rare names; a log with more simply has many rare names
SHORT = 4  # letters: shorter names often differ in one letter only
DIGITS = 4


@dataclass(eq=False)
class Census:
    """Counts of names (A,), (O,) and the range of rewards, over all chunks added.

    ended: the number of episodes that terminated. lengths: how many episodes have each number of
    steps, without empty ones; last: the number of steps of the last of these
    episodes.
    """

    names: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    counts: dict[str, Ints] = field(default_factory=dict[str, Ints])
    low: float = np.inf
    high: float = -np.inf
    ended: int = 0
    lengths: Counter[int] = field(default_factory=Counter[int])
    last: int = 0

    def watch(self, chunks: Iterable[Trajectories]) -> Iterator[Trajectories]:
        """The chunks of a log, unchanged, each counted as it passes."""
        for chunk in chunks:
            self.add(chunk)
            yield chunk

    def add(self, log: Trajectories) -> None:
        """Count one more part of the log."""
        columns = {
            "action": (log.actions, log.action_names),
            "observation": (log.observations, log.observation_names),
        }
        for kind, (column, names) in columns.items():
            self.names[kind] = names
            self.counts[kind] = self.counts.get(kind, 0) + np.bincount(column, minlength=len(names))
        self.ended += len(log.ends)
        lengths = log.lengths[log.lengths > 0].tolist()
        self.lengths.update(lengths)
        self.last = lengths[-1] if lengths else self.last
        if log.rewards is not None:
            self.low = float(log.rewards.min(initial=self.low))
            self.high = float(log.rewards.max(initial=self.high))

    @staticmethod
    def of(chunks: Iterable[Trajectories]) -> Census:
        """The census of a log, chunk by chunk."""
        census = Census()
        for chunk in chunks:
            census.add(chunk)
        return census

    def __add__(self, other: Census) -> Census:
        """The census of a log and of the part that follows it."""
        counts = {kind: self.counts[kind] + other.counts[kind] for kind in self.counts}
        return Census(
            self.names,
            counts,
            min(self.low, other.low),
            max(self.high, other.high),
            self.ended + other.ended,
            self.lengths + other.lengths,
            other.last if other.lengths else self.last,
        )

    @property
    def digits(self) -> int:
        """The number of digits that resolve small differences between large rewards."""
        largest, extent = max(abs(self.low), abs(self.high)), self.high - self.low
        if not 0 < extent < largest < np.inf:
            return DIGITS
        return min(DIGITS + ceil(log10(largest / extent)), 17)

    @property
    def equal_rewards(self) -> bool:
        """Whether all steps have the same reward; the end of a task counts as a reward of 0."""
        return self.low == self.high and (self.low == 0 or not self.ended)

    @property
    def only_action(self) -> str:
        """The name of the only action that was taken; empty if there are several."""
        taken = np.flatnonzero(self.counts["action"])
        return self.names["action"][taken[0]] if len(taken) == 1 else ""

    @property
    def cut_off(self) -> int:
        """The number of episodes that did not terminate."""
        return self.lengths.total() - self.ended

    @property
    def mean_length(self) -> float:
        """The mean number of steps, without empty episodes."""
        steps = sum(length * times for length, times in self.lengths.items())
        return steps / max(self.lengths.total(), 1)

    @property
    def unmarked_ends(self) -> str:
        """A line if tasks may have ended without a mark in the log; else empty.

        That is: no episode terminated, and some are shorter than the longest one. One short episode
        at the end of the log does not count, since a recording may stop at any step; neither do a
        few long recordings.
        """
        episodes, longest = self.lengths.total(), max(self.lengths, default=0)
        short = episodes - self.lengths[longest]
        if self.ended or few_long(episodes, longest) or short <= (self.last < longest):
            return ""
        return (
            f"{short:,} of {episodes:,} episodes are shorter than the longest ({longest:,} steps), "
            "but no episode is marked as terminated; if the task ended in these episodes, mark "
            "their ends (`terminated`): otherwise the model predicts that the task continues, and "
            "the plan's value is wrong"
        )

    def slips(self) -> list[str]:
        """Messages about probable misspellings, one per name."""
        return [line for kind, counts in self.counts.items() for line in self._slips(kind, counts)]

    def _slips(self, kind: str, counts: Ints) -> Iterator[str]:
        names = self.names[kind]
        rare = np.flatnonzero((counts > 0) & (counts < min(SELDOM, SHARE * counts.sum())))
        often = np.flatnonzero(counts >= OFTEN)
        for label in rare if len(rare) <= MOST else ():
            similar = [other for other in often if _alike(names[label], names[other])]
            if similar:
                most = max(similar, key=lambda other: counts[other])
                times = "once" if counts[label] == 1 else "twice"
                yield (
                    f"{kind} {names[label]!r} occurs {times}; is this a misspelling of "
                    f"{names[most]!r} ({counts[most]:,} times)?"
                )


def _alike(name: str, other: str) -> bool:
    """Whether names differ in case, in spaces, or by one edit (a swap counts as one)."""
    if "".join(name.split()).casefold() == "".join(other.split()).casefold():
        return True
    begin = _common(name, other)
    rest, others = name[begin:], other[begin:]
    end = _common(rest[::-1], others[::-1])
    rest, others = rest[: len(rest) - end], others[: len(others) - end]
    one = max(len(rest), len(others)) == 1 or (len(rest) == 2 and rest == others[::-1])
    numbers = any(letter.isdigit() for letter in rest + others)  # o1 and o12 are different names
    return one and not numbers and max(len(name), len(other)) >= SHORT


def _common(name: str, other: str) -> int:
    """The length of the common prefix of two names."""
    pairs = enumerate(zip(name, other, strict=False))
    return next((i for i, (one, two) in pairs if one != two), min(len(name), len(other)))
