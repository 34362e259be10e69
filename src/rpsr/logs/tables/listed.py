"""Columns of a table as lists: texts of a CSV file, or Python values of a list of dictionaries.

In a CSV file everything is text. The role of a column says what to expect of it: numbers for
rewards, names for actions. Whether names are all numbers is decided by the whole column (see
`Alphabet`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rpsr.io.records import Bools, Ints
from rpsr.logs.blocks import Labels, Numbers, numbers_of

MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
DECIMAL = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_FLAGS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


@dataclass(frozen=True)
class TextColumn:
    """Values of a column of a text file; a text of `MISSING` stands for no value."""

    texts: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def value(self, row: int) -> str | None:
        """One value."""
        return None if self.texts[row] in MISSING else self.texts[row]

    def part(self, first: int, last: int) -> TextColumn:
        """The rows from `first` to before `last`."""
        return TextColumn(self.texts[first:last])

    def join(self, others: Sequence[TextColumn]) -> TextColumn:
        """The column with others below it."""
        return TextColumn(list(chain(self.texts, *(other.texts for other in others))))

    def missing(self) -> Bools:
        """Where there is no value."""
        distinct = set(self.texts)
        if distinct.isdisjoint(MISSING):
            return np.zeros(len(self.texts), dtype=np.bool_)
        return self._table({text: text in MISSING for text in distinct})

    def changes(self) -> Ints:
        """The rows whose value differs from that of the previous row; never the first row."""
        return _changes(self.texts)

    def labels(self) -> Labels:
        """The texts as labels."""
        labels = Labels.of(self.texts)
        return Labels(labels.distinct, labels.codes, named=True, text=True)

    def numbers(self, name: str) -> Numbers:
        """The values as numbers; those that are none remain texts."""
        whole = name in ("states", "steps")
        read = {text: _number(text, whole) for text in set(self.texts)}
        return numbers_of(name, [read[text] for text in self.texts])

    def flags(self) -> tuple[Bools, Bools]:
        """Where the values are true, and where they are neither true nor false."""
        known = {text: _FLAGS.get(text.casefold()) for text in set(self.texts)}
        neither = {text: flag is None for text, flag in known.items()}
        return self._table({text: flag is True for text, flag in known.items()}), self._table(
            neither
        )

    def _table(self, table: dict[str, bool]) -> Bools:
        return np.fromiter(map(table.__getitem__, self.texts), np.bool_, len(self.texts))


def _number(text: str, whole: bool) -> Any:
    if text in MISSING:
        return None
    if whole and WHOLE.fullmatch(text):
        return int(text)
    return float(text) if DECIMAL.fullmatch(text) and "," not in text else text


@dataclass(frozen=True)
class PlainColumn:
    """Python values of any type; None and NaN stand for no value."""

    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)

    def value(self, row: int) -> Any:
        """One value."""
        return self.values[row]

    def part(self, first: int, last: int) -> PlainColumn:
        """The rows from `first` to before `last`."""
        return PlainColumn(self.values[first:last])

    def join(self, others: Sequence[PlainColumn]) -> PlainColumn:
        """The column with others below it."""
        return PlainColumn(list(chain(self.values, *(other.values for other in others))))

    def missing(self) -> Bools:
        """Where there is no value."""
        return np.array([value is None or value != value for value in self.values], dtype=np.bool_)

    def changes(self) -> Ints:
        """The rows whose value differs from that of the previous row; never the first row."""
        return _changes(self.values)

    def labels(self) -> Labels:
        """The values as labels."""
        labels = Labels.of(self.values)
        return Labels(labels.distinct, labels.codes, named=True)

    def numbers(self, name: str) -> Numbers:
        """The values as numbers."""
        return numbers_of(name, self.values)

    def flags(self) -> tuple[Bools, Bools]:
        """Where the values are true, and where they are neither true nor false."""
        known = [value if value in (0, 1) else None for value in self.values]
        true, neither = [flag == 1 for flag in known], [flag is None for flag in known]
        return np.array(true, dtype=np.bool_), np.array(neither, dtype=np.bool_)


def _changes(values: list[Any]) -> Ints:
    differ = np.fromiter(map(operator.ne, values[1:], values), np.bool_, max(0, len(values) - 1))
    return np.flatnonzero(differ) + 1
