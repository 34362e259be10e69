"""Episodes from a table with one row per step, whatever it comes from, batch by batch.

The rows of an episode are consecutive and in order. If there is a column `step`, it increases by
one, from 0 in every episode of a table or from 1 in every one. Without it, an episode that appears
again after another one is refused. Without a column `episode`, an episode ends where `terminated`
or `truncated` is true, and begins where `step` begins again; without these, there is one episode.
`terminated` and `truncated` may be true only in the last row of an episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.records import Bools, Ints
from rpsr.logs.blocks import Block, Labels, Numbers, episode_error
from rpsr.logs.columns import Roles
from rpsr.printable import printable, shortened

BLOCK = 2**16  # rows, about
ROW_BYTES = 160  # of memory per row
NAME_BYTES = 120  # of memory per name of an episode
SOME = 5  # rows in a message
ENDS = ("terminated", "truncated")


class Column(Protocol):
    """L values of one column, of any type."""

    def __len__(self) -> int: ...

    def value(self, row: int) -> Any:
        """One value, for a message; None if it is missing."""
        ...

    def part(self, first: int, last: int) -> Self:
        """The rows from `first` to before `last`."""
        ...

    def join(self, others: Sequence[Self]) -> Self:
        """The column with others below it."""
        ...

    def missing(self) -> Bools:
        """Where there is no value, (L,)."""
        ...

    def changes(self) -> Ints:
        """The rows whose value differs from that of the previous row; never the first row."""
        ...

    def labels(self) -> Labels:
        """The values as labels."""
        ...

    def numbers(self, name: str) -> Numbers:
        """The values as 'rewards', 'propensities', 'states' or 'steps'."""
        ...

    def flags(self) -> tuple[Bools, Bools]:
        """Where the values are true, and where they are neither true nor false."""
        ...


@dataclass(frozen=True)
class Rows:
    """L rows: their columns by role, and their lines in the file, (L,)."""

    lines: Ints
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, first: int, last: int) -> Rows:
        """The rows from `first` to before `last`."""
        columns = {role: column.part(first, last) for role, column in self.columns.items()}
        return Rows(self.lines[first:last], columns)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """Rows of one table, one part below the other."""
        first, *others = parts
        if not others:
            return first
        columns = {
            role: column.join([other.columns[role] for other in others])
            for role, column in first.columns.items()
        }
        return Rows(np.concatenate([part.lines for part in parts]), columns)

    def flags(self, role: str) -> tuple[Bools, Bools]:
        """Where a role is true, and where it is neither true nor false."""
        if role in self.columns:
            return self.columns[role].flags()
        nowhere = np.zeros(len(self), dtype=np.bool_)
        return nowhere, nowhere

    def starts(self) -> Ints:
        """The first rows of the episodes."""
        if "episode" in self.columns:
            return np.append(0, self.columns["episode"].changes())
        begins = np.zeros(len(self), dtype=np.bool_)
        for role in ENDS:
            begins[1:] |= self.flags(role)[0][:-1]
        if "step" in self.columns:
            begins[1:] |= ~_follows(self.columns["step"].numbers("steps"))
        begins[0] = True
        return np.flatnonzero(begins)


def named_place(
    episode: Column | None, step: Column | None, row: int
) -> tuple[str | None, str | None]:
    """The episode and the step of a row, as the table names them; None where it does not."""

    def named(column: Column | None) -> str | None:
        value = None if column is None else column.value(row)
        return None if value is None else shortened(printable(str(value), one_line=True))

    return named(episode), named(step)


def _follows(steps: Numbers) -> Bools:
    """Where a step is the one after that of the row above, (L - 1,)."""
    if not isinstance(steps, list):
        return steps[1:] == steps[:-1] + 1
    good = [isinstance(step, int | float) for step in steps]
    follows = [
        good[i] and good[i + 1] and steps[i] + 1 == steps[i + 1] for i in range(len(steps) - 1)
    ]
    return np.array(follows, dtype=np.bool_)


@dataclass
class Table:
    """A table that is read in batches of rows.

    size: bytes of the file, which limit the memory for one episode. unit: what `lines` counts.
    """

    place: str
    size: int
    roles: Roles
    unit: str = "row"
    _firsts: tuple[int, ...] = (0, 1)  # possible numbers of an episode's first step
    _names: set[Any] = field(default_factory=set[Any])  # of episodes, if there are no steps
    _episodes: int = 0

    def blocks(self, batches: Iterator[Rows]) -> Iterator[Block]:
        """The episodes of all batches."""
        for rows, starts in self._whole_episodes(batches):
            sizes = np.diff(starts, append=len(rows))
            steps = np.arange(len(rows)) - np.repeat(starts, sizes)
            problem = self._problem(rows, starts, steps)
            whole = len(starts)
            if problem is not None:
                whole = int(np.searchsorted(starts, problem[0], "right")) - 1
            if whole:  # also before an error: report errors of earlier episodes first
                yield self._block(rows, np.append(starts, len(rows))[: whole + 1])
            self._episodes += whole
            if problem is not None:
                at, role, message = problem
                named = f"column {self.roles.used[role]!r}: {message}"
                if rows.columns[role].missing()[at]:
                    named += self._others(role, rows, at, batches)
                where = named_place(rows.columns.get("episode"), rows.columns.get("step"), at)
                line, step = int(rows.lines[at]), int(steps[at])
                raise episode_error(named, self.place, line, self._episodes, step, where)

    def _problem(self, rows: Rows, starts: Ints, steps: Ints) -> tuple[int, str, str] | None:
        """The first row at fault, the role of the column, and the error message."""
        faults: list[tuple[int, str, str]] = []

        def fault(role: str, wrong: Bools, message: str) -> None:
            if wrong.any():
                faults.append((int(np.argmax(wrong)), role, message))

        for role, column in rows.columns.items():
            what = f"`{role}`" if role in ENDS else f"the {role}"
            fault(role, column.missing(), f"read nothing, expected a value for {what}")
        for role in ENDS:
            true, neither = rows.flags(role)
            fault(role, neither, "read {}, expected true or false, or 1 or 0")
            early = np.zeros(len(rows), dtype=np.bool_)
            early[:-1] = true[:-1] & (steps[1:] > 0)
            fault(role, early, "read true, expected true only in the last row of an episode")
        if "step" in rows.columns:
            read = rows.columns["step"].numbers("steps")
            self._firsts = (int(read[0]),) if read[0] in self._firsts else self._firsts
            expected = steps + self._firsts[0]
            wrong = np.array(
                [a != b for a, b in zip(read, expected.tolist(), strict=True)]
                if isinstance(read, list)
                else read != expected
            )
            if wrong.any():
                at = int(np.argmax(wrong))
                first = " or ".join(map(str, self._firsts)) + " in the first row of an episode"
                wanted = f"read {{}}, expected {expected[at] if steps[at] else first}"
                begun = _CONTINUES if len(self._firsts) == 1 else _SORT
                fault("step", wrong, f"{wanted}; {_UNSORTED if steps[at] else begun}")
        elif "episode" in rows.columns:
            fault("episode", self._again(rows.columns["episode"], starts, len(rows)), _SPLIT)
        if not faults:
            return None
        at, role, message = min(faults, key=lambda fault: fault[0])
        return at, role, message.format(shortened(repr(rows.columns[role].value(at))))

    def _again(self, column: Column, starts: Ints, rows: int) -> Bools:
        """Where an episode begins that was there before."""
        again = np.zeros(rows, dtype=np.bool_)
        for start in starts.tolist():
            name = column.value(start)
            name = repr(name) if isinstance(name, list | dict) else name
            again[start] = name in self._names
            self._names.add(name)
        if (problem := excess(NAME_BYTES * len(self._names), self.size)) is not None:
            raise InputError(f"{len(self._names):,} episodes: {problem}", place=self.place)
        return again

    def _others(self, role: str, rows: Rows, at: int, batches: Iterator[Rows]) -> str:
        """The other rows in which a value is missing, some of them by number."""
        lines = rows.lines[rows.columns[role].missing()].tolist()
        try:
            for batch in batches:
                lines += batch.lines[batch.columns[role].missing()].tolist()
        except InputError:
            pass  # what is wrong further down is for later
        lines = [line for line in lines if line > rows.lines[at]]
        if not lines:
            return ""
        more = f" and {len(lines) - SOME} more" if len(lines) > SOME else ""
        unit = self.unit if len(lines) == 1 else f"{self.unit}s"
        return f"; also missing in {unit} {', '.join(map(str, lines[:SOME]))}{more}"

    def _whole_episodes(self, batches: Iterator[Rows]) -> Iterator[tuple[Rows, Ints]]:
        """Rows of whole episodes, about `BLOCK` each, and the first rows of their episodes."""
        waiting: list[Rows] = []
        size, enough = 0, BLOCK
        for batch in batches:
            waiting.append(batch)
            size += len(batch)
            if (problem := excess(ROW_BYTES * size, self.size)) is not None:
                message = f"{size:,} rows up to the end of an episode: {problem}"
                raise InputError(message, place=self.place)
            if size < enough:
                continue
            rows = Rows.joined(waiting)
            starts = rows.starts()
            last = int(starts[-1])  # this episode may continue in the next batch
            if last:
                yield rows.part(0, last), starts[:-1]
            waiting = [rows.part(last, len(rows))]
            size -= last
            enough = max(BLOCK, 2 * size)  # so that a long episode is not joined repeatedly
        if size:
            rows = Rows.joined(waiting)
            yield rows, rows.starts()

    def _block(self, rows: Rows, offsets: Ints) -> Block:
        rows = rows.part(0, int(offsets[-1]))
        columns, last = rows.columns, offsets[1:] - 1

        def numbers(role: str, name: str) -> Numbers | None:
            return columns[role].numbers(name) if role in columns else None

        return Block(
            place=self.place,
            number=self._episodes,
            lines=rows.lines[offsets[:-1]],
            offsets=offsets,
            actions=columns["action"].labels(),
            observations=columns["observation"].labels(),
            rewards=numbers("reward", "rewards"),
            propensities=numbers("propensity", "propensities"),
            states=numbers("state", "states"),
            terminated=rows.flags("terminated")[0][last],
            truncated=rows.flags("truncated")[0][last],
            ignored=self.roles.ignored,
            rows=rows.lines,
            columns=self.roles.used,
            where=lambda at: named_place(columns.get("episode"), columns.get("step"), at),
        )


_SPLIT = "read {} again, expected all rows of an episode together: sort the rows by episode"
_SORT = "sort the rows by episode and step"
_CONTINUES = f"if an earlier episode continues here, {_SORT}"
_UNSORTED = f"a row is missing, or the rows are not sorted: {_SORT}"
