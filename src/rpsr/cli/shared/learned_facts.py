"""The output of `rpsr learn`: facts, and tables of candidates and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rpsr.cli.shared.output import print_facts, print_table

if TYPE_CHECKING:
    from rpsr.learning.result import Learned


def show_learned(learned: Learned, plan: str, safe: bool) -> None:
    """Print a learned model; plan: the policy file, or empty; safe: whether --safe was given."""
    from rpsr.learning.promises.promise import ASSUMPTION
    from rpsr.predictive.futures import NOTATION

    print_facts(_facts(learned))
    findings = learned.findings
    if findings.core is not None:
        print_table(
            ("core intent", "stability"),
            [(member.intent, member.stability) for member in findings.core],
            "The model's state consists of the predictions of these intents. stability: the share "
            f"of resampled logs that chose the same intent. {NOTATION}",
        )
    if findings.candidates:
        print_table(
            ("states", "log-likelihood", "below the best by"),
            [(size.states, size.loglik, size.behind) for size in findings.candidates],
            "The numbers of states that were compared, the chosen one first. log-likelihood: per "
            f"held-out episode, with{'out' if findings.reward_family == 'none' else ''} rewards.",
        )
    if learned.choice is not None:
        choice, digits = learned.choice, learned.census.digits
        words = (
            choice.own_model,
            choice.agreement(digits),
            f"best plan: {choice.rule}. off-policy value: importance-sampled return, with a 90 % "
            "interval, over the steps up to the last at which a logged episode agrees with the "
            "plan. It is slightly optimistic, because the plan comes from the same log.",
        )
        print_table(choice.COLUMNS, choice.summary(), " ".join(filter(None, words)), digits)
    if learned.safe is not None:
        compared, level = learned.safe, learned.safe.chosen.promise.level
        print_table(
            compared.COLUMNS,
            compared.summary(bool(learned.continued)),
            f"Written to {plan}: {compared.written(safe)}. "
            "at least, about, at most: a lower bound, an estimate and an upper bound of the "
            f"discounted return on the true system, from the log. {ASSUMPTION} Each bound is meant "
            f"to hold with probability {level:.4g}, under the assumptions of its method; the "
            "documentation of learning says how often bounds held. chosen: the best plan, or the "
            "table's policy if its lower bound is clearly higher.",
            learned.census.digits,
            missing="-",
        )


def _facts(learned: Learned) -> list[tuple[str, Any]]:
    from rpsr.showing import counted

    findings, heldout, ended = learned.findings, learned.heldout, learned.census.ended
    facts: list[tuple[str, Any]] = [
        ("estimator", learned.name),
        ("log", f"{counted(learned.episodes, 'episode')}, {counted(learned.steps, 'step')}"),
    ]
    if ended:
        facts.append(("task ended", f"in {counted(ended, 'episode')}"))
    facts.append(("rank", ": ".join(filter(None, (str(findings.rank), findings.origin)))))
    if findings.spectrum is not None:
        facts.append(("because", findings.spectrum.reason))
    facts.append(("held out", f"log-likelihood {heldout.loglik:.4g} per observation"))
    if heldout.reward_rmse is not None and heldout.reward_std is not None:
        mean = f"(of always predicting the mean reward: {heldout.reward_std:.4g})"
        words = f"held-out RMSE {heldout.reward_rmse:.4g} {mean}"
        facts.append(("rewards", words))
    if learned.psr_enough is not None:
        enough = learned.psr_enough
        facts.append(("PSR enough", f"{enough.verdict}: {enough.words}"))
    words = f"predicted probability below zero: {heldout.negative_mass:.4g} per step"
    facts.append(("inconsistency", words))
    if learned.promise is not None:
        facts.append(("promise", learned.promise_words))
    if learned.safe is not None and learned.safe.acts:
        facts.append(("policy", learned.safe.acts))
    return [*facts, ("seconds", learned.seconds)]
