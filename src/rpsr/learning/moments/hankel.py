"""Expectations from moments: the matrices of intents and histories, with a variance per cell.

Probabilities are products of ratios of sums, step by step,

    p(u a o, h) = p(u, h) N[u a o, h] / W[u, a, h]        p(empty, h) = mean phi(h)
    r(u a, h)   = p(u, h) (sum of w r)[u, a, h] / W[u, a, h]

which are the moments E[X phi] of the intents' importance-weighted samples X, without the noise of
the numbers of times that actions were taken. The mean reward of its action, before ends of tasks,
is subtracted from each reward. This keeps the span of all rows, and a constant added to all rewards
changes nothing. Variances follow step by step from the effective sample size W^2 / sum w^2, with
two pseudo-counts, so that few samples do not look certain.

A cell that is small by chance also has a small estimated variance, and would weigh too much. So
after a first fit, `reweighted` computes the variances from the probabilities of the fitted model.

Reference: M. Thon, H. Jaeger. Links between multiplicity automata, observable operator models and
predictive state representations. JMLR 2015.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Bools, Floats
from rpsr.learning.moments.kernels import (
    REWARD,
    REWARD2,
    SQUARE_UNIT,
    UNIT,
    WEIGHT,
    WEIGHT2,
)
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.survey import Word
from rpsr.learning.moments.window_plan import WindowPlan

PSEUDO = 2.0  # counts
FITTED_PSEUDO = 0.5  # counts, where the probabilities come from a model


@dataclass(frozen=True, eq=False)
class Hankel:
    """Expectations over histories: I intents (rows) by H history features (columns).

    values, variances (1 + A * O, I, H): slice 0 holds E[X(i) phi(h)], slice 1 + a O + o the same
    for the intent a o i. Intents: each of Q tests followed by zeta, then each reward test followed
    by the first action, by the second, and so on. centres (A,) are subtracted from the rewards of
    each action, which are in units of plan.scale. Features 0 and 1 are the constant and the start.
    samples: the number of windows. counts (Z, A, H): the effective number of windows in which a
    word, by `plan.rows`, was followed by an action; spreads (Z, A, H): the variance of its reward.
    """

    plan: WindowPlan
    values: Floats
    variances: Floats
    samples: float
    counts: Floats
    spreads: Floats
    centres: Floats

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
    def starts(self) -> float:
        """How many windows began an episode."""
        return float(self.features[1] * self.samples)


def hankel(moments: Moments, centres: Floats | None = None) -> Hankel:
    """The expectations that moments estimate; where the plan has no operators, slice 0 alone.

    centres (A,): subtracted from the rewards of each action, in place of their mean.
    """
    plan = moments.plan
    if moments.windows == 0:
        raise DataError(f"the log is too short: no episode has {plan.depth + 1} steps")
    nodes = moments.nodes / UNIT
    windows = nodes[0, 0]  # some of which may count in part
    weight = moments.stats[..., WEIGHT] / UNIT
    reward = moments.stats[..., REWARD] / UNIT
    reward2 = moments.stats[..., REWARD2] / UNIT
    weight2 = moments.stats[..., WEIGHT2] / SQUARE_UNIT
    n_observations = len(plan.observation_names)
    count = np.divide(weight**2, weight2, out=np.zeros_like(weight), where=weight2 > 0)

    p = np.zeros_like(nodes)  # (U, H)
    p[0] = nodes[0] / windows
    words = list(plan.nodes)  # shorter ones first
    for word in words[1:]:
        node, parent = plan.nodes[word], plan.nodes[word[:-1]]
        below = weight[plan.rows[parent], word[-1] // n_observations]
        overall = nodes[node, 0] / below[0] if below[0] > 0 else 1.0 / n_observations
        p[node] = p[parent] * np.minimum(_ratio(nodes[node], below, overall), 1.0)

    # Rewards: the mean after u a, and its variance, shrunk towards the variance of the action.
    mean0 = _ratio(reward[0, :, 0], weight[0, :, 0], 0.0)  # (A,)
    off = mean0 if centres is None else plan.counted(centres)
    spread0 = np.maximum(_ratio(reward2[0, :, 0], weight[0, :, 0], 0.0) - mean0**2, 0)[:, None]
    mean = _ratio(reward, weight, np.broadcast_to(mean0[None, :, None], weight.shape))  # (Z, A, H)
    spread = np.maximum(_ratio(reward2, weight, 0.0) - mean**2, 0)
    spreads = (spread * count + PSEUDO * spread0) / (count + PSEUDO)

    at = np.flatnonzero(plan.rows >= 0)  # the words with sums by action, in the order of those
    samples = _Samples(plan, float(windows), count, spreads)
    mean = mean - off[:, None]
    v, vr = samples.variances(p, mean, words, PSEUDO)
    values, variances = gather(plan, p, p[at, None] * mean), gather(plan, v, vr)
    centres = plan.centre + plan.scale * off
    return Hankel(plan, values, variances, float(windows), count, spreads, centres)


@dataclass(frozen=True, eq=False)
class _Samples:
    """The data of variances besides the expectations: see `Hankel`."""

    plan: WindowPlan
    total: float
    counts: Floats
    spreads: Floats

    def variances(
        self, p: Floats, means: Floats, words: Iterable[Word], pseudo: float
    ) -> tuple[Floats, Floats]:
        """Variances of p(u, h), (U, H), for some words u, and of r(u a, h), (Z, A, H).

        p (U, H), no smaller than 0; means (Z, A, H): of rewards after a word and an action. The
        mean of a feature, p of the empty word, counts as known.
        """
        plan = self.plan
        n_actions, n_observations = len(plan.action_names), len(plan.observation_names)
        v = np.zeros_like(p)
        square = np.zeros_like(p)  # of p, as the pseudo-counts see it
        square[0] = p[0] ** 2
        for word in words:
            if not word:
                continue
            node, parent = plan.nodes[word], plan.nodes[word[:-1]]
            n = self.counts[plan.rows[parent], word[-1] // n_observations]
            ratio = np.minimum(_ratio(p[node], p[parent], 1.0 / n_observations), 1.0)
            shrunk = (ratio * n + pseudo / 2) / (n + pseudo)
            spread = shrunk * (1 - shrunk) / np.maximum(n + pseudo - 1, 1)
            v[node] = v[parent] * np.maximum(shrunk**2 - spread, 0) + square[parent] * spread
            square[node] = square[parent] * shrunk**2
        lengths = np.array([len(word) for word in plan.nodes])
        floor = (float(n_actions) ** lengths / self.total) ** 2
        v += floor[:, None]
        at = np.flatnonzero(plan.rows >= 0)
        typical = self.spreads[0, :, :1]  # of each action's reward, over all histories, (A, 1)
        vr = v[at, None] * (means**2 + typical) + square[at, None] * self.spreads / (
            self.counts + 1
        )
        vr += floor[at, None, None] * max(float(typical.max(initial=0.0)), 1e-12)
        return v, vr


def reweighted(data: Hankel, fitted: Iterable[Floats], rows: Bools) -> Hankel:
    """The same expectations, with the variances under a fitted model.

    fitted: the model's slices of `values`, (rows, H) each; rows (I,): their intents. Other intents
    keep their variances.
    """
    plan = data.plan
    p = np.zeros((len(plan.nodes), plan.features))
    r = np.zeros_like(data.counts)
    said = np.zeros_like(data.values[0])
    for head, part in reversed(list(zip(plan.heads, fitted, strict=True))):  # tests alone come last
        said[rows] = part
        scatter(plan, said, p, r, head)
    p = np.maximum(p, 0.0)
    p[0] = data.features
    at = np.flatnonzero(plan.rows >= 0)
    means = np.clip(_ratio(r, np.broadcast_to(p[at, None], r.shape), 0.0), -2.0, 2.0)
    samples = _Samples(plan, data.samples, data.counts, data.spreads)
    v, vr = samples.variances(p, means, plan.nodes, FITTED_PSEUDO)
    variances = np.where(rows[:, None], gather(plan, v, vr), data.variances)
    return replace(data, variances=variances)


def _ratio(above: Floats, below: Floats, otherwise: Floats | float) -> Floats:
    out = np.array(np.broadcast_to(otherwise, above.shape), dtype=np.float64)
    return np.divide(above, below, out=out, where=below > 0)


def gather(plan: WindowPlan, tests: Floats, rewards: Floats) -> Floats:
    """(U, H) by word and (Z, A, H) by word and action, as (heads, I, H)."""
    words = np.array([[plan.nodes[head + test] for test in plan.tests] for head in plan.heads])
    paid = np.array(
        [[plan.nodes[head + test] for test in plan.reward_tests] for head in plan.heads]
    )
    parts = [tests[words], *(rewards[plan.rows[paid], a] for a in range(rewards.shape[1]))]
    return np.concatenate(parts, axis=1)


def scatter(plan: WindowPlan, part: Floats, tests: Floats, rewards: Floats, head: Word) -> None:
    """Write one slice (I, H) of what `gather` makes back into its two arguments."""
    tests[[plan.nodes[head + test] for test in plan.tests]] = part[: len(plan.tests)]
    rows = plan.rows[[plan.nodes[head + test] for test in plan.reward_tests]]
    paid = part[len(plan.tests) :].reshape(rewards.shape[1], len(rows), -1)
    rewards[rows] = paid.transpose(1, 0, 2)
