"""Caution: in a model to plan on, rarely tried actions have a penalty in place of their rewards.

Without it, a planner would choose actions for a lucky sample. An action taken n_a times is known to
the share k_a = min(1, n_a / min(m, max(n_max / 4, 5))), where n_max is the count of the most
frequent action and m = `enough` (20). Its reward becomes

    k_a r_a + (1 - k_a) w,      w = r_min - discount / (1 - discount) (r_max - r_min).

So w followed by r_max at every step is worth no more than r_min at every step. `EMRPSR` counts per
state (`em.conversion`), spectral estimators over the whole log (`Caution`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.survey import Survey
from rpsr.learning.propensities import some_of
from rpsr.models import LinearModel

SELDOM = 0.25  # of the largest count: actions taken this often are known
FEWEST = 5.0  # the least count of a known action
ENOUGH = 20.0  # a count that is always enough


def known_share(taken: Floats | Ints, enough: float) -> Floats:
    """The share k_a from 0 to 1 to which each action is known, by counts taken (A, ...).

    If all actions are about equally rare, all are known: there is no better-known alternative.
    """
    if enough == 0:
        return np.ones(taken.shape)
    asked = np.maximum(SELDOM * taken.max(axis=0), FEWEST)
    return np.minimum(taken / np.minimum(asked, enough), 1.0)


def worst(low: float, high: float, discount: float | None, longest: int) -> float:
    """The penalty w of an unknown action, for rewards from low to high.

    longest: the number of steps of the longest episode, in place of discount / (1 - discount) if
    there is no discount.
    """
    beta = 1.0 if discount is None else discount
    later = beta / (1 - beta) if beta < 1 else float(longest)
    return low - later * (high - low)


@dataclass(frozen=True)
class Caution:
    """How well each action, or each action in each state of a fitted POMDP, is known.

    known: the shares k, one per case; empty if an estimator does not count. worst: the penalty w.
    unknown: names of the cases with a share below 1. by_state: whether a case is an action in a
    state, not an action.
    """

    known: tuple[float, ...] = ()
    worst: float = 0.0
    unknown: tuple[str, ...] = ()
    by_state: bool = False

    @staticmethod
    def none(actions: tuple[str, ...]) -> Caution:
        """All actions count as known."""
        return Caution((1.0,) * len(actions))

    @staticmethod
    def of(survey: Survey, discount: float | None, enough: float) -> Caution:
        """From the counts of a survey; actions that were never taken are included."""
        known = known_share(survey.tables[0].sum(axis=0), enough)
        unknown = tuple(
            name for name, share in zip(survey.action_names, known, strict=True) if share < 1
        )
        least = worst(*survey.rewards, discount, survey.longest_episode)
        return Caution(tuple(known.tolist()), least, unknown)

    def applied(self, model: LinearModel) -> LinearModel:
        """The model to plan on: the same one if every action is known."""
        if not self.unknown:
            return model
        known = np.array(self.known)
        penalty = np.outer(model.normalizer, (1 - known) * self.worst)  # in every state
        rewards = model.rewards * known + penalty
        if model.final:
            rewards[-1] = 0.0  # except in the state of the end
        return replace(model, rewards=rewards)

    @property
    def warning(self) -> str:
        """How the model to plan on differs from the fitted one, in a line; empty if it does not."""
        if not self.unknown:
            return ""
        unknown, total = len(self.unknown), len(self.known)
        what = f"{unknown} of {total} actions ({some_of(self.unknown)})"
        if self.by_state:
            what = f"{unknown} of {total} combinations of a state and an action"
        return (
            f"{what} {'was' if unknown == 1 else 'were'} rarely tried: for planning, their rewards "
            f"are mixed with a penalty (w = {self.worst:.3g}), so that plans avoid them"
        )

    def document(self) -> dict[str, int] | None:
        """The counts as plain JSON values; None if an estimator does not count."""
        if not self.known:
            return None
        cases = "pairs" if self.by_state else "actions"
        return {"unknown": len(self.unknown), cases: len(self.known)}
