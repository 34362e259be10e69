"""Is a PSR enough for these rewards? The paper's accuracy condition, tested on a log.

A PSR is accurate if, over histories, the expected reward of every action is a linear function of
the predictions of tests: if the matrix of all intents by histories has the rank of its rows of
tests. Half of the log gives the directions V in which histories differ. The other half is split in
two, so that the noise in products of the two has mean 0: G = Z1^T Z2 with Z = (rows of tests) V
gives the directions in which tests differ, too. A PSR loses the rewards in the other directions:

    share = |rewards in directions where tests do not differ|^2 / |rewards minus their mean|^2,

with histories weighted by frequency. It is 0 if a PSR is enough, and at most 1. In some directions
the differences between tests are neither clearly noise nor clearly larger. The upper end of the
interval counts these as lost, the lower end as kept; its width includes the bootstrap over groups
of episodes. Both halves are used in both roles.

No log can show that tests do not differ at all. `resolution` is the largest difference between
tests that noise may hide where a PSR seems to lose most rewards, relative to the difference of
these rewards, in units of their range. If it is too coarse, the verdict is never 'no'. So 'no'
excludes every PSR whose rewards change at most 1 / `COARSE` times as much as its probabilities.
`lost_rewards` computes the sums.

Only histories of a few interactions that occur in the log are considered.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from rpsr.errors import DataError
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.survey import Survey
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.learning.parameter_checks import FROM_1, NOT_NEGATIVE, SHARE
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.propensities import MISSING, unseen_share
from rpsr.learning.spectral.fit import Scales, scales, singular_values
from rpsr.learning.spectral.lost_rewards import Quarters, Squares, total
from rpsr.learning.spectral.rank import noise_level, rank_cut
from rpsr.logs.parts import LONG, STRETCH

GROUPS = 40  # of episodes, ten in each quarter of the log
CELLS = 2**20  # numbers in the moments of one group
COARSE = 0.08  # above this resolution, tests that look alike may differ
NOTHING = 1e-3  # below this share of the rewards' variance, histories predict nothing
NO_VARIANCE = 1e-12  # rewards that vary less count as constant


class TooShort(DataError):
    """The log is too short to test whether a PSR is enough."""


@dataclass(frozen=True)
class Enough:
    """Whether a PSR is enough.

    statistic: the share of the predictable reward variance that a PSR loses, at most: if tests that
    do not clearly differ are equal. interval: of this share, at this level. verdict: 'yes'
    or 'no' if the interval is on one side of the tolerance; reason: why the verdict is undecided,
    or 'yes' without a test, or empty.
    reward_error: the error of a PSR's expected rewards for this share (an estimate: the interval
    allows more), root mean square over histories and actions, in units of the rewards.
    resolution: the largest difference between tests that noise may hide where most rewards seem
    lost, relative to the difference of these rewards, in units of their range; 0 if no rewards seem
    lost. psr_rank, rpsr_rank: how many singular values exceed the noise, for tests alone and for
    tests and rewards; an upper bound, because cells are assumed independent.
    """

    statistic: float
    interval: tuple[float, float]
    verdict: Literal["yes", "no", "undecided"]
    reason: str
    reward_error: float
    resolution: float
    psr_rank: int
    rpsr_rank: int
    level: float = 0.95

    @property
    def words(self) -> str:
        """The share, its interval and the reason, in a sentence."""
        if self.verdict == "yes" and self.reason:
            return self.reason
        low, high = (_percent(share) for share in self.interval)
        words = (
            f"a PSR loses {_percent(self.statistic)} % of the reward variance that histories "
            f"predict ({_percent(self.level)} % interval {low} to {high} %)"
        )
        if self.verdict == "no":
            words += (
                f"; noise hides only differences between tests below {_percent(self.resolution)} % "
                "of those between the lost rewards"
            )
        return f"{words}; {self.reason}" if self.reason else words

    def document(self) -> dict[str, Any]:
        """The results as plain JSON values."""
        return {key: value for key, value in asdict(self).items() if key != "level"}


def _percent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 0.995 else "100"


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
    """Test on a log whether a PSR is enough for its rewards.

    tolerance: the largest acceptable share. repeats: bootstrap samples for the interval.
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
    # The least predictable variance that counts, from the total variance of rewards.
    floor = NOTHING * float(whole.spreads[0, :, 0].mean()) + NO_VARIANCE
    quarters = Quarters(groups, scale, rpsr_rank, whole.centres)
    # Of the recorded rewards: the survey's range has the reward 0 after ends, too.
    unit = (log.census.high - log.census.low) / plan.scale
    squares, shares = _shares(quarters, floor, unit, repeats, (1 - level) / 2, seed)
    verdict, reason = _verdict(shares, tolerance, survey)
    return Enough(
        statistic=shares.statistic,
        interval=(shares.low, shares.high),
        verdict=verdict,
        reason=reason,
        reward_error=float(np.sqrt(max(squares.most, 0.0)) * plan.scale),
        resolution=shares.resolution,
        psr_rank=psr_rank,
        rpsr_rank=rpsr_rank,
        level=level,
    )


