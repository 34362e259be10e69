"""A log prepared for learning: read once, counted once, and split alike for all estimators.

Ends of tasks become observations (see `ends`). Computed on first use and then cached are

    census          of the log as it was recorded: how often each name and each length of episodes
                    occurs, how many tasks ended, and the range of rewards (`rpsr.logs.census`)
    survey          how often each action follows each short context (`moments.survey`)
    held_out        the episodes that judge a model
    propensities    of the logged actions; estimated if the log has none

Parts of a prepared log are prepared logs, with the observations of the whole log, even if a part
has no end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from operator import iadd
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.chunks import SameNames, SeenBy, WithEnds, grouped, no_log, reported, whole
from rpsr.learning.ends import SeenEnds, with_end
from rpsr.learning.moments.survey import Survey
from rpsr.learning.parameter_checks import check_range
from rpsr.learning.propensities import propensities
from rpsr.logs.census import Census
from rpsr.logs.parts import (
    Chunks,
    Part,
    Resampled,
    beginning,
    few_long,
    partitions,
    pieces,
    stretches,
)
from rpsr.logs.readers import open_logs
from rpsr.logs.tables.records import as_log
from rpsr.logs.task_logs import TaskLog, check_objective
from rpsr.logs.trajectories import Trajectories, join
from rpsr.models.linear import LinearModel
from rpsr.models.objectives import Objective
from rpsr.parallel import Progress, in_order
from rpsr.tree_sums import summed

LONGEST = 3  # interactions in the contexts that a survey counts, by default
Sum = TypeVar("Sum")
Names = tuple[tuple[str, ...], tuple[str, ...]]  # of actions and of observations


class PreparedLog:
    """A log, in memory or as a stream of chunks, whose ends of tasks are observations.

    Iteration gives the chunks, and can be repeated. recorded: the chunks before preparation.
    """

    def __init__(
        self,
        recorded: Chunks,
        whole: PreparedLog | None = None,
        executor: Executor | None = None,
    ) -> None:
        """recorded: chunks, as a repeatable iterable; whole: the log that they are a part of.

        executor: works on the partitions of a stream, see `rpsr.parallel`.
        """
        self.recorded = recorded
        self._whole = whole
        self.executor = executor if whole is None else whole.executor
        self._surveys: dict[int, Survey] = {}
        self._census: Census | None = None
        self._beginnings: dict[int, PreparedLog] = {}  # by steps
        self._renamed: dict[Names, tuple[Trajectories, ...]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process: the chunks, but nothing that was computed from them."""
        whole = None
        if self._whole is not None:
            whole = PreparedLog(())
            vars(whole)["hidden_ends"] = self.hidden_ends
        kept = {"recorded": self.recorded, "hidden_ends": self.hidden_ends}
        kept |= {"streamed": self.streamed, "_whole": whole, "_census": None, "executor": None}
        return kept | {"_surveys": {}, "_beginnings": {}, "_renamed": {}}

    @staticmethod
    def of(logs: Logs, *, held: bool = False, executor: Executor | None = None) -> PreparedLog:
        """Prepare a log: one in memory, several, a stream of chunks, or the names of files.

        A data frame, flat arrays and a list of dictionaries are read as `rpsr.logs` reads them.

        held: read a stream into memory; necessary for an iterator, which can be read only once.
        A prepared log is returned unchanged. executor: works on the partitions of a stream.
        """
        if isinstance(logs, PreparedLog):
            return logs
        given: Any = logs
        if _is_path(given) or _all(given, _is_path):
            given = open_logs(given)
        given = as_log(given)
        if isinstance(given, Trajectories):
            return PreparedLog((given,))
        if not isinstance(given, Iterable) or isinstance(given, str | bytes | np.ndarray | Mapping):
            raise no_log(given)
        chunks = SameNames(given)  # pyright: ignore[reportUnknownArgumentType]
        if held:
            return PreparedLog((join(chunks),))
        if isinstance(given, Iterator):
            raise DataError(
                f"logs: read {type(given).__name__}, which can be read only once; expected a "
                "log, a list of logs or a stream"
            )
        recorded = tuple(chunks) if isinstance(given, list | tuple) else chunks
        return PreparedLog(recorded, executor=executor)

    def for_objective(self, objective: Objective) -> PreparedLog:
        """The log of an objective's task (see `rpsr.logs.task_logs`)."""
        check_objective(objective, self.recorded)
        task = TaskLog(self.recorded, objective)
        recorded = tuple(task) if isinstance(self.recorded, tuple) else task
        return PreparedLog(recorded, executor=self.executor)

    def __iter__(self) -> Iterator[Trajectories]:
        """The chunks, with observations at ends of tasks that do not occur elsewhere."""
        if isinstance(self.recorded, tuple):
            return iter(self._kept)
        return map(self._prepared, self.recorded)

    @cached_property
    def partitions(self) -> tuple[Chunks, ...]:
        """The prepared log in parts of whole episodes; several if it is a stream of files."""
        return tuple(WithEnds(part, self.hidden_ends) for part in self._parts)

    @cached_property
    def _parts(self) -> tuple[Chunks, ...]:
        """The recorded log in parts of whole episodes."""
        return tuple(partitions(self.recorded))

    def summed(
        self,
        work: Callable[[Chunks], Sum],
        progress: Progress | None,
        what: str,
        *,
        exact: bool = False,
    ) -> Sum:
        """The sum of `work(chunks)` over groups of partitions, computed by the executor.

        The groups depend on the files alone, and so does the tree in which their sums are added
        (see `rpsr.tree_sums`). So not even the last digit of a float depends on the executor.
        exact: sums are the same in any order.
        """
        if len(self._parts) == 1:
            return work(reported(self, progress, what))
        return self._summed(work, self.partitions, progress, what, exact=exact)

    def _summed(
        self,
        work: Callable[[Chunks], Sum],
        parts: Sequence[Chunks],
        progress: Progress | None,
        what: str,
        *,
        exact: bool = False,
    ) -> Sum:
        if len(parts) == 1:
            return work(reported(parts[0], progress, what))
        what = f"{what}, part"
        return summed(work, grouped(parts), self.executor, iadd, progress, what, exact=exact)

    @cached_property
    def _kept(self) -> tuple[Trajectories, ...]:
        return tuple(map(self._prepared, self.recorded))

    def _prepared(self, chunk: Trajectories) -> Trajectories:
        return with_end(chunk) if self.hidden_ends else chunk

    @cached_property
    def hidden_ends(self) -> bool:
        """Whether a task of the whole log ended at an observation that occurs elsewhere, too."""
        if self._whole is not None:
            return self._whole.hidden_ends
        if self.executor is None or not self.streamed:
            return SeenEnds.of(self.recorded).hidden
        seen = in_order(SeenEnds.of, self._parts, self.executor, None, "looking at ends, part")
        return any(ends.hidden for ends in accumulate(seen, SeenEnds.__add__))

    @cached_property
    def streamed(self) -> bool:
        """Whether the whole log is a stream, which need not fit into memory."""
        whole = self._whole
        return not isinstance(self.recorded, tuple) if whole is None else whole.streamed

    @property
    def census(self) -> Census:
        """The counts of names and lengths in the recorded log, and the range of its rewards."""
        if self._census is None and isinstance(self.recorded, tuple):
            self._census = Census.of(self.recorded)
        elif self._census is None:  # a stream is read once for both
            self.survey()
        assert self._census is not None, "a survey counts names"
        return self._census

    @property
    def warning(self) -> str:
        """`Census.unmarked_ends` of a whole log; empty for a part, whose episodes may be cut."""
        return self.census.unmarked_ends if self._whole is None else ""

    def survey(self, longest: int = LONGEST, progress: Progress | None = None) -> Survey:
        """Counts of actions after contexts of up to `longest` interactions, in one pass.

        The first survey also makes the census.
        """
        if longest not in self._surveys:
            how = {"longest": longest, "hidden": self.hidden_ends, "named": self._census is None}
            work = partial(_counted, **how)
            counted = self._summed(work, self._parts, progress, "surveying")
            self._surveys[longest], self._census = counted.survey, self._census or counted.census
        return self._surveys[longest]

    @cached_property
    def in_memory(self) -> Trajectories:
        """The whole log; a stream is read once."""
        return whole(self)

    @cached_property
    def episodes(self) -> Trajectories:
        """The log for methods that need episodes: a few long recordings are cut into stretches.

        A stretch begins anywhere, so its start state is that of an average step. A range of rewards
        that is too small to learn is an error.
        """
        log = self.in_memory
        if log.rewards is not None and log.steps:
            check_range(float(log.rewards.min()), float(log.rewards.max()))
        few = few_long(log.episodes, int(log.lengths.max(initial=0)))
        return stretches(log) if few else log

    @cached_property
    def training(self) -> PreparedLog:
        """The log without every fifth episode, or without the last fifth of long ones."""
        return PreparedLog(Part(self.recorded, held_out=False), self)

    @cached_property
    def held_out(self) -> PreparedLog:
        """The part that `training` leaves out."""
        return PreparedLog(Part(self.recorded, held_out=True), self)

    @cached_property
    def halves(self) -> tuple[PreparedLog, PreparedLog]:
        """Every other episode and the rest; or the first and the last halves of long ones."""
        first, last = (Part(self.recorded, held_out, one_in=2) for held_out in (False, True))
        return PreparedLog(first, self), PreparedLog(last, self)

    def resampled(self, seed: int) -> PreparedLog:
        """A bootstrap sample of episodes, or of stretches of long ones."""
        return PreparedLog(Resampled(self.recorded, seed), self)

    def pieces(self, groups: int) -> Iterator[tuple[int, Trajectories]]:
        """Episodes, or stretches of long ones, distributed to groups."""
        return pieces(self, groups)

    def beginning(self, steps: int) -> PreparedLog:
        """The fewest first episodes with this many steps, in memory; all if there are fewer.

        The same steps give the same object, so that its survey and its names are computed once.
        """
        if isinstance(self.recorded, tuple) and sum(log.steps for log in self.recorded) < steps:
            return self
        if steps not in self._beginnings:
            self._beginnings[steps] = PreparedLog((beginning(self.recorded, steps),), self)
        return self._beginnings[steps]

    def as_seen_by(self, model: LinearModel) -> Chunks:
        """The recorded chunks with a model's names in its order, and with `END` if it has that.

        They are kept, unless the log is a stream.
        """
        seen = SeenBy(self.recorded, model)
        if self.streamed and not isinstance(self.recorded, tuple):
            return seen
        names = model.actions, model.observations
        if names not in self._renamed:
            self._renamed[names] = tuple(seen)
        return self._renamed[names]

    @cached_property
    def propensities(self) -> Floats:
        """The propensity of every logged action, (L,): as logged, else as estimated by counts.

        Those of first actions are estimated from first actions alone.
        """
        log = self.in_memory
        if log.propensities is not None:
            return log.propensities
        survey = self.survey()
        chances = propensities(log, "estimated", survey.policy)
        first = log.offsets[:-1][log.lengths > 0]
        chances[first] = survey.first_policy[log.actions[first]]
        return chances


@dataclass(frozen=True)
class _Counted:
    """A survey of a prepared log and a census of the recorded one."""

    survey: Survey
    census: Census

    def __add__(self, other: _Counted) -> _Counted:
        return _Counted(self.survey + other.survey, self.census + other.census)


def _counted(chunks: Chunks, longest: int, hidden: bool, named: bool) -> _Counted:
    census = Census()
    watched = census.watch(chunks) if named else chunks
    return _Counted(Survey.of(WithEnds(watched, hidden), longest), census)


Logs = PreparedLog | Trajectories | Iterable[Trajectories] | str | Path | Sequence[str | Path]


def _is_path(given: Any) -> bool:
    return isinstance(given, str | Path)


def _all(given: Any, kind: Callable[[Any], bool]) -> bool:
    return isinstance(given, list | tuple) and len(given) > 0 and all(map(kind, given))
