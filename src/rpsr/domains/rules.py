"""Turn rules, given as functions, into a POMDP in exact arithmetic.

A domain defines its transitions, observations and rewards by functions of its own states.
`tabulate` calls them once for every state and action and stores the results as integers over common
denominators.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from numbers import Rational
from typing import Any, TypeVar

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Record, Rewards, Rows, integers, ratios
from rpsr.models.numbers import parse_discount
from rpsr.models.pomdp import POMDP
from rpsr.showing import some

S = TypeVar("S", bound=Hashable)
Number = Fraction | int


# The arguments are the parts of a POMDP, each given by name.
def tabulate(
    *,
    name: str,
    states: Sequence[S],
    actions: Sequence[str],
    observations: Sequence[str],
    start: Mapping[S, Number],
    transition: Callable[[S, str], Mapping[S, Number]],
    emission: Callable[[str, S], Mapping[str, Number]] | None = None,
    edge_emission: Callable[[S, str, S], Mapping[str, Number]] | None = None,
    reward: Callable[[S, str, S, str], Number],
    discount: Number | None,
    state_name: Callable[[S], str] = str,
    resets: Callable[[S, str], bool] | None = None,
) -> POMDP:
    """A POMDP from rules.

    transition(state, action) gives a distribution over states; emission(action, next_state), or
    edge_emission(state, action, next_state), one over observations; reward(state, action,
    next_state, observation) is called only for possible outcomes. `resets(state, action)` marks
    transitions that end an episode and start the next.
    """
    if (emission is None) == (edge_emission is None):
        raise InputError("expected either emission or edge_emission")
    names = tuple(state_name(s) for s in states)
    for kind, labels in (("states", names), ("actions", actions), ("observations", observations)):
        if len(set(labels)) != len(labels):
            twice = next(name for name in labels if list(labels).count(name) > 1)
            raise InputError(f"{kind}: the name {twice!r} was given twice")
    state_index = {s: i for i, s in enumerate(states)}
    observation_index = {o: i for i, o in enumerate(observations)}

    pairs = [(a, s) for a in actions for s in states]
    moves = [_indexed(transition(s, a), state_index, f"transition({s!r}, {a!r})") for a, s in pairs]
    edges = [(s, a, states[t]) for (a, s), row in zip(pairs, moves, strict=True) for t in row]
    if edge_emission is not None:
        rows = [
            _indexed(edge_emission(*edge), observation_index, f"edge_emission{edge!r}")
            for edge in edges
        ]
        row_of_edge = rows
    else:
        assert emission is not None
        rows = [
            _indexed(emission(a, s), observation_index, f"emission({a!r}, {s!r})") for a, s in pairs
        ]
        width = len(states)
        row_of = {a: i * width for i, a in enumerate(actions)}
        row_of_edge = [rows[row_of[a] + state_index[t]] for _, a, t in edges]

    earned = [
        _exact(reward(*edge, observations[o]), f"reward{(*edge, observations[o])!r}")
        for edge, seen in zip(edges, row_of_edge, strict=True)
        for o in seen
    ]
    table = {value: i for i, value in enumerate(sorted(set(earned)))}
    ends = [resets is not None and resets(s, a) for a, s in pairs]
    return POMDP(
        Record(
            name=name,
            states=names,
            actions=tuple(actions),
            observations=tuple(observations),
            discount=parse_discount(discount),
            start=_rows([_indexed(start, state_index, "start")], len(states)),
            transition=_rows(moves, len(states)),
            emission=_rows(rows, len(observations)),
            emission_by_edge=edge_emission is not None,
            rewards=Rewards(
                values=np.array([float(v) for v in table]),
                index=np.array([table[v] for v in earned], dtype=np.int64),
                exact=tuple(table),
            ),
            resets=np.array(ends, dtype=np.bool_).reshape(len(actions), len(states)),
        )
    )


def _indexed(
    distribution: Mapping[S, Number], index: Mapping[S, int], rule: str
) -> dict[int, Fraction]:
    """A distribution by index, ascending, without zeros; rule: its source, for messages."""
    # A rule that does not sum to one is a bug in the domain, not an input to be rescaled.
    given: Any = distribution
    if not isinstance(given, Mapping):
        raise InputError(
            f"{rule}: read {type(given).__name__}, expected a mapping of names to probabilities"
        )
    row: dict[int, Fraction] = {}
    for key, chance in distribution.items():
        if key not in index:
            raise InputError(f"{rule}: read {key!r}, expected one of {some(list(map(str, index)))}")
        row[index[key]] = _exact(chance, rule, f" for {key!r}")
        if chance < 0:
            raise InputError(f"{rule}: read {chance} for {key!r}, expected a probability")
    total = sum(row.values())
    if total != 1:
        raise InputError(f"{rule}: the probabilities sum to {total}, expected 1")
    return {i: chance for i, chance in sorted(row.items()) if chance}


def _exact(number: Any, rule: str, where: str = "") -> Fraction:
    """An integer or a fraction as a fraction; a float is refused as ambiguous."""
    if isinstance(number, Rational):
        return Fraction(number)
    hint = f", such as Fraction({str(number)!r})"
    hint = hint if isinstance(number, float) else ""
    raise InputError(f"{rule}: read {number!r}{where}, expected an integer or a fraction{hint}")


def _rows(rows: Sequence[Mapping[int, Fraction]], width: int) -> Rows:
    weights: list[int] = []
    for row in rows:
        denominator = lcm(*(p.denominator for p in row.values()))
        weights += [int(p * denominator) for p in row.values()]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    exact = integers(weights)
    counts = np.diff(indptr)
    totals = np.repeat(np.add.reduceat(exact, indptr[:-1]), counts)
    return Rows(
        width=width,
        indptr=indptr,
        indices=np.array([column for row in rows for column in row], dtype=np.int64),
        values=ratios(exact, totals),
        weights=exact,
        digits=np.full(len(rows), -1, dtype=np.int64),
    )
