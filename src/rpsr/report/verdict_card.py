"""The first thing on a report: whether a PSR is enough, what that costs, and what to do."""

from __future__ import annotations

import math

from rpsr.predictive.certainty import sentence
from rpsr.predictive.reward_accuracy import BEFORE, Accuracy, Merge
from rpsr.report.page import Card
from rpsr.report.planning_section import Plans
from rpsr.report.prose import plain
from rpsr.showing import counted

MOST_DIGITS = 6  # of a value
MOST_STATES = 3  # of a group of confused states that are named


def verdict_card(measured: Accuracy, plans: Plans, source: str) -> Card:
    """The verdict on a POMDP; source: as the command line names it."""
    facts = _facts(plans)
    if measured.accurate:
        return Card(
            "good",
            "PSR accurate",
            "A PSR is enough for this task: its state determines every reward.",
            "Plan on whichever model you like: the PSR "
            f"({counted(measured.psr.rank, 'core test')}) and the POMDP expect the "
            "same rewards after every history, and have the same optimal policies. "
            f"{_best(source)}",
            facts,
        )
    wrong = f"gets rewards wrong by up to {measured.d_inf:.4g}"
    if measured.accurate_reachable:
        return Card(
            "barely",
            "PSR accurate from the start",
            f"A PSR is enough for every history from the start; at other beliefs, it {wrong}.",
            "If every task begins at this start, plan on whichever model you like; otherwise use "
            f"the R-PSR ({counted(measured.rpsr.rank, 'core intent')}). {_best(source)}",
            facts,
        )
    return Card(
        "bad",
        "PSR not accurate",
        f"A PSR is not enough for this task: it {_confusion(measured)} and {wrong}.",
        f"Use the POMDP or its R-PSR ({counted(measured.rpsr.rank, 'core intent')}), whose rewards "
        f"are exact. {_best(source)}",
        facts,
    )


def undecided_card(reason: str, plans: Plans, source: str) -> Card:
    """The verdict where floating point cannot decide."""
    return Card(
        "open",
        "undecided",
        "Whether a PSR is enough for this task is undecided.",
        f"Reason: {plain(reason)}. The POMDP itself is exact: plan on it. {_best(source)}",
        _facts(plans),
    )


def verdict(measured: Accuracy) -> str:
    """Whether a PSR is enough, in a paragraph."""
    tests = counted(measured.psr.rank, "core test")
    intents = counted(measured.rpsr.rank, "core intent")
    if measured.accurate:
        text = (
            "**A PSR is enough.** Every action's reward is a linear function of the PSR's state, "
            "so the PSR, the R-PSR and the POMDP expect the same rewards after every history."
        )
    else:
        text = (
            f"**A PSR is not enough.** Its state of {tests} does not determine "
            f"the rewards: the closest rewards have an error of up to {measured.d_inf:.4g} "
            f"({100 * measured.rel_d_inf:.3g} % of the largest reward). The R-PSR, with {intents}, "
            f"is exact.{_apart(measured)}"
        )
        if measured.accurate_reachable:
            text += " On every reachable belief, though, the PSR is right."
    certain = measured.certified, measured.error_probability, measured.margin
    return f"{text} {sentence('This verdict is', *certain)}"


def _apart(measured: Accuracy) -> str:
    """A sentence on states that are confused though their own observations differ; else empty."""
    apart = next((merge for merge in measured.merges if merge.seen_apart), None)
    return f" The PSR confuses states {_named(apart)} ({BEFORE})." if apart is not None else ""


def _named(merge: Merge) -> str:
    """The states of a group, some of them if there are many."""
    names = [plain(state) for state in merge.states]
    if len(names) > MOST_STATES:
        names[MOST_STATES - 1 :] = [f"{len(names) - MOST_STATES + 1} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _confusion(measured: Accuracy) -> str:
    if not measured.merges:
        return "does not determine the rewards"
    groups = len({merge.states for merge in measured.merges}) - 1
    more = f" (and {counted(groups, 'more group')} of states)" if groups else ""
    return f"confuses states {_named(measured.merges[0])}{more}"


def _best(source: str) -> str:
    return f"To compute the best policy: `rpsr solve {source} -o policy.json`."


def _facts(plans: Plans) -> tuple[tuple[str, str], ...]:
    """The optimum with its bounds, and what the PSR's policy earns."""
    plan = plans.solutions.get("POMDP")
    if plan is None:
        return ()
    lower, upper = plans.shown(plan.lower), plans.shown(plan.upper)
    optimum = f"between {lower} and {upper}"
    if plan.upper is None:
        optimum = f"at least {lower}"
    elif plan.status.reached_goal or lower == upper:
        optimum = _with_precision(plan.value, plan.lower, plan.upper)
    facts = [("optimal value at the start", optimum)]
    earned, expected = plans.earned.get("PSR"), plans.solutions.get("PSR")
    if earned is not None and expected is not None:
        words = f"earns {plans.shown(earned)}; the PSR expects {plans.shown(expected.value)}"
        facts.append(("policy planned on the PSR", words))
    return tuple(facts)


def _with_precision(value: float, lower: float, upper: float) -> str:
    """A value with the digits that its bounds prove, and how far from them it is, as shown."""
    finest = 10.0 ** min(0, 1 - MOST_DIGITS + math.floor(math.log10(max(abs(value), 1.0))))
    digits = max(0, -math.floor(math.log10(max(upper - lower, finest))))
    rounded = round(value, digits) + 0.0
    error = max(upper - rounded, rounded - lower, finest)
    unit = 10.0 ** math.floor(math.log10(error))
    shown = f"{rounded:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return f"{shown}, proven to {math.ceil(error / unit) * unit:g}"
