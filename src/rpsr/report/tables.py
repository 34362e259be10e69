"""One table, written five ways: plain text, Markdown, LaTeX, CSV and HTML.

A cell is a text, a number, None, or an estimate: an object with a `mean` and a `std`. Numbers have
their column's format, and all digits in CSV. An estimate is `mean ± std`, and two columns in CSV.
Equal tables give equal bytes.
"""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, SupportsFloat, SupportsIndex

from rich.console import Console

from rpsr.errors import InputError
from rpsr.printable import as_cell, printable
from rpsr.report.escapes import escape_latex, escape_markdown
from rpsr.report.prose import spans
from rpsr.showing import Side, grid, shown_cell

FORMAT = ".4g"
_SHORT, _SENTENCE = 30, 45  # letters: up to here a cell keeps to one line; from here it is prose
_WIDEST = 10_000  # letters: a table in a text file is never folded
_SIDES: dict[str, Side] = {"l": "left", "c": "center", "r": "right"}
_MINUS = re.compile(r"(?<!\w)-(?=\d)")


class EstimateLike(Protocol):
    """An estimate from samples, such as `rpsr.evaluation.Estimate`."""

    @property
    def mean(self) -> float:
        """The mean of the samples."""
        ...

    @property
    def std(self) -> float | None:
        """Their standard deviation; None for a single sample."""
        ...