def _grouped(log: PreparedLog, plan: WindowPlan) -> list[Moments]:
    """The moments of each group of episodes."""
    groups = [Moments(plan) for _ in range(GROUPS)]
    for group, part in log.pieces(GROUPS):
        groups[group].add(part)
    if min(group.windows for group in groups) == 0:
        raise TooShort(
            f"the log is too short: expected at least {GROUPS} episodes (an episode of more than "
            f"{LONG} steps counts as one per {STRETCH} steps)"
        )
    return groups


def _rank(data: Hankel, *, rewards: bool) -> tuple[int, Scales]:
    """How many singular values exceed the noise, of tests alone or of intents, and the scales."""
    scale = scales(data, "scaled", rewards=rewards)
    return rank_cut(singular_values(data, scale), noise_level(data, scale)), scale


class _Shares(NamedTuple):
    """The share that a PSR loses, at most, with an interval; and the resolution.

    unpredicted: whether histories may predict no rewards at all.
    """

    statistic: float
    low: float
    high: float
    resolution: float
    unpredicted: bool


def _shares(
    quarters: Quarters, floor: float, unit: float, repeats: int, tail: float, seed: int
) -> tuple[Squares, _Shares]:
    """The squares of the log, and the shares with their bootstrap interval."""
    parts = np.arange(GROUPS).reshape(-1, 4).T  # four quarters of the log
    rng = np.random.default_rng(seed)
    noises = quarters.noises(parts, rng)
    excess = quarters.excess(parts, noises)
    squares = quarters.squares(parts, excess)
    samples = [squares]  # always within the interval
    for _ in range(repeats):
        drawn = np.array([rng.choice(part, len(part)) for part in parts])
        samples.append(quarters.squares(drawn, excess))
    least, most, predicted = np.transpose(samples)
    least, most = (np.clip(lost / np.maximum(predicted, floor), 0.0, 1.0) for lost in (least, most))
    return squares, _Shares(
        statistic=float(most[0]),
        low=min(float(np.quantile(least[1:], tail)), float(least[0])),
        high=max(float(np.quantile(most[1:], 1 - tail)), float(most[0])),
        resolution=unit * quarters.hidden(parts, noises, excess),
        unpredicted=floor > NO_VARIANCE and bool((predicted[1:] < floor).mean() > tail),
    )


def _verdict(
    shares: _Shares, tolerance: float, survey: Survey
) -> tuple[Literal["yes", "no", "undecided"], str]:
    """The verdict by the side of the tolerance that the interval is on, and its reason."""
    if shares.unpredicted:
        return "undecided", "histories predict almost none of the reward variance"
    if shares.low > tolerance and shares.resolution > COARSE:
        return "undecided", (
            "noise may hide differences between tests of up to "
            f"{100 * shares.resolution:.2g} % of the lost differences between rewards, more than "
            f"{_percent(COARSE)} %: use a longer log"
        )
    if shares.low > tolerance:
        return "no", ""
    if shares.high >= tolerance:
        allowed = f"the interval contains {_percent(tolerance)} %, the largest loss allowed"
        return "undecided", f"{allowed}: use a longer log"
    if unseen_share(survey.follows) >= MISSING:
        return "undecided", (
            "after some histories an action was never taken: record a log that takes every action "
            "there"
        )
    constant = survey.rewards[0] == survey.rewards[1]
    return "yes", "all rewards of the log are equal" if constant else ""
