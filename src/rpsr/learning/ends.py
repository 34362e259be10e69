"""Ends of tasks as observations.

An agent at work on a task observes that the task has not ended. A model that does not observe this
believes a little more at every step that the task is over, and expects less and less. In some logs
the last observation of a task occurs at no other time. In others an episode terminates at an
observation like any other. In these, `with_end` replaces the last observation of every episode that
terminated by the observation `END`. `prepared_log` does so for every estimator alike. The end is
then a state that shows itself; the observation that it replaces has no consequences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Bools, Ints
from rpsr.logs.parts import Chunks
from rpsr.logs.trajectories import Trajectories
from rpsr.models import LinearModel
from rpsr.models.renaming import END


def final_observations(log: Trajectories) -> Bools:
    """(O,): the observations at ends of tasks, if none of them occurs elsewhere; else none."""
    last, others = seen_at_ends(log)
    at_ends, elsewhere = last > 0, others > 0
    return at_ends & ~(at_ends & elsewhere).any()


def final_names(log: Trajectories) -> tuple[str, ...]:
    """The names of the observations at ends of tasks, if none of them occurs elsewhere."""
    return tuple(log.observation_names[o] for o in np.flatnonzero(final_observations(log)).tolist())


@dataclass(frozen=True, eq=False)
class SeenEnds:
    """Which observations occur at ends of tasks, (O,), and which elsewhere, (O,)."""

    at_ends: Bools
    elsewhere: Bools
    marked: bool = False  # whether `END` is among the names, as in a log of a learned model

    @staticmethod
    def of(chunks: Chunks) -> SeenEnds:
        """Of a log, or of its beginning, if that suffices to know that ends are hidden."""
        seen = SeenEnds(np.zeros(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_))
        for log in chunks:
            last, others = seen_at_ends(log)
            seen += SeenEnds(last > 0, others > 0, END in log.observation_names)
            if seen.hidden:
                break
        return seen

    def __add__(self, other: SeenEnds) -> SeenEnds:
        """Of both logs together."""
        at_ends, elsewhere = self.at_ends | other.at_ends, self.elsewhere | other.elsewhere
        return SeenEnds(at_ends, elsewhere, self.marked or other.marked)

    @property
    def hidden(self) -> bool:
        """Whether a task ended at an observation that occurs elsewhere, too."""
        return self.marked or bool((self.at_ends & self.elsewhere).any())


def seen_at_ends(log: Trajectories) -> tuple[Ints, Ints]:
    """How often each observation occurs at ends of tasks, (O,), and elsewhere, (O,)."""
    size = len(log.observation_names)
    last = np.bincount(log.observations[log.ends], minlength=size)
    return last, np.bincount(log.observations, minlength=size) - last


def with_end(log: Trajectories) -> Trajectories:
    """The log with the observation `END` at ends of tasks, added to its names if necessary."""
    names = log.observation_names
    if END not in names:
        names = (*names, END)
    seen = log.observations.copy()
    seen[log.ends] = names.index(END)
    wrong = np.setdiff1d(np.flatnonzero(seen == names.index(END)), log.ends)
    if len(wrong):
        episode, step = log.place(int(wrong[0]))
        raise DataError(
            f"episode {episode}, step {step}: observations: read {END!r}, which marks the end of a "
            "task; expected another name, or the episode to terminate at this step"
        )
    if names == log.observation_names and np.array_equal(seen, log.observations):
        return log
    return replace(log, observations=seen, observation_names=names)


def as_seen_by(log: Trajectories, model: LinearModel) -> Trajectories:
    """The log with the model's observations in the model's order, including `END` if it has that.

    A log with names that the model does not have is returned unchanged.
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
