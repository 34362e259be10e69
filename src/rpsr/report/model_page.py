"""The report on one POMDP: its sizes, the accuracy of its PSR, and plans on each model.

Everything is computed for the page, with certificates where there are any. The page names the parts
that were too large, and why they are left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

import numpy as np

from rpsr._version import __version__
from rpsr.errors import ModelError
from rpsr.io.records import Bools
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.predictive.constructors import predictive_model
from rpsr.predictive.core import Core, find_core
from rpsr.predictive.futures import NOTATION, Test
from rpsr.predictive.reward_accuracy import Accuracy, accuracy
from rpsr.report.histories import first_wrong_history
from rpsr.report.page import Block, Card, Figure, Page, Section, Text
from rpsr.report.planning_section import Plans, planning_blocks, plans_of
from rpsr.report.plots.rewards import (
    MOST_STATES,
    NUMBERED,
    plot_reconstruction,
    worst_states,
)
from rpsr.report.prose import plain
from rpsr.report.stepper import Stepper, Steps
from rpsr.report.tables import Cell, Table
from rpsr.report.verdict_card import undecided_card, verdict, verdict_card
from rpsr.showing import counted

STAGES = ("ranks and rewards", "POMDP", "PSR", "R-PSR", "page")  # names for `progress`
MOST_MEMBERS = 40
MOST_OUTCOMES = 16  # states whose outcomes are listed beside a core member
MOST_MERGES = 8
MOST_ROWS = 40


def model_page(
    pomdp: POMDP,
    *,
    story: str = "",
    source: str = "",
    time_limit: float = 20.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda stage: None,
) -> tuple[Page, dict[str, Solution]]:
    """The page, and the solutions it shows by the names of their models.

    story: a sentence about the model. source: as the command line names it, for the commands on the
    page. time_limit: seconds for planning on each of the three models. progress: called with the
    name of each of `STAGES` when it is done. Ctrl-C ends it all.
    """
    source = shlex.quote(source or pomdp.name)
    try:
        measured = accuracy(pomdp, seed=seed)
    except ModelError as error:
        return _undecided(pomdp, str(error), story, source, time_limit, progress)
    tests, intents = (
        core if core.members else find_core(pomdp, core.kind, seed=seed)
        for core in (measured.psr, measured.rpsr)
    )
    models: dict[str, LinearModel] = {
        "POMDP": pomdp.belief_model(),
        "PSR": predictive_model(pomdp, tests),
        "R-PSR": predictive_model(pomdp, intents),
    }
    progress(STAGES[0])
    plans = plans_of(pomdp, models, time_limit, progress)
    sections = [
        Section(
            "Rewards of the PSR",
            (Text(verdict(measured)), *_merges(measured), *_rewards(pomdp, measured)),
        ),
        Section("Plans on each model", planning_blocks(plans, source)),
        Section("Step through a history", _stepping(pomdp, models, plans)),
        Section("Sizes and errors", (_facts(pomdp, measured), *_warnings(pomdp))),
        Section("Core tests and core intents", (*_core(pomdp, tests), *_core(pomdp, intents))),
    ]
    card = verdict_card(measured, plans, source)
    progress(STAGES[-1])
    return _page(pomdp, story, card, sections), dict(plans.solutions)


def _undecided(
    pomdp: POMDP,
    reason: str,
    story: str,
    source: str,
    time_limit: float,
    progress: Callable[[str], None],
) -> tuple[Page, dict[str, Solution]]:
    """The page where the PSR cannot be found: the POMDP alone."""
    progress(STAGES[0])
    plans = plans_of(pomdp, {"POMDP": pomdp.belief_model()}, time_limit, progress)
    sections = [
        Section("Plans on the POMDP", planning_blocks(plans, source)),
        Section("Sizes", (_facts(pomdp, None), *_warnings(pomdp))),
    ]
    progress(STAGES[-1])
    card = undecided_card(reason, plans, source)
    return _page(pomdp, story, card, sections), dict(plans.solutions)


def _page(pomdp: POMDP, story: str, card: Card, sections: list[Section]) -> Page:
    return Page(
        f"Report on {pomdp.name}",
        tuple(sections),
        lead=plain(story),
        footer=f"Written by rpsr {__version__}. The page needs no network and stores nothing.",
        verdict=card,
    )


def _facts(pomdp: POMDP, measured: Accuracy | None) -> Table:
    low, high = float(pomdp.outcomes.reward.min()), float(pomdp.outcomes.reward.max())
    rows: tuple[tuple[str, Cell], ...] = (
        ("states", len(pomdp.states)),
        ("actions", len(pomdp.actions)),
        ("observations", len(pomdp.observations)),
        ("discount", "none given" if pomdp.discount is None else f"{pomdp.discount:g}"),
        ("rewards", f"{low:g} to {high:g}"),
    )
    if measured is not None:
        rows += _measured(measured)
    return Table(f"The POMDP {pomdp.name}", ("property", "value"), rows, align="lr")


def _measured(measured: Accuracy) -> tuple[tuple[str, Cell], ...]:
    return (
        ("PSR rank (core tests)", measured.psr.rank),
        ("R-PSR rank (core intents)", measured.rpsr.rank),
        ("the PSR is accurate", measured.accurate),
        ("… on reachable beliefs", measured.accurate_reachable),
        ("largest reward error of the PSR", measured.d_inf),
        ("… relative to the largest reward", measured.rel_d_inf),
        ("error along random histories, mean", measured.history_error[0]),
        ("error along random histories, largest", measured.history_error[1]),
        ("groups of states that no test distinguishes", measured.merged_groups),
    )


def _warnings(pomdp: POMDP) -> list[Block]:
    if not pomdp.warnings:
        return []
    lines = "\n".join(f"- {plain(warning)}" for warning in pomdp.warnings)
    return [Text(f"Warnings about the model file:\n\n{lines}")]


def _merges(measured: Accuracy) -> list[Block]:
    if not measured.merges:
        return []
    lines = [f"- {plain(str(merge))}" for merge in measured.merges[:MOST_MERGES]]
    more = len(measured.merges) - MOST_MERGES
    if more > 0:
        lines.append(f"- and {counted(more, 'more group')} of states")
    return [Text("States that the PSR cannot distinguish:\n\n" + "\n".join(lines))]


def _rewards(pomdp: POMDP, measured: Accuracy) -> list[Block]:
    if measured.accurate:
        return []
    states = worst_states(pomdp, measured.reconstruction)
    left = ""
    if len(states) < len(pomdp.states):
        left = (
            f" Of {len(pomdp.states)} states, the {MOST_STATES} with the largest errors are shown "
            f"({NUMBERED} on a narrow screen)."
        )
    drawing = Figure(
        plot_reconstruction(pomdp, measured),
        narrow=plot_reconstruction(pomdp, measured, stacked=True),
        alt=f"Heat maps of the rewards of {pomdp.name}: true, reconstructed by the PSR, and "
        f"their difference, which is at most {measured.d_inf:.4g}.",
        caption="Expected rewards R(s, a): the true ones, the PSR's, and the difference, on one "
        "scale; white is zero. Look for colour in the difference: there the PSR is wrong, too high "
        f"where red, too low where blue.{left}",
    )
    return [drawing, _reward_table(pomdp, measured)]


def _reward_table(pomdp: POMDP, measured: Accuracy) -> Table:
    """True rewards and the PSR's, of the states and actions where they differ."""
    scale = max(1.0, float(np.abs(pomdp.R).max()))
    wrong: Bools = np.abs(pomdp.R - measured.reconstruction) > 1e-9 * scale
    states = np.flatnonzero(wrong.any(axis=1)).tolist()
    actions = np.flatnonzero(wrong.any(axis=0)).tolist()
    shown = states[:MOST_ROWS]
    columns = [c for a in actions for c in (pomdp.actions[a], f"{pomdp.actions[a]} (PSR)")]
    rows = [
        [pomdp.states[s]]
        + [float(array[s, a]) for a in actions for array in (pomdp.R, measured.reconstruction)]
        for s in shown
    ]
    bold = {
        (i, 2 + 2 * j) for i, s in enumerate(shown) for j, a in enumerate(actions) if wrong[s, a]
    }
    notes = ["Bold: wrong rewards of the PSR. States and actions without an error are not listed."]
    if len(shown) < len(states):
        notes.append(f"The first {len(shown)} of {len(states)} states.")
    return Table(
        "Rewards that the PSR gets wrong",
        ("state", *columns),
        tuple(tuple(row) for row in rows),
        bold=frozenset(bold),
        footnotes=tuple(notes),
    )


