"""The safe choice: of several policies, one with a high lower bound.

The policies are the plan that was chosen among the models' plans, the plan on a table over the last
k interactions, and the behaviour policy of the log. The table is preferred to the plan only if its
lower bound is higher by more than the simulations behind both vary (`PREFERENCE`). A policy is
better than the behaviour policy, at the level of its promise, if its lower bound exceeds the mean
return of the log. A comparison of two lower bounds would not show that: that of the behaviour
policy, too, is too low on most logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rpsr.evaluation.stochastic import StochasticController
from rpsr.io.records import Ints
from rpsr.learning.base import Family
from rpsr.learning.plan_choice.choice import Choice
from rpsr.learning.plan_choice.plausibility import play_out
from rpsr.learning.prepared_log import PreparedLog
from rpsr.learning.promises.make_promise import behaviour_promise, promise
from rpsr.learning.promises.promise import EQUAL, LEVEL, Promise
from rpsr.planning.solution import Solution
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.showing import counted

MOST = 5  # actions whose shares are in words
PREFERENCE = 0.05  # of the width of a table's interval, by which its lower bound must be higher


@dataclass(frozen=True, eq=False)
class Offer:
    """A policy and its promise. solution: its plan; None for the behaviour policy.

    shares: of its actions, as in `PlayedOut`.
    """

    name: str
    promise: Promise
    solution: Solution | None = None
    shares: dict[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, eq=False)
class SafeChoice:
    """Policies with their promises, the behaviour policy last.

    index: the plan or table that is followed. behaviour: a policy like that of the log.
    """

    COLUMNS: ClassVar = ("policy", "at least", "about", "at most", "method", "chosen")

    offers: tuple[Offer, ...]
    index: int
    behaviour: StochasticController

    @property
    def chosen(self) -> Offer:
        """The plan, or the table if its lower bound is clearly higher."""
        return self.offers[self.index]

    @property
    def which(self) -> str:
        """The chosen policy, in words: the best plan, or the plan on a table."""
        if self.index == 0:
            return f"the best plan, made on a model of rank {self.solution.model.dimension}"
        return f"the plan on the table of the {self.chosen.name}"

    @property
    def acts(self) -> str:
        """How often the chosen policy takes which actions, in words; empty if not simulated."""
        shares = self.chosen.shares
        if len(shares) == 1:
            return f"always takes {next(iter(shares))}, whatever is observed in simulations"
        often = [f"{name} {_percent(share)}" for name, share in shares.items()]
        more = f", {counted(len(often) - MOST, 'other action')}" if len(often) > MOST else ""
        return f"{', '.join(often[:MOST])} of steps{more}" if often else ""

    def written(self, safe: bool = False) -> str:
        """The policy that is written, in words; safe: as with `rpsr learn --safe`."""
        return "one like the behaviour policy" if safe and not self.beats_behaviour else self.which

    @property
    def solution(self) -> Solution:
        """The plan of the chosen offer."""
        assert self.chosen.solution is not None, "only the behaviour policy has no plan"
        return self.chosen.solution

    @property
    def policy(self) -> AlphaPolicy:
        """The chosen policy, ready to be followed."""
        return self.solution.value_function.policy(self.solution.model)

    @property
    def beats_behaviour(self) -> bool:
        """Whether the chosen policy's lower bound exceeds the value of the behaviour policy."""
        logged = self.offers[-1].promise.value
        return logged is not None and self.chosen.promise.low > logged

    def warning(self, digits: int = 3) -> str:
        """A line if no policy is shown to be better than the behaviour policy; else empty."""
        mine, logged = self.chosen.promise, self.offers[-1].promise
        if self.beats_behaviour:
            return ""
        name = f", {self.which}," if self.index else ""
        keep = "keep the behaviour policy (--safe writes one like it)"
        if mine.high < logged.low:
            return (
                f"the log shows that the policy{name} is worse than the behaviour policy: its "
                f"return is at most {mine.high:.{digits}g}, that of the behaviour policy at least "
                f"{logged.low:.{digits}g}. Do not use it: {keep}"
            )
        unknown = f"the log does not show that the policy{name} is better than the behaviour policy"
        if mine.equal:
            return f"{unknown}: {EQUAL}"
        return (
            f"{unknown}: its return is at least {mine.low:.{digits}g}, that of the behaviour "
            f"policy about {logged.about(digits)}. Record more episodes, or {keep}"
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per policy, as plain JSON values."""
        return [
            {"policy": offer.name, "chosen": offer is self.chosen, **offer.promise.document()}
            for offer in self.offers
        ]

    def summary(self, continued: bool = False) -> list[tuple[Any, ...]]:
        """One row per policy, under `COLUMNS`; continued: returns count later steps, too."""
        names = {"returns": "returns, extended beyond the last rows"} if continued else {}
        return [
            (
                offer.name,
                offer.promise.low,
                offer.promise.value,
                offer.promise.high,
                names.get(offer.promise.method, offer.promise.method),
                "yes" if offer is self.chosen else "",
            )
            for offer in self.offers
        ]


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"


# The arguments are what `rpsr.learning.learn` has found.
def safe_choice(
    choice: Choice,
    log: PreparedLog,
    searches: Sequence[Sequence[Family]],
    *,
    table: Solution | None = None,
    distrust: str = "",
    level: float = LEVEL,
    seed: int = 0,
) -> SafeChoice:
    """Promises for the chosen plan, for the plan on a table, and for the behaviour policy.

    searches: models of the log, as in `promise`. distrust: a reason not to value policies in them,
    or empty.
    """

    def offer(name: str, plan: Solution, distrust: str, shares: dict[str, float]) -> Offer:
        policy = plan.value_function.policy(plan.model)
        how: dict[str, Any] = {"level": level, "distrust": distrust, "seed": seed}
        return Offer(name, promise(policy, log, searches, **how), plan, shares)

    best = choice.chosen
    offers = [offer("plan", best.solution, distrust or best.doubt, best.shares)]
    if table is not None:
        played = play_out(table, episodes=200, seed=seed)
        doubt, shares = ("", {}) if played is None else (played.doubt, played.shares)
        offers.append(offer(table.model.name, table, distrust or doubt, shares))
    index = int(len(offers) > 1 and _beats(offers[1].promise, offers[0].promise))
    logged = behaviour_promise(log, choice.solution.model.discount, level=level)
    offers.append(Offer("behaviour policy", logged))
    return SafeChoice(tuple(offers), index, behaviour_like(log))


def _beats(table: Promise, plan: Promise) -> bool:
    """Whether the lower bound of a table's plan is higher, by more than simulations vary."""
    return table.low > plan.low + PREFERENCE * (table.high - table.low)


def behaviour_like(log: PreparedLog) -> StochasticController:
    """A policy with the log's frequencies of actions at the start and after the last interaction.

    After an interaction that no action followed, it has the frequencies of all steps. Its nodes are
    the start and every interaction (a, o), in the order 1 + a O + o.
    """
    survey = log.survey()
    actions, observations = survey.action_names, survey.observation_names
    n_interactions = len(actions) * len(observations)
    counts = np.vstack([survey.starts, survey.follows])
    counts = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, survey.tables[0, 0])
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    successors: Ints = 1 + np.arange(n_interactions).reshape(1, len(actions), len(observations))
    everywhere = np.broadcast_to(successors, (1 + n_interactions, *successors.shape[1:])).copy()
    return StochasticController(actions, observations, frequencies, everywhere, 0)
