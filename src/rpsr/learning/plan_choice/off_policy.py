"""The off-policy value of a policy, from a log of another policy.

Per-decision weighted importance sampling. While the actions of episode i agree with the policy,
which is deterministic, its importance weight is w_it = prod_(k <= t) 1 / pi_ik; from the first
other action on, w_it = 0:

    V = sum_t discount^t (sum_i w_it r_it) / (sum_i w_it).

After the end of its task an episode agrees with every policy, with rewards of 0; after a cut-off
recording its weight is 0. Weighted sums have a small bias and much less variance than plain ones.
The sum over t ends after `steps` steps, where no episode agrees any more: later rewards are not in
the estimate. The interval is from a bootstrap over episodes.

Reference: D. Precup, R. Sutton, S. Singh, "Eligibility traces for off-policy policy evaluation",
ICML 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.chunks import whole
from rpsr.learning.estimated_models import filtered
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.models.linear import LinearModel
from rpsr.planning.value.policies import AlphaPolicy


@dataclass(frozen=True)
class OffPolicyEstimate:
    """A discounted return: its estimate and a bootstrap interval of the given level.

    steps: over how many steps some episode agrees with the policy; agreeing: how many episodes
    agree at the first and at the last of these steps; episodes: in the log.
    """

    value: float
    low: float
    high: float
    level: float
    steps: int
    agreeing: tuple[int, int]
    episodes: int

    def __str__(self) -> str:
        """The estimate, its interval, its steps, and the episodes that agree at the last step."""
        if self.steps == 0:
            return "none: no episode agrees with the plan"
        last = self.agreeing[1]
        agree = "episode agrees" if last == 1 else "episodes agree"
        return f"{self.interval}, {self.over}; {last} {agree} with the plan up to step {self.steps}"

    @property
    def interval(self) -> str:
        """The estimate and its interval."""
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"

    @property
    def over(self) -> str:
        """The steps that count."""
        return "first step" if self.steps == 1 else f"first {self.steps} steps"

    def document(self) -> dict[str, Any]:
        """The estimate as plain JSON values."""
        document = dict(vars(self))
        document["speakers"] = document.pop("agreeing")
        return document


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far N episodes agree with a policy: weights (N, T), rewards (N, T).

    T is the longest agreement. smallest: the smallest propensity of an action that agrees.
    complete: for how many steps every episode was recorded, or had ended.
    """

    weights: Floats
    rewards: Floats
    smallest: float
    complete: int

    @staticmethod
    def of(policy: AlphaPolicy, logs: Logs) -> Agreement:
        """Filter a log with the policy's model, and compare its actions with the policy's."""
        model = policy.model
        prepared = PreparedLog.of(logs, held=True)
        log = whole(prepared.as_seen_by(model))
        if log.episodes == 0:
            raise DataError("the log has no episodes, expected some for an off-policy estimate")
        rewarded = log.rewards_for("an off-policy estimate")
        agrees = policy.actions_at(filtered(model, log, states=True).states) == log.actions
        episode = np.repeat(np.arange(log.episodes), log.lengths)
        step = np.arange(log.steps) - log.offsets[episode]
        agreed = log.lengths.copy()  # for how many steps each episode agrees with the policy, (N,)
        np.minimum.at(agreed, episode[~agrees], step[~agrees])
        # T is the longest agreement: one long recording does not make the table of all large.
        ratios, rewards = np.zeros((2, log.episodes, int(agreed.max(initial=0))))  # (N, T) each
        near = step < ratios.shape[1]
        ratios[episode[near], step[near]] = (agrees / prepared.propensities)[near]
        rewards[episode[near], step[near]] = rewarded[near]
        over = np.arange(ratios.shape[1]) >= log.lengths[:, None]
        ratios[over & log.terminated[:, None]] = (
            1.0  # after the end of a task every action has reward 0
        )
        weights: Floats = np.multiply.accumulate(ratios, axis=1)
        smallest = float(prepared.propensities[agrees].min(initial=1.0))
        cut = log.lengths[~log.terminated]
        return Agreement(weights, rewards, smallest, int(cut.min(initial=int(log.lengths.max()))))

    def largest_weights(self, steps: int) -> Floats:
        """The largest weight that the propensities allow after each of the first steps, (T,)."""
        return np.power(1 / self.smallest, np.arange(1.0, steps + 1.0))


def off_policy_value(
    model: LinearModel,
    vectors: Floats,
    logs: Logs,
    *,
    resamples: int = 200,
    level: float = 0.9,
    seed: int = 0,
) -> OffPolicyEstimate:
    """The return of the policy that looks one step ahead with vectors (K, n) on a model.

    The estimate is slightly optimistic for a policy planned on a model of the same log.
    """
    agreement = Agreement.of(AlphaPolicy(model, vectors), logs)
    weights, rewards = agreement.weights, agreement.rewards
    episodes, longest = weights.shape
    discount = 1.0 if model.discount is None else model.discount
    factors = discount ** np.arange(longest)
    draws = np.random.default_rng(seed).multinomial(
        episodes, np.full(episodes, 1.0 / episodes), size=resamples
    )
    values = _weighted(draws.astype(np.float64), weights, rewards) @ factors
    value = _weighted(np.ones((1, episodes)), weights, rewards)[0] @ factors
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    agreeing = (weights > 0).sum(axis=0)
    steps = int((agreeing > 0).sum())
    ends = (int(agreeing[0]), int(agreeing[steps - 1])) if steps else (0, 0)
    return OffPolicyEstimate(float(value), float(low), float(high), level, steps, ends, episodes)


def _weighted(draws: Floats, weights: Floats, rewards: Floats) -> Floats:
    """The weighted mean reward of every step, (K, N) -> (K, T); 0 where all weights are 0."""
    totals = draws @ weights
    return draws @ (weights * rewards) / np.where(totals > 0, totals, 1.0)
