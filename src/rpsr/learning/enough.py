"""Is a PSR enough for these rewards? The paper's accuracy condition, asked of a log.

A PSR carries the rewards if, over histories, the expected reward of every action is a linear
function of the predictions of tests: if the matrix of all intents by histories has the rank of its
rows of tests. Half of the log shows in which directions histories differ at all, V. The other half
is cut in two, so that products of the two are free of noise: G = Z1^T Z2 with Z = (rows of tests) V
says in which of these directions tests differ too. What rewards do in the rest, a PSR forgets:

    share = |rewards in directions where tests do not differ|^2 / |rewards minus their mean|^2,

histories weighted by how often they occur, 0 where a PSR is enough, up to 1. A direction may be too
close to call: tests differ by more than their noise would make likely, and by less than would be
sure. Such directions are forgotten at most and kept at least, and the interval, which comes from
resampling groups of episodes, reaches from the least to the most. The halves change roles.

No log can show that tests do not differ at all. `resolution` is the smallest difference that would
have been noticed, as a part of the largest there is; where it is coarse, 'no' is not said.

Only histories of a few pairs, and only those the log visits, are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats, Ints
from rpsr.learning.base import Logs, pieces
from rpsr.learning.learned import check_repeatable, chunks_of
from rpsr.learning.moments import Moments
from rpsr.learning.moments_hankel import Hankel, hankel
from rpsr.learning.moments_plan import Survey, WindowPlan
from rpsr.learning.parameters import FROM_1, NOT_NEGATIVE, SHARE
from rpsr.learning.propensities import MISSING, unseen_share
from rpsr.learning.rank import noise_level, rank_cut
from rpsr.learning.spectral_fit import Scales, scales, singular_values

GROUPS = 40  # of episodes, ten in each quarter of the log
SPARE = 1  # directions looked at beyond those that stand out of the noise
CLOSE, FAR = 1.0, 3.0  # standard errors up to which tests are alike, and from which on they differ
CELLS = 2**20  # numbers in the moments of one group
COARSE = 0.1  # the resolution beyond which tests that look alike may well differ
CONSTANT = 1e-9  # scaled tests that differ by less do so by rounding: there is nothing to observe
NOTHING = 1e-3  # the share of the rewards' variance below which history says nothing about them


class TooShort(InputError):
    """A log that cannot tell whether a PSR is enough."""


@dataclass(frozen=True)
class Enough:
    """Whether a PSR is enough.

    statistic: the share of what histories say about rewards that a PSR forgets; interval: of the
    level asked for. verdict: 'yes' or 'no' where the interval lies on one side of the tolerance.
    reward_error: the error a PSR would make in expected rewards, root mean square over histories
    and actions, in units of the rewards. resolution: the smallest difference between tests that
    the log would show, as a part of the largest it shows. psr_rank, rpsr_rank: how many directions
    stand out of the noise in tests alone and in tests and rewards.
    """

    statistic: float
    interval: tuple[float, float]
    verdict: Literal["yes", "no", "undecided"]
    reward_error: float
    resolution: float
    psr_rank: int
    rpsr_rank: int

    @property
    def words(self) -> str:
        """What the share and its interval say, and why they may not decide."""
        low, high = self.interval
        said = (
            f"it forgets {self.statistic:.2g} of what the past says about rewards "
            f"({low:.2g} to {high:.2g})"
        )
        if self.verdict == "undecided" and self.resolution > COARSE:
            said += (
                f", unless by tests that differ too little to show in this log (by less than "
                f"{self.resolution:.2g} of the most they differ)"
            )
        return said


def psr_enough(
    trajectories: Logs,
    *,
    policy: str = "estimated",
    tests: int = 2,
    histories: int = 3,
    tolerance: float = 0.05,
    level: float = 0.95,
    repeats: int = 30,
    seed: int = 0,
) -> Enough:
    """Ask a log whether a PSR is enough for its rewards.

    tolerance: the share that does not matter. repeats: bootstrap samples for the interval.
    """
    check_repeatable(trajectories)
    FROM_1.check("repeats", repeats)
    FROM_1.check("tests", tests)
    FROM_1.check("histories", histories)
    NOT_NEGATIVE.check("tolerance", tolerance)
    SHARE.check("level", level)
    survey = Survey.of(chunks_of(trajectories), max(tests, histories))
    plan = WindowPlan.of(
        survey, tests=tests, histories=histories, policy=policy, cells=CELLS, operators=False
    )
    groups = [Moments(plan) for _ in range(GROUPS)]
    for group, part in pieces(trajectories, GROUPS):
        groups[group].add(part)
    if min(group.windows for group in groups) == 0:
        raise TooShort(f"the log is too short: expected at least {GROUPS} episodes or stretches")
    parts = np.arange(GROUPS).reshape(-1, 4).T  # four quarters of the log
    whole = hankel(_total(groups, np.arange(GROUPS)))
    scale = scales(whole, "scaled", rewards=False)
    psr_rank = rank_cut(singular_values(whole, scale), noise_level(whole, scale))
    scale = scales(whole, "scaled")
    rpsr_rank = rank_cut(singular_values(whole, scale), noise_level(whole, scale))
    # What history must say of rewards to say anything, by their variance, whatever came before.
    floor = NOTHING * float(whole.spreads[0, :, 0].mean()) + 1e-12
    found = _squares(groups, parts, scale, rpsr_rank, whole.centres)
    rng = np.random.default_rng(seed)
    samples: list[Floats] = []  # (least, most)
    silent = 0  # samples in which history says nothing of rewards
    for _ in range(repeats):
        drawn = np.array([rng.choice(part, len(part)) for part in parts])
        some = _squares(groups, drawn, scale, rpsr_rank, whole.centres)
        samples.append(np.clip(np.array([some.least, some.most]) / max(some.told, floor), 0.0, 1.0))
        silent += some.told < floor
    tail = (1 - level) / 2
    least, most = np.transpose(samples)
    low, high = float(np.quantile(least, tail)), float(np.quantile(most, 1 - tail))
    verdict = "no" if low > tolerance else "yes" if high < tolerance else "undecided"
    if silent > tail * repeats and floor > 1e-12:
        verdict = "undecided"
    resolution = float(np.sqrt(found.noise))
    if verdict == "no" and resolution > COARSE:
        verdict = "undecided"
    if verdict == "yes" and unseen_share(survey.follows) >= MISSING:
        verdict = "undecided"  # what was never tried might have shown a difference
    return Enough(
        statistic=float(np.clip(found.most / max(found.told, floor), 0.0, 1.0)),
        interval=(low, high),
        verdict=verdict,
        reward_error=float(np.sqrt(max(found.most, 0.0)) * plan.scale),
        resolution=resolution,
        psr_rank=psr_rank,
        rpsr_rank=rpsr_rank,
    )


def _total(groups: list[Moments], chosen: Ints) -> Moments:
    """The moments of some groups together; one may come more than once."""
    total = Moments(groups[0].plan)
    for group in chosen.tolist():
        total.nodes += groups[group].nodes
        total.stats += groups[group].stats
        total.windows += groups[group].windows
    return total


class Squares(NamedTuple):
    """Mean squares: of rewards, what a PSR misses at least and at most, and what histories say.

    noise: what tests must differ by to be noticed, as a part of the most they differ, at most 1.
    """

    least: float
    most: float
    told: float
    noise: float


def _squares(
    groups: list[Moments], parts: Ints, scale: Scales, rank: int, centres: Floats
) -> Squares:
    """What both halves of a log say, each after the other has shown where histories differ.

    parts (4, k): the groups of the four quarters of the log.
    """
    quarters = [hankel(_total(groups, part), centres) for part in parts]
    halves = [hankel(_total(groups, parts[k : k + 2].ravel()), centres) for k in (0, 2)]
    found = [
        _missed(halves[0], (quarters[2], quarters[3]), scale, rank),
        _missed(halves[1], (quarters[0], quarters[1]), scale, rank),
    ]
    return Squares(*np.mean(found, axis=0).tolist())


def _missed(half: Hankel, quarters: tuple[Hankel, Hankel], scale: Scales, rank: int) -> Squares:
    """What rewards do where tests are alike, where they are not sure to differ, and at all."""
    features = half.features
    whole, first, second = (_centred(part, features) for part in (half, *quarters))
    scaled = scale.rows[:, None] * whole * scale.columns
    _, s, v = np.linalg.svd(scaled, full_matrices=False)
    directions = v[: min(rank - 1 + SPARE, int((s > s[0] * 1e-12).sum()))]  # (n, H)
    tests = slice(half.n_tests)
    grid = scale.rows[tests, None] * scale.columns
    z1, z2 = ((part[tests] * grid) @ directions.T for part in (first, second))
    values, vectors = np.linalg.eigh((z1.T @ z2 + z2.T @ z1) / 2)
    noise1, noise2 = ((q.variances[0, tests] * grid**2) @ directions.T**2 for q in quarters)
    # The standard error of a sum, over tests, of products of two independent noises.
    error = float(np.sqrt((noise1.mean(axis=1) * noise2.mean(axis=1)).sum()))
    # Back from scaled columns to histories weighted by how often they occur.
    root = np.sqrt(np.where(features > 0, features, np.inf)) * scale.columns
    r1, r2 = ((part[half.immediate] * scale.columns) @ directions.T for part in (first, second))
    size = features.sum() * len(half.immediate)

    def product(keep: Floats) -> float:
        rows = [(r @ keep @ keep.T @ directions) / root for r in (r1, r2)]
        return float((rows[0] * rows[1]).sum() / size)

    alike, unsure = (vectors[:, values < sigmas * error] for sigmas in (CLOSE, FAR))
    noise = min(FAR * error / max(values.max(), 1e-300), 1.0)
    if max(abs(z1).max(), abs(z2).max()) < CONSTANT:
        noise = 0.0
    return Squares(product(alike), product(unsure), product(np.eye(len(directions))), noise)


def _centred(part: Hankel, features: Floats) -> Floats:
    """What each history changes in each expectation, (I, H), by the weights of the features."""
    known = part.features > 0
    given = np.divide(part.values[0], part.features, out=np.zeros_like(part.values[0]), where=known)
    return np.where(known, given - given[:, :1], 0.0) * features
