"""The progress of planning: gap or residual by iteration, and both bounds over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, LogLocator, MaxNLocator, NullFormatter

from rpsr.errors import InputError
from rpsr.models.as_model import wrong_type
from rpsr.planning.solution import ProgressRow, Solution
from rpsr.report.plots.style import COLOURS, COLUMN, DASHES, MARKERS, PAPER, new_figure, styled

Trace = Solution | Sequence[ProgressRow]
Traces = Solution | Mapping[str, Trace]
_EXPECTED = "a plan or rows of progress"


@styled
def plot_convergence(traces: Traces, *, quantity: Literal["gap", "residual"] = "gap") -> Figure:
    """The gap between bounds, or the proven Bellman residual, by iteration, on a log scale.

    traces: a plan, or plans and rows of progress by the names they get in the legend. Rows without
    the quantity, and those at zero, are not drawn.
    """
    figure = new_figure(COLUMN, 2.9)
    axes = figure.add_subplot()
    for i, (name, trace) in enumerate(_named(traces).items()):
        points = [(row.iteration, getattr(row, quantity)) for row in trace]
        points = [(iteration, value) for iteration, value in points if value]
        axes.plot(
            [iteration for iteration, _ in points],
            [value for _, value in points],
            color=COLOURS[i % len(COLOURS)],
            linestyle=DASHES[i % len(DASHES)],
            marker=MARKERS[i % len(MARKERS)],
            linewidth=max(2.6 - 0.7 * i, 1.0),  # curves that coincide stay visible
            markersize=max(8 - 1.5 * i, 3.0),
            markeredgecolor=PAPER,
            markeredgewidth=0.7,
            markevery=max(1, len(points) // 12),
            label=name,
        )
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("iteration")
    axes.set_ylabel("upper \N{MINUS SIGN} lower bound" if quantity == "gap" else "Bellman residual")
    figure.legend(loc="outside upper center", ncols=3)  # no curve crosses it there
    return figure


@styled
def plot_bounds(traces: Traces) -> Figure:
    """Lower and upper bound on the value at the start, over seconds, on a log scale of time.

    traces: a plan, or plans and rows of progress by the names they get in the legend.
    """
    figure = new_figure(COLUMN, 2.9)
    axes = figure.add_subplot()
    for i, (name, trace) in enumerate(_named(traces).items()):
        colour, dashes = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        rows = [row for row in trace if row.lower is not None]
        for bound in ("lower", "upper"):
            points = [(row.seconds, getattr(row, bound)) for row in rows]
            points = [(seconds, value) for seconds, value in points if value is not None]
            seconds, values = zip(*points, strict=True) if points else ((), ())
            label = name if bound == "lower" else None
            axes.step(seconds, values, where="post", color=colour, linestyle=dashes, label=label)
            axes.plot(seconds[-1:], values[-1:], marker=MARKERS[i % len(MARKERS)], color=colour)
        bounded = [row for row in rows if row.upper is not None]
        axes.fill_between(
            [row.seconds for row in bounded],
            [row.lower or 0.0 for row in bounded],
            [row.upper or 0.0 for row in bounded],
            step="post",
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))  # some label, however short it took
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("seconds")
    axes.set_ylabel("bounds on the value at the start")
    figure.legend(loc="outside upper center", ncols=3)  # no curve crosses it there
    return figure


def _plain_numbers(axis: Axis) -> None:
    """Numbers on a log scale without mathematical markup, which the style turns off."""
    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def _named(traces: Traces) -> dict[str, Sequence[ProgressRow]]:
    if isinstance(traces, Solution):
        return {traces.planner: traces.trace}
    given: Any = traces
    if not isinstance(given, Mapping):
        raise wrong_type(given, "traces", f"{_EXPECTED}, by name")
    if not given:
        raise InputError("traces: expected at least one plan to draw")
    return {str(name): _rows(trace, str(name)) for name, trace in given.items()}


def _rows(trace: Any, name: str) -> Sequence[ProgressRow]:
    """The rows of progress of a plan, or the given rows."""
    if isinstance(trace, Solution):
        return trace.trace
    if not isinstance(trace, Sequence) or not all(isinstance(row, ProgressRow) for row in trace):
        raise wrong_type(trace, f"traces: {name}", _EXPECTED)
    return trace
