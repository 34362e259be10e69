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

from rpsr.errors import InputError
from rpsr.io.records import Bools, Ints
from rpsr.learning.learned import Logs, check_repeatable, chunks_of
from rpsr.logs import Trajectories
from rpsr.models import LinearModel
from rpsr.models.renaming import END


def seen_ends(logs: Logs) -> Logs:
    """The log with its ends seen; one in memory as it is, if none ends or ends show themselves."""
    if isinstance(logs, Trajectories):
        return with_end(logs) if _hidden([logs]) else logs
    check_repeatable(logs)
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
    at_ends, elsewhere = _sights(log)
    return at_ends & ~(at_ends & elsewhere).any()


def final_names(log: Trajectories) -> tuple[str, ...]:
    """The observations that say that a task is over, by name."""
    return tuple(log.observation_names[o] for o in np.flatnonzero(final_sights(log)).tolist())


def _hidden(logs: Logs) -> bool:
    """Whether a task ended at an observation that is seen at other times, too.

    So it is with the ends of a log that has `END`, as those of learned models do, up to now.
    """
    at_ends = elsewhere = np.zeros(1, dtype=np.bool_)
    for log in chunks_of(logs):
        last, others = _sights(log)
        at_ends, elsewhere = at_ends | last, elsewhere | others
        if END in log.observation_names or (at_ends & elsewhere).any():
            return True
    return False


def _sights(log: Trajectories) -> tuple[Bools, Bools]:
    """Which observations were seen at ends, (O,), and elsewhere, (O,)."""
    size = len(log.observation_names)
    last = np.bincount(log.observations[log.ends], minlength=size)
    return last > 0, np.bincount(log.observations, minlength=size) > last


def with_end(log: Trajectories) -> Trajectories:
    """The log with `END` among its observations, one more if need be, seen where a task ended."""
    names = log.observation_names
    if END not in names:
        names = (*names, END)
    seen = log.observations.copy()
    seen[log.ends] = names.index(END)
    wrong = np.setdiff1d(np.flatnonzero(seen == names.index(END)), log.ends)
    if len(wrong):
        episode, step = log.place(int(wrong[0]))
        raise InputError(
            f"episode {episode}, step {step}: observations: read {END!r}, the name of the end of a "
            "task, where none ended; expected another name, or the episode to have terminated there"
        )
    if names == log.observation_names and np.array_equal(seen, log.observations):
        return log
    return replace(log, observations=seen, observation_names=names)


def as_seen_by(log: Trajectories, model: LinearModel) -> Trajectories:
    """The log as a model sees it: with `END`, if the model knows it, and in the model's order.

    A log with names that the model does not know is left as it is.
    """
    if END in model.observations:
        log = with_end(log)
    read = {"actions": log.action_names, "observations": log.observation_names}
    known = {"actions": model.actions, "observations": model.observations}
    if read == known or any(not set(read[kind]) <= set(known[kind]) for kind in read):
        return log
    return replace(
        log,
        action_names=model.actions,
        observation_names=model.observations,
        actions=_coded(log.actions, log.action_names, model.actions),
        observations=_coded(log.observations, log.observation_names, model.observations),
    )


def _coded(column: Ints, names: tuple[str, ...], known: tuple[str, ...]) -> Ints:
    return np.array([known.index(name) for name in names], dtype=np.int64)[column]
