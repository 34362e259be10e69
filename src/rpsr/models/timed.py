"""A POMDP that ends after a number of steps: its states have a clock.

State (s, t) is state s after t steps. Actions, observations and rewards are those of s, and after
the last step nothing is earned any more. Only pairs that can be reached are states. So a planner
for any number of steps plans for that number, and its controllers run on the POMDP itself.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Dynamics, Ints, Rewards, Rows
from rpsr.models.pomdp import POMDP

MOST_MOVES = 5_000_000  # transitions of all steps
AFTER = "@"  # before the number of steps, in the name of a state


def timed(pomdp: POMDP, steps: int) -> POMDP:
    """The POMDP that ends after this many steps; a `ModelError` if it is too large."""
    record = pomdp.record
    n_actions, n = len(pomdp.actions), len(pomdp.states)
    layers = layers_of(pomdp, steps)
    state = np.concatenate(layers)  # of each new state
    step = np.repeat(np.arange(steps + 1), [len(layer) for layer in layers])
    first = np.append(0, np.cumsum([len(layer) for layer in layers]))
    place = np.full((steps + 2, n), -1)  # the new state of (t, s)
    for t, layer in enumerate(layers):
        place[t, layer] = first[t] + np.arange(len(layer))
    rows = (np.arange(n_actions)[:, None] * n + state).ravel()
    later = np.tile(step + 1, n_actions)
    last = np.tile(step == steps, n_actions)
    moves, edges = _taken(record.transition, rows, last)
    owner = np.repeat(np.arange(len(rows)), np.diff(moves.indptr))
    staying = last[owner]
    targets = np.where(
        staying, owner % len(state), place[np.minimum(later[owner], steps), moves.indices]
    )
    transition = replace(moves, width=len(state), indices=targets)
    seen_by = edges if record.emission_by_edge else rows
    emission, _ = _taken(record.emission, seen_by, None)
    many = Dynamics(transition, emission, record.emission_by_edge).outcomes_of_edge()
    made = replace(
        record,
        rewards=_rewards(pomdp, edges, staying, many),
        states=tuple(f"{pomdp.states[s]}{AFTER}{t}" for s, t in zip(state, step, strict=True)),
        start=replace(record.start, width=len(state), indices=place[0, record.start.indices]),
        transition=transition,
        emission=emission,
        resets=record.resets[:, state] & (step < steps),
        state_variables=(),
        labels=tuple(
            (name, tuple(np.flatnonzero(np.isin(state, inside)).tolist()))
            for name, inside in record.labels
        ),
        unavailable=None if record.unavailable is None else record.unavailable[:, state],
    )
    return POMDP(made)


def layers_of(pomdp: POMDP, steps: int) -> list[Ints]:
    """The states that are possible after 0, 1, ... steps, ascending: those of `timed`, in order."""
    moves, n = pomdp.record.transition, len(pomdp.states)
    moves_from = np.diff(moves.indptr).reshape(-1, n).sum(axis=0)  # moves from each state
    source = moves.row_of_entry() % n
    now: Bools = np.zeros(n, dtype=np.bool_)
    now[pomdp.record.start.indices] = True  # also if a probability is below the range of floats
    layers, total = [np.flatnonzero(now)], 0
    for _ in range(steps):
        total += int(moves_from[now].sum())
        if total > MOST_MOVES:
            raise ModelError(
                f"{pomdp.name}: {steps} steps of {n} states are too many for a POMDP whose states "
                "count the steps; plan with vi or reachable, which need no such POMDP"
            )
        after = np.zeros(n, dtype=np.bool_)
        after[moves.indices[now[source]]] = True
        now = after
        layers.append(np.flatnonzero(now))
    return layers


def _taken(rows: Rows, which: Ints, certain: Bools | None) -> tuple[Rows, Ints]:
    """Some rows, and the old place of each entry; certain: those cut to one entry, for sure."""
    counts = np.diff(rows.indptr)[which]
    if certain is not None:
        counts = np.where(certain, 1, counts)
    begins = np.append(0, np.cumsum(counts))
    entry = np.arange(begins[-1]) - np.repeat(begins[:-1] - rows.indptr[which], counts)
    values, weights = rows.values[entry], None if rows.weights is None else rows.weights[entry]
    if certain is not None:
        sure = np.repeat(certain, counts)
        values = np.where(sure, 1.0, values)
        weights = None if weights is None else np.where(sure, 1, weights)
    return Rows(rows.width, begins.astype(np.int64), rows.indices[entry], values, weights), entry


def _rewards(pomdp: POMDP, edges: Ints, staying: Bools, many: Ints) -> Rewards:
    """The rewards of the outcomes of new edges, of which each has `many`; staying earns nothing.

    edges: the old ones that they stand for, with the same observations unless they are `staying`.
    """
    old, record = pomdp.record.rewards, pomdp.record
    counts = record.outcomes_of_edge()
    begins = np.cumsum(counts) - counts
    first = np.cumsum(many) - many
    outcome = np.arange(int(many.sum())) - np.repeat(first - begins[edges], many)
    outcome = np.where(np.repeat(staying, many), 0, outcome)
    exact = list(old.exact or map(Fraction, old.values.tolist()))
    if Fraction(0) not in exact:
        exact.append(Fraction(0))
    index = np.where(np.repeat(staying, many), exact.index(Fraction(0)), old.index[outcome])
    values = np.array([float(value) for value in exact])
    return Rewards(values, index, None if old.exact is None else tuple(exact))
