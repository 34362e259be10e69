"""From printed decimals to rows of probabilities: exact weights, floats, and which were rescaled.

Every row is divided by its sum. If the sum is off by more than 1e-12, the row is counted, for a
warning. If it is off by more than 1e-5, as far as twenty probabilities rounded to six decimals can
be, the row is refused unless the user asked for rescaling. Sums are exact integers, and floats are
correctly rounded quotients.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from rpsr.io.records import Bools, Floats, Integers, Ints, Rows, ratios
from rpsr.io.tokens import Tokens

UNREMARKED = Fraction(1, 10**12)
PRINTED_ROUNDING = Fraction(1, 10**5)
VIRTUAL = 10_000  # digits at or above this stand for a denominator that is no power of ten


class Values:
    """The probability of each word: mantissa / denominator, and as a float.

    Words of the file are decimals. `add` appends virtual words for values that were never
    printed, such as the 1/S of `uniform`; those that belong together share a denominator.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.mantissas: Integers = tokens.mantissas
        self.scales: Ints = tokens.digits
        self.floats: Floats = tokens.values
        self.denominators: dict[int, int] = {}

    def add(self, numerators: Integers, denominator: int) -> Ints:
        """Add virtual words, one per numerator over a common denominator; returns their numbers."""
        return self.add_each(numerators, [denominator] * len(numerators))

    def add_each(self, numerators: Integers, denominators: list[int]) -> Ints:
        """Add virtual words, each with its own denominator; returns their numbers."""
        scale = {d: VIRTUAL + len(self.denominators) + i for i, d in enumerate(set(denominators))}
        self.denominators |= {number: denominator for denominator, number in scale.items()}
        first, count = len(self.floats), len(numerators)
        floats = ratios(numerators.astype(object), np.array(denominators, dtype=object))
        if max(denominators, default=1) * count >= 2**62:  # sums must fit, as the numerators do
            numerators = numerators.astype(object)
        self.mantissas = np.concatenate([self.mantissas, numerators])
        scales = np.array([scale[d] for d in denominators], dtype=np.int64)
        self.scales = np.append(self.scales, scales)
        self.floats = np.append(self.floats, floats)
        return np.arange(first, first + count, dtype=np.int64)

    def denominator(self, scale: int) -> int:
        """The denominator of mantissas of this scale."""
        return 10**scale if scale < VIRTUAL else self.denominators[scale]


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of rows, weight / one, and which of them are not 1.

    rescaled, refused, empty (N,): off by more than 1e-12, by more than 1e-5, without any entry.
    """

    weight: Integers
    one: Integers
    rescaled: Bools
    refused: Bools
    empty: Bools

    def total(self, row: int) -> Fraction:
        """The sum of a row."""
        return Fraction(int(self.weight[row]), int(self.one[row]))

    def deviations(self) -> list[float]:
        """How far the sums of the rescaled rows were from one."""
        one = self.one[self.rescaled]
        return ratios(np.abs(self.weight[self.rescaled] - one), one).tolist()

    def first_refused(self, normalize: bool) -> tuple[int, str] | None:
        """The first row that is refused, and what to say of it; None if every row is accepted."""
        refused = self.empty if normalize else self.refused | self.empty
        if not refused.any():
            return None
        row = int(np.argmax(refused))
        hint = "" if self.empty[row] else " (--normalize rescales it)"
        return row, f"sums to {float(self.total(row)):.12g}, expected 1{hint}"


def rescaling_warning(deviations: list[float]) -> tuple[str, ...]:
    """The warning about rows that were rescaled, if there are any."""
    if not deviations:
        return ()
    rows = "1 row was" if len(deviations) == 1 else f"{len(deviations)} rows were"
    return (f"{rows} rescaled to sum to 1 (largest deviation {max(deviations):.2g})",)


def weigh(
    width: int, indptr: Ints, indices: Ints, words: Ints, values: Values
) -> tuple[Rows, Sums]:
    """Rows of probabilities from the words of their entries, each divided exactly by its sum."""
    height, counts = len(indptr) - 1, np.diff(indptr)
    row = np.repeat(np.arange(height, dtype=np.int64), counts)
    scale = values.scales[words]
    low = np.full(height, np.iinfo(np.int64).max)
    high = np.zeros(height, dtype=np.int64)
    np.minimum.at(low, row, scale)
    np.maximum.at(high, row, scale)
    weights = values.mantissas[words]
    widest = int(high[high < VIRTUAL].max(initial=0))
    if 10**widest * max(width, 1) >= 2**62:  # a row's sum might not fit
        weights = weights.astype(object)
    shift = high[row] - scale
    uneven = (shift > 0) & (high[row] < VIRTUAL)
    if uneven.any():
        power = np.array([10**k for k in range(int(shift[uneven].max()) + 1)], dtype=weights.dtype)
        weights[uneven] *= power[shift[uneven]]
    digits = np.where(high < VIRTUAL, high, -1)
    scales, scale_of_row = np.unique(high, return_inverse=True)
    whole = [values.denominator(s) for s in scales.tolist()]
    ones = np.array(whole, dtype=weights.dtype)[scale_of_row]
    mixed = (high >= VIRTUAL) & (low != high)  # printed decimals beside `uniform` or `reset`
    if mixed.any():
        entries = mixed[row]
        kinds, kind = np.unique(scale[entries], return_inverse=True)
        denominators = [values.denominator(s) for s in kinds.tolist()]
        common = lcm(*denominators)
        if common * width >= 2**62:
            weights, ones = weights.astype(object), ones.astype(object)
        weights[entries] *= np.array([common // d for d in denominators], weights.dtype)[kind]
        ones[mixed] = common
    totals = np.zeros(height, dtype=weights.dtype)
    np.add.at(totals, row, weights)
    rescaled, refused = np.zeros(height, dtype=np.bool_), np.zeros(height, dtype=np.bool_)
    off = np.flatnonzero(totals != ones)
    gap, one = np.abs(totals - ones)[off].astype(object), ones[off].astype(object)
    rescaled[off] = gap * UNREMARKED.denominator > one
    refused[off] = gap * PRINTED_ROUNDING.denominator > one
    floats = values.floats[words]
    divide = (totals != ones)[row]
    floats[divide] = ratios(weights[divide], totals[row[divide]])
    rows = Rows(width, indptr, indices, floats, weights, digits)
    return rows, Sums(totals, ones, rescaled, refused, counts == 0)
