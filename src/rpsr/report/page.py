"""A page: one HTML file that holds everything it needs and opens from disk.

A `Page` begins with its verdict, a `Card`, and continues with sections of blocks: `Text`, `Table`,
`Figure`, `Grid`, `Stepper`. Style and script are files in `assets/`, written into the page; nothing
is fetched. The same page always gives the same bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from matplotlib.figure import Figure as Drawing

from rpsr.io.files import write_bytes
from rpsr.printable import printable
from rpsr.report.plots.policy_graphs import GRAPH
from rpsr.report.plots.svg import inline_svg
from rpsr.report.prose import prose, spans
from rpsr.report.stepper import Stepper
from rpsr.report.tables import Table, Tone


@dataclass(frozen=True)
class Text:
    """Paragraphs in a small Markdown: blank lines, lists, `code`, **strong**, *emphasis*, links."""

    markdown: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A matplotlib figure, shown as SVG in the colours of the page.

    alt: what it shows, for those who cannot see it. caption: what to read from it, in the Markdown
    of `Text`. narrow: the same figure drawn for a phone, if it does not shrink well.
    """

    drawing: Drawing
    alt: str
    caption: str = ""
    narrow: Drawing | None = None


@dataclass(frozen=True)
class Grid:
    """Small figures side by side, as many in a row as the screen has space for."""

    figures: tuple[Figure, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", tuple(self.figures))


@dataclass(frozen=True)
class Card:
    """The verdict of a page, above everything else.

    tone: its colour. badge: the verdict in a few words. title: the verdict as a sentence. text:
    what to do. facts: names and values to show beside it. Title, text and values are Markdown.
    """

    tone: Tone
    badge: str
    title: str
    text: str = ""
    facts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", tuple(self.facts))

    def html(self) -> str:
        """The card's markup."""
        facts = "".join(
            f"<div><dt>{html.escape(name)}</dt><dd>{spans(value)}</dd></div>"
            for name, value in self.facts
        )
        return (
            f'<div class="card {self.tone}" role="region" aria-label="Verdict">'
            f'<p><span class="badge {self.tone}">{html.escape(self.badge)}</span></p>'
            f'<p class="verdict">{spans(self.title)}</p>'
            + (f"<dl>{facts}</dl>" if facts else "")
            + prose(self.text)
            + "</div>\n"
        )


Block = Text | Table | Figure | Grid | Stepper


@dataclass(frozen=True)
class Section:
    """A heading and the blocks under it."""

    title: str
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))


@dataclass(frozen=True)
class Page:
    """A title, the verdict, a sentence or two, sections, and a last line in small print."""

    title: str
    sections: tuple[Section, ...]
    lead: str = ""
    footer: str = ""
    verdict: Card | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", tuple(self.sections))

    def html(self) -> str:
        """The whole page."""
        anchors = list(_anchors(self.sections))
        contents = "".join(
            f'<li><a href="#{anchor}">{html.escape(section.title)}</a></li>'
            for anchor, section in zip(anchors, self.sections, strict=True)
        )
        places = _Places()
        sections = "".join(
            f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{html.escape(section.title)}'
            f"</h2>\n{''.join(map(places.render, section.blocks))}</section>\n"
            for anchor, section in zip(anchors, self.sections, strict=True)
        )
        scripts = _asset("page.js")
        scripts += _asset("stepper.js") if places.steppers else ""
        scripts += _asset("graph.js") if f'-{GRAPH}"' in sections else ""
        page = _asset("page.html").format(
            title=html.escape(self.title),
            style=_asset("page.css"),
            script=scripts,
            verdict=self.verdict.html() if self.verdict else "",
            lead=f'<div class="lead">{prose(self.lead)}</div>' if self.lead else "",
            contents=contents,
            sections=sections,
            footer=prose(self.footer) if self.footer else "",
        )
        return printable(page)  # valid in a script's JSON, too


def write_page(page: Page, path: str | Path) -> None:
    """Write a page as one HTML file, completely or not at all; `-` is standard output."""
    write_bytes(path, page.html().encode("utf-8"))


class _Places:
    """Numbers figures and steppers, so that ids on a page are unique."""

    def __init__(self) -> None:
        self.figures = 0
        self.steppers = 0

    def render(self, block: Block) -> str:
        match block:
            case Text(markdown=markdown):
                return prose(markdown)
            case Table():
                return block.html()
            case Figure():
                return self._figure(block)
            case Grid():
                return f'<div class="grid">{"".join(map(self._figure, block.figures))}</div>\n'
            case Stepper():
                self.steppers += 1
                return block.html(f"s{self.steppers}")

    def _figure(self, block: Figure) -> str:
        drawn = self._drawn(block.drawing, block.alt, "broad" if block.narrow else "")
        if block.narrow is not None:
            drawn += self._drawn(block.narrow, block.alt, "narrow")
        caption = f"<figcaption>{spans(block.caption)}</figcaption>" if block.caption else ""
        return f'<figure class="drawing">{drawn}{caption}</figure>\n'

    def _drawn(self, drawing: Drawing, alt: str, width: str) -> str:
        self.figures += 1
        number = self.figures
        svg = inline_svg(drawing, alt=alt, prefix=f"f{number}")
        return (
            f'<div class="{f"scroll {width}".strip()}" role="region" tabindex="0" '
            f'aria-label="figure {number}">{svg}</div>'
        )


def _anchors(sections: tuple[Section, ...]) -> Iterator[str]:
    taken: set[str] = set()
    for section in sections:
        base = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        anchor, number = base, 1
        while anchor in taken:
            number += 1
            anchor = f"{base}-{number}"
        taken.add(anchor)
        yield anchor


def _asset(name: str) -> str:
    return (files("rpsr.report") / "assets" / name).read_text(encoding="utf-8")
