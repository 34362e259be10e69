"""The sums of `enough`: mean squares of the rewards that a PSR loses, without bias from noise.

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
from rpsr.learning.moments.sums import Moments
from rpsr.learning.spectral.fit import Scales

SPARE = 1  # directions in addition to those that exceed the noise
CLOSE, FAR = 0.5, 2.0  # in units of noise: below CLOSE tests are alike, above FAR they differ
HALVINGS = 8  # of the groups, to measure noise
ROUNDING = 1e-9  # of scaled tests


class Squares(NamedTuple):
    """Mean squares of rewards: lost by a PSR at least and at most, and predicted by histories.

    noise: the smallest difference of tests that shows, relative to the largest one, at most 1.
    """

    least: float
    most: float
    predicted: float
    noise: float


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

        parts (4, k): the groups of the four quarters. excess: the ratio of the noise to that of
        independent tests.
        """
        quarters = [self.of(part) for part in parts]
        found = [
            View.of(self.of(parts[k : k + 2].ravel()), self.scale, self.rank).squares(
                quarters[2 - k], quarters[3 - k], excess
            )
            for k in (0, 2)
        ]
        return Squares(*np.mean(found, axis=0).tolist())

    def excess(self, parts: Ints, rng: np.random.Generator) -> float:
        """The norm of noise, root mean square, divided by `View.error`."""
        ratios: list[float] = []
        for k in (0, 2):
            view = View.of(self.of(parts[k : k + 2].ravel()), self.scale, self.rank)
            others = parts[2 - k], parts[3 - k]
            error = view.error(*(self.of(part) for part in others))
            for _ in range(HALVINGS if error > 0 else 0):
                z1, z2 = (self._difference(view, rng.permutation(part)) for part in others)
                ratios.append(float(np.linalg.norm(_symmetric(z1, z2), 2)) / error)
        return float(np.sqrt(np.mean(np.square(ratios)))) if ratios else 1.0

    def _difference(self, view: View, groups: Ints) -> Floats:
        one, other = np.array_split(groups, 2)
        return (view.tests(self.of(one)) - view.tests(self.of(other))) / 2


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

    def possible(self) -> float:
        """The largest possible squares: if every test had probability 0 or 1 after each history."""
        chances = (self.half.values[0, : self.half.n_tests, 0] / self.half.features[0]).clip(0, 1)
        weights = ((self.grid * self.half.features) ** 2).sum(axis=1)
        return float(weights @ (chances * (1 - chances)))

    def squares(self, first: Hankel, second: Hankel, excess: float) -> Squares:
        """Squares of rewards where tests are alike, where they may be alike, and everywhere."""
        if len(self.directions) == 0:
            return Squares(0.0, 0.0, 0.0, 0.0)
        values, vectors = np.linalg.eigh(_symmetric(self.tests(first), self.tests(second)))
        error = excess * self.error(first, second)
        # From scaled columns back to histories weighted by frequency.
        features = self.half.features
        root = np.sqrt(np.where(features > 0, features, np.inf)) * self.scale.columns
        r1, r2 = self.rewards(first), self.rewards(second)

        def product(keep: Floats) -> float:
            rows = [(r @ keep @ keep.T @ self.directions) / root for r in (r1, r2)]
            return float((rows[0] * rows[1]).sum() / features.sum() / len(r1))

        alike, unsure = (vectors[:, values < limit * error + ROUNDING] for limit in (CLOSE, FAR))
        largest = float(values.max()) if values.max() > FAR * error else self.possible()
        noise = min(FAR * error / largest, 1.0) if largest > ROUNDING else 0.0
        return Squares(product(alike), product(unsure), product(np.eye(len(values))), noise)


def total(groups: list[Moments], chosen: Ints) -> Moments:
    """The moments of some groups together, with repetitions."""
    found = Moments(groups[0].plan)
    for group in chosen.tolist():
        found.nodes += groups[group].nodes
        found.stats += groups[group].stats
        found.windows += groups[group].windows
    return found


def _symmetric(z1: Floats, z2: Floats) -> Floats:
    product = z1.T @ z2
    return (product + product.T) / 2


def _centred(part: Hankel, features: Floats) -> Floats:
    """The effect of each history on each expectation, (I, H), weighted by the features."""
    known = part.features > 0
    given = np.divide(part.values[0], part.features, out=np.zeros_like(part.values[0]), where=known)
    return np.where(known, given - given[:, :1], 0.0) * features
