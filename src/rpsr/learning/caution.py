"""What a log hardly shows, a planner must not hope for.

An action that was tried by chance among others that are known well would be chosen for its luck. So
in a model to plan on it earns, in proportion to what is missing, the worst: the lowest reward now
and then, instead of the highest for ever, again the lowest, which is below what any policy can lose
by doing something else. Of a fitted POMDP that is asked in each of its states (`em.models`), of a
model without states over the whole log (`Caution`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.plan import Survey
from rpsr.learning.propensities import some_of
from rpsr.models import LinearModel

SELDOM = 0.25  # an action taken so much less often than another must be known by itself
FEWEST = 5.0  # times without which nothing is known
ENOUGH = 20.0  # times that are always enough


def known_share(taken: Floats | Ints, enough: float) -> Floats:
    """How well each action is known, from 0 to 1, by how often it was taken, (A, ...).

    It is known if it was taken `enough` times, or `SELDOM` as often as the action taken most, but
    at least `FEWEST` times: of actions that are all as rare, none is the one to avoid.
    """
    if enough == 0:
        return np.ones(taken.shape)
    asked = np.maximum(SELDOM * taken.max(axis=0), FEWEST)
    return np.minimum(taken / np.minimum(asked, enough), 1.0)


def worst(low: float, high: float, discount: float | None, longest: int) -> float:
    """What an unknown action earns where rewards are from low to high; see the module.

    longest: the steps of an episode at most, where there is no discount.
    """
    beta = 1.0 if discount is None else discount
    later = beta / (1 - beta) if beta < 1 else float(longest)
    return low - later * (high - low)


@dataclass(frozen=True)
class Caution:
    """How well a log knows each action, or each action in each state of a fitted POMDP.

    known: a share from 0 to 1 for every case, none where an estimator does not ask. worst: the
    reward of an unknown case. unknown: names of the cases that are not known in full. by_state:
    whether a case is an action in a state, rather than an action.
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
        """What a survey of the log says; actions that were never taken count as well."""
        known = known_share(survey.tables[0].sum(axis=0), enough)
        unknown = tuple(
            name for name, share in zip(survey.action_names, known, strict=True) if share < 1
        )
        least = worst(*survey.rewards, discount, survey.longest_episode)
        return Caution(tuple(known.tolist()), least, unknown)

    def applied(self, model: LinearModel) -> LinearModel:
        """The model to plan on: the same one where every action is known."""
        if not self.unknown:
            return model
        known = np.array(self.known)
        penalty = np.outer(model.normalizer, (1 - known) * self.worst)  # in every state
        rewards = model.rewards * known + penalty
        if model.final:
            rewards[-1] = 0.0  # but when all is over
        return replace(model, rewards=rewards)

    @property
    def warning(self) -> str:
        """How the model to plan on differs from the one that was fitted, in a line; else empty."""
        if not self.unknown:
            return ""
        unknown, total = len(self.unknown), len(self.known)
        what = f"{unknown} of {total} actions ({some_of(self.unknown)})"
        if self.by_state:
            what = f"{unknown} of {total} combinations of a state and an action"
        return (
            f"{what} {'was' if unknown == 1 else 'were'} hardly tried: there the model to plan on "
            "expects a penalty, which may lie far below all rewards of the log"
        )

    def document(self) -> dict[str, int] | None:
        """The counts as plain JSON values; None where an estimator does not ask."""
        if not self.known:
            return None
        cases = "pairs" if self.by_state else "actions"
        return {"unknown": len(self.unknown), cases: len(self.known)}
