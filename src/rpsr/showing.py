"""How objects are displayed: a one-line title, and a few facts below it.

`str` is the title, which messages quote. `repr`, which an interactive session shows, is the title
and the facts, one per line. A notebook shows the same as a small table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from itertools import chain, repeat
from typing import TYPE_CHECKING, Literal, SupportsFloat, SupportsIndex

from rpsr.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

Side = Literal["left", "center", "right"]
SHORT = 12  # characters of a text that is not wrapped
MOST_NAMES = 6  # shown from a longer list


class Shown(ABC):
    """An object with a title and facts."""

    @abstractmethod
    def title(self) -> str:
        """A description in one line."""

    @abstractmethod
    def facts(self) -> Sequence[tuple[str, ...]]:
        """The facts to show, one row per fact, its name first."""

    def columns(self) -> tuple[str, ...]:
        """The column headings, if the facts form a table of several columns."""
        return ()

    def __str__(self) -> str:
        return f"<{_plain(self.title())}>"

    def __repr__(self) -> str:
        head, facts = self.columns(), self.facts()
        shown = [head, *facts] if head and facts else facts
        rows = [[_plain(text) for text in row] for row in shown]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(_pad, row, widths, self._sides())).rstrip() for row in rows)
        return "\n".join([f"<{_plain(self.title())}>", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        sides = self._sides()
        columns = "".join(map(_cell, self.columns(), sides, repeat("th")))
        head = f"<thead><tr>{columns}</tr></thead>" if columns else ""
        rows = "".join(
            f"<tr>{''.join(map(_cell, row, sides, chain(['th'], repeat('td'))))}</tr>"
            for row in self.facts()
        )
        table = f"<table>{head}<tbody>{rows}</tbody></table>"
        return f"<div><strong>{escape(_plain(self.title()))}</strong>{table}</div>"

    def _sides(self) -> list[str]:
        """The alignment of each column: right for numbers below a heading, else left."""
        columns, headed = zip(*self.facts(), strict=True), bool(self.columns())
        return ["right" if headed and all(map(_is_number, text)) else "left" for text in columns]


def _plain(text: str) -> str:
    """Names come from files: their control characters are shown, not sent to a terminal."""
    return printable(text, one_line=True)


def _pad(text: str, width: int, side: str) -> str:
    return text.rjust(width) if side == "right" else text.ljust(width)


def _cell(text: str, side: str, tag: str) -> str:
    return f'<{tag} style="text-align:{side}">{escape(_plain(text))}</{tag}>'


def _is_number(text: str) -> bool:
    """Whether the text is a number or empty."""
    try:
        float(text or 0)
    except ValueError:
        return False
    return True


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[Side]) -> Table:
    """A table of texts for terminals and text files; sides: the alignment of each column.

    In a narrow terminal, a left-aligned column may wrap, if it is wider than a short word. A
    right-aligned one never does, but for its header, because a number over two lines could be read
    as two numbers.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for i, (column, side) in enumerate(zip(columns, sides, strict=True)):
        widest = max((len(row[i]) for row in rows), default=0)
        least = widest if side == "right" else min(widest, SHORT)
        word = max(map(len, column.split()), default=0)
        table.add_column(column, justify=side, overflow="fold", min_width=max(least, word))
    for row in rows:
        table.add_row(*row)
    return table


def shown_cell(value: object, spec: str = ".4g") -> str:
    """A value as the text of a cell; a float that rounds to zero has no sign, None is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, SupportsFloat) or isinstance(value, SupportsIndex | Fraction | str):
        return str(value)
    text = format(float(value), spec)
    return text if any(digit in "123456789infa" for digit in text) else text.removeprefix("-")


def some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first names of a list, and the number of all if some are omitted."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """A number with its noun, in the plural (`nouns`, or an added s) unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"
