"""The output of `rpsr learn`: facts, and tables of candidates and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rpsr.cli.shared.output import print_facts, print_table

if TYPE_CHECKING:
    from rpsr.learning.result import Learned


def show_learned(learned: Learned, plan: str, safe: bool) -> None:
    """Print a learned model; plan: the policy file, or empty; safe: whether --safe was given."""
    from rpsr.learning.promises.promise import ASSUMED
    from rpsr.predictive.futures import NOTATION

    print_facts(_facts(learned))
    findings = learned.findings
    if findings.core is not None:
        print_table(
            ("core intent", "stability"),
            [(member.intent, member.stability) for member in findings.core],
            "The state consists of the predictions of these intents; stability: the share of "
            f"resampled logs that chose the same intent. {NOTATION}",
        )
    if findings.candidates:
        print_table(
            ("states", "log-likelihood", "behind the best by"),
            [(size.states, size.loglik, size.behind) for size in findings.candidates],
            "Candidates, the chosen one first: held-out log-likelihood per episode, rewards "
            f"{'not ' if findings.reward_family == 'none' else ''}included.",
        )
    if learned.choice is not None:
        choice, digits = learned.choice, learned.census.digits
        words = (
            choice.own_model,
            choice.agreement(digits),
            f"Best: the plan with {choice.rule}. Off-policy value: importance-sampled return, "
            "over the steps where some logged episode still agrees with the plan, with a 90 % "
            "interval. It is slightly optimistic, because the plan comes from the same log.",
        )
        print_table(choice.COLUMNS, choice.summary(), " ".join(filter(None, words)), digits)
    if learned.safe is not None:
        compared, level = learned.safe, learned.safe.chosen.promise.level
        print_table(
            compared.COLUMNS,
            compared.summary(bool(learned.continued)),
            f"Written to {plan}: {compared.written(safe)}. "
            f"Promises: the discounted return on the true system, by the log, {ASSUMED}. An expert "
            "who sees more than the log breaks this, and no test shows it. Each bound is meant "
            f"to hold with probability {level:.4g}, under the assumptions of its method; the "
            "documentation of learning says how often that was so. Chosen: the best plan, or the "
            "table if its lower bound is clearly higher.",
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
        mean = f"(predicting the mean reward: {heldout.reward_std:.4g})"
        words = f"RMSE {heldout.reward_rmse:.4g} {mean}"
        facts.append(("rewards", words))
    if learned.psr_enough is not None:
        enough = learned.psr_enough
        facts.append(("PSR enough", f"{enough.verdict}: {enough.words}"))
    words = f"negative probability {heldout.negative_mass:.4g} per step"
    facts.append(("inconsistency", words))
    if learned.promise is not None:
        facts.append(("promise", learned.promise_words))
    if learned.safe is not None and learned.safe.acts:
        facts.append(("policy", learned.safe.acts))
    return [*facts, ("seconds", learned.seconds)]
