"""The data of a finite POMDP: sparse rows of probabilities and a reward table.

A row of probabilities is kept twice. `values` are floats, for computing. `weights` are integers
with p_i = w_i / sum(w): a file's decimals become the integers 10^digits times the decimal, so that
dividing a row by its sum, which decimals cannot express (.333333 three times), is exact; a
generator's fractions become integers over their common denominator. `digits` is the number of
decimals that the file had, for the writer. Rows known only in floats have no weights.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpsr.errors import InputError
from rpsr.io.variables import Space, Variable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Integers = NDArray[Any]  # int64, or object with Python integers if 63 bits do not suffice

# A value is at most a reward over 1 - discount, which is at least 2^-53: at most 1e116 for rewards
# of this size. Variances and linear programs multiply two values, and sums of 1e70 such products
# are still below the largest float, 1.8e308.
LARGEST_REWARD = 1e100
LARGEST_VALUE = 1e130  # of any policy at any state, in whatever basis
IN_RANGE = f"a number from -{LARGEST_REWARD:.0e} to {LARGEST_REWARD:.0e}"
FLOAT_EXACT = 2**53  # below this a float holds an integer, and one division rounds correctly


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, contiguous and read-only; a view is copied, so that nobody else can change it."""
    array = np.ascontiguousarray(array)
    if array.base is not None or not array.flags.owndata:
        array = array.copy()
    array.setflags(write=False)
    return array


def integers(values: list[int] | NDArray[Any]) -> Integers:
    """Python integers as int64 if their sums surely fit, else as objects."""
    largest = max((abs(int(v)) for v in values), default=0)
    fits = largest * max(len(values), 1) < 2**62
    return np.array([int(v) for v in values], dtype=np.int64 if fits else object)


def _narrow(values: Integers) -> Integers:
    """Integers of either type as int64 if all of them fit."""
    fits = values.dtype != object or max((abs(v) for v in values.tolist()), default=0) < 2**63
    return values.astype(np.int64) if fits else values


