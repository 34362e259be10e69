"""Sets of observations as sets of states: states are split by the kind of observation they emit.

An observation of a set is emitted when a state is entered. Where every state emits observations of
one kind only (of the goal, to avoid, or neither), the set is a set of states. Elsewhere the state
becomes one state for each kind: the probability of entering it is that of entering the old state
and emitting an observation of that kind.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Ints, Record, Rewards, Rows, integers, ratios
from rpsr.models.pomdp import POMDP
from rpsr.models.state_sets import Chosen

NEITHER, GOAL, AVOID = range(3)
SUFFIXES = {NEITHER: "", GOAL: "-goal-observed", AVOID: "-avoid-observed"}


def by_state(pomdp: POMDP, goal: Chosen, avoid: Chosen) -> tuple[POMDP, Bools, Bools]:
    """The POMDP, split if necessary, with the goal and the states to avoid, (S',) each."""
    if not (goal.observations.any() or avoid.observations.any()):
        return pomdp, goal.states.copy(), avoid.states.copy()
    record = pomdp.record
    if record.emission_by_edge:
        raise ModelError(
            f"{pomdp.name}: its observations depend on (s, a, s'), so a set of observations is "
            "not a set of states; name states instead"
        )
    kind = np.where(goal.observations, GOAL, np.where(avoid.observations, AVOID, NEITHER))
    n, rows = len(record.states), record.emission
    emits = np.zeros((n, 3), dtype=np.bool_)  # the kinds that a state may emit
    emits[rows.row_of_entry() % n, kind[rows.indices]] = True
    emits[record.start.indices, NEITHER] = True  # the start emits nothing
    copies = [(s, k) for s in range(n) for k in range(3) if emits[s, k]]
    state, which = np.array(copies, dtype=np.int64).T
    if len(copies) > n:
        pomdp = POMDP(_split(pomdp, state, which, kind))
    return (
        pomdp,
        goal.states[state] | (which == GOAL),
        (avoid.states[state] | (which == AVOID)),
    )


def _split(pomdp: POMDP, state: Ints, which: Ints, kind: Ints) -> Record:
    """The record with states (state, kind of observation); kind (O,): of each observation."""
    record, n, size = pomdp.record, len(pomdp.states), len(state)
    place = {pair: i for i, pair in enumerate(zip(state.tolist(), which.tolist(), strict=True))}
    emission = [_fractions(record.emission, row) for row in range(record.emission.height)]
    transition: list[dict[int, Fraction]] = []
    emitted: list[dict[int, Fraction]] = []
    for a in range(len(record.actions)):
        for s, k in zip(state.tolist(), which.tolist(), strict=True):
            row: dict[int, Fraction] = {}
            for target, chance in _fractions(record.transition, a * n + s).items():
                for o, part in emission[a * n + target].items():
                    to = place[target, int(kind[o])]
                    row[to] = row.get(to, Fraction(0)) + chance * part
            transition.append(row)
            own = {o: part for o, part in emission[a * n + s].items() if kind[o] == k}
            whole = own or emission[a * n + s]  # an action that never leads here
            total = sum(whole.values())
            emitted.append({o: part / total for o, part in whole.items()})
    start = {place[s, NEITHER]: p for s, p in _fractions(record.start, 0).items()}
    labels = tuple(
        (name, tuple(i for i, s in enumerate(state.tolist()) if s in set(members)))
        for name, members in record.labels
    )
    split = replace(
        record,
        states=tuple(
            record.states[s] + SUFFIXES[k]
            for s, k in zip(state.tolist(), which.tolist(), strict=True)
        ),
        start=_rows([start], size, record.exact),
        transition=_rows(transition, size, record.exact),
        emission=_rows(emitted, len(record.observations), record.exact),
        resets=record.resets[:, state],
        unavailable=None if record.unavailable is None else record.unavailable[:, state],
        state_variables=(),
        labels=labels,
    )
    return replace(split, rewards=_rewards(split, pomdp, state))


def _rewards(split: Record, pomdp: POMDP, state: Ints) -> Rewards:
    """The reward of each outcome is that of the old states."""
    old, n, seen = pomdp.outcomes, len(pomdp.states), len(pomdp.observations)
    key = ((old.action * n + old.state) * n + old.next_state) * seen + old.observation
    order = np.argsort(key)
    new = split.outcome_cells(*split.outcome_entries())
    row = (new.action * n + state[new.state]) * n + state[new.next_state]
    # Cells that are not possible in the old process have probability 0 in the new one as well.
    at = np.minimum(np.searchsorted(key[order], row * seen + new.observation), len(key) - 1)
    table = pomdp.record.rewards
    return Rewards(table.values, table.index[order[at]], table.exact)


def _fractions(rows: Rows, row: int) -> dict[int, Fraction]:
    """A row as fractions; floats are taken as they are, over their sum."""
    if rows.weights is not None:
        return {column: p for column, p in rows.fractions(row).items() if p}
    span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    parts = [Fraction(value) for value in rows.values[span].tolist()]
    total = sum(parts)
    columns = rows.indices[span].tolist()
    return {c: p / total for c, p in zip(columns, parts, strict=True) if p}


def _rows(rows: list[dict[int, Fraction]], width: int, exact: bool) -> Rows:
    """Rows from fractions by column; with weights if they are exact."""
    weights: list[int] = []
    for row in rows:
        common = lcm(*(p.denominator for p in row.values()))
        weights += [int(row[column] * common) for column in sorted(row)]
    indptr = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    whole = integers(weights)
    totals = np.repeat(np.add.reduceat(whole, indptr[:-1]), np.diff(indptr))
    return Rows(
        width,
        indptr,
        np.array([column for row in rows for column in sorted(row)], dtype=np.int64),
        ratios(whole, totals),
        whole if exact else None,
        np.full(len(rows), -1, dtype=np.int64) if exact else None,
    )
