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
have been noticed, as a part of the largest there is; where it is coarse, 'no' is not said. The sums
are those of `squares`.

Only histories of a few pairs, and only those the log visits, are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rpsr.errors import DataError
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.plan import Survey, WindowPlan
from rpsr.learning.moments.sums import Moments
from rpsr.learning.parameters import FROM_1, NOT_NEGATIVE, SHARE
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.propensities import MISSING, unseen_share
from rpsr.learning.spectral.fit import Scales, scales, singular_values
from rpsr.learning.spectral.rank import noise_level, rank_cut
from rpsr.learning.spectral.squares import Quarters, Squares, total

GROUPS = 40  # of episodes, ten in each quarter of the log
CELLS = 2**20  # numbers in the moments of one group
COARSE = 0.1  # the resolution beyond which tests that look alike may well differ
NOTHING = 1e-3  # the share of the rewards' variance below which history says nothing about them
NO_VARIANCE = 1e-12  # rewards that vary less count as constant


class TooShort(DataError):
    """A log that cannot tell whether a PSR is enough."""


@dataclass(frozen=True)
class Enough:
    """Whether a PSR is enough.

    statistic: the share of what histories say about rewards that a PSR forgets, at most, if tests
    that are not sure to differ do not; interval: from the least to the most, of the level asked
    for. verdict: 'yes' or 'no' where the interval lies on one side of the tolerance; reason: why it
    is undecided, or 'yes' whatever the past says, or nothing.
    reward_error: the error a PSR would make in expected rewards, at most, root mean square over
    histories and actions, in units of the rewards. resolution: the smallest difference between
    tests that the log would show, as a part of the largest it shows, or of the largest there could
    be where it shows none. psr_rank, rpsr_rank: how many directions stand out of the noise in tests
    alone and in tests and rewards, at most: noise is reckoned as if cells were independent.
    """

    statistic: float
    interval: tuple[float, float]
    verdict: Literal["yes", "no", "undecided"]
    reason: str
    reward_error: float
    resolution: float
    psr_rank: int
    rpsr_rank: int

    @property
    def words(self) -> str:
        """What the share and its interval say, and why they may not decide."""
        if self.verdict == "yes" and self.reason:
            return self.reason
        low, high = self.interval
        resolution = f"; resolution {self.resolution:.1g}" if self.verdict == "no" else ""
        said = (
            f"it loses {self.statistic:.2g} of the predictable reward variance "
            f"({low:.2g} to {high:.2g}{resolution})"
        )
        return f"{said}; {self.reason}" if self.reason else said


def psr_enough(
    logs: Logs,
    *,
    behaviour: str = "estimated",
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
    for name, count in (("repeats", repeats), ("tests", tests), ("histories", histories)):
        FROM_1.check(name, count)
    NOT_NEGATIVE.check("tolerance", tolerance)
    SHARE.check("level", level)
    log = PreparedLog.of(logs)
    survey = log.survey(max(tests, histories))
    plan = WindowPlan.of(
        survey, tests=tests, histories=histories, behaviour=behaviour, cells=CELLS, operators=False
    )
    groups = _grouped(log, plan)
    whole = hankel(total(groups, np.arange(GROUPS)))
    psr_rank, _ = _rank(whole, rewards=False)
    rpsr_rank, scale = _rank(whole, rewards=True)
    # What history must say of rewards to say anything, by their variance, whatever came before.
    floor = NOTHING * float(whole.spreads[0, :, 0].mean()) + NO_VARIANCE
    quarters = Quarters(groups, scale, rpsr_rank, whole.centres)
    found, shares = _shares(quarters, floor, repeats, (1 - level) / 2, seed)
    verdict, reason = _verdict(shares, tolerance, survey)
    return Enough(
        statistic=shares.statistic,
        interval=(shares.low, shares.high),
        verdict=verdict,
        reason=reason,
        reward_error=float(np.sqrt(max(found.most, 0.0)) * plan.scale),
        resolution=shares.resolution,
        psr_rank=psr_rank,
        rpsr_rank=rpsr_rank,
    )


def _grouped(log: PreparedLog, plan: WindowPlan) -> list[Moments]:
    """The moments of each group of episodes."""
    groups = [Moments(plan) for _ in range(GROUPS)]
    for group, part in log.pieces(GROUPS):
        groups[group].add(part)
    if min(group.windows for group in groups) == 0:
        raise TooShort(f"the log is too short: expected at least {GROUPS} episodes or stretches")
    return groups


def _rank(data: Hankel, *, rewards: bool) -> tuple[int, Scales]:
    """How many directions stand out of the noise, of tests alone or of intents, and the scales."""
    scale = scales(data, "scaled", rewards=rewards)
    return rank_cut(singular_values(data, scale), noise_level(data, scale)), scale


class _Shares(NamedTuple):
    """What a PSR forgets, as a share: at most, and an interval; what tests could tell apart.

    silent: whether histories may well say nothing about rewards.
    """

    statistic: float
    low: float
    high: float
    resolution: float
    silent: bool


def _shares(
    quarters: Quarters, floor: float, repeats: int, tail: float, seed: int
) -> tuple[Squares, _Shares]:
    """The squares of the log, and the shares with their bootstrap interval."""
    parts = np.arange(GROUPS).reshape(-1, 4).T  # four quarters of the log
    rng = np.random.default_rng(seed)
    excess = quarters.excess(parts, rng)
    found = quarters.squares(parts, excess)
    samples = [(found.least, found.most, found.told)]  # within the interval, whatever is drawn
    for _ in range(repeats):
        drawn = np.array([rng.choice(part, len(part)) for part in parts])
        samples.append(quarters.squares(drawn, excess)[:3])
    least, most, told = np.transpose(samples)
    least, most = (np.clip(each / np.maximum(told, floor), 0.0, 1.0) for each in (least, most))
    return found, _Shares(
        statistic=float(most[0]),
        low=min(float(np.quantile(least[1:], tail)), float(least[0])),
        high=max(float(np.quantile(most[1:], 1 - tail)), float(most[0])),
        resolution=float(np.sqrt(found.noise)),
        silent=floor > NO_VARIANCE and bool((told[1:] < floor).mean() > tail),
    )


def _verdict(
    shares: _Shares, tolerance: float, survey: Survey
) -> tuple[Literal["yes", "no", "undecided"], str]:
    """On which side of the tolerance the interval lies, and why that may not decide."""
    if shares.silent:
        return "undecided", "histories predict almost none of the reward variance"
    if shares.low > tolerance and shares.resolution > COARSE:
        return "undecided", (
            f"the resolution of the log is only {shares.resolution:.2g}: noise may hide "
            "differences between tests"
        )
    if shares.low > tolerance:
        return "no", ""
    if shares.high >= tolerance:
        return "undecided", "the interval contains the tolerance: use a longer log"
    if unseen_share(survey.follows) >= MISSING:
        return "undecided", "untried actions might show a difference: use a log that tries all"
    constant = survey.rewards[0] == survey.rewards[1]
    return "yes", "all rewards of the log are equal" if constant else ""
