"""Returns by policy, with intervals, one panel for each model whose rewards they are valued by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rpsr.errors import InputError
from rpsr.models.as_model import wrong_type
from rpsr.report.plots.style import COLOURS, COLUMN, INK, MARKERS, new_figure, styled

_READ = ("policy", "model", "mean", "stderr", "exact")
NORMAL_95 = 1.959963984540054


class ReturnLike(Protocol):
    """An estimate of a policy's return by a model's rewards, such as `rpsr evaluate` makes."""

    @property
    def policy(self) -> str:
        """The policy's name."""
        ...

    @property
    def model(self) -> str:
        """The name of the model whose rewards were counted."""
        ...

    @property
    def mean(self) -> float:
        """The mean return."""
        ...

    @property
    def stderr(self) -> float | None:
        """Its standard error."""
        ...

    @property
    def exact(self) -> float | None:
        """The expected return, if it is known."""
        ...


@styled
def plot_returns(estimates: Iterable[ReturnLike]) -> Figure:
    """Mean returns with 95 % intervals; a bar across marks the exact value where there is one."""
    given: Any = estimates
    rows: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    for row in rows:
        if not all(hasattr(row, name) for name in _READ):
            raise wrong_type(row, "estimates", "the table that evaluate makes, or rows of it")
    if not rows:
        raise InputError("estimates: expected at least one to draw")
    models = list(dict.fromkeys(row.model for row in rows))
    policies = list(dict.fromkeys(row.policy for row in rows))
    figure = new_figure(max(COLUMN, 2.3 * len(models)), 0.9 + 0.32 * len(policies))
    panels: Any = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
    for axes, model in zip(panels, models, strict=True):
        for row in (row for row in rows if row.model == model):
            at = policies.index(row.policy)
            axes.errorbar(
                row.mean,
                at,
                xerr=NORMAL_95 * (row.stderr or 0.0),
                fmt=MARKERS[at % len(MARKERS)],
                markersize=5,
                capsize=3,
                color=COLOURS[at % len(COLOURS)],
            )
            if row.exact is not None:
                axes.plot([row.exact] * 2, [at - 0.3, at + 0.3], color=INK, linewidth=1.2)
        axes.set_title(model)
        axes.set_xlabel("return by its rewards")
        axes.margins(x=0.12)
        axes.xaxis.set_major_locator(MaxNLocator(4))  # more would run into each other
        axes.grid(axis="x", linewidth=0.4, alpha=0.4)
    panels[0].set_yticks(range(len(policies)), policies)
    panels[0].set_ylim(len(policies) - 0.5, -0.5)
    return figure
