"""A reproduction as one page: text, tables, figures and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr._version import __version__
from rpsr.planning import ProgressRow
from rpsr.report.page import Block, Card, Figure, Grid, Page, Section, Text
from rpsr.report.plots.corridor import plot_corridor
from rpsr.report.plots.planning import plot_convergence
from rpsr.report.plots.returns import plot_returns
from rpsr.report.plots.rewards import plot_reconstruction
from rpsr.report.stepper import Stepper
from rpsr.report.tables import Table
from rpsr.reproduce import paper, story, tables
from rpsr.reproduce.convergence import Curve
from rpsr.reproduce.one_domain import paper_domain
from rpsr.reproduce.run import Reproduction, corpus_counts
from rpsr.reproduce.story import Findings

_MODELS = {"pomdp": "POMDP", "psr": "PSR", "rpsr": "R-PSR"}


@dataclass(frozen=True)
class Exhibits:
    """Every table and figure by the name of its file."""

    tables: dict[str, Table]
    figures: dict[str, Figure]


def exhibits(findings: Findings) -> Exhibits:
    """The tables and figures of a reproduction."""
    all_ = findings.all_
    by_name = {
        "core-tests": tables.core_tests(all_.case),
        "rewards": tables.rewards(all_.case),
        "walks": tables.walks(all_.case),
        "errors": tables.errors(all_),
        "returns": tables.returns(all_),
        "expected-returns": tables.exact_returns(all_),
        "optima": tables.plans(all_),
        "verdicts-returns": tables.cells(all_),
        "verdicts-statements": tables.sentences(findings.claims),
    }
    if all_.corpus:
        by_name["corpus"] = tables.corpus(all_)
    return Exhibits(by_name, _figures(all_))


def _figures(all_: Reproduction) -> dict[str, Figure]:
    pomdp = paper_domain("loadunload")
    reconstruction = np.array(all_.case["reconstruction"]).T
    figures = {
        "corridor": Figure(
            plot_corridor(pomdp, reconstruction),
            "Load/unload: two rows of five states, loaded and empty, with the moves between them.",
            "Load/unload. Where a move has a reward, true or by the PSR: the true reward, and the "
            "PSR's in parentheses.",
        ),
        "reconstruction": Figure(
            plot_reconstruction(pomdp, reconstruction),
            "Three heat maps over the states of load/unload: true rewards, the PSR's, difference.",
            "True rewards of load/unload, the PSR's rewards, and the difference: too high where "
            "red, too low where blue.",
            narrow=plot_reconstruction(pomdp, reconstruction, stacked=True),
        ),
    }
    for name, returns in all_.returns.items():
        rows = [
            replace(row, policy=paper.POLICIES[row.policy], model=f"the {_MODELS[row.model]}")
            for row in returns.experiment.estimates
            if row.model in paper.REWARD_ROWS
        ]
        figures[f"returns-{name}"] = Figure(
            plot_returns(rows),
            f"Returns on {paper.DOMAINS[name]} by policy, once by true rewards, once by the PSR's.",
            f"**{paper.DOMAINS[name]}**: means with 95 % intervals; a bar marks the exact value. "
            "Compare PSR-VI on the left, by true rewards, with what the PSR promises on the right.",
        )
    for name, curves in all_.curves.items():
        traces = {
            title: [
                ProgressRow(seconds=0.0, iteration=number, residual=residual)
                for number, residual in enumerate(curves[model]["residuals"], 1)
            ]
            for model, title in _MODELS.items()
        }
        figures[f"convergence-{name}"] = Figure(
            plot_convergence(traces, quantity="residual"),
            f"Residuals of value iteration on {paper.DOMAINS[name]}, by iteration, three models.",
            f"**{paper.DOMAINS[name]}**: the change of the value function by iteration. The curves "
            f"stop after the fixed number of iterations that every run makes.{_flat(curves)}",
        )
    return figures


def _flat(curves: dict[str, Curve]) -> str:
    """A curve at zero cannot be drawn on a logarithmic scale."""
    flat = [title for model, title in _MODELS.items() if not any(curves[model]["residuals"])]
    return f" The curve of the {' and '.join(flat)} is zero throughout." if flat else ""


def page(findings: Findings, exhibits: Exhibits) -> Page:
    """The page."""
    all_, shown, drawn = findings.all_, exhibits.tables, exhibits.figures
    with_prefix = {
        prefix: [figure for name, figure in drawn.items() if name.startswith(f"{prefix}-")]
        for prefix in ("returns", "convergence")
    }
    losses: list[Block] = [Text(story.ERRORS), shown["errors"]]
    if all_.corpus:
        losses += [Text(corpus_paragraph(all_)), shown["corpus"]]
    optima: list[Block] = [Text(story.plans_text(all_)), shown["optima"]]
    if with_prefix["convergence"]:
        optima += [Text(story.CONVERGENCE), Grid(tuple(with_prefix["convergence"]))]
    case = (
        Text(story.CASE),
        drawn["corridor"],
        *(shown[name] for name in ("core-tests", "rewards", "walks")),
        drawn["reconstruction"],
    )
    costs = (
        Text(story.RETURNS),
        shown["returns"],
        shown["expected-returns"],
        Grid(tuple(with_prefix["returns"])),
    )
    quick = " (a quick look)" if all_.settings.quick else ""
    return Page(
        title=story.TITLE + quick,
        verdict=verdict_card(findings),
        lead=story.lead(findings),
        sections=(
            Section("A cart that forgets its load", case),
            Section("Reward errors of PSRs", tuple(losses)),
            Section("Returns", costs),
            Section("Optimal values and convergence", tuple(optima)),
            Section("Verdicts on the paper's statements", (shown["verdicts-statements"],)),
            Section("Verdicts on the paper's returns", (shown["verdicts-returns"],)),
            Section("Step through a history", (Text(story.STEPPER), Stepper(all_.steps))),
        ),
        footer=f"The paper: {paper.REFERENCE}. Made by `rpsr reproduce`, version {__version__}, "
        f"seed {all_.settings.seed}.",
    )


def verdict_card(findings: Findings) -> Card:
    """Whether the paper's claim is confirmed, with the counts of all verdicts."""
    counts = (
        ("reward errors", findings.about_errors()),
        ("returns", findings.about_cells()),
        ("statements", findings.about_claims()),
    )
    if findings.confirmed:
        return Card(
            "good",
            "confirmed, with corrections",
            "The paper is right: PSRs lose rewards on all its problems, and R-PSRs lose none.",
            facts=counts,
        )
    return Card(
        "bad", "not confirmed", "The paper's main claim does not hold in this run.", facts=counts
    )


def corpus_paragraph(all_: Reproduction) -> str:
    """The results on the files of the folder, in a sentence or two."""
    counts = corpus_counts(all_.corpus)
    sentences = [
        f"Of the paper's {len(paper.DOMAINS_63)} domains the folder holds {len(counts['known'])}; "
        f"**{len(counts['inaccurate'])}** of these are not accurate. Of {len(counts['beyond'])} "
        f"other files, {len(counts['inaccurate_beyond'])} are not."
    ]
    if counts["unread"]:
        sentences.append(f"Not read: {', '.join(counts['unread'])}; the table gives the reasons.")
    return " ".join(sentences)
