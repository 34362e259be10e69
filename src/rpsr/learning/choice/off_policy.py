"""What a policy would have earned, told from a log that another policy wrote.

Per-decision weighted importance sampling. Up to step t an episode speaks for a deterministic policy
if it took that policy's actions so far, with weight w_t = prod 1 / pi_k; else w_t = 0:

    V = sum_t discount^t (sum_i w_it r_it) / (sum_i w_it).

An episode whose task ended goes on speaking, of rewards of zero; one that was cut off does not.
Weighted sums are a little biased and much less noisy than plain ones. Where nobody speaks any more
the sum ends, and `steps` says where: what lies beyond is not in the estimate. The interval is that
of a bootstrap over episodes.

Reference: D. Precup, R. Sutton, S. Singh, "Eligibility traces for off-policy policy evaluation",
ICML 2000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.ends import as_seen_by
from rpsr.learning.learned import filtered
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.logs.trajectories import join
from rpsr.models.linear import LinearModel
from rpsr.planning.value.value_function import action_values
from rpsr.showing import counted


@dataclass(frozen=True)
class OffPolicyEstimate:
    """A discounted return: its estimate and a bootstrap interval of the given level.

    steps: as far as the log speaks for the policy; speakers: how many episodes still do at the
    first step, and at the last of those; episodes: in the log.
    """

    value: float
    low: float
    high: float
    level: float
    steps: int
    speakers: tuple[int, int]
    episodes: int

    def __str__(self) -> str:
        """As people read it, with how far the log speaks for the policy."""
        if self.steps == 0:
            return "nothing: no episode did the same"
        said = f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"
        speaking = counted(self.speakers[1], "episode")
        return f"{said} in {counted(self.steps, 'step')}, by {speaking} at the last"


def off_policy_value(
    model: LinearModel,
    vectors: Floats,
    logs: Logs,
    *,
    resamples: int = 200,
    level: float = 0.9,
    seed: int = 0,
) -> OffPolicyEstimate:
    """The return of the policy that is greedy for vectors (K, n) on a model's filtered state.

    A policy planned on a model of the same log looks a little better than it is.
    """
    prepared = PreparedLog.of(logs, held=True)
    log = as_seen_by(join(prepared.recorded), model)
    if log.rewards is None:
        raise DataError("these episodes have no rewards, expected them for an estimate")
    rewarded = log.rewards
    said = filtered(model, log, states=True)
    agrees = action_values(model, said.states, vectors).argmax(axis=1) == log.actions
    episode = np.repeat(np.arange(log.episodes), log.lengths)
    step = np.arange(log.steps) - log.offsets[episode]
    spoken = log.lengths.copy()  # how far each episode does what the policy would, (N,)
    np.minimum.at(spoken, episode[~agrees], step[~agrees])
    # Beyond the farthest nothing is earned: one long recording does not make a table of all large.
    ratios, rewards = np.zeros((2, log.episodes, int(spoken.max(initial=0))))  # (N, T) each
    near = step < ratios.shape[1]
    ratios[episode[near], step[near]] = (agrees / prepared.propensities)[near]
    rewards[episode[near], step[near]] = rewarded[near]
    over = np.arange(ratios.shape[1]) >= log.lengths[:, None]
    ratios[over & log.terminated[:, None]] = 1.0  # whatever is done then, nothing is earned
    weights: Floats = np.multiply.accumulate(ratios, axis=1)
    episodes, longest = weights.shape
    discount = 1.0 if model.discount is None else model.discount
    factors = discount ** np.arange(longest)
    draws = np.random.default_rng(seed).multinomial(
        episodes, np.full(episodes, 1.0 / episodes), size=resamples
    )
    values = _weighted(draws.astype(np.float64), weights, rewards) @ factors
    value = _weighted(np.ones((1, episodes)), weights, rewards)[0] @ factors
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    speakers = (weights > 0).sum(axis=0)
    steps = int((speakers > 0).sum())
    ends = (int(speakers[0]), int(speakers[steps - 1])) if steps else (0, 0)
    return OffPolicyEstimate(float(value), float(low), float(high), level, steps, ends, episodes)


def _weighted(draws: Floats, weights: Floats, rewards: Floats) -> Floats:
    """The weighted mean reward of every step, (K, N) -> (K, T); 0 where nobody speaks."""
    totals = draws @ weights
    return draws @ (weights * rewards) / np.where(totals > 0, totals, 1.0)
