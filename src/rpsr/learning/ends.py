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

from rpsr.io.records import Bools, Ints
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


def final_sights(logs: Logs) -> Bools:
    """(O,): the observations at ends, where they are seen at no other time; else none."""
    at_ends, ever = _counts(logs)
    final = at_ends > 0
    return final & bool((at_ends == ever)[final].all())


def _hidden(logs: Logs) -> bool:
    """Whether a task ended at an observation that is seen at other times, too."""
    at_ends, ever = _counts(logs)
    return bool((at_ends < ever)[at_ends > 0].any())


def _counts(logs: Logs) -> tuple[Ints, Ints]:
    """How often each observation was seen at ends, (O,), and at all, (O,)."""
    at_ends = ever = np.zeros(0, dtype=np.int64)
    for log in chunks_of(logs):
        size = len(log.observation_names)
        last = np.bincount(log.observations[log.ends], minlength=size)
        every = np.bincount(log.observations, minlength=size)
        at_ends, ever = (at_ends + last, ever + every) if len(ever) else (last, every)
    return at_ends, ever


def with_end(log: Trajectories) -> Trajectories:
    """The log with `END` as one more observation, seen where a task ended."""
    seen = log.observations.copy()
    seen[log.ends] = len(log.observation_names)
    return replace(log, observations=seen, observation_names=(*log.observation_names, END))


def as_seen_by(log: Trajectories, observations: tuple[str, ...]) -> Trajectories:
    """The log as a model over these observations sees it: with `END`, if the model knows it."""
    return with_end(log) if (*log.observation_names, END) == observations else log
