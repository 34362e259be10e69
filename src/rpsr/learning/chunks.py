"""The chunks of a log as views: with ends, with the names of a model, in groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from rpsr.errors import DataError
from rpsr.learning.ends import as_seen_by, with_end
from rpsr.logs.parts import Chunks, partitions
from rpsr.logs.trajectories import Trajectories, join
from rpsr.models.linear import LinearModel
from rpsr.parallel import Progress

GROUPS = 32  # of partitions, or more if one has more than `LARGEST`
LARGEST = 8  # partitions in a group: seconds to count, where their sum takes tenths to be sent


@dataclass(frozen=True)
class WithEnds:
    """Chunks whose ends of tasks are observations, if they are to be."""

    chunks: Chunks
    hidden: bool

    def partitions(self) -> Sequence[Chunks]:
        """The parts of the chunks."""
        return [WithEnds(part, self.hidden) for part in partitions(self.chunks)]

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks."""
        return map(with_end, self.chunks) if self.hidden else iter(self.chunks)


@dataclass(frozen=True, eq=False)
class SeenBy:
    """Chunks with a model's names, see `rpsr.learning.ends.as_seen_by`."""

    chunks: Chunks
    model: LinearModel

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks."""
        return (as_seen_by(chunk, self.model) for chunk in self.chunks)


@dataclass(frozen=True)
class Joined:
    """The chunks of some parts, one after the other."""

    parts: Sequence[Chunks]

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks."""
        return chain.from_iterable(self.parts)


def grouped(parts: Sequence[Chunks]) -> list[Joined]:
    """Consecutive parts in groups of about the same number: `GROUPS`, or of `LARGEST` parts."""
    count = max(min(GROUPS, len(parts)), -(-len(parts) // LARGEST))
    ends = np.linspace(0, len(parts), count + 1).round().astype(int).tolist()
    return [Joined(parts[a:b]) for a, b in pairwise(ends)]


@dataclass(frozen=True)
class SameNames:
    """A stream of chunks, each checked as it passes: a log, with the names of the first one."""

    chunks: Iterable[Any]

    def partitions(self) -> Sequence[Chunks]:
        """The parts of the chunks, which have one list of names."""
        return partitions(self.chunks)

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks; a `DataError` at the first that does not belong to the log."""
        first: Trajectories | None = None
        for chunk in self.chunks:
            if not isinstance(chunk, Trajectories):
                raise no_log(chunk)
            first = first or chunk
            chunk.check_names(first.action_names, first.observation_names, "the first log's are")
            yield chunk


def no_log(given: Any) -> DataError:
    """The error for something that is not a log."""
    expected = "expected Trajectories, a stream of them, a table, or names of files"
    return DataError(f"read {type(given).__name__}, {expected}")


def whole(chunks: Chunks) -> Trajectories:
    """All chunks as one log; a single chunk is not copied."""
    kept = tuple(chunks)
    return kept[0] if len(kept) == 1 else join(kept)


def reported(chunks: Chunks, progress: Progress | None, what: str) -> Iterator[Trajectories]:
    """The chunks of a log; `progress` is called before each, with the activity and the step."""
    steps = 0
    for chunk in chunks:
        if progress is not None:
            progress(f"{what}, step {steps:,}")
        yield chunk
        steps += chunk.steps
