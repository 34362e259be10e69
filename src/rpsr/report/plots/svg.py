"""Figures as SVG and PNG; equal figures give equal bytes.

By default matplotlib uses random names of clip paths and adds a date. Inside a page, ids have a
prefix per figure, and the style's colours are replaced by the page's, which change between light
and dark.
"""

from __future__ import annotations

import html
import io
import re
from base64 import b64encode

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from rpsr.printable import printable
from rpsr.report.plots.style import COLOURS, INK, PAPER, house_style

_PAGE_COLOURS = {INK: "currentColor", PAPER: "var(--paper)"} | {
    colour: f"var(--series-{number}, {colour})" for number, colour in enumerate(COLOURS, 1)
}


def svg_text(figure: Figure, *, transparent: bool = False) -> str:
    """A figure as an SVG document."""
    stream = io.StringIO()
    with house_style():  # parts of an axis are created only when it is drawn
        FigureCanvasSVG(figure).print_figure(
            stream,
            format="svg",
            metadata={"Date": None, "Creator": None},
            facecolor="none" if transparent else "white",
        )
    text = printable(stream.getvalue())  # XML knows no control characters
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def svg_image(figure: Figure, *, alt: str) -> str:
    """A figure as an `<img>` element on white, independent of the page's style."""
    data = b64encode(svg_text(figure).encode()).decode("ascii")
    return f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'


def png_bytes(figure: Figure, *, dpi: int = 200) -> bytes:
    """A figure as a PNG image on white."""
    stream = io.BytesIO()
    with house_style():
        FigureCanvasAgg(figure).print_figure(
            stream, format="png", dpi=dpi, metadata={"Software": None}, facecolor="white"
        )
    return stream.getvalue()


def inline_svg(figure: Figure, *, alt: str, prefix: str) -> str:
    """A figure as an `<svg>` element for a page, in the page's colours, described by `alt`."""
    text = svg_text(figure, transparent=True)
    text = text[text.index("<svg") :].rstrip()
    # A style element would apply to the whole page: its rules move to the root element.
    inside = r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>"
    text = re.sub(inside, "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    for colour, name in _PAGE_COLOURS.items():
        text = text.replace(colour, name)
    text = re.sub(r"\n\s*", "\n", text)
    style = f"--natural: {figure.get_figwidth():.4g}in; stroke-linejoin: round"
    return text.replace(
        "<svg", f'<svg role="img" aria-label="{html.escape(alt)}" style="{style}"', 1
    )
