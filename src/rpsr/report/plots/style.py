"""The style of figures: one palette, safe for colour-blind readers, legible at a column's width.

The colours are those of Okabe and Ito (2008), darkened where they would be faint on white; figures
never rely on colour alone (lines differ in their dashes and markers, cells carry numbers).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK = "#1b1f27"  # text and axes; the page's own text colour once inlined
PAPER = "#fefefe"  # what lies behind a label; the page's background once inlined
COLOURS = ("#0068a5", "#c44e00", "#00835f", "#a8558b", "#a87400", "#3a8fbf", "#5f6773")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DIVERGING = "RdBu_r"  # readable without seeing red and green, and white at zero

COLUMN = 4.6  # inches: a figure as wide as a column of text
PAGE = 7.2
NARROW = 3.7  # a figure as wide as a phone

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "axes.grid": False,
    "image.interpolation": "nearest",
    "svg.hashsalt": "rpsr",
    "svg.fonttype": "path",
}

_P = ParamSpec("_P")


@contextmanager
def house_style() -> Generator[None]:
    """Set matplotlib's settings, and restore them afterwards."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of a name: a box stands for it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def styled(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Draw in this style, independent of the user's settings, and restore these afterwards.

    The layout is computed once, so that every later save gives the same bytes.
    """

    @wraps(draw)
    def inside(*args: _P.args, **kwargs: _P.kwargs) -> Figure:
        with house_style():
            figure = draw(*args, **kwargs)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return inside


def new_figure(width: float = COLUMN, height: float = 3.0) -> Figure:
    """An empty figure with its own canvas, unknown to pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
