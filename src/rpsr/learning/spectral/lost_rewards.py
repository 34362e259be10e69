"""The sums of `psr_verdict`: mean squares of the rewards that a PSR loses, without bias from noise.

A `View` of one half of a log gives the directions in which histories differ. The other half is two
quarters with independent noise, whose products estimate the squares of tests and rewards in these
directions. The size of such products under noise alone is measured: half of the groups of a quarter
minus the other half has the noise of the quarter and mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.moments import Moments
from rpsr.learning.spectral.fit import Scales

SPARE = 1  # directions in addition to those that exceed the noise
CLOSE, FAR = 0.5, 2.0  # in units of noise: below CLOSE tests are alike, above FAR they differ
HALVINGS = 8  # of the groups, to measure noise
ROUNDING = 1e-9  # of scaled tests


class Squares(NamedTuple):
    """Mean squares of rewards: lost by a PSR at least and at most, and predicted by histories."""

    least: float
    most: float
    predicted: float


class Noise(NamedTuple):
    """Products of noise alone, by one half of a log.

    view: the directions of the half. halvings: pairs of differences (Q, n) of tests in these
    directions, with the noise of the two other quarters and mean 0.
    """

    view: View
    halvings: list[tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Quarters:
    """The moments of groups of episodes, (G,), in quarters of a log, with scales and a rank."""

    groups: list[Moments]
    scale: Scales
    rank: int
    centres: Floats

    def of(self, chosen: Ints) -> Hankel:
        """The expectations of some groups together, with repetitions."""
        return hankel(total(self.groups, chosen), self.centres)

    def squares(self, parts: Ints, excess: float) -> Squares:
        """The mean over both halves of a log, each with the directions of the other half.

        parts (4, k): the groups of the four quarters. excess: see `excess`.
        """
        views = [self._view(parts, k).squares(*self._others(parts, k), excess) for k in range(2)]
        return Squares(*np.mean(views, axis=0).tolist())

    def noises(self, parts: Ints, rng: np.random.Generator) -> list[Noise]:
        """The noise of tests, for both halves of the log."""
        return [
            Noise(
                view := self._view(parts, k),
                [
                    (
                        self._difference(view, rng.permutation(one)),
                        self._difference(view, rng.permutation(other)),
                    )
                    for one, other in [_other_parts(parts, k)] * HALVINGS
                ],
            )
            for k in range(2)
        ]

    def excess(self, parts: Ints, noises: list[Noise]) -> float:
        """The norm of noise, root mean square, divided by `View.error`: by how much it exceeds that
        of independent tests.
        """
        ratios: list[float] = []
        for k, noise in enumerate(noises):
            error = noise.view.error(*self._others(parts, k))
            if error > 0:
                ratios += [
                    float(np.linalg.norm(_symmetric(*halving), 2)) / error
                    for halving in noise.halvings
                ]
        return float(np.sqrt(np.mean(np.square(ratios)))) if ratios else 1.0

    def hidden(self, parts: Ints, noises: list[Noise], excess: float) -> float:
        """The difference between tests that noise may hide, relative to that of lost rewards.

        It is a root mean square, the larger one of both halves of the log.
        """
        return max(
            noise.view.hidden(*self._others(parts, k), noise.halvings, excess)
            for k, noise in enumerate(noises)
        )

    def _view(self, parts: Ints, k: int) -> View:
        return View.of(self.of(parts[2 * k : 2 * k + 2].ravel()), self.scale, self.rank)

    def _others(self, parts: Ints, k: int) -> tuple[Hankel, Hankel]:
        one, other = _other_parts(parts, k)
        return self.of(one), self.of(other)

    def _difference(self, view: View, groups: Ints) -> Floats:
        one, other = np.array_split(groups, 2)
        return (view.tests(self.of(one)) - view.tests(self.of(other))) / 2


def _other_parts(parts: Ints, k: int) -> tuple[Ints, Ints]:
    """The groups of the two quarters that are not in half k of the log."""
    return parts[2 - 2 * k], parts[3 - 2 * k]


@dataclass(frozen=True, eq=False)
class View:
    """The directions (n, H) in which histories differ, by one half of a log."""

    half: Hankel
    scale: Scales
    directions: Floats

    @staticmethod
    def of(half: Hankel, scale: Scales, rank: int) -> View:
        """The directions that exceed the noise, and a spare one."""
        scaled = scale.rows[:, None] * _centred(half, half.features) * scale.columns
        _, s, v = np.linalg.svd(scaled, full_matrices=False)
        return View(half, scale, v[: min(rank - 1 + SPARE, int((s > s[0] * 1e-12).sum()))])

    @property
    def grid(self) -> Floats:
        """The scales of tests by histories, (Q, H)."""
        return self.scale.rows[: self.half.n_tests, None] * self.scale.columns

    def tests(self, part: Hankel) -> Floats:
        """The differences of tests in the directions, by a part of the log, (Q, n)."""
        differences = _centred(part, self.half.features)[: self.half.n_tests]
        return (differences * self.grid) @ self.directions.T

    def rewards(self, part: Hankel) -> Floats:
        """The differences of rewards of actions in the directions, (A, n)."""
        differences = _centred(part, self.half.features)[self.half.immediate]
        return (differences * self.scale.columns) @ self.directions.T

    def error(self, first: Hankel, second: Hankel) -> float:
        """The standard error of a sum, over independent tests, of products of two noises."""
        if len(self.directions) == 0:
            return 0.0
        noises = [
            (q.variances[0, : self.half.n_tests] * self.grid**2) @ (self.directions**2).mean(axis=0)
            for q in (first, second)
        ]
        return float(np.sqrt((noises[0] * noises[1]).sum()))

    def squares(self, first: Hankel, second: Hankel, excess: float) -> Squares:
        """Squares of rewards where tests are alike, where they may be alike, and everywhere."""
        if len(self.directions) == 0:
            return Squares(0.0, 0.0, 0.0)
        kept = (*self._alike(first, second, excess), np.eye(len(self.directions)))
        rewards = [[r @ k @ k.T @ self.natural for k in kept] for r in self._both(first, second)]
        scale = self.half.features.sum() * len(self.half.immediate)
        return Squares(*(float((r1 * r2).sum() / scale) for r1, r2 in zip(*rewards, strict=True)))

    def hidden(
        self,
        first: Hankel,
        second: Hankel,
        halvings: list[tuple[Floats, Floats]],
        excess: float,
    ) -> float:
        """The difference between tests that noise may hide where most rewards seem lost.

        It is relative to the difference of these rewards. If rewards were linear in tests, r = W p,
        then |r| <= |W| |p| in any direction of histories. So a log in which |p| is certainly small
        beside |r| excludes every W that is not large. Tests of k actions have the weight A^-k.
        """
        # With a single observation no test differs, whatever the log.
        if len(self.directions) == 0 or len(self.half.plan.observation_names) == 1:
            return 0.0
        alike, _ = self._alike(first, second, excess)
        lost = [r @ alike @ alike.T @ self.natural for r in self._both(first, second)]
        direction = np.linalg.svd(lost[0] + lost[1], full_matrices=False)[2][0]
        rewards = float((lost[0] @ direction) @ (lost[1] @ direction))
        if rewards <= ROUNDING**2:
            return 0.0
        along = alike @ (alike.T @ (self.natural @ direction))  # in scaled coordinates
        lengths = np.array([len(word) for word in self.half.plan.tests])
        weights = len(self.half.plan.action_names) ** (-lengths / 2)
        weights /= self.scale.rows[: self.half.n_tests]

        def product(halving: tuple[Floats, Floats]) -> float:
            z1, z2 = (weights * (z @ along) for z in halving)
            return float(z1 @ z2)

        noise = np.sqrt(np.mean([product(halving) ** 2 for halving in halvings]))
        tests = product((self.tests(first), self.tests(second)))
        return float(np.sqrt((max(tests, 0.0) + FAR * noise) / rewards))

    def _both(self, first: Hankel, second: Hankel) -> tuple[Floats, Floats]:
        return self.rewards(first), self.rewards(second)

    def _alike(self, first: Hankel, second: Hankel, excess: float) -> tuple[Floats, Floats]:
        """Where tests are alike, and where they may be alike, by the size of noise, (n, k) each."""
        values, vectors = np.linalg.eigh(_symmetric(self.tests(first), self.tests(second)))
        error = excess * self.error(first, second)
        close, near = (values < limit * error + ROUNDING for limit in (CLOSE, FAR))
        return vectors[:, close], vectors[:, near]

    @property
    def natural(self) -> Floats:
        """The directions over histories weighted by frequency, without scales, (n, H)."""
        features = self.half.features
        root = np.sqrt(np.where(features > 0, features, np.inf))
        return self.directions / (root * self.scale.columns)


def total(groups: list[Moments], chosen: Ints) -> Moments:
    """The moments of some groups together, with repetitions."""
    summed = Moments(groups[0].plan)
    for group in chosen.tolist():
        summed.nodes += groups[group].nodes
        summed.stats += groups[group].stats
        summed.windows += groups[group].windows
    return summed


def _symmetric(z1: Floats, z2: Floats) -> Floats:
    product = z1.T @ z2
    return (product + product.T) / 2


def _centred(part: Hankel, features: Floats) -> Floats:
    """The effect of each history on each expectation, (I, H), weighted by the features."""
    known = part.features > 0
    given = np.divide(part.values[0], part.features, out=np.zeros_like(part.values[0]), where=known)
    return np.where(known, given - given[:, :1], 0.0) * features
