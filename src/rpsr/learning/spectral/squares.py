"""What a PSR misses of a log's rewards, in squares that are free of noise: the sums of `enough`.

A `View` of one half of a log says in which directions histories differ; the quarters of the other
half, whose noises are independent, say by their products what tests and rewards do there. How large
such products come out by noise alone is measured: the groups of a quarter, half of them less the
other half, are as noisy as the quarter and hold nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.sums import Moments
from rpsr.learning.spectral.fit import Scales

SPARE = 1  # directions looked at beyond those that stand out of the noise
CLOSE, FAR = 0.5, 2.0  # in units of noise: up to here tests are alike, from here on they differ
HALVINGS = 8  # of the groups, to measure noise
ROUNDING = 1e-9  # of scaled tests


class Squares(NamedTuple):
    """Mean squares: of rewards, what a PSR misses at least and at most, and what histories say.

    noise: what tests must differ by to be noticed, as a part of the most they differ, at most 1.
    """

    least: float
    most: float
    told: float
    noise: float


@dataclass(frozen=True, eq=False)
class Quarters:
    """The moments of groups of episodes, (G,), in quarters of a log, with scales and a rank."""

    groups: list[Moments]
    scale: Scales
    rank: int
    centres: Floats

    def of(self, chosen: Ints) -> Hankel:
        """The expectations of some groups together; one may come more than once."""
        return hankel(total(self.groups, chosen), self.centres)

    def squares(self, parts: Ints, excess: float) -> Squares:
        """What both halves of a log say, each after the other has shown where histories differ.

        parts (4, k): the groups of the four quarters. excess: how much larger noise is than it
        would be if tests were independent.
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
        """The largest direction of noise, root mean square, over what `View.error` expects."""
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
    """In which directions (n, H) histories differ, as one half of a log shows."""

    half: Hankel
    scale: Scales
    directions: Floats

    @staticmethod
    def of(half: Hankel, scale: Scales, rank: int) -> View:
        """The directions that stand out of the noise, and a spare one."""
        scaled = scale.rows[:, None] * _centred(half, half.features) * scale.columns
        _, s, v = np.linalg.svd(scaled, full_matrices=False)
        return View(half, scale, v[: min(rank - 1 + SPARE, int((s > s[0] * 1e-12).sum()))])

    @property
    def grid(self) -> Floats:
        """The scales of tests by histories, (Q, H)."""
        return self.scale.rows[: self.half.n_tests, None] * self.scale.columns

    def tests(self, part: Hankel) -> Floats:
        """What tests do in the directions, by a part of the log, (Q, n)."""
        differences = _centred(part, self.half.features)[: self.half.n_tests]
        return (differences * self.grid) @ self.directions.T

    def rewards(self, part: Hankel) -> Floats:
        """What rewards of actions do in the directions, (A, n)."""
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
        """The squares of tests that were sure to succeed or fail after every history."""
        chances = (self.half.values[0, : self.half.n_tests, 0] / self.half.features[0]).clip(0, 1)
        weights = ((self.grid * self.half.features) ** 2).sum(axis=1)
        return float(weights @ (chances * (1 - chances)))

    def squares(self, first: Hankel, second: Hankel, excess: float) -> Squares:
        """What rewards do where tests are alike, where they are not sure to differ, and at all."""
        if len(self.directions) == 0:
            return Squares(0.0, 0.0, 0.0, 0.0)
        values, vectors = np.linalg.eigh(_symmetric(self.tests(first), self.tests(second)))
        error = excess * self.error(first, second)
        # Back from scaled columns to histories weighted by how often they occur.
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
    """The moments of some groups together; one may come more than once."""
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
    """What each history changes in each expectation, (I, H), by the weights of the features."""
    known = part.features > 0
    given = np.divide(part.values[0], part.features, out=np.zeros_like(part.values[0]), where=known)
    return np.where(known, given - given[:, :1], 0.0) * features
