"""A page: one HTML file that holds everything it needs and opens from disk.

A `Page` is sections of blocks: `Text`, `Table`, `Figure`, `Stepper`. Style and script are files in
`assets/`, written into the page; nothing is fetched. The same page always gives the same bytes.
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
from rpsr.io.printable import printable
from rpsr.report.plots.policy_graphs import GRAPH
from rpsr.report.plots.svg import inline_svg
from rpsr.report.prose import prose
from rpsr.report.stepper import Stepper
from rpsr.report.tables import Table


@dataclass(frozen=True)
class Text:
    """Paragraphs in a small Markdown: blank lines, lists, `code`, **strong**, *emphasis*, links."""

    markdown: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A matplotlib figure, shown as SVG in the colours of the page.

    alt: what it shows, for those who cannot see it. caption: what to read from it.
    """

    drawing: Drawing
    alt: str
    caption: str = ""


Block = Text | Table | Figure | Stepper


@dataclass(frozen=True)
class Section:
    """A heading and the blocks under it."""

    title: str
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))


@dataclass(frozen=True)
class Page:
    """A title, a sentence or two under it, sections, and a last line in small print."""

    title: str
    sections: tuple[Section, ...]
    lead: str = ""
    footer: str = ""

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
                self.figures += 1
                return _figure(block, f"f{self.figures}")
            case Stepper():
                self.steppers += 1
                return block.html(f"s{self.steppers}")


def _figure(block: Figure, prefix: str) -> str:
    svg = inline_svg(block.drawing, alt=block.alt, prefix=prefix)
    caption = f"<figcaption>{html.escape(block.caption)}</figcaption>" if block.caption else ""
    return (
        f'<figure class="drawing"><div class="scroll" role="region" tabindex="0" '
        f'aria-label="figure {prefix[1:]}">{svg}</div>{caption}</figure>\n'
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
