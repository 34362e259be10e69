"""Encoded partitions of a log, kept by the process that reads them again at every iteration of EM.

To read and encode a partition takes about as long as an iteration of EM with a dozen states. So a
process keeps what it has encoded, in few bytes per step: up to `IN_MEMORY` bytes in memory, and up
to `ON_DISK` bytes in a temporary file without a name, which is gone when the process is. The rest,
or everything if the disk is full, is read again from the log.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import IO, Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from rpsr.learning.em.fitted_pomdp import Encoded, with_payoffs

IN_MEMORY = 2**28
ON_DISK = 2**34
_KINDS = (np.uint8, np.uint16, np.int32, np.int64)
_LOCK = RLock()
_SPARE = 2**30  # bytes of the disk that are left to others


@dataclass(frozen=True)
class _Chunk:
    """An encoded chunk in few bytes: steps (L, 3), offsets (E + 1,) and terminated (E,).

    With Gaussian rewards, steps (L, 2) have no payoffs, and the rewards (L,) come last.
    """

    arrays: tuple[NDArray[Any], ...]

    @staticmethod
    def of(log: Encoded) -> _Chunk:
        continuous = log.family == "gaussian"
        steps = log.steps[:, :2] if continuous else log.steps
        largest = int(steps.max(initial=0))
        kind = next(k for k in _KINDS if largest <= np.iinfo(k).max)
        offsets = log.offsets.astype(np.int32 if len(log.steps) < 2**31 else np.int64)
        rewards = (log.payoff_rewards,) * continuous
        return _Chunk((steps.astype(kind), offsets, log.terminated, *rewards))

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def encoded(self, outline: Encoded) -> Encoded:
        steps, offsets, terminated, *rewards = self.arrays
        steps = steps.astype(np.int64)
        log = replace(outline, offsets=offsets.astype(np.int64), terminated=terminated)
        return with_payoffs(log, steps, rewards[0]) if rewards else replace(log, steps=steps)


@dataclass(frozen=True)
class _Place:
    """Where the arrays of a chunk are in the file, and their types and shapes."""

    position: int
    forms: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]


@dataclass(eq=False)
class _Store:
    """The parts of one log that this process keeps; several threads may use it."""

    parts: dict[int, list[_Chunk | _Place]] = field(default_factory=dict)
    held: int = 0
    written: int = 0
    full: bool = False  # the disk
    file: IO[bytes] | None = None
    lock: RLock = field(default_factory=RLock)

    def keep(self, chunk: _Chunk) -> _Chunk | _Place | None:
        """Keep a chunk in memory or on disk; None if there is room in neither."""
        with self.lock:
            if self.held + chunk.bytes <= IN_MEMORY:
                self.held += chunk.bytes
                return chunk
            return self._written(chunk)

    def give_back(self, places: list[_Chunk | _Place]) -> None:
        """Forget chunks of a partition that is not kept as a whole; the file keeps its size."""
        with self.lock:
            self.held -= sum(place.bytes for place in places if isinstance(place, _Chunk))

    def _written(self, chunk: _Chunk) -> _Place | None:
        """Where a chunk was written; None, and no later one is, if the disk has no room for it."""
        if self.full or self.written + chunk.bytes > ON_DISK:
            self.full = True
            return None
        try:
            if shutil.disk_usage(tempfile.gettempdir()).free < chunk.bytes + _SPARE:
                raise OSError
            if self.file is None:
                self.file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the store)
                finalize(self, self.file.close)
            position = self.file.seek(self.written)
            for array in chunk.arrays:
                self.file.write(np.ascontiguousarray(array).tobytes())
            self.file.flush()
        except OSError:  # the disk is full
            self.full = True
            return None
        self.written += chunk.bytes
        return _Place(position, tuple((array.dtype, array.shape) for array in chunk.arrays))

    def read(self, kept: _Chunk | _Place) -> _Chunk:
        """A chunk that was kept."""
        if isinstance(kept, _Chunk):
            return kept
        with self.lock:
            assert self.file is not None, "a place is in it"
            self.file.seek(kept.position)
            arrays = [
                np.frombuffer(self.file.read(kind.itemsize * int(np.prod(shape))), kind)
                for kind, shape in kept.forms
            ]
        shapes = [shape for _, shape in kept.forms]
        return _Chunk(tuple(a.reshape(shape) for a, shape in zip(arrays, shapes, strict=True)))


_stores: dict[str, _Store] = {}  # by the name of the log: the latest only


def _store_of(name: str) -> _Store:
    """The store of a log; those of other logs are dropped, once nobody reads them any more."""
    with _LOCK:
        if name not in _stores:
            _stores.clear()
            _stores[name] = _Store()
        return _stores[name]


def kept(name: str, number: int, chunks: Iterable[Encoded], outline: Encoded) -> Iterator[Encoded]:
    """The encoded chunks of a partition, from the store if they are kept there, else from the log.

    name: of the log. number: of the partition.
    """
    store = _store_of(name)
    if number in store.parts:
        for place in store.parts[number]:
            yield store.read(place).encoded(outline)
        return
    places, whole = list[_Chunk | _Place](), True
    for chunk in chunks:
        place = store.keep(_Chunk.of(chunk)) if whole else None
        if place is None:
            whole = False
        else:
            places.append(place)
        yield chunk
    if whole:
        store.parts[number] = places
    else:
        store.give_back(places)
