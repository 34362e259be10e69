"""The report on one POMDP: its sizes, the accuracy of its PSR, and plans on each model.

Everything is computed for the page, with certificates where there are any. The page names the parts
that were too large, and why they are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rpsr._version import __version__
from rpsr.io.records import Bools
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.predictive.certainty import sentence
from rpsr.predictive.constructors import predictive_model
from rpsr.predictive.core import Core, find_core
from rpsr.predictive.futures import NOTATION, Test
from rpsr.predictive.reward_accuracy import Accuracy, accuracy
from rpsr.report.histories import first_wrong_history
from rpsr.report.page import Block, Figure, Page, Section, Text
from rpsr.report.planning_section import planning_blocks, solutions_of
from rpsr.report.plots.rewards import MOST_STATES, plot_reconstruction, worst_states
from rpsr.report.prose import plain
from rpsr.report.stepper import Stepper, Steps
from rpsr.report.tables import Table

STAGES = ("ranks and rewards", "POMDP", "PSR", "R-PSR", "page")  # names for `progress`
MOST_MEMBERS = 40
MOST_OUTCOMES = 16  # states whose outcomes are listed beside a core member
MOST_MERGES = 8
MOST_ROWS = 40


def model_page(
    pomdp: POMDP,
    *,
    story: str = "",
    time_limit: float = 20.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda stage: None,
) -> tuple[Page, dict[str, Solution]]:
    """The page, and the solutions it shows by the names of their models.

    story: a sentence about the model. time_limit: seconds for planning on each of the three models.
    progress: called with the name of each of `STAGES` when it is done. Ctrl-C ends it all.
    """
    found = accuracy(pomdp, seed=seed)
    tests, intents = (
        core if core.members else find_core(pomdp, core.kind, seed=seed)
        for core in (found.psr, found.rpsr)
    )
    models: dict[str, LinearModel] = {
        "POMDP": pomdp.belief_model(),
        "PSR": predictive_model(pomdp, tests),
        "R-PSR": predictive_model(pomdp, intents),
    }
    progress(STAGES[0])
    solutions, reason = solutions_of(pomdp, models, time_limit, progress)
    sections = [
        Section("At a glance", (_facts(pomdp, found), *_warnings(pomdp))),
        Section(
            "Rewards of the PSR",
            (Text(verdict(found)), *_merges(found), *_rewards(pomdp, found)),
        ),
        Section("Plans on each model", planning_blocks(pomdp, solutions, reason)),
        Section("Step through a history", _stepping(pomdp, models)),
        Section("Core tests and core intents", (*_core(pomdp, tests), *_core(pomdp, intents))),
    ]
    footer = f"Written by rpsr {__version__}. The page needs no network and stores nothing."
    progress(STAGES[-1])
    return Page(
        f"Report on {pomdp.name}", tuple(sections), lead=plain(story), footer=footer
    ), solutions


def verdict(found: Accuracy) -> str:
    """Whether a PSR is enough, in a paragraph."""
    if found.accurate:
        text = (
            "**A PSR is enough.** Every action's reward is a linear function of the PSR's state, "
            "so the PSR, the R-PSR and the POMDP expect the same rewards after every history."
        )
    else:
        text = (
            f"**A PSR is not enough.** Its state of {found.psr.rank} core tests does not determine "
            f"the rewards: the closest rewards have an error of up to {found.d_inf:.4g} "
            f"({found.rel_d_inf:.3g} of the largest reward). The R-PSR, with {found.rpsr.rank} "
            "core intents, is exact."
        )
        if found.accurate_reachable:
            text += " On every reachable belief, though, the PSR is right."
    return f"{text} {sentence('This is', found.certified, found.error_probability, found.margin)}"


def _facts(pomdp: POMDP, found: Accuracy) -> Table:
    low, high = float(pomdp.outcomes.reward.min()), float(pomdp.outcomes.reward.max())
    rows = (
        ("states", len(pomdp.states)),
        ("actions", len(pomdp.actions)),
        ("observations", len(pomdp.observations)),
        ("discount", "none given" if pomdp.discount is None else f"{pomdp.discount:g}"),
        ("rewards", f"{low:g} to {high:g}"),
        ("PSR rank (core tests)", found.psr.rank),
        ("R-PSR rank (core intents)", found.rpsr.rank),
        ("the PSR is accurate", found.accurate),
        ("… on reachable beliefs", found.accurate_reachable),
        ("largest reward error of the PSR", found.d_inf),
        ("… relative to the largest reward", found.rel_d_inf),
        ("error along random histories, mean", found.history_error[0]),
        ("error along random histories, largest", found.history_error[1]),
        ("states that look like another state to every test", found.merged_states),
    )
    return Table(f"The POMDP {pomdp.name}", ("property", "value"), rows, align="lr")


def _warnings(pomdp: POMDP) -> list[Block]:
    if not pomdp.warnings:
        return []
    lines = "\n".join(f"- {plain(warning)}" for warning in pomdp.warnings)
    return [Text(f"The reader noticed:\n\n{lines}")]


def _merges(found: Accuracy) -> list[Block]:
    if not found.merges:
        return []
    lines = [f"- {plain(str(merge))}" for merge in found.merges[:MOST_MERGES]]
    more = len(found.merges) - MOST_MERGES
    if more > 0:
        lines.append(f"- and {more} more groups of states")
    return [Text("States that the PSR cannot distinguish:\n\n" + "\n".join(lines))]


def _rewards(pomdp: POMDP, found: Accuracy) -> list[Block]:
    if found.accurate:
        return []
    states = worst_states(pomdp, found.reconstruction)
    left = ""
    if len(states) < len(pomdp.states):
        left = f" The {MOST_STATES} states with the largest errors of {len(pomdp.states)}."
    drawing = Figure(
        plot_reconstruction(pomdp, found),
        alt=f"Heat maps of the rewards of {pomdp.name}: true, reconstructed by the PSR, and "
        f"their difference, which is at most {found.d_inf:.4g}.",
        caption="Expected rewards R(s, a): the true ones, the PSR's, and the difference, on one "
        f"scale; white is zero.{left}",
    )
    return [drawing, _reward_table(pomdp, found)]


def _reward_table(pomdp: POMDP, found: Accuracy) -> Table:
    """True rewards and the PSR's, of the states and actions where they differ."""
    scale = max(1.0, float(np.abs(pomdp.R).max()))
    wrong: Bools = np.abs(pomdp.R - found.reconstruction) > 1e-9 * scale
    states = np.flatnonzero(wrong.any(axis=1)).tolist()
    actions = np.flatnonzero(wrong.any(axis=0)).tolist()
    shown = states[:MOST_ROWS]
    columns = [c for a in actions for c in (pomdp.actions[a], f"{pomdp.actions[a]} (PSR)")]
    rows = [
        [pomdp.states[s]]
        + [float(array[s, a]) for a in actions for array in (pomdp.R, found.reconstruction)]
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


def _stepping(pomdp: POMDP, models: dict[str, LinearModel]) -> tuple[Block, ...]:
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
            "belief over states, the PSR's predictions of its core tests, the R-PSR's of its core "
            "intents, and the rewards that each of them expects."
        ),
        Stepper((Steps(pomdp, models["PSR"], models["R-PSR"], note),)),
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
    notes = [f"The condition number of the outcome matrix U is {core.condition_number:.3g}."]
    if kind == "intent":
        notes.append(NOTATION)
    if len(members) < len(core.members):
        notes.append(f"The first {len(members)} of {len(core.members)}.")
    if not wide:
        notes.append(
            f"Outcomes in each of the {len(pomdp.states)} states are left out; a page lists them "
            f"for at most {MOST_OUTCOMES} states, and rpsr core --matrix prints them all."
        )
    return [
        Table(
            f"Core {kind}s of the {name}, found breadth-first, with their outcomes",
            (f"core {kind}", "at the start", *(pomdp.states if wide else ())),
            tuple(rows),
            footnotes=tuple(notes),
        )
    ]


def _words(member: object) -> str:
    return str(member) if not isinstance(member, Test) or len(member) else "ε (certain)"