def ratios(numerators: Integers, denominators: Integers) -> Floats:
    """Correctly rounded quotients of integers. Shapes (n,), (n,) -> (n,)."""
    small = numerators.dtype != object and denominators.dtype != object
    if small and (
        len(numerators) == 0
        or max(np.abs(numerators).max(), np.abs(denominators).max()) <= FLOAT_EXACT
    ):
        return numerators / denominators
    pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
    return np.array([int(n) / int(d) for n, d in pairs], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse rows of probabilities, N rows of `width` columns, columns ascending in each row.

    indptr (N+1,), indices (nnz,), values (nnz,), weights (nnz,) or None, digits (N,) or None:
    row r was printed as decimals `weights / 10**digits[r]`, or not as decimals where it is -1.
    """

    width: int
    indptr: Ints
    indices: Ints
    values: Floats
    weights: Integers | None = None
    digits: Ints | None = None

    def __post_init__(self) -> None:
        for name in ("indptr", "indices", "values", "weights", "digits"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, frozen(array))

    @property
    def height(self) -> int:
        """The number of rows N."""
        return len(self.indptr) - 1

    def row_of_entry(self) -> Ints:
        """The row that each stored entry belongs to, (nnz,)."""
        return np.repeat(np.arange(self.height, dtype=np.int64), np.diff(self.indptr))

    def totals(self) -> Integers:
        """The exact sum of each row's weights, (N,): the denominators of its probabilities."""
        if self.weights is None:
            raise ValueError(
                "the probabilities are known only in floats, so they have no exact integer weights"
            )
        totals = np.zeros(self.height, dtype=self.weights.dtype)
        np.add.at(totals, self.row_of_entry(), self.weights)
        return totals

    def fractions(self, row: int) -> dict[int, Fraction]:
        """One row exactly: column -> probability."""
        if self.weights is None:
            raise ValueError(
                "the probabilities are known only in floats, so they have no exact integer weights"
            )
        span = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        weights = [int(w) for w in self.weights[span]]
        total = sum(weights)
        columns = self.indices[span].tolist()
        return {c: Fraction(w, total) for c, w in zip(columns, weights, strict=True)}


class Cells(NamedTuple):
    """The indices of outcomes (s, a, s', o), each (N,)."""

    action: Ints
    state: Ints
    next_state: Ints
    observation: Ints


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Transition and observation probabilities: they define the possible outcomes (s, a, s', o).

    transition: row a*S + s is Pr(. | s, a), width S. Its stored entries are called edges.
    emission: width O. Either A*S rows, row a*S + s' being Pr(. | a, s'), or, if observations also
    depend on the previous state, one row per edge.
    """

    transition: Rows
    emission: Rows
    emission_by_edge: bool

    def emission_row_of_edge(self) -> Ints:
        """For each edge, its row of `emission`."""
        edges = self.transition
        if self.emission_by_edge:
            return np.arange(len(edges.indices), dtype=np.int64)
        return edges.row_of_entry() // edges.width * edges.width + edges.indices

    def outcomes_of_edge(self) -> Ints:
        """For each edge, how many outcomes it has."""
        return np.diff(self.emission.indptr)[self.emission_row_of_edge()]

    def outcome_entries(self) -> tuple[Ints, Ints]:
        """Possible outcomes (s, a, s', o), edge by edge: the edge and the emission entry of each.

        Two arrays (outcomes,): positions in `transition.indices` and in `emission.indices`.
        """
        rows = self.emission_row_of_edge()
        counts = np.diff(self.emission.indptr)[rows]
        edge = np.repeat(np.arange(len(rows), dtype=np.int64), counts)
        first = np.cumsum(counts) - counts
        entry = np.arange(len(edge)) - np.repeat(first - self.emission.indptr[rows], counts)
        return edge, entry

    def outcome_cells(self, edge: Ints, entry: Ints) -> Cells:
        """The indices of outcomes, given the result of `outcome_entries`."""
        action, state = np.divmod(self.transition.row_of_entry(), self.transition.width)
        target = self.transition.indices
        return Cells(action[edge], state[edge], target[edge], self.emission.indices[entry])


@dataclass(frozen=True, eq=False)
class Rewards:
    """The reward of every possible outcome, as an index into a table of distinct values.

    values (V,) floats, distinct; index (outcomes,), in the order of `Dynamics.outcome_entries`;
    exact, the same V values as fractions, or None.
    """

    values: Floats
    index: Ints
    exact: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values))
        object.__setattr__(self, "index", frozen(self.index))
        wrong = ~(np.abs(self.values) <= LARGEST_REWARD)
        if wrong.any():
            read = self.values[int(np.argmax(wrong))]
            raise InputError(f"rewards: read {read}, expected {IN_RANGE}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Record(Dynamics):
    """A finite POMDP as plain data, with A actions, S states and O observations.

    start: one row of width S. resets (A, S): rows of `transition` that a file declared `reset`.
    state_variables: if states are joint values of variables (`rpsr.io.variables`), those variables.
    labels: names of sets of states, each with the indices of its states, ascending.
    unavailable (A, S): the actions that may not be taken in a state, or None if all may. The rows
    and rewards of such an action are those of the first action that may be taken there, and the
    observation emitted on entering a state determines the actions that may be taken.

    Variables, labels and availability describe the model and are no part of its identity.
    """

    name: str
    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    discount: Fraction | None
    start: Rows
    rewards: Rewards
    resets: Bools
    warnings: tuple[str, ...] = ()
    state_variables: tuple[Variable, ...] = ()
    labels: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unavailable: Bools | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "resets", frozen(self.resets))
        if self.unavailable is not None:
            object.__setattr__(self, "unavailable", frozen(self.unavailable))
        if self.state_variables and Space(self.state_variables).size != len(self.states):
            raise ValueError(
                f"state_variables: their values have {Space(self.state_variables).size} "
                f"combinations, expected {len(self.states)}, one per state"
            )

    @property
    def exact(self) -> bool:
        """Whether every probability and reward is known as a rational."""
        rows = (self.start, self.transition, self.emission)
        return self.rewards.exact is not None and all(r.weights is not None for r in rows)

    def digest(self) -> str:
        """A hash of the model, without its name, descriptions, warnings and printed form."""
        hasher = hashlib.sha256()
        labels = (self.states, self.actions, self.observations, self.discount)
        hasher.update(repr((labels, self.emission_by_edge, self.rewards.exact)).encode())
        arrays = [self.rewards.values, self.rewards.index, self.resets]
        for rows in (self.start, self.transition, self.emission):
            arrays += [rows.indptr, rows.indices, rows.values]
            if rows.weights is not None:
                divisors = np.gcd.reduceat(rows.weights, rows.indptr[:-1])
                arrays.append(_narrow(rows.weights // np.repeat(divisors, np.diff(rows.indptr))))
        for array in arrays:
            fast = array.dtype != object
            hasher.update(array.tobytes() if fast else repr(array.tolist()).encode())
        return hasher.hexdigest()
