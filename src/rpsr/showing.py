"""How objects show themselves: a title in one line, and a few facts below it.

`str` is the title, which messages quote. `repr`, what an interactive session shows, is the title
with the facts, one per line. A notebook shows the same as a small table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape

MOST_NAMES = 6  # of a list of names, before it is cut


class Shown(ABC):
    """An object with a title and facts."""

    @abstractmethod
    def title(self) -> str:
        """What it is, in one line."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """What a person wants to know of it, by name."""

    def __str__(self) -> str:
        return f"<{self.title()}>"

    def __repr__(self) -> str:
        facts = self.facts()
        width = max((len(name) for name, _ in facts), default=0)
        return "\n".join([str(self), *(f"  {name:<{width}}  {text}" for name, text in facts)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.facts()
        )
        return f"<div><strong>{escape(self.title())}</strong><table>{rows}</table></div>"


def some(names: Sequence[str]) -> str:
    """The first names of a list, and how many there are where some are left out."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, ... ({len(names)} in all)"


def counted(number: int, noun: str) -> str:
    """A number with its noun, which gets an s where it is not 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
