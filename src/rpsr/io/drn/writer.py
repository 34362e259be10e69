"""Writer of DRN, for Storm: files that read back as the same process.

In DRN a state has one observation and the initial state is known. So a state that may emit several
observations becomes several states, one for each, and a start that is random becomes one more
state, the initial one, with one action and an observation of its own. Rewards become R(s, a), and
only available actions are written. `write_drn` returns notes on all this and on what the format
does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, lcm
from pathlib import Path

import numpy as np

from rpsr.errors import InputError
from rpsr.io.decimals import finite_digits, float_probabilities, number, probabilities, shortest
from rpsr.io.drn.reader import INITIAL, UNNAMED
from rpsr.io.files import packed, write_bytes
from rpsr.io.records import Record
from rpsr.io.row_texts import row_texts, unwritable

REWARD = "reward"  # the name of the reward model
_WORD = re.compile(r'[^\s"{}\[\]!/@\x00-\x1f\x7f][^\s"{}\[\]\x00-\x1f\x7f]*')
_LABEL = re.compile(r'[^"\x00-\x1f\x7f]+')


def write_drn(record: Record, path: str | Path) -> tuple[str, ...]:
    """Write a DRN file, completely or not at all; returns notes on what it cannot hold.

    A name ending in `.gz` is compressed; `-` is standard output.
    """
    write_bytes(path, packed(format_drn(record).encode(), path))
    return tuple(_notes(record, _layout(record)))


def format_drn(record: Record) -> str:
    """The text of a DRN file."""
    return "".join(line + "\n" for line in _lines(record, _layout(record)))


@dataclass(frozen=True)
class _Layout:
    """The states of the file.

    states: (s, o), the state of the record and its observation; number: their inverse; initial:
    the number of the initial state, len(states) if it is one more state; begin: the states that
    this one leads to, else empty; seen: the numbers of observations, and of two more: the one with
    which a random start begins, and that of the extra state.
    """

    states: list[tuple[int, int]]
    number: dict[tuple[int, int], int]
    initial: int
    begin: list[int]
    seen: list[int]

    @property
    def extra(self) -> bool:
        return self.initial == len(self.states)


def _layout(record: Record) -> _Layout:
    cells = record.outcome_cells(*record.outcome_entries())
    entered = set(zip(cells.next_state.tolist(), cells.observation.tolist(), strict=True))
    if not record.emission_by_edge:  # a state that is never entered has its observation, too
        emission, unseen = record.emission, set(range(len(record.states))) - {s for s, _ in entered}
        entered |= {(s, int(emission.indices[emission.indptr[s]])) for s in unseen}
    start = record.start.indices.tolist()
    emitted: dict[int, set[int]] = {s: set() for s in start}
    for state, seen in entered:
        emitted.get(state, set()).add(seen)
    common = set[int].intersection(*emitted.values())
    # Without a common observation, the start has one of its own: it must reveal nothing.
    begin = min(common, default=len(record.observations))
    states = sorted(entered | {(s, begin) for s in start})
    number = {pair: i for i, pair in enumerate(states)}
    first = [number[s, begin] for s in start]
    _check_start(record, start)
    initial = first[0] if len(start) == 1 else len(states)
    numbers = _observation_numbers(record)
    return _Layout(states, number, initial, first if len(start) > 1 else [], numbers)


def _check_start(record: Record, start: list[int]) -> None:
    unavailable = record.unavailable
    if unavailable is None:
        return
    wrong = (unavailable[:, start] != unavailable[:, start[:1]]).any(axis=0)
    if wrong.any():
        one, other = record.states[start[0]], record.states[start[int(np.argmax(wrong))]]
        raise InputError(
            f"start: the start states '{one}' and '{other}' have different actions, expected the "
            "same: all start states get one observation in this format"
        )


def _observation_numbers(record: Record) -> list[int]:
    """Numbers of observations, those of their names if these are ascending numbers."""
    names = record.observations
    numbers = list(range(len(names)))
    if all(re.fullmatch(r"0|[1-9]\d{0,8}", name) for name in names):
        named = [int(name) for name in names]
        numbers = named if named == sorted(named) else numbers
    return [*numbers, numbers[-1] + 1, numbers[-1] + 2]


def _notes(record: Record, layout: _Layout) -> Iterator[str]:
    if record.discount is not None:
        yield f"the discount {number(record.discount)} is not stored: this format has none"
    if layout.extra:
        yield (
            "the start is random, but this format has one initial state: "
            "a state was added that leads to the random start in one extra step"
        )
    split = len(layout.states) - len({s for s, _ in layout.states})
    if split:
        yield (
            "states with several observations were split into one state per observation: "
            f"{split} more states"
        )
    left_out = len(record.states) - len({s for s, _ in layout.states})
    if left_out:
        yield f"states that nothing leads to were left out: {left_out}"
    kept = [record.states[s] for s, _ in layout.states]
    if kept != [str(i) for i in range(len(kept))]:
        yield "names of states are not stored: states are numbered"
    if [str(number) for number in layout.seen[:-2]] != list(record.observations):
        yield "names of observations are not stored: observations are numbered"
    if _expected(record):
        yield "rewards that depend on the next state or observation were written as R(s, a)"
    exact = record.rewards.exact or ()
    lost = sum(finite_digits(value.denominator) is None for value in exact)
    if lost:
        yield f"rewards without a finite decimal were written as the nearest float: {lost}"
    if record.resets.any():
        yield f"resets were written as ordinary rows of transitions: {int(record.resets.sum())}"
    empty = [name for name, states in record.labels if not states]
    if empty:
        yield f"labels that no state has are not stored: {', '.join(empty)}"
    if INITIAL in dict(record.labels):
        yield f"the label '{INITIAL}' is not stored: in this format it marks the initial state"


def _expected(record: Record) -> bool:
    """Whether the reward depends on more than state and action."""
    edge, _ = record.outcome_entries()
    rows, index = record.transition.row_of_entry()[edge], record.rewards.index
    return bool(((np.diff(rows) == 0) & (np.diff(index) != 0)).any())


def _lines(record: Record, layout: _Layout) -> Iterator[str]:
    for action in record.actions:
        if _WORD.fullmatch(action) is None or action in UNNAMED:
            raise unwritable("actions", action)
    available = np.ones((len(record.actions), len(record.states)), dtype=np.bool_)
    if record.unavailable is not None:
        available = ~record.unavailable
    choices = int(available[:, [s for s, _ in layout.states]].sum()) + layout.extra
    rewarded = bool((record.rewards.values[record.rewards.index] != 0).any())
    yield "@type: POMDP"
    yield "@parameters"
    yield ""
    yield "@reward_models"
    yield REWARD if rewarded else ""
    yield "@nr_states"
    yield str(len(layout.states) + layout.extra)
    yield "@nr_choices"
    yield str(choices)
    yield "@model"
    labels = _labels(record)
    rows = _Rows(record, layout)
    none = " [0]" if rewarded else ""
    for i, (state, seen) in enumerate(layout.states):
        words = [*labels[state], *((INITIAL,) if i == layout.initial else ())]
        yield " ".join([f"state {i} {{{layout.seen[seen]}}}{none}", *words])
        for action in np.flatnonzero(available[:, state]).tolist():
            reward = f" [{rows.reward(action, state)}]" if rewarded else ""
            yield f"\taction {record.actions[action]}{reward}"
            yield from rows.lines(action, state)
    if layout.extra:
        yield f"state {layout.initial} {{{layout.seen[-1]}}}{none} {INITIAL}"
        yield f"\taction {record.actions[0]}{none}"
        texts = row_texts(record.start, 0)
        yield from (f"\t\t{t} : {p}" for t, p in sorted(zip(layout.begin, texts, strict=True)))


def _labels(record: Record) -> list[list[str]]:
    """The labels of each state, as the format writes them."""
    labels: list[list[str]] = [[] for _ in record.states]
    for name, states in record.labels:
        if _LABEL.fullmatch(name) is None:
            raise InputError(f"labels: the name {name!r} cannot be written in this format")
        shown = name if _WORD.fullmatch(name) else f'"{name}"'
        for state in states if name != INITIAL else ():
            labels[state].append(shown)
    return labels


class _Rows:
    """The rows and rewards of the record, over the states of the file."""

    def __init__(self, record: Record, layout: _Layout) -> None:
        self.record, self.layout, self.n = record, layout, len(record.states)
        self.emission_row = record.emission_row_of_edge()
        first = np.append(0, np.cumsum(record.outcomes_of_edge()))
        self.first_outcome = first[record.transition.indptr].tolist()  # of each row

    def _outcomes(self, row: int) -> Iterator[tuple[int, int, int, int]]:
        """Edge, entry of the emission, next state and observation of each outcome of a row."""
        edges, emission = self.record.transition, self.record.emission
        for edge in range(int(edges.indptr[row]), int(edges.indptr[row + 1])):
            from_row = int(self.emission_row[edge])
            for entry in range(int(emission.indptr[from_row]), int(emission.indptr[from_row + 1])):
                yield edge, entry, int(edges.indices[edge]), int(emission.indices[entry])

    def _chances(self, row: int) -> list[Fraction] | list[float]:
        """The probability of each outcome of a row, exactly if the record is."""
        edges, emission = self.record.transition, self.record.emission
        if edges.weights is None or emission.weights is None:
            return [float(edges.values[d] * emission.values[y]) for d, y, *_ in self._outcomes(row)]
        move = edges.fractions(row)
        return [
            move[target] * emission.fractions(int(self.emission_row[edge]))[seen]
            for edge, _, target, seen in self._outcomes(row)
        ]

    def lines(self, action: int, state: int) -> Iterator[str]:
        """The lines of a row."""
        row = action * self.n + state
        outcomes, edges = list(self._outcomes(row)), self.record.transition
        targets = [self.layout.number[target, seen] for *_, target, seen in outcomes]
        if len(outcomes) == edges.indptr[row + 1] - edges.indptr[row]:  # one observation each
            texts = row_texts(edges, row)
        else:
            texts = _texts(self._chances(row))
        yield from (f"\t\t{t} : {p}" for t, p in sorted(zip(targets, texts, strict=True)))

    def reward(self, action: int, state: int) -> str:
        """R(s, a)."""
        row, rewards = action * self.n + state, self.record.rewards
        index = rewards.index[self.first_outcome[row] : self.first_outcome[row + 1]].tolist()
        if rewards.exact is not None and self.record.exact and len(set(index)) > 1:
            pairs = zip(self._chances(row), index, strict=True)
            return number(sum((Fraction(p) * rewards.exact[i] for p, i in pairs), Fraction(0)))
        if len(set(index)) == 1:
            exact = rewards.exact
            value = index[0]
            return shortest(float(rewards.values[value])) if exact is None else number(exact[value])
        pairs = zip(self._chances(row), index, strict=True)
        return shortest(fsum(float(p) * float(rewards.values[i]) for p, i in pairs))


def _texts(chances: list[Fraction] | list[float]) -> list[str]:
    exact = [p for p in chances if isinstance(p, Fraction)]
    if len(exact) < len(chances):
        return float_probabilities([float(p) for p in chances])
    common = lcm(*(p.denominator for p in exact))
    return probabilities([int(p * common) for p in exact], [float(p) for p in exact], -1)
