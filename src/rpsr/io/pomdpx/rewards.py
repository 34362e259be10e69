"""Rewards: sums of functions of the action, the state, the next state and the observation.

Action by action, they are looked up for every state or, if one depends on what follows, for every
possible outcome (s, a, s', o). Sums are exact: integers over one denominator.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, prod

import numpy as np

from rpsr.io.cells import expanded_size, latest_entry, written_cells
from rpsr.io.pomdpx.entries import Numbers
from rpsr.io.pomdpx.factors import CELL_BYTES, FITS
from rpsr.io.pomdpx.parameters import Table
from rpsr.io.pomdpx.scope import Axis, Kind, Scope
from rpsr.io.records import Cells, Dynamics, Integers, Ints, Rewards
from rpsr.io.variables import Space
from rpsr.io.xml_tree import Document

KEY_BYTES = 64  # of memory per cell that is looked up
INDEX_BYTES = 16  # of memory per outcome that has a reward


def read_rewards(
    document: Document, tables: Sequence[Table], scope: Scope, numbers: Numbers, process: Dynamics
) -> Rewards:
    """The reward of every possible outcome."""
    words = sorted({w for table in tables for w in np.unique(table.values.word).tolist()})
    amounts = [numbers.fraction(word) for word in words]
    common = lcm(*(amount.denominator for amount in amounts))
    largest = sum(max((abs(amount) for amount in amounts), default=0) for _ in tables)
    kind = np.int64 if largest * common < FITS else object
    worth = np.zeros(len(numbers.words), dtype=kind)  # rewards have no shares
    for word, amount in zip(words, amounts, strict=True):
        worth[word] = int(amount * common)

    per_edge, edges = process.outcomes_of_edge(), process.transition.indptr
    n, states = scope.states.size, np.arange(scope.states.size, dtype=np.int64)
    late = any(axis.kind in (Kind.NEXT, Kind.OBSERVATION) for t in tables for axis in t.axes)
    outcomes = int(per_edge.sum())
    cause = f"{outcomes:,} outcomes (s, a, s', o) are possible"
    document.allow((KEY_BYTES if late else INDEX_BYTES) * outcomes, cause, document.root)
    amounts_of: list[Integers] = []  # by action: of each state or, if late, of each outcome
    repeats = np.add.reduceat(per_edge, edges[:-1])
    whole = process.outcome_cells(*process.outcome_entries()) if late else None
    ends = np.append(0, np.cumsum(np.add.reduceat(repeats, np.arange(0, len(repeats), n))))
    for action in range(scope.actions.size):
        span = slice(int(ends[action]), int(ends[action + 1]))
        none = np.zeros(0, dtype=np.int64)
        here = (
            Cells(none, states, none, none)
            if whole is None
            else Cells(*(part[span] for part in whole))
        )
        sums: Integers = np.zeros(len(here.state), dtype=kind)
        for table in tables:
            sums += _look_up(document, table.at(action, scope.actions), scope, here, worth)
        amounts_of.append(sums)
    distinct, index = _distinct(np.concatenate(amounts_of))
    return _rewards(distinct, index if late else np.repeat(index, repeats), common)


def _distinct(amounts: Integers) -> tuple[Integers, Ints]:
    """The distinct amounts, ascending, and the position of each: `np.unique`, mostly unsorted."""
    least, most = int(amounts.min()), int(amounts.max())
    if most - least > max(len(amounts), 2**16) or amounts.dtype == object:
        return np.unique(amounts, return_inverse=True)
    there = np.zeros(most - least + 1, dtype=np.bool_)
    there[amounts - least] = True
    return np.flatnonzero(there) + least, (np.cumsum(there) - 1)[amounts - least]


def _rewards(amounts: Integers, index: Ints, common: int) -> Rewards:
    exact = tuple(Fraction(int(amount), common) for amount in amounts)
    floats = np.array([float(amount) for amount in exact])
    return Rewards(floats, index.astype(np.int64), exact)


def _look_up(
    document: Document, table: Table, scope: Scope, cells: Cells, worth: Integers
) -> Integers:
    """The values of a function at some cells (N,)."""
    sizes, count = table.sizes, len(cells.state)
    cause = f"the rewards of {count:,} outcomes"
    document.allow(KEY_BYTES * count, cause, table.function)
    digits = (_values(axis, scope, cells) for axis in table.axes)
    written = expanded_size(table.values, sizes)
    if written > max(count, 2**16):  # many cells, few of them possible
        document.allow(8 * len(sizes) * count, cause, table.function)
        entries = table.all()
        asked = np.stack(list(digits), axis=1)
        latest = latest_entry(entries, asked, sizes)
        words = np.where(latest >= 0, np.append(entries.word, -1)[latest], -1)
        return np.where(words >= 0, worth[words], 0)
    document.allow(CELL_BYTES * written, f"a reward has {written:,} cells", table.function)
    keys, words = written_cells(table.values, table.clears, sizes)
    if not len(keys):
        return np.zeros(count, dtype=worth.dtype)
    asked = np.zeros(count, dtype=np.int64)
    for i, values in enumerate(digits):
        asked += values * prod(sizes[i + 1 :])
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[at] == asked, worth[words[at]], 0)


def _values(axis: Axis, scope: Scope, cells: Cells) -> Ints:
    """The values of a variable at cells."""
    match axis.kind:
        case Kind.STATE:
            return scope.states.digit(cells.state, axis.number)
        case Kind.NEXT:
            return scope.states.digit(cells.next_state, axis.number)
        case _:
            observations: Space = scope.observations
            return observations.digit(cells.observation, len(scope.observed) + axis.number)
