"""What estimators share: parameters by keyword, `fit`, and fitted attributes ending in `_`.

The conventions are scikit-learn's, which is not needed: `__init__` only stores, `fit` returns the
estimator, `get_params` and `set_params` do what its `clone` expects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Ints
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.ends import seen_ends
from rpsr.learning.learned import Logs, chunks_of
from rpsr.learning.parameters import Allowed, check_range
from rpsr.logs import Trajectories
from rpsr.logs.readers import join
from rpsr.models import LinearModel

FEW = 20  # episodes that say enough about how they start
HELD_OUT = 5  # every fifth episode, or the last fifth of a long one


class NotFitted(InputError, AttributeError):
    """A fitted attribute was asked for before `fit`; to `hasattr` it is not there."""


class Estimator(ABC):
    """A dataclass of keyword parameters; those not given to `__init__` are set by `fit`.

    `fit` begins with `check`, which looks up in `_ranges` what each parameter may be.
    rank_parameter: which parameter is the size of the model. streams: whether `fit` passes through
    a log in chunks, without holding it in memory.
    """

    rank_parameter: ClassVar[str] = "rank"
    streams: ClassVar[bool] = False
    _ranges: ClassVar[dict[str, Allowed]] = {}

    model_: LinearModel
    rank_: int

    @abstractmethod
    def fit(self, trajectories: Logs) -> Self:
        """Learn from a log, in memory or as a stream."""

    if not TYPE_CHECKING:  # to a type checker, fitted attributes are always there

        def __getattr__(self, name: str) -> Any:
            if name in ("model_", "rank_", *(field.name for field in fields(self))):
                raise NotFitted(f"{type(self).__name__} is not fitted: {name} is there after fit")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def check(self) -> None:
        """Refuse a parameter that is out of range, by its name."""
        for name, allowed in self._ranges.items():
            allowed.check(name, getattr(self, name))

    def judge(self, logs: Logs) -> Diagnosis:
        """How well what was learned foretells a log that it has not seen."""
        return diagnose(self.model_, logs)

    def models(self) -> list[LinearModel]:
        """All models that explain the log about equally well, the chosen one first."""
        return [self.model_]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; none of them is an estimator, so `deep` changes nothing."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # pyright: ignore

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                expected = ", ".join(known)
                raise InputError(f"no parameter is called {name!r}; expected {expected}")
            setattr(self, name, value)
        return self


def in_memory(logs: Logs) -> Trajectories:
    """A log as a whole; a stream is read once."""
    return logs if isinstance(logs, Trajectories) else join(chunks_of(logs))


def as_episodes(logs: Logs) -> Trajectories:
    """A log in memory for methods that need episodes: a few long recordings are cut into stretches.

    A stretch begins anywhere, so what is learned about the start is what holds in general. Ends are
    seen (`seen_ends`). Rewards that cannot be learned are refused.
    """
    log = in_memory(seen_ends(in_memory(logs)))
    if log.rewards is not None and log.steps:
        check_range(float(log.rewards.min()), float(log.rewards.max()))
    few = log.episodes < FEW and (log.lengths > LONG).any()
    return _stretches(log) if few else log


def beginning(logs: Logs, steps: int) -> Trajectories:
    """The first episodes of a log, at least so many steps where there are, whatever the chunks."""
    taken: list[Trajectories] = []
    for chunk in chunks_of(logs):
        fits = int(np.searchsorted(chunk.offsets, steps))  # how many episodes it takes
        taken.append(chunk.select(np.arange(min(fits, chunk.episodes))))
        steps -= chunk.steps
        if steps <= 0:
            break
    return join(taken)


LONG = 500  # steps of an episode from which on it is cut, rather than taken or left as a whole
STRETCH = LONG // 4


@dataclass(frozen=True)
class Part:
    """A log without every fifth episode, or only those; it can be gone through again.

    Episodes are counted from the log's beginning. Of a long one the last fifth is held out instead.
    """

    logs: Logs
    held_out: bool

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks of the log, each without what does not belong to the part."""
        count = 0
        for chunk in chunks_of(self.logs):
            lengths = chunk.lengths
            fifth = (count + np.arange(chunk.episodes)) % HELD_OUT == HELD_OUT - 1
            whole = np.where(fifth, lengths, 0)
            held = np.where(lengths > LONG, lengths // HELD_OUT, whole)
            part = _cut(chunk, lengths - held, self.held_out)
            yield part.select(np.flatnonzero(part.lengths))
            count += chunk.episodes


def _cut(log: Trajectories, sizes: Ints, last: bool) -> Trajectories:
    """The first so many steps of every episode, (N,), or what comes after them."""
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
    )


def pieces(logs: Logs, groups: int) -> Iterator[tuple[int, Trajectories]]:
    """A log in `groups` groups of episodes, or of stretches of long ones, for resampling.

    Which group an episode or stretch belongs to depends on its number in the log, not on chunks.
    """
    count = 0
    for chunk in chunks_of(logs):
        log = _stretches(chunk) if (chunk.lengths > LONG).any() else chunk
        number = (count + np.arange(log.episodes)) % groups
        for group in range(groups):
            yield group, log.select(np.flatnonzero(number == group))
        count += log.episodes


def _stretches(log: Trajectories) -> Trajectories:
    """The log with every long episode cut into stretches."""
    starts = [
        np.arange(first, last, STRETCH) if last - first > LONG else np.array([first])
        for first, last in pairwise(log.offsets.tolist())
    ]
    offsets = np.append(np.concatenate(starts), log.steps)
    terminated = np.zeros(len(offsets) - 1, dtype=bool)
    terminated[np.cumsum([len(part) for part in starts]) - 1] = log.terminated
    return replace(log, offsets=offsets, terminated=terminated)


FEWEST = 2  # episodes with steps in a sample, where the log has as many


@dataclass(frozen=True)
class Resampled:
    """A bootstrap sample of a log: every episode, or stretch of a long one, 0, 1, 2, ... times.

    How often is drawn from Poisson(1), so that a stream can be resampled as it is read. It can be
    gone through again, and is then the same. Of few episodes, none or one may be drawn, which is
    too few to learn from: then more are drawn, by the same generator.
    """

    logs: Logs
    seed: int

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks of the log, resampled."""
        rng = np.random.default_rng(self.seed)
        drawn, there = 0, FEWEST
        while drawn < min(there, FEWEST):
            there = 0
            for _, log in pieces(self.logs, 1):
                times = rng.poisson(1.0, log.episodes)
                sample = log.select(np.repeat(np.arange(log.episodes), times))
                drawn += np.count_nonzero(sample.lengths)
                there += np.count_nonzero(log.lengths)
                yield sample