Tone = Literal["good", "barely", "bad", "open"]  # of a verdict: the colour of its badge
Cell = str | bool | int | float | EstimateLike | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under column titles.

    align: one letter per column, `l`, `c` or `r`; by default columns with text are on the left and
    columns of numbers on the right. formats: the number format of each column, as in `format()`; an
    empty one is `.4g`. bold: places (row, column) in bold. footnotes: one sentence each, in which
    a page shows `code` and *emphasis*. grouped: a first cell is shown only if it differs from the
    one above; CSV has all. badges: verdicts with their tones; where a cell begins with one of them,
    a page shows it in the colour of its tone.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    align: str = ""
    formats: tuple[str, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    footnotes: tuple[str, ...] = ()
    grouped: bool = False
    badges: tuple[tuple[str, Tone], ...] = ()

    def __post_init__(self) -> None:
        width = len(self.columns)
        for name in ("columns", "formats", "footnotes", "badges"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        object.__setattr__(self, "bold", frozenset(self.bold))
        for number, row in enumerate(self.rows):
            if len(row) != width:
                raise InputError(f"row {number}: read {len(row)} cells, expected {width}")
        if self.formats and len(self.formats) != width:
            raise InputError(f"formats: read {len(self.formats)}, expected one per column, {width}")
        if not self.align:
            object.__setattr__(self, "align", "".join(map(self._alignment, range(width))))
        if len(self.align) != width or set(self.align) - set("lcr"):
            raise InputError(f"align: read {self.align!r}, expected {width} of the letters l, c, r")
        for place in self.bold:
            if not (0 <= place[0] < len(self.rows) and 0 <= place[1] < width):
                raise InputError(f"bold: read {place}, expected the row and column of a cell")

    # ---- renderers

    def text(self) -> str:
        """Plain text for a terminal; an asterisk marks bold cells."""
        lines = [self.caption] if self.caption else []
        rows = self._shown()
        for row, column in self.bold:
            rows[row][column] = f"*{rows[row][column]}"
        table = grid(self.columns, rows, [_SIDES[letter] for letter in self.align])
        console = Console(file=io.StringIO(), width=_WIDEST, highlight=False, markup=False)
        with console.capture() as captured:
            console.print(table)
        body = [line.rstrip() for line in captured.get().splitlines() if line.strip()]
        return printable("\n".join([*lines, *body, *self.footnotes]) + "\n")

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return self.html()

    def markdown(self) -> str:
        """A pipe table, after its caption and before its footnotes."""
        rows = [[escape_markdown(cell) for cell in row] for row in self._shown()]
        for i, j in self.bold:
            rows[i][j] = f"**{rows[i][j]}**"
        head = [escape_markdown(title) for title in self.columns]
        widths = [max(3, *(len(row[i]) for row in [head, *rows])) for i in range(len(head))]
        marks = {"l": (":", "-"), "c": (":", ":"), "r": ("-", ":")}
        rules = [
            marks[letter][0] + "-" * (width - 2) + marks[letter][1]
            for letter, width in zip(self.align, widths, strict=True)
        ]
        body = [
            "| " + " | ".join(map(_pad, row, widths, self.align)) + " |"
            for row in [head, rules, *rows]
        ]
        blocks = [f"**{escape_markdown(self.caption)}**"] if self.caption else []
        blocks.append("\n".join(body))
        return printable("\n\n".join([*blocks, *map(escape_markdown, self.footnotes)]) + "\n")

    def latex(self) -> str:
        """A `table` with rules of the booktabs package."""
        rows = [[escape_latex(cell) for cell in row] for row in self._shown()]
        for i, j in self.bold:
            rows[i][j] = f"\\textbf{{{rows[i][j]}}}"
        head = [escape_latex(title) for title in self.columns]
        lines = ["\\begin{table}", "  \\centering", f"  \\begin{{tabular}}{{{self.align}}}"]
        lines += ["    \\toprule", f"    {' & '.join(head)} \\\\", "    \\midrule"]
        lines += [f"    {' & '.join(row)} \\\\" for row in rows]
        lines += ["    \\bottomrule", "  \\end{tabular}"]
        lines += [f"  \\caption{{{escape_latex(self.caption)}}}"] if self.caption else []
        lines += [f"  \\par\\footnotesize {escape_latex(note)}" for note in self.footnotes]
        return printable("\n".join([*lines, "\\end{table}"]) + "\n")

    def csv(self) -> str:
        """Titles and rows; numbers with all digits, estimates in two columns; no caption."""
        estimated = [any(_is_estimate(row[j]) for row in self.rows) for j in range(len(self.align))]
        titles: list[str] = []
        for title, with_std in zip(self.columns, estimated, strict=True):
            titles += [title, f"{title} std"] if with_std else [title]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(map(as_cell, titles))
        for row in self.rows:
            cells: list[str] = []
            for cell, with_std in zip(row, estimated, strict=True):
                cells += _exact(cell) if with_std else _exact(cell)[:1]
            writer.writerow(map(as_cell, cells))
        return stream.getvalue()

    def html(self) -> str:
        """A `figure` with a table in a box that scrolls sideways; first column: row headers."""
        caption = html.escape(self.caption)
        head = "".join(
            f'<th scope="col" class="{letter}">{html.escape(title)}</th>'
            for title, letter in zip(self.columns, self.align, strict=True)
        )
        body = "".join(self._html_row(i, row) for i, row in enumerate(self._shown()))
        notes = "".join(f"<p>{spans(note)}</p>" for note in self.footnotes)
        label = html.escape(self.caption or "table")
        prose = " prose" if self._is_prose() else ""
        return printable(
            f'<figure class="table{" wide" if len(self.columns) > 3 else ""}{prose}">'
            f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
            + (f"<caption>{caption}</caption>" if caption else "")
            + f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            + (f'<div class="footnotes">{notes}</div>' if notes else "")
            + "</figure>\n"
        )

    # ---- cells

    def _is_prose(self) -> bool:
        """Whether cells are sentences, which a narrow screen shows one below the other."""
        columns = zip(*self._shown(), strict=True)
        return sum(any(len(cell) > _SENTENCE for cell in column) for column in columns) > 1

    def _alignment(self, column: int) -> str:
        return "l" if any(isinstance(row[column], str | bool) for row in self.rows) else "r"

    def _shown(self) -> list[list[str]]:
        formats = self.formats or ("",) * len(self.columns)
        shown = [
            [show(cell, spec or FORMAT) for cell, spec in zip(row, formats, strict=True)]
            for row in self.rows
        ]
        if self.grouped:
            for above, row in reversed(list(pairwise(shown))):
                row[0] = "" if row[0] == above[0] else row[0]
        return shown

    def _html_row(self, i: int, row: list[str]) -> str:
        cells: list[str] = []
        for j, (cell, letter) in enumerate(zip(row, self.align, strict=True)):
            # A minus sign is as wide as a digit; only numbers are set with one.
            if not isinstance(self.rows[i][j], str):
                cell = cell.replace("-", "\u2212")
            elif letter == "r":
                cell = _MINUS.sub("\u2212", cell)
            content = self._badge(cell) or html.escape(cell)
            content = f"<strong>{content}</strong>" if (i, j) in self.bold else content
            tag = 'th scope="row"' if j == 0 else "td"
            title = f' data-title="{html.escape(self.columns[j])}"' if self._is_prose() else ""
            kept = " short" if letter == "l" and len(cell) <= _SHORT else ""
            cells.append(f'<{tag} class="{letter}{kept}"{title}>{content}</{tag[:2]}>')
        return f"<tr>{''.join(cells)}</tr>"

    def _badge(self, cell: str) -> str:
        """A verdict as a badge, followed by the rest of its cell; empty if the cell has none."""
        matches = [(words, tone) for words, tone in self.badges if cell.startswith(words)]
        if not matches:
            return ""
        words, tone = max(matches, key=lambda badge: len(badge[0]))
        badge = f'<span class="badge {tone}">{html.escape(words)}</span>'
        return badge + html.escape(cell.removeprefix(words))


def show(cell: Cell, spec: str = FORMAT) -> str:
    """A cell as text, see `rpsr.showing.shown_cell`; an estimate with its standard deviation."""
    if cell is None or isinstance(cell, str | SupportsFloat | SupportsIndex):
        return shown_cell(cell, spec)
    spread = "" if cell.std is None else f" ± {shown_cell(cell.std, spec)}"
    return shown_cell(float(cell.mean), spec) + spread


def _is_estimate(cell: Cell) -> bool:
    return cell is not None and not isinstance(cell, str | SupportsFloat | SupportsIndex)


def _exact(cell: Cell) -> list[str]:
    """A cell for CSV with all digits, and its standard deviation or an empty text."""
    if cell is None or isinstance(cell, str | SupportsIndex):
        return [show(cell), ""]
    if isinstance(cell, SupportsFloat):
        return [repr(float(cell)), ""]
    return [repr(float(cell.mean)), "" if cell.std is None else repr(float(cell.std))]


def _pad(cell: str, width: int, letter: str) -> str:
    return {"l": cell.ljust, "c": cell.center, "r": cell.rjust}[letter](width)
