"""From sums to expectations: the matrices of intents and histories, with a variance for each cell.

Probabilities are products of ratios of sums, each step given the one before,

    p(u a o, h) = p(u, h) N[u a o, h] / W[u, a, h]        p(empty, h) = mean phi(h)
    r(u a, h)   = p(u, h) (sum of w r)[u, a, h] / W[u, a, h]

which are the moments E[X phi] of the intents' importance-weighted samples X with the noise of how
often each action happened to be taken divided out, and which a constant added to all rewards shifts
and does not disturb. Their variances follow step by step from the effective number of samples
W^2 / sum w^2, with two pseudo-counts so that no cell is thought to be known by luck.

Reference: M. Thon, H. Jaeger. Links between multiplicity automata, observable operator models and
predictive state representations. JMLR 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.moments import Moments
from rpsr.learning.moments_kernels import (
    REWARD,
    REWARD2,
    SQUARE_UNIT,
    UNIT,
    WEIGHT,
    WEIGHT2,
)
from rpsr.learning.moments_plan import WindowPlan, Word

PSEUDO = 2.0  # counts


@dataclass(frozen=True, eq=False)
class Hankel:
    """Expectations over histories: I intents (rows) by H history features (columns).

    values, variances (1 + A * O, I, H): slice 0 holds E[X(i) phi(h)], slice 1 + a O + o the same
    for the intent a o i. Intents: each of Q tests followed by zeta, then each reward test followed
    by the first action, by the second, and so on. Rewards are in units of plan.scale. Features 0
    and 1 are the constant and the start.
    samples: how many windows the means are over.
    """

    plan: WindowPlan
    values: Floats
    variances: Floats
    samples: float

    @property
    def n_tests(self) -> int:
        """The number Q of tests: intents 0 to Q - 1 end in zeta."""
        return len(self.plan.tests)

    @property
    def immediate(self) -> list[int]:
        """The intents of each action alone, A rows: the rewards."""
        height = len(self.plan.reward_tests)
        return [self.n_tests + a * height for a in range(len(self.plan.action_names))]

    @property
    def features(self) -> Floats:
        """The mean of each history feature, (H,)."""
        return self.values[0, 0]

    @property
    def has_starts(self) -> bool:
        """Whether any window began an episode."""
        return bool(self.features[1] > 0)


def hankel(moments: Moments, *, operators: bool = True) -> Hankel:
    """The expectations that moments estimate; without those for operators, slice 0 alone."""
    plan, windows = moments.plan, max(moments.windows, 1)
    nodes = moments.nodes / UNIT
    weight = moments.stats[..., WEIGHT] / UNIT
    reward = moments.stats[..., REWARD] / UNIT
    reward2 = moments.stats[..., REWARD2] / UNIT
    weight2 = moments.stats[..., WEIGHT2] / SQUARE_UNIT
    n_actions, n_observations = len(plan.action_names), len(plan.observation_names)
    count = np.divide(weight**2, weight2, out=np.zeros_like(weight), where=weight2 > 0)

    p = np.zeros_like(nodes)  # (U, H)
    v = np.zeros_like(nodes)
    square = np.zeros_like(nodes)  # of p, as the pseudo-counts see it
    p[0] = nodes[0] / windows
    square[0] = p[0] ** 2
    ratio0 = np.full(len(nodes), 1.0 / n_observations)  # whatever came before
    needed = set(plan.nodes if operators else (*plan.tests, *plan.reward_tests))
    for word, node in plan.nodes.items():
        if not word or word not in needed:
            continue
        parent, action = plan.nodes[word[:-1]], word[-1] // n_observations
        below, n = weight[plan.rows[parent], action], count[plan.rows[parent], action]
        if below[0] > 0:
            ratio0[node] = nodes[node, 0] / below[0]
        ratio = np.divide(
            nodes[node], below, out=np.full(len(below), ratio0[node]), where=below > 0
        )
        ratio = np.minimum(ratio, 1.0)
        p[node] = p[parent] * ratio
        shy = (ratio * n + PSEUDO / 2) / (n + PSEUDO)
        spread = shy * (1 - shy) / (n + PSEUDO - 1)
        v[node] = v[parent] * np.maximum(shy**2 - spread, 0) + square[parent] * spread
        square[node] = square[parent] * shy**2

    # Rewards: the mean after u a, and its variance, pulled towards the action's own variance.
    mean0 = _ratio(reward[0, :, 0], weight[0, :, 0], 0.0)  # (A,)
    spread0 = np.maximum(_ratio(reward2[0, :, 0], weight[0, :, 0], 0.0) - mean0**2, 0)[:, None]
    floor = (float(n_actions) ** np.array([len(word) for word in plan.nodes]) / windows) ** 2
    v = v + floor[:, None]
    at = np.flatnonzero(plan.rows >= 0)  # the words with sums by action, in the order of those
    mean = _ratio(reward, weight, np.broadcast_to(mean0[None, :, None], weight.shape))  # (Z, A, H)
    spread = np.maximum(_ratio(reward2, weight, 0.0) - mean**2, 0)
    shy = (spread * count + PSEUDO * spread0) / (count + PSEUDO)
    r = p[at, None] * mean
    vr = v[at, None] * (mean**2 + spread0) + square[at, None] * shy / (count + 1)
    vr += floor[at, None, None] * max(float(spread0.max(initial=0.0)), 1e-12)
    heads = heads_of(plan) if operators else [()]
    return Hankel(plan, gather(plan, p, r, heads), gather(plan, v, vr, heads), float(windows))


def _ratio(above: Floats, below: Floats, otherwise: Floats | float) -> Floats:
    out = np.array(np.broadcast_to(otherwise, above.shape), dtype=np.float64)
    return np.divide(above, below, out=out, where=below > 0)


def heads_of(plan: WindowPlan) -> list[Word]:
    """Nothing, then each pair: what may come before an intent."""
    return [(), *((pair,) for pair in range(plan.n_pairs))]


def gather(plan: WindowPlan, tests: Floats, rewards: Floats, heads: list[Word]) -> Floats:
    """(U, H) by word and (Z, A, H) by word and action, as (heads, I, H)."""
    words = np.array([[plan.nodes[head + test] for test in plan.tests] for head in heads])
    paid = np.array([[plan.nodes[head + test] for test in plan.reward_tests] for head in heads])
    parts = [tests[words], *(rewards[plan.rows[paid], a] for a in range(rewards.shape[1]))]
    return np.concatenate(parts, axis=1)
