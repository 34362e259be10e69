"""How often a log shows each of its names, and which of them look like slips of the pen.

A name is what a log says it is, so a misspelling is one more action or observation, in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil, log10

import numpy as np

from rpsr.io.records import Ints
from rpsr.logs.trajectories import Trajectories

SELDOM, SHARE = 3, 1e-4  # fewer times, and of the steps: a slip, not a rare event
OFTEN = 100  # times that a name is seen that others are taken for misspellings of
MOST = 20  # names that are seen seldom: if there are more, that is how this log is
SHORT = 4  # letters: shorter names may well differ in one
DIGITS = 4


@dataclass(eq=False)
class Census:
    """Counts of names (A,), (O,) and the range of rewards, over all chunks that were taken in.

    ended: how many episodes terminated.
    """

    names: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    counts: dict[str, Ints] = field(default_factory=dict[str, Ints])
    low: float = np.inf
    high: float = -np.inf
    ended: int = 0

    def watch(self, chunks: Iterable[Trajectories]) -> Iterator[Trajectories]:
        """The chunks of a log as they are, each counted as it goes by."""
        for chunk in chunks:
            self.add(chunk)
            yield chunk

    def add(self, log: Trajectories) -> None:
        """Take in more of the log."""
        columns = {
            "action": (log.actions, log.action_names),
            "observation": (log.observations, log.observation_names),
        }
        for kind, (column, names) in columns.items():
            self.names[kind] = names
            self.counts[kind] = self.counts.get(kind, 0) + np.bincount(column, minlength=len(names))
        self.ended += len(log.ends)
        if log.rewards is not None:
            self.low = float(log.rewards.min(initial=self.low))
            self.high = float(log.rewards.max(initial=self.high))

    @property
    def digits(self) -> int:
        """How many digits show differences of rewards that are small beside the rewards."""
        largest, extent = max(abs(self.low), abs(self.high)), self.high - self.low
        if not 0 < extent < largest < np.inf:
            return DIGITS
        return min(DIGITS + ceil(log10(largest / extent)), 17)

    def slips(self) -> list[str]:
        """Names that are probably misspellings of others, a line each."""
        return [line for kind, counts in self.counts.items() for line in self._slips(kind, counts)]

    def _slips(self, kind: str, counts: Ints) -> Iterator[str]:
        names = self.names[kind]
        rare = np.flatnonzero((counts > 0) & (counts < min(SELDOM, SHARE * counts.sum())))
        often = np.flatnonzero(counts >= OFTEN)
        for each in rare if len(rare) <= MOST else ():
            meant = [name for name in often if _alike(names[each], names[name])]
            if meant:
                most = max(meant, key=lambda name: counts[name])
                times = "once" if counts[each] == 1 else "twice"
                yield (
                    f"{kind} {names[each]!r} was seen {times}: a misspelling of {names[most]!r} "
                    f"({counts[most]:,} times)?"
                )


def _alike(name: str, other: str) -> bool:
    """Whether names differ in case, in spaces, or in one edit of a letter, two swapped included."""
    if "".join(name.split()).casefold() == "".join(other.split()).casefold():
        return True
    begin = _common(name, other)
    rest, others = name[begin:], other[begin:]
    end = _common(rest[::-1], others[::-1])
    rest, others = rest[: len(rest) - end], others[: len(others) - end]
    one = max(len(rest), len(others)) == 1 or (len(rest) == 2 and rest == others[::-1])
    numbers = any(letter.isdigit() for letter in rest + others)  # o1 and o12 are two names
    return one and not numbers and max(len(name), len(other)) >= SHORT


def _common(name: str, other: str) -> int:
    """How many letters two names begin with in common."""
    pairs = enumerate(zip(name, other, strict=False))
    return next((i for i, (one, two) in pairs if one != two), min(len(name), len(other)))
