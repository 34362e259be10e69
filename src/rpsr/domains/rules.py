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
        read = "neither of them" if emission is None else "both"
        raise InputError(f"emission, edge_emission: read {read}, expected one")
    names = tuple(state_name(s) for s in states)
    for kind, labels in (("states", names), ("actions", actions), ("observations", observations)):
        if len(set(labels)) != len(labels):
            twice = next(name for name in labels if list(labels).count(name) > 1)
            raise InputError(f"{kind}: the name {twice!r} was given twice")
    state_index = {s: i for i, s in enumerate(states)}
    observation_index = {o: i for i, o in enumerate(observations)}

    pairs = [(a, s) for a in actions for s in states]
    by_state, by_observation = _Index(state_index), _Index(observation_index)
    moves = [by_state.row(transition(s, a), "transition", s, a) for a, s in pairs]
    edges = [(s, a, states[t]) for (a, s), row in zip(pairs, moves, strict=True) for t in row]
    if edge_emission is not None:
        rows = [by_observation.row(edge_emission(*edge), "edge_emission", *edge) for edge in edges]
        row_of_edge = rows
    else:
        assert emission is not None
        rows = [by_observation.row(emission(a, s), "emission", a, s) for a, s in pairs]
        width = len(states)
        row_of = {a: i * width for i, a in enumerate(actions)}
        row_of_edge = [rows[row_of[a] + state_index[t]] for _, a, t in edges]

    known: dict[Number, Fraction] = {}  # few rewards differ, and fractions are slow to make

    def earns(*outcome: Any) -> Fraction:
        number: Any = reward(*outcome)
        if type(number) is not int and type(number) is not Fraction:
            number = _exact(number, _called("reward", *outcome))
        if number not in known:
            known[number] = Fraction(number)
        return known[number]

    earned = [
        earns(*edge, observations[o])
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
            start=_rows([_indexed(start, state_index, lambda: "start")], len(states)),
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


def _called(rule: str, *arguments: Any) -> str:
    """A call of a rule, for messages."""
    return f"{rule}({', '.join(map(repr, arguments))})"


class _Index:
    """Distributions by index. A rule may return the same mapping many times: it is read once."""

    def __init__(self, index: Mapping[Any, int]) -> None:
        self._index = index
        self._certain = [{i: Fraction(1)} for i in range(len(index))]
        self._read: dict[int, tuple[Any, dict[int, Fraction]]] = {}  # kept, so that ids stay theirs

    def row(self, distribution: Any, rule: str, *arguments: Any) -> dict[int, Fraction]:
        """The distribution that a call of a rule returned."""
        if type(distribution) is dict and len(distribution) == 1:  # the usual one
            ((key, chance),) = distribution.items()
            if type(chance) is int and chance == 1 and key in self._index:
                return self._certain[self._index[key]]
        entry = self._read.get(id(distribution))
        if entry is None:
            row = _indexed(distribution, self._index, lambda: _called(rule, *arguments))
            entry = self._read[id(distribution)] = distribution, row
        return entry[1]


def _indexed(
    distribution: Mapping[Any, Number], index: Mapping[Any, int], rule: Callable[[], str]
) -> dict[int, Fraction]:
    """A distribution by index, ascending, without zeros; rule: names its source, for messages."""
    # A rule that does not sum to one is a bug in the domain, not an input to be rescaled.
    given: Any = distribution
    if not isinstance(given, Mapping):
        raise InputError(
            f"{rule()}: read {type(given).__name__}, expected a mapping of names to probabilities"
        )
    row: dict[int, Fraction] = {}
    for key, chance in distribution.items():
        if key not in index:
            known = some(list(map(str, index)))
            raise InputError(f"{rule()}: read {key!r}, expected one of {known}")
        if type(chance) is not Fraction and type(chance) is not int:
            chance = _exact(chance, rule(), f" for {key!r}")
        row[index[key]] = Fraction(chance)
        if chance < 0:
            raise InputError(f"{rule()}: read {chance} for {key!r}, expected a probability")
    total = sum(row.values())
    if total != 1:
        raise InputError(f"{rule()}: the probabilities sum to {total}, expected 1")
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
        if len(row) == 1:  # certain
            weights.append(1)
            continue
        denominator = lcm(*(p.denominator for p in row.values()))
        weights += [p.numerator * (denominator // p.denominator) for p in row.values()]
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
