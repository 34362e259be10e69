"""Ends of tasks as something that is seen.

Whoever is at work on a task sees that it goes on. A model that is not told believes a little more
at every step that it is over, and expects less and less. In some logs it is told: what is seen last
is seen at no other time. In others an episode terminates at an observation like any other. There
`seen_ends` puts the observation `END` in the place of the last of every episode that terminated,
for every estimator alike: the end is then a state that shows itself, and what was seen as it came
tells nothing that matters any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rpsr.io.records import Bools
from rpsr.learning.learned import Logs, chunks_of
from rpsr.logs import Trajectories
from rpsr.models.renaming import END


def seen_ends(logs: Logs) -> Logs:
    """The log with its ends seen; as it is, where none ends or ends show themselves already."""
    if isinstance(logs, Trajectories):
        return with_end(logs) if _hidden([logs]) else logs
    within: Any = logs  # a part of a log, or a resampled one, of which the ends may be seen
    while not isinstance(within, SeenEnds) and hasattr(within, "logs"):
        within = within.logs
    return logs if isinstance(within, SeenEnds) else SeenEnds(logs)


@dataclass(frozen=True)
class SeenEnds:
    """A stream with its ends seen, which takes one more pass, the first."""

    logs: Logs

    @cached_property
    def _hidden(self) -> bool:
        return _hidden(self.logs)

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks of the log."""
        return (with_end(log) if self._hidden else log for log in chunks_of(self.logs))


def final_sights(log: Trajectories) -> Bools:
    """(O,): the observations at ends, where they are seen at no other time; else none."""
    ((at_ends, elsewhere),) = _sights([log])
    return at_ends & ~(at_ends & elsewhere).any()


def _hidden(logs: Logs) -> bool:
    """Whether a task ended at an observation that is seen at other times, too."""
    return any((at_ends & elsewhere).any() for at_ends, elsewhere in _sights(logs))


def _sights(logs: Logs) -> Iterator[tuple[Bools, Bools]]:
    """Which observations were seen at ends, (O,), and elsewhere, (O,), up to each chunk."""
    at_ends = elsewhere = np.zeros(1, dtype=np.bool_)
    for log in chunks_of(logs):
        size = len(log.observation_names)
        last = np.bincount(log.observations[log.ends], minlength=size)
        at_ends = at_ends | (last > 0)
        elsewhere = elsewhere | (np.bincount(log.observations, minlength=size) > last)
        yield at_ends, elsewhere


def with_end(log: Trajectories) -> Trajectories:
    """The log with `END` among its observations, one more if need be, seen where a task ended."""
    names = log.observation_names
    names = names if END in names else (*names, END)
    seen = log.observations.copy()
    seen[log.ends] = names.index(END)
    return replace(log, observations=seen, observation_names=names)


def as_seen_by(log: Trajectories, observations: tuple[str, ...]) -> Trajectories:
    """The log as a model over these observations sees it: with `END`, if the model knows it."""
    told = with_end(log) if END in observations else log
    return told if told.observation_names == observations else log