def _stepping(pomdp: POMDP, models: dict[str, LinearModel], plans: Plans) -> tuple[Block, ...]:
    steps = Steps(pomdp, models["PSR"], models["R-PSR"])
    if steps.too_large:
        return (Stepper((steps,)),)
    wrong = first_wrong_history(models["POMDP"], models["PSR"])
    note = ""
    if wrong is not None:
        text = ", ".join(f"{a} → {o}" for a, o in wrong)
        note = f"The PSR is first wrong after: {text}." if wrong else ""
    return (
        Text(
            "Choose an action, then click the observation that follows it. The page shows the "
            "rewards that each model expects, its best action, the belief over states, the PSR's "
            "predictions of its core tests and the R-PSR's of its core intents."
        ),
        Stepper((Steps(pomdp, models["PSR"], models["R-PSR"], note, plans=dict(plans.solutions)),)),
    )


def _core(pomdp: POMDP, core: Core) -> list[Block]:
    """The members of a core set with their outcomes."""
    kind, name = ("test", "PSR") if core.kind == "psr" else ("intent", "R-PSR")
    wide = len(pomdp.states) <= MOST_OUTCOMES
    members = core.members[:MOST_MEMBERS]
    at_start = pomdp.start @ core.outcomes
    rows = [
        (_words(member), float(at_start[i]), *(core.outcomes[:, i].tolist() if wide else ()))
        for i, member in enumerate(members)
    ]
    notes = [condition(core.condition_number)]
    if kind == "intent":
        notes.append(NOTATION)
    if len(members) < len(core.members):
        notes.append(f"The first {len(members)} of {len(core.members)} are shown.")
    if not wide:
        notes.append(
            f"Outcomes in each of the {len(pomdp.states)} states are left out; a page lists them "
            f"for at most {MOST_OUTCOMES} states, and `rpsr core --matrix` prints them all."
        )
    return [
        Table(
            f"Core {kind}s of the {name}, found breadth-first, with their outcomes",
            (f"core {kind}", "at the start", *(pomdp.states if wide else ())),
            tuple(rows),
            footnotes=tuple(notes),
        )
    ]


def condition(number: float) -> str:
    """The condition number of an outcome matrix, and what it means."""
    lost = min(16, max(0, round(np.log10(number)))) if np.isfinite(number) else 16
    text = f"The condition number of the outcome matrix U is {number:.3g}"
    if lost < 6:
        return f"{text}: these predictions determine the state well."
    what = "all digits" if lost >= 15 else f"about {lost} of 16 digits"
    return (
        f"{text}: computing with these predictions would lose {what}. rpsr computes in an "
        "orthonormal basis instead, which loses none."
    )


def _words(member: object) -> str:
    return str(member) if not isinstance(member, Test) or len(member) else "ε (probability 1)"
