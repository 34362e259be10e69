"""The page of `rpsr learn`: diagnostics of a learned model, with plots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import LogFormatter, MaxNLocator, NullFormatter

from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.findings import CoreIntent, Findings, Spectrum
from rpsr.learning.plan_choice.choice import Choice
from rpsr.learning.plan_choice.off_policy import OffPolicyEstimate
from rpsr.learning.promises.promise import ASSUMPTION
from rpsr.learning.promises.safe import SafeChoice
from rpsr.learning.result import TOO_SHORT, Learned
from rpsr.learning.spectral.psr_verdict import GROUPS, Enough
from rpsr.logs.census import Census
from rpsr.models.renaming import END
from rpsr.predictive.futures import NOTATION
from rpsr.report.page import Block, Card, Figure, Page, Section, Text
from rpsr.report.plots.style import COLOURS, COLUMN, MARKERS, new_figure, styled
from rpsr.report.prose import plain
from rpsr.report.tables import Table, Tone
from rpsr.showing import counted

FEWEST = 20  # predictions in a bin that is drawn
MOST_NAMES = 30  # that are listed, with how often they were seen
VISIBLE = 1e-4  # of the largest singular value: below, only rounding


def learning_page(learned: Learned, source: str) -> Page:
    """All diagnostics of a learned model, on one page."""
    findings = learned.findings
    sections: list[Section] = []
    if learned.choice is not None:
        sections.append(Section("The best plan", _choice(learned)))
    if learned.safe is not None:
        blocks = _promises(learned, learned.safe)
        sections.append(Section("The promise", blocks))
    sections += [
        Section("Is a PSR enough?", (_enough(learned.psr_enough),)),
        Section("The model", (_model(learned),)),
        Section("The log", _shown(learned.census, learned.model.observations)),
        Section("Held-out episodes", _held_out(learned.heldout)),
    ]
    if findings.spectrum is not None and len(findings.spectrum.singular_values):
        sections.append(Section("Rank", _rank(findings.spectrum)))
    if findings.core is not None:
        sections.append(Section("Core intents", _core(findings.core)))
    sections.append(Section("Overlap", _overlap(learned)))
    if findings.candidates:
        sections.append(Section("Candidates", _candidates(findings)))
    return Page(
        title=f"A model learned from {source}",
        sections=tuple(sections),
        lead="The results of an estimator on a log, and how far they can be trusted.",
        verdict=verdict_card(learned),
    )


_TONES: dict[str, tuple[Tone, str]] = {
    "yes": ("good", "a PSR is enough"),
    "no": ("bad", "a PSR is not enough"),
    "undecided": ("open", "PSR: undecided"),
}


def verdict_card(learned: Learned) -> Card:
    """The promise of the chosen policy, reasons for doubt, and whether a PSR is enough."""
    psr_enough, choice, digits = learned.psr_enough, learned.choice, learned.census.digits
    tone, badge = ("open", "PSR: not tested") if psr_enough is None else _TONES[psr_enough.verdict]
    enough = "The log is too short to test whether a PSR is enough."
    if psr_enough is not None:
        enough = f"Is a PSR enough? **{psr_enough.verdict.capitalize()}**: {psr_enough.words}."
    size = f"rank {learned.findings.rank}, from {counted(learned.episodes, 'episode')}"
    # The card says in its own words that a log is too short to test whether a PSR is enough.
    doubts = [f"- {plain(line)}" for line in learned.warnings() if line != TOO_SHORT]
    if choice is None:
        listed = "**Warnings:**\n\n" + "\n".join(doubts) + "\n\n" if doubts else ""
        how = "To plan a policy, too: `rpsr learn LOG -o MODEL --plan policy.json`."
        return Card(
            "bad" if learned.reasons else tone,
            badge,
            f"A model was learned ({size}), and no policy was planned.",
            f"{listed}{enough}\n\n{how}",
        )
    safe = learned.safe
    assert safe is not None, "a plan has a promise"
    chosen, promise, logged = choice.chosen, safe.chosen.promise, safe.offers[-1].promise
    facts = [
        ("the model", size),
        ("the policy", "; ".join(plain(words) for words in (safe.which, safe.acts) if words)),
        ("at most", f"{promise.high:.{digits}g}"),
        (
            "the behaviour policy",
            f"about {logged.about(digits)}, at least {logged.low:.{digits}g}",
        ),
    ]
    if promise.in_models is not None:
        low, high = (f"{end:.{digits}g}" for end in promise.in_models)
        facts.append(("in models of the log", f"{low} to {high}"))
    if chosen.off_policy is not None and safe.index == 0:  # the policy is that of the plan
        facts.append(_off_policy(chosen.off_policy))
    listed = (
        "**Do not trust these numbers yet:**\n\n" + "\n".join(doubts) + "\n\n" if doubts else ""
    )
    title = (
        f"The chosen policy is promised to earn at least {promise.low:.{digits}g} and about "
        f"{promise.about(digits)}, discounted, over the whole task (level {promise.level:.4g})"
        f"{', ' if learned.continued else ''}{learned.continued}."
    )
    if promise.vacuous:
        title = f"The chosen policy has no promise: {plain(learned.promise_words)}."
    return Card(
        "bad" if doubts else tone,
        badge,
        title,
        f"{listed}{enough}",
        tuple(facts),
    )


def _off_policy(estimate: OffPolicyEstimate) -> tuple[str, str]:
    """The off-policy value of a plan: of fewer steps than a promise."""
    if estimate.steps == 0:
        return "off-policy value", plain(str(estimate))
    only = f"{estimate.over} only, so not comparable with the promise"
    return "off-policy value", f"{estimate.interval}, {only}"


def _facts(rows: Iterable[tuple[str, Any]]) -> Table:
    return Table("", ("what", "value"), tuple(rows))


def _model(learned: Learned) -> Block:
    origin = learned.findings.origin
    return _facts(
        [
            ("estimator", learned.name),
            ("episodes", learned.episodes),
            ("steps", learned.steps),
            ("rank", learned.findings.rank),
            *([("explanation of the rank", origin)] if origin else []),
            ("discount", learned.model.discount),
            ("seconds", learned.seconds),
        ]
    )


def _held_out(heldout: Diagnosis) -> tuple[Block, ...]:
    text = (
        "The same method was fitted to four fifths of the episodes, and its predictions were "
        "compared with the last fifth. The model's state was updated by actions and observations, "
        "not by rewards."
    )
    judged = [
        ("log-likelihood per observation", heldout.loglik),
        ("error of expected rewards (root mean square)", heldout.reward_rmse),
        ("spread of rewards (standard deviation)", heldout.reward_std),
        ("predicted probability below zero, per step", heldout.negative_mass),
        ("restarts of the filter", heldout.resets),
        ("steps", heldout.steps),
    ]
    return Text(text), _facts(judged), _calibration(heldout.calibration)


def _rank(spectrum: Spectrum) -> tuple[Block, ...]:
    """The singular values and, if held-out episodes decided, the scores of all ranks."""
    figure = Figure(
        plot_singular_values(spectrum.singular_values, spectrum.noise_level),
        alt="Singular values of the moments, with the level of noise",
        caption="The data can distinguish as many dimensions as singular values exceed the noise.",
    )
    blocks: tuple[Block, ...] = (Text(f"Rank {spectrum.directions}: {spectrum.reason}."), figure)
    if not spectrum.trials:
        return blocks
    words = (
        "The chosen rank is the smallest whose predictions of observations and rewards on held-out "
        "episodes are within one standard error of the best."
    )
    columns = ("rank", "log-likelihood", "error of rewards", "below the best by", "±")
    rows = tuple(
        (trial.rank, trial.loglik, trial.reward_rmse, trial.behind, trial.stderr)
        for trial in spectrum.trials
    )
    return *blocks, Text(words), Table("", columns, rows)


def _core(core: tuple[CoreIntent, ...]) -> tuple[Block, ...]:
    text = Text(
        "The state of the model consists of the predictions of these intents. Stability is the "
        f"share of resampled logs that chose the same intent.\n\n{NOTATION}"
    )
    rows = tuple((member.intent, member.stability) for member in core)
    return text, Table("", ("intent", "stability"), rows)


def _overlap(learned: Learned) -> tuple[Block, ...]:
    overlap, caution = learned.overlap, learned.findings.caution
    words = "The log has much data on an action only if the action was taken often."
    if overlap.warning:
        words += f" Here, {plain(overlap.warning)}."
    if caution.warning and not caution.by_state:
        words += f" **{plain(caution.warning)}**."
    rows = (
        ("smallest propensity of a logged action", overlap.smallest),
        ("effective sample size over the number of steps", overlap.effective),
        ("share of frequent interactions after which an action was never taken", overlap.unseen),
    )
    return Text(words), _facts(rows)


def _candidates(findings: Findings) -> tuple[Block, ...]:
    words = (
        "Of the models within one standard error of the best on held-out episodes, the smallest is "
        "chosen."
    )
    if findings.caution.warning:
        words += f" In this model, **{findings.caution.warning}**."
    columns = ("states", "held-out log-likelihood per episode", "below the best by")
    rows = tuple((size.states, size.loglik, size.behind) for size in findings.candidates)
    return Text(words), Table("", columns, rows)


def _choice(learned: Learned) -> tuple[Block, ...]:
    choice, digits = learned.choice, learned.census.digits
    assert choice is not None, "there are plans"
    text = Text(
        "A plan was made on each model that explains the log, and simulated in every model: a plan "
        "that exploits an error of one model has a low value in the others. The best plan has "
        f"{choice.rule}. The off-policy value is the importance-sampled return, over the steps up "
        "to the last at which a logged episode agrees with the plan. It is not used to choose."
    )
    figure = Figure(
        plot_choice(choice),
        alt="Values of each plan in every model, and its off-policy value",
        caption="Circles: the value of a plan in each model; bar: the mean, by which the best "
        "plan is found; square: the off-policy value, with its interval.",
    )
    footnotes = (choice.own_model, choice.agreement(digits), plain(learned.plan_doubt))
    footnotes = tuple(filter(None, footnotes))
    formats = (f".{digits}g",) * len(choice.COLUMNS)
    rows = tuple(choice.summary())
    return text, Table("", choice.COLUMNS, rows, formats=formats, footnotes=footnotes), figure


def _promises(learned: Learned, safe: SafeChoice) -> tuple[Block, ...]:
    promise, doubts, digits = safe.chosen.promise, learned.reasons, learned.census.digits
    text = (
        "The discounted return of each policy on the true system: a lower bound, an estimate and "
        f"an upper bound, from the log. **{ASSUMPTION}** Each bound is meant to hold with "
        f"probability {promise.level:.4g}, under the assumptions of its method; the documentation "
        "of learning says how often bounds held. "
        "*models*: the policy was simulated in models that explain the log, and in models of "
        "resampled logs. *importance*: returns of logged episodes, weighted; for the steps after "
        "them, the bounds allow any reward of the log. *returns*: the returns of the log. The "
        "best plan is chosen, or the table's policy if its lower bound is clearly higher."
    )
    if learned.continued:
        text += (
            f"\n\nAll promises are for the whole task, {learned.continued}. *returns* therefore "
            "extends the returns of the log beyond its last rows, by the rewards of late steps."
        )
    if safe.warning(digits):
        text += f"\n\n**{plain(safe.warning(digits))}**."
    reasons = dict.fromkeys(offer.promise.reason for offer in safe.offers if offer.promise.reason)
    text += "".join(f"\n\nModels were not used: {plain(reason)}." for reason in reasons)
    if doubts:
        listed = "".join(f"\n- {plain(one.words)}: {plain(one.advice)}" for one in doubts)
        text += f"\n\nWhy it may fail, and what to do:\n{listed}"
    formats = ("", *(f".{digits}g",) * 3, "", "")
    rows = tuple(
        tuple("-" if cell is None else cell for cell in row)
        for row in safe.summary(bool(learned.continued))
    )
    return Text(text), Table("", safe.COLUMNS, rows, align="lrrrll", formats=formats)


def _shown(census: Census, observations: tuple[str, ...]) -> tuple[Block, ...]:
    """The names in the log, at most `MOST_NAMES` of each kind, and the range of its rewards."""
    rows: list[tuple[str, int, str]] = []
    for kind, names in census.names.items():
        counts = census.counts[kind].tolist()
        named = [f"{name} ({times:,})" for name, times in zip(names, counts, strict=True)]
        more = [f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
        rows.append((f"{kind}s", len(names), ", ".join(named[:MOST_NAMES] + more)))
    text = "The names in the log, with counts. A misspelt name appears as a separate name."
    low, high = (f"{reward:.{census.digits}g}" for reward in (census.low, census.high))
    earned = f"All rewards are {low}." if low == high else f"Rewards are from {low} to {high}."
    if census.ended:
        earned += f" The task ended in {counted(census.ended, 'episode')}"
        seen = END in observations and END not in census.names["observation"]
        earned += (
            f". Its last observations occur elsewhere, too, so the model observes {END} instead."
            if seen
            else "."
        )
    doubts = filter(None, [census.unmarked_ends, *census.slips()])
    listed = "".join(f"\n- {plain(doubt)}" for doubt in doubts)
    return Text(f"{text} {earned}\n{listed}"), Table("", ("what", "how many", "names"), tuple(rows))


def _calibration(bins: np.ndarray) -> Block:
    if not (bins[:, 2] >= FEWEST).any():
        return Text(
            "Calibration (predicted against observed frequencies) is not drawn: no bin of similar "
            f"probabilities has {FEWEST} held-out predictions."
        )
    return Figure(
        plot_calibration(bins),
        alt="Observed frequency of observations against predicted probability",
        caption="On the diagonal, predictions of probability p come true with frequency p. "
        "Bars are two standard errors.",
    )


def _enough(enough: Enough | None) -> Block:
    if enough is None:
        return Text(
            "The log is too short to test whether a PSR is enough: expected at least "
            f"{GROUPS} episodes of three steps or more. Long episodes count as several."
        )
    return Text(
        f"Is a PSR enough? **{enough.verdict}**: {enough.words}. The root mean square error of the "
        f"PSR's expected rewards is estimated at {enough.reward_error:.3g}."
    )


@styled
def plot_calibration(calibration: np.ndarray) -> Drawing:
    """Observed frequency against predicted probability, from bins (B, 3)."""
    figure = new_figure(COLUMN, 3.2)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=COLOURS[6], linewidth=1.0, linestyle="--", label="ideal")
    predicted, came, count = calibration[calibration[:, 2] >= FEWEST].T
    error = 2 * np.sqrt(came * (1 - came) / count)
    axes.errorbar(
        predicted,
        came,
        yerr=error,
        color=COLOURS[0],
        marker=MARKERS[0],
        capsize=2,
        linestyle="none",
        label="model",
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="observed frequency")
    axes.legend()
    return figure


@styled
def plot_choice(choice: Choice) -> Drawing:
    """Values of plans, one row each: in all models, their mean, and off policy."""
    figure = new_figure(COLUMN, 1.3 + 0.28 * len(choice.options))
    axes = figure.add_subplot()
    for row, option in enumerate(choice.options):
        colour = COLOURS[1] if option is choice.chosen else COLOURS[0]
        heights = np.full(len(option.values), row + 0.12)
        axes.plot(option.values, heights, "o", color=colour, markersize=3, alpha=0.6)
        axes.plot([option.mean], [row + 0.12], "|", color=colour, markersize=12, markeredgewidth=2)
        logged = option.off_policy
        if logged is not None:
            spread = [[max(logged.value - logged.low, 0)], [max(logged.high - logged.value, 0)]]
            axes.errorbar(
                [logged.value], [row - 0.18], xerr=spread, fmt="s", color=COLOURS[6], markersize=3
            )
    labels = [
        f"plan {number}{', best' if option is choice.chosen else ''}"
        for number, option in enumerate(choice.options, 1)
    ]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel("discounted return")
    return figure


@styled
def plot_singular_values(values: np.ndarray, noise: float | None) -> Drawing:
    """Singular values (K,) on a log scale, with the level below which they are noise."""
    figure = new_figure(COLUMN, 2.9)
    axes = figure.add_subplot()
    shown = values[values > VISIBLE * values.max(initial=0.0)][:40]
    axes.plot(1 + np.arange(len(shown)), shown, color=COLOURS[0], marker=MARKERS[0])
    if noise is not None and noise > 0:
        axes.axhline(noise, color=COLOURS[1], linestyle="--", label="noise")
        axes.legend()
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(LogFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("number")
    axes.set_ylabel("singular value")
    return figure
