"""Whole episodes of one file, column by column, before names become indices.

A log has millions of steps and few names. So each distinct label is interpreted and checked once;
the steps are array indexing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.errors import InputError
from rpsr.io.records import IN_RANGE, LARGEST_REWARD, Bools, Ints
from rpsr.printable import shortened

WHOLE_NUMBERS = (
    "write whole numbers without decimals (in pandas: fill missing values, then astype(int))"
)
DISCRETISE = (
    "discretise measurements first, for example with scikit-learn's KBinsDiscretizer, or write "
    "numbers that are names as text ('price 0.25')"
)
Numbers = NDArray[Any] | list[Any]  # a list, for the error message, if a value is invalid


@dataclass(frozen=True)
class Labels:
    """A column of labels: distinct ones in order of appearance, and the code of each step, (L,).

    named: whether whole numbers are names, as in a table, and not indices. text: whether they come
    from a file in which numbers and names are both text, so that all of them decide on the type.
    """

    distinct: list[Any]
    codes: NDArray[np.integer[Any]]
    named: bool = False
    text: bool = False

    @staticmethod
    def of(values: Sequence[Any]) -> Labels:
        """A column from its labels, of any type."""
        by_key: dict[Any, Any] = {}
        try:
            by_key = dict.fromkeys(values)
            clear = set(map(type, by_key)) <= {str} or set(map(type, values)) <= {str, int}
        except TypeError:  # a list cannot be a key
            clear = False
        if clear:
            keys, distinct = values, list(by_key)
        else:  # as keys, True and 1 are equal
            keys = [(type(value), repr(value)) for value in values]
            by_key = dict(zip(keys, values, strict=True))
            distinct = list(by_key.values())
        code = {key: i for i, key in enumerate(by_key)}
        codes = np.fromiter(map(code.__getitem__, keys), np.int64, len(keys))
        return Labels(distinct, codes)

    def first(self, label: int) -> int:
        """The first step with a label, given by its position among the distinct ones."""
        return int(np.argmax(self.codes == label))


@dataclass(frozen=True)
class Block:
    """N whole episodes of a file, one after another, L steps in all.

    number: that of the first episode within the file, from 0. lines (N,): the line where each
    begins, from 1. offsets (N + 1,): the first step of each. A missing column is None. ignored:
    unknown keys or columns. Of a table, rows (L,) has the line of each step, columns the name of
    the column for each role, and where gives the table's own names of a step's episode and step.
    """

    place: str
    number: int
    lines: Ints
    offsets: Ints
    actions: Labels
    observations: Labels
    rewards: Numbers | None
    propensities: Numbers | None
    states: Numbers | None
    terminated: Bools
    truncated: Bools
    ignored: tuple[str, ...] = ()
    rows: Ints | None = None
    columns: Mapping[str, str] | None = None
    where: Callable[[int], tuple[str | None, str | None]] = lambda _: (None, None)

    @property
    def steps(self) -> int:
        """The number L of steps in all episodes."""
        return len(self.actions.codes)

    def error(self, message: str, at: int | None = None) -> InputError:
        """An error about a step of this block, or about its first episode."""
        if at is None:
            return episode_error(message, self.place, int(self.lines[0]), self.number)
        episode = int(np.searchsorted(self.offsets, at, side="right")) - 1
        step = at - int(self.offsets[episode])
        line = int(self.lines[episode] if self.rows is None else self.rows[at])
        number = self.number + episode
        return episode_error(message, self.place, line, number, step, self.where(at))

    def field(self, name: str) -> str:
        """The word of messages for the values of a role ('action', 'rewards')."""
        column = (self.columns or {}).get(ROLE_OF.get(name, name))
        return name if column is None else f"column {column!r}"

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The rewards, propensities or states; an error if one is invalid."""
        column: Numbers | None = getattr(self, name)
        if column is None:
            return None
        if isinstance(column, list):
            good = np.array([_is_good(name, value) for value in column], dtype=np.bool_)
        else:
            good = _are_good(name, column)
        if good.all():
            return np.asarray(column)
        at = int(np.argmin(good))
        value = column[at] if isinstance(column, list) else column[at].item()
        read = f"{self.field(name)}: read {shortened(repr(value))}"
        comma = isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]*,[0-9]+", value)
        hint = "; write a decimal point, not a comma" if comma else ""
        raise self.error(f"{read}, expected {_EXPECTED[name]}{hint}", at)


ROLE_OF = {"rewards": "reward", "propensities": "propensity", "states": "state"}  # of a table
_EXPECTED = {
    "rewards": f"a finite number, {IN_RANGE.removeprefix('a number ')}",
    "propensities": "a probability above 0, at most 1",
    "states": "the index of a state",
}


def _is_good(name: str, value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    if name == "propensities":
        return 0 < value <= 1
    if name == "states":
        return isinstance(value, int) and 0 <= value <= np.iinfo(np.int64).max
    return abs(value) <= LARGEST_REWARD  # also false for NaN and for integers too large


def _are_good(name: str, column: NDArray[Any]) -> Bools:
    if name == "propensities":
        return (column > 0) & (column <= 1)
    return column >= 0 if name == "states" else np.abs(column) <= LARGEST_REWARD


def numbers_of(name: str, values: list[Any]) -> Numbers:
    """Rewards, propensities or states of a list: an array (L,) if all are valid, else the list."""
    whole = name == "states"
    if set(map(type, values)) <= ({int} if whole else {int, float}):
        try:
            column = np.array(values, dtype=np.int64 if whole else np.float64)
        except OverflowError:
            return values
        if _are_good(name, column).all():
            return column
    return values


def discretise(labels: Iterable[Any]) -> str:
    """The advice for labels that are decimal numbers, which may be whole numbers in disguise."""
    try:
        whole = all(float(str(label).replace(",", ".")).is_integer() for label in labels)
    except ValueError:
        whole = False
    return WHOLE_NUMBERS if whole else DISCRETISE


def episode_error(
    message: str,
    place: str,
    line: int,
    number: int,
    step: int | None = None,
    named: tuple[str | None, str | None] = (None, None),
) -> InputError:
    """An error about an episode (its number from 0, its first line) or one of its steps.

    named: the names of the episode and the step in a table, instead of the numbers.
    """
    where = f"episode {number if named[0] is None else named[0]}"
    where += "" if step is None else f", step {step if named[1] is None else named[1]}"
    return InputError(f"{where}: {message}", place=place, line=line)
