"""Parts of a log: held-out episodes, stretches of long recordings, groups, bootstrap samples.

All of them work on chunks, so that a log of any size can be cut without being held in memory, and
the part of an episode depends on its number in the log alone, not on the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rpsr.io.records import Ints
from rpsr.logs.trajectories import Trajectories, join

Chunks = Iterable[Trajectories]  # an iterable that can be iterated again
HELD_OUT = 5  # every fifth episode, or the last fifth of a long one
LONG = 500  # steps of an episode from which on it is cut, rather than taken or left as a whole
STRETCH = LONG // 4
FEW = 20  # episodes: enough to learn how episodes start
FEWEST = 2  # episodes with steps in a bootstrap sample, where the log has as many


def few_long(episodes: int, longest: int) -> bool:
    """Whether a log is a few long recordings, which may begin and stop anywhere."""
    return episodes < FEW and longest > LONG


def beginning(chunks: Chunks, steps: int) -> Trajectories:
    """The fewest first episodes of a log with at least `steps` steps in total, or all of it."""
    taken: list[Trajectories] = []
    for chunk in chunks:
        fits = int(np.searchsorted(chunk.offsets, steps))  # how many episodes it takes
        taken.append(chunk.select(np.arange(min(fits, chunk.episodes))))
        steps -= chunk.steps
        if steps <= 0:
            break
    return join(taken)


@dataclass(frozen=True)
class Part:
    """A log without every fifth episode, or only those; iteration can be repeated.

    Episodes are counted from the log's beginning. Of a long one the last fifth is held out instead.
    one_in: 2 for halves, instead of fifths.
    """

    chunks: Chunks
    held_out: bool
    first: int = 0  # the number of the first episode, if the chunks begin within a log
    one_in: int = HELD_OUT

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks of the log, each reduced to the steps of this part."""
        count = self.first
        for chunk in self.chunks:
            lengths = chunk.lengths
            left_out = (count + np.arange(chunk.episodes)) % self.one_in == self.one_in - 1
            whole = np.where(left_out, lengths, 0)
            held = np.where(lengths > LONG, lengths // self.one_in, whole)
            part = cut(chunk, lengths - held, self.held_out)
            yield part.select(np.flatnonzero(part.lengths))
            count += chunk.episodes


def partitions(chunks: Chunks) -> Sequence[Chunks]:
    """A log in parts of whole episodes that can be read elsewhere, in order; or all of it."""
    if isinstance(chunks, Part):
        parts = partitions(chunks.chunks)
        if len(parts) == 1:
            return [chunks]
        firsts: list[Any] = [getattr(part, "first_episode", None) for part in parts]
        if None in firsts:  # a part of a part
            sizes = [sum(chunk.episodes for chunk in part) for part in parts]
            firsts = np.cumsum([chunks.first, *sizes[:-1]]).tolist()
        numbered = zip(parts, firsts, strict=True)
        return [replace(chunks, chunks=part, first=first) for part, first in numbered]
    divided = getattr(chunks, "partitions", None)
    return [chunks] if divided is None else list(divided())


def cut(log: Trajectories, sizes: Ints, last: bool) -> Trajectories:
    """The first `sizes` (N,) steps of each of N episodes, or the rest of them."""
    lengths = log.lengths
    position = np.arange(log.steps) - np.repeat(log.offsets[:-1], lengths)
    kept = (position >= np.repeat(sizes, lengths)) == last
    whole = (sizes < lengths) if last else (sizes == lengths)

    def some(name: str) -> Any:
        column = getattr(log, name)
        return None if column is None else column[kept]

    return Trajectories(
        log.action_names,
        log.observation_names,
        some("actions"),
        some("observations"),
        np.concatenate([[0], np.cumsum(lengths - sizes if last else sizes)]),
        log.terminated & whole,
        some("rewards"),
        some("propensities"),
        some("states"),
        log.truncated & whole,
    )


def pieces(chunks: Chunks, groups: int) -> Iterator[tuple[int, Trajectories]]:
    """A log in `groups` groups of episodes, or of stretches of long ones, for resampling.

    Which group an episode or stretch belongs to depends on its number in the log, not on chunks.
    """
    count = 0
    for chunk in chunks:
        log = stretches(chunk) if (chunk.lengths > LONG).any() else chunk
        number = (count + np.arange(log.episodes)) % groups
        for group in range(groups):
            yield group, log.select(np.flatnonzero(number == group))
        count += log.episodes


def stretches(log: Trajectories) -> Trajectories:
    """The log with every long episode cut into stretches."""
    starts = [
        np.arange(first, last, STRETCH) if last - first > LONG else np.array([first])
        for first, last in pairwise(log.offsets.tolist())
    ]
    offsets = np.append(np.concatenate(starts), log.steps)
    terminated, truncated = np.zeros((2, len(offsets) - 1), dtype=bool)
    last = np.cumsum([len(part) for part in starts]) - 1
    terminated[last], truncated[last] = log.terminated, log.truncated
    return replace(log, offsets=offsets, terminated=terminated, truncated=truncated)


@dataclass(frozen=True)
class Resampled:
    """A bootstrap sample of a log: every episode, or stretch of a long one, 0, 1, 2, ... times.

    How often is drawn from Poisson(1), so that a stream can be resampled as it is read. Iterating
    again gives the same sample. Of few episodes, none or one may be drawn, which is
    too few to learn from: then more are drawn, by the same generator.
    """

    chunks: Chunks
    seed: int

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks of the log, resampled."""
        rng = np.random.default_rng(self.seed)
        drawn, there = 0, FEWEST
        while drawn < min(there, FEWEST):
            there = 0
            for _, log in pieces(self.chunks, 1):
                times = rng.poisson(1.0, log.episodes)
                sample = log.select(np.repeat(np.arange(log.episodes), times))
                drawn += np.count_nonzero(sample.lengths)
                there += np.count_nonzero(log.lengths)
                yield sample
