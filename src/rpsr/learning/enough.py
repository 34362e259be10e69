"""Is a PSR enough for these rewards? The paper's accuracy condition, asked of a log.

A PSR carries the rewards if, over histories, the expected reward of every action is a linear
function of the predictions of tests: the rows of the reward intents lie in the span of the rows of
tests. With both rows as functions of the history, E[r | h, a] and p(q | h), the statistic is

    share = |reward rows outside of the span|^2 / |reward rows minus their mean|^2,

histories weighted by how often they occur: the part of what history says about rewards that a PSR
forgets, 0 where it is enough, up to 1. Noise would make every row stick out of every span, so each
square is a product of two halves of the log, whose noise is independent. The interval comes from
resampling groups of episodes within each half.

Only histories of a few pairs, and only those the log visits, are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.learning.base import Logs, pieces
from rpsr.learning.learned import chunks_of
from rpsr.learning.moments import Moments
from rpsr.learning.moments_hankel import Hankel, hankel
from rpsr.learning.moments_plan import Plan, Survey
from rpsr.learning.rank import noise_level, rank_cut
from rpsr.learning.spectral_fit import scales, singular_values

GROUPS = 20  # of episodes, half of them in each half of the log
SPARE = 3  # directions kept beyond the rank of tests, in case that is underestimated
CELLS = 2**20  # numbers in the moments of one group
NOTHING = 1e-3  # the share of the rewards' variance below which history says nothing about them


@dataclass(frozen=True)
class Enough:
    """Whether a PSR is enough.

    statistic: the share of what histories say about rewards that a PSR forgets; interval: of the
    level asked for. verdict: 'yes' or 'no' where the interval lies on one side of the tolerance.
    reward_error: the error a PSR would make in expected rewards, root mean square over histories
    and actions, in units of the rewards. psr_rank, rpsr_rank: how many directions stand out of the
    noise in tests alone and in tests and rewards.
    """

    statistic: float
    interval: tuple[float, float]
    verdict: Literal["yes", "no", "undecided"]
    reward_error: float
    psr_rank: int
    rpsr_rank: int


def psr_enough(
    trajectories: Logs,
    *,
    policy: str = "estimated",
    tests: int = 2,
    histories: int = 3,
    tolerance: float = 0.05,
    level: float = 0.95,
    repeats: int = 100,
    seed: int = 0,
) -> Enough:
    """Ask a log whether a PSR is enough for its rewards.

    tolerance: the share that does not matter. repeats: bootstrap samples for the interval.
    """
    survey = Survey.of(chunks_of(trajectories), max(tests, histories))
    plan = Plan.of(survey, tests=tests, histories=histories, policy=policy, cells=CELLS)
    groups = [Moments(plan) for _ in range(GROUPS)]
    for group, part in pieces(trajectories, GROUPS):
        groups[group].add(part)
    if min(group.windows for group in groups) == 0:
        raise InputError(f"the log is too short: expected at least {GROUPS} episodes or stretches")
    halves = (np.arange(0, GROUPS, 2), np.arange(1, GROUPS, 2))
    whole = hankel(_total(groups, np.arange(GROUPS)))
    scale = scales(whole, "scaled", rewards=False)
    psr_rank = rank_cut(singular_values(whole, scale), noise_level(whole, scale))
    everything = scales(whole, "scaled")
    rpsr_rank = rank_cut(singular_values(whole, everything), noise_level(whole, everything))
    missed, told, floor = _shares(groups, halves, psr_rank)
    rng = np.random.default_rng(seed)
    samples: list[float] = []
    for _ in range(repeats):
        drawn = tuple(rng.choice(half, len(half)) for half in halves)
        a, b, _ = _shares(groups, drawn, psr_rank)
        samples.append(a / max(b, floor))
    tail = (1 - level) / 2
    low, high = (float(q) for q in np.quantile(samples, [tail, 1 - tail]))
    verdict = "no" if low > tolerance else "yes" if high < tolerance else "undecided"
    return Enough(
        statistic=missed / max(told, floor),
        interval=(low, high),
        verdict=verdict,
        reward_error=float(np.sqrt(max(missed, 0.0)) * plan.scale),
        psr_rank=psr_rank,
        rpsr_rank=rpsr_rank,
    )


def _total(groups: list[Moments], chosen: np.ndarray) -> Moments:
    """The moments of some groups together; one may come more than once."""
    total = Moments(groups[0].plan)
    for group in chosen.tolist():
        total.nodes += groups[group].nodes
        total.stats += groups[group].stats
        total.windows += groups[group].windows
    return total


def _shares(
    groups: list[Moments], halves: tuple[np.ndarray, ...], rank: int
) -> tuple[float, float, float]:
    """Mean squares: what a PSR misses, what histories say, what counts as nothing."""
    parts = [hankel(_total(groups, half)) for half in halves]
    whole = hankel(_total(groups, np.concatenate(halves)))
    weights = np.divide(
        1.0, whole.features, out=np.zeros_like(whole.features), where=whole.features > 0
    )
    columns = np.sqrt(weights)
    scale = scales(whole, "scaled", rewards=False)
    tests = whole.values[0, : whole.n_tests] * scale.rows[: whole.n_tests, None] * columns
    _, _, v = np.linalg.svd(tests, full_matrices=False)
    span = v[: rank + SPARE]
    size = whole.features.sum() * len(whole.immediate)
    first, second = (_rewards(part, columns) for part in parts)
    missed = float((_outside(first, span) * _outside(second, span)).sum() / size)
    constant = (whole.features * columns)[None]
    constant = constant / np.linalg.norm(constant)
    told = float((_outside(first, constant) * _outside(second, constant)).sum() / size)
    return missed, told, NOTHING * float((first * second).sum() / size) + 1e-12


def _rewards(part: Hankel, columns: Floats) -> Floats:
    """Expected rewards of every action, (A, H), each history by the root of its weight."""
    return part.values[0, part.immediate] * columns


def _outside(rows: Floats, span: Floats) -> Floats:
    return rows - (rows @ span.T) @ span
