"""Random models for the differential run: small, and made to strain floating-point arithmetic.

A model is written down in decimals. A `file` model is their `.pomdp` text: it means the decimals,
each row divided by its sum. An `arrays` model is given as floats: it means those floats, each row
divided by its sum. `exact` works that meaning out in fractions, without the code under test.

The family of the process and the family of the rewards are drawn independently of each other, so
that every pair of them comes up.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from tests.differential.families import PROCESSES, REWARDS, Outcome, Row, lottery

from rpsr import POMDP
from rpsr.io.pomdp.reader import parse_pomdp

DISCOUNTS = ("0", "0.3", "0.5", "0.75", "0.9", "0.95", "0.99", "0.999", "0.999999999")
OFTEN = (1, 1, 3, 2, 3, 4, 2, 1, 1)  # how often each discount is drawn


@dataclass(frozen=True)
class Exact:
    """What a model means. chance[a][o][s][t] = Pr(t, o | s, a); rewards[s][a], expected.

    raw: the largest |R(s, a, t, o)| of an outcome, which rewards of floats are rounded by.
    """

    chance: list[list[list[Row]]]
    rewards: list[Row]
    start: Row
    discount: Fraction
    raw: Fraction

    @cached_property
    def largest(self) -> Fraction:
        """The largest |R(s, a)|."""
        return max(abs(r) for row in self.rewards for r in row)


@dataclass(frozen=True)
class Written:
    """A model as decimals: T[a][s][t], O[a][t][o], R by outcome, zero where none is given."""

    family: str
    source: str  # "file" or "arrays"
    T: list[list[Row]]
    O: list[list[Row]]
    R: dict[Outcome, Fraction]
    start: Row
    discount: str

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Actions, states and observations."""
        return len(self.T), len(self.start), len(self.O[0][0])

    def text(self) -> str:
        """The `.pomdp` file."""
        A, S, O = self.sizes
        start = "uniform" if S == 1 else _words(self.start)
        lines = [f"discount: {self.discount}", "values: reward", f"states: {S}", f"actions: {A}"]
        lines += [f"observations: {O}", f"start: {start}"]
        for a in range(A):
            lines += [f"T: {a}", *map(_words, self.T[a]), f"O: {a}", *map(_words, self.O[a])]
        lines += [
            f"R: {a} : {s} : {t} : {o} {decimal(reward)}"
            for (a, s, t, o), reward in self.R.items()
            if reward
        ]
        return "\n".join(lines) + "\n"

    def pomdp(self) -> POMDP:
        """The model as the code under test has it."""
        if self.source == "file":
            return POMDP(parse_pomdp(self.text().encode(), place="differential", name="drawn"))
        A, S, O = self.sizes
        R = np.zeros((A, S, S, O))
        for outcome, reward in self.R.items():
            R[outcome] = float(reward)
        T, seen = (np.array(table, dtype=float) for table in (self.T, self.O))
        return POMDP.from_arrays(T, seen, R, np.array(self.start, dtype=float), self.discount)

    @cached_property
    def exact(self) -> Exact:
        """What it means, in fractions."""
        A, S, O = self.sizes
        T = [[self._row(row) for row in rows] for rows in self.T]
        seen = [[self._row(row) for row in rows] for rows in self.O]
        chance = [
            [[[T[a][s][t] * seen[a][t][o] for t in range(S)] for s in range(S)] for o in range(O)]
            for a in range(A)
        ]
        rewards = [[Fraction(0)] * A for _ in range(S)]
        raw = Fraction(0)
        for (a, s, t, o), reward in self.R.items():
            if chance[a][o][s][t]:
                meant = self._number(reward)
                rewards[s][a] += chance[a][o][s][t] * meant
                raw = max(raw, abs(meant))
        return Exact(chance, rewards, self._row(self.start), Fraction(self.discount), raw)

    def _number(self, value: Fraction) -> Fraction:
        return value if self.source == "file" else Fraction(float(value))

    def _row(self, row: Row) -> Row:
        meant = [self._number(value) for value in row]
        return [value / sum(meant) for value in meant]


def decimal(value: Fraction) -> str:
    """A fraction whose decimals end, exactly."""
    digits = Context(prec=700)
    return str(digits.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _words(row: Row) -> str:
    return " ".join(map(decimal, row))


def draw(seed: int, index: int) -> Written:
    """Model number `index` of a seed; it depends on nothing else."""
    rng = np.random.default_rng([seed, index])
    process, reward = (str(rng.choice(list(kinds))) for kinds in (PROCESSES, REWARDS))
    A, S, O = (int(n) for n in (rng.integers(1, 4), rng.integers(1, 5), rng.integers(1, 4)))
    T = [[lottery(rng, S) for _ in range(S)] for _ in range(A)]
    seen = [[lottery(rng, O) for _ in range(S)] for _ in range(A)]
    T, seen = PROCESSES[process](rng, T, seen)
    A, S, O = len(T), len(T[0]), len(seen[0][0])
    chances = {
        (a, s, t, o): T[a][s][t] * seen[a][t][o]
        for a, s, t, o in product(range(A), range(S), range(S), range(O))
        if T[a][s][t] * seen[a][t][o]
    }
    elsewhere = bool(rng.random() < 0.4)  # the last state may be a goal: not to begin there
    often = np.array(OFTEN) / sum(OFTEN)
    return Written(
        family=f"{process}/{reward}",
        source="file" if rng.random() < 0.7 else "arrays",
        T=T,
        O=seen,
        R=REWARDS[reward](rng, chances),
        start=[*lottery(rng, S - 1), Fraction(0)] if S > 1 and elsewhere else lottery(rng, S),
        discount=str(rng.choice(DISCOUNTS, p=often)),
    )
