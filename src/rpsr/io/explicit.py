"""Models that a file lists choice by choice: PRISM's explicit form and Storm's DRN.

A choice is an action that a state has, with its row of probabilities. A state emits its observation
whenever it is entered, whatever the action. Actions may differ from state to state: the observation
must then tell which ones are available, and a `Record`, whose actions can be taken anywhere, lets
an action that is not available do what the first available one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from rpsr.errors import InputError
from rpsr.io.allowance import excess
from rpsr.io.records import Bools, Ints, Record, Rewards, Rows, integers
from rpsr.io.tokens import Tokens, parse_decimal
from rpsr.io.weights import Values, rescaling_warning, weigh

ENTRY_BYTES = 176  # of memory per probability of the record
ROW_BYTES = 64  # of memory per action and state


def number_of(word: bytes) -> Fraction | None:
    """A decimal, or a fraction such as 1/3, exactly; None for anything else."""
    above, slash, below = (part.strip() for part in word.partition(b"/"))
    numbers = [parse_decimal(part) for part in ((above, below) if slash else (above,))]
    values = [Fraction(n[0], 10 ** n[1]) for n in numbers if n is not None]
    if len(values) != len(numbers) or (slash and values[1] == 0):
        return None
    return values[0] / values[1] if slash else values[0]


def number_actions(
    choices: list[tuple[int, str]], twice: Callable[[int, int, str], InputError]
) -> tuple[tuple[str, ...], Ints]:
    """Names of actions in the order of first appearance, and the action of each choice.

    choices: state and name. An action without a name is called by its number in its state: 0, or
    choice0 where other actions have names, since `.pomdp` files refuse a number among names.
    twice: the error if two choices, both given by number, are the same action of one state.
    """
    prefix = "choice" if any(name for _, name in choices) else ""
    unnamed: dict[int, int] = {}
    first: dict[tuple[int, str], int] = {}
    names: dict[str, int] = {}
    action: list[int] = []
    for choice, (state, given) in enumerate(choices):
        name = given
        if not given:
            name = f"{prefix}{unnamed.get(state, 0)}"
            unnamed[state] = unnamed.get(state, 0) + 1
        if (earlier := first.setdefault((state, name), choice)) != choice:
            raise twice(choice, earlier, name)
        action.append(names.setdefault(name, len(names)))
    return tuple(names), np.array(action, dtype=np.int64)


def unused_rewards(names: list[str]) -> list[str]:
    """The warning about reward models beyond the first."""
    if len(names) < 2:
        return []
    others = ", ".join(f"'{name}'" for name in names[1:])
    first = f"rewards were read from '{names[0]}', the first reward model"
    return [f"{first}; other reward models were ignored: {others}"]


class Entries(NamedTuple):
    """Probabilities in the order of the file: choice, next state and word of each, (E,)."""

    choice: Ints
    target: Ints
    word: Ints


@dataclass(frozen=True, eq=False)
class Explicit:
    """The content of a file, with C choices. A state without a choice ends: it stays as it is.

    observation (S,): the observation of each state. state, action (C,): of each choice; no pair
    occurs twice. words: the distinct probabilities as printed. state_rewards (S), choice_rewards
    (C): rewards add up. at_choice: an error at a choice's place in the file.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    observation: Ints
    initial: int
    state: Ints
    action: Ints
    entries: Entries
    words: list[bytes]
    state_rewards: list[Fraction]
    choice_rewards: list[Fraction]
    labels: tuple[tuple[str, tuple[int, ...]], ...]
    warnings: tuple[str, ...]
    at_choice: Callable[[int, str], InputError]

    def record(self, name: str, normalize: bool, size: int) -> Record:
        """The model. normalize: rescale rows of any positive sum. size: bytes of the file."""
        n_states, n_actions = len(self.states), len(self.actions)
        self._allow(ROW_BYTES * n_states * n_actions, f"{n_actions:,} actions", size)
        rows, deviations = self._choice_rows(normalize, size)
        choice = np.full((n_actions, n_states), -1, dtype=np.int64)
        choice[self.action, self.state] = np.arange(len(self.state))
        unavailable = self._unavailable(choice)
        first = np.argmin(unavailable, axis=0)
        chosen = np.where(unavailable, choice[first, np.arange(n_states)], choice).ravel()
        ends = np.arange(len(self.state), len(self.state) + n_states)  # rows that stay
        chosen = np.where(chosen < 0, np.tile(ends, n_actions), chosen)
        count = int(np.diff(rows.indptr)[chosen].sum())
        self._allow(ENTRY_BYTES * count, f"{n_actions:,} actions with {count:,} transitions", size)
        transition, ones = _repeated(rows, chosen), np.ones(len(chosen), dtype=np.int64)
        rewards = [self.state_rewards[s] for s in self.state.tolist()]
        rewards = [r + more for r, more in zip(rewards, self.choice_rewards, strict=True)]
        missing = int(unavailable.sum())
        return Record(
            name=name,
            states=self.states,
            actions=self.actions,
            observations=self.observations,
            discount=None,
            start=_certain(self.initial, n_states),
            transition=transition,
            emission=Rows(
                len(self.observations),
                np.arange(len(chosen) + 1, dtype=np.int64),
                np.tile(self.observation, n_actions),
                np.ones(len(chosen)),
                ones,
                np.zeros(len(chosen), dtype=np.int64),
            ),
            emission_by_edge=False,
            rewards=_rewards(rewards + self.state_rewards, chosen, np.diff(transition.indptr)),
            resets=np.zeros((n_actions, n_states), dtype=np.bool_),
            warnings=(
                *self.warnings,
                *rescaling_warning(deviations),
                *((availability_warning(missing),) if missing else ()),
            ),
            labels=self.labels,
            unavailable=unavailable if missing else None,
        )

    def _allow(self, needed: int, cause: str, size: int) -> None:
        if (problem := excess(needed, size)) is not None:
            raise self.at_choice(0, f"{len(self.states):,} states, {cause}: {problem}")

    def _choice_rows(self, normalize: bool, size: int) -> tuple[Rows, list[float]]:
        """C rows, one per choice, then S rows that stay; how far the rescaled ones were from 1."""
        values, plain = Values(Tokens(b"", "", self.words, np.zeros(0, np.int64))), self.entries
        order = np.lexsort((plain.target, plain.choice))
        given = Entries(*(part[order] for part in plain))
        again = (np.diff(given.choice) == 0) & (np.diff(given.target) == 0)
        summed = np.zeros(len(self.state), dtype=np.bool_)  # rows that need exact sums
        summed[given.choice[1:][again]] = True
        fractional = np.array([parse_decimal(word) is None for word in self.words], dtype=np.bool_)
        summed[given.choice[fractional[given.word]]] = True
        kept = ~summed[given.choice] & (values.floats[given.word] > 0)
        extra = self._summed(given, summed, values, size)
        stay = np.arange(len(self.states), dtype=np.int64)
        certain = np.repeat(values.add(np.ones(1, dtype=np.int64), 1), len(stay))
        row, target, word = (
            np.concatenate([part[kept], more, last])
            for part, more, last in zip(
                given, extra, (stay + len(self.state), stay, certain), strict=True
            )
        )
        order = np.lexsort((target, row))
        indptr = np.searchsorted(row[order], np.arange(len(self.state) + len(stay) + 1))
        rows, sums = weigh(len(stay), indptr, target[order], word[order], values)
        if (refused := sums.first_refused(normalize)) is not None:
            choice, problem = refused
            action, state = self.actions[self.action[choice]], self.states[self.state[choice]]
            name = f"the row of action '{action}' in state '{state}'"
            raise self.at_choice(choice, f"{name} {problem}")
        return rows, sums.deviations()

    def _summed(self, given: Entries, summed: Bools, values: Values, size: int) -> Entries:
        """Rows with fractions, or with a state twice: numerators over each row's denominator."""
        inside = summed[given.choice]
        ends = np.searchsorted(given.choice, np.flatnonzero(summed), side="right").tolist()
        parts: list[tuple[int, int, int, int]] = []  # choice, target, numerator, denominator
        first, needed = 0, 0
        entries = list(zip(*(part[inside].tolist() for part in given), strict=True))
        exact = {word: number_of(self.words[word]) or Fraction(0) for _, _, word in entries}
        shift = np.append(0, np.cumsum(inside))[ends].tolist()
        for last in shift:
            row: dict[int, Fraction] = {}
            for _, target, word in entries[first:last]:
                row[target] = row.get(target, Fraction(0)) + exact[word]
            row = {target: value for target, value in row.items() if value > 0}
            common = 1
            for value in set(row.values()):
                common = lcm(common, value.denominator)
                problem = excess(needed + common.bit_length() * len(row) // 4, size)
                if problem is not None:
                    at = entries[first][0]
                    raise self.at_choice(at, f"the fractions of a row: {problem}")
            needed += common.bit_length() * len(row) // 4
            choice = entries[first][0]
            parts += [(choice, t, int(v * common), common) for t, v in row.items()]
            first = last
        choices, targets, numerators, denominators = ([part[i] for part in parts] for i in range(4))
        words = values.add_each(integers(numerators), denominators)
        return Entries(np.array(choices, np.int64), np.array(targets, np.int64), words)

    def _unavailable(self, choice: Ints) -> Bools:
        """(A, S), equal for states of one observation; refuses a file where it is not."""
        unavailable = choice < 0
        ends = unavailable.all(axis=0)  # these have the actions of their observation, or all
        speaker = np.full(len(self.observations), -1, dtype=np.int64)  # a state, by observation
        acting = np.flatnonzero(~ends)[::-1]
        speaker[self.observation[acting]] = acting
        other = speaker[self.observation]
        unavailable[:, ends] = unavailable[:, other[ends]] & (other[ends] >= 0)
        clash = (unavailable != unavailable[:, other]) & (other >= 0)
        if not clash.any():
            return unavailable
        state = int(np.argmax(clash.any(axis=0)))
        action, before = int(np.argmax(clash[:, state])), int(other[state])
        has = before if unavailable[action, state] else state
        seen, name = self.observations[self.observation[state]], self.actions[action]
        raise self.at_choice(
            int(choice[action, has]),
            f"states '{self.states[before]}' and '{self.states[state]}' have observation '{seen}', "
            f"but only '{self.states[has]}' has action '{name}': expected the same actions in all "
            "states with the same observation",
        )


def availability_warning(pairs: int) -> str:
    """The warning of a reader about actions that are not available everywhere."""
    return (
        "not all actions are available in all states: an unavailable action does what the state's "
        f"first available action does ({pairs:,} pairs of state and action)"
    )


def _certain(column: int, width: int) -> Rows:
    one, zero = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return Rows(width, np.array([0, 1]), np.array([column]), np.ones(1), one, zero)


def _repeated(rows: Rows, chosen: Ints) -> Rows:
    """Some rows, in the given order, some of them several times."""
    counts = np.diff(rows.indptr)[chosen]
    indptr = np.append(0, np.cumsum(counts)).astype(np.int64)
    entry = np.arange(indptr[-1]) + np.repeat(rows.indptr[chosen] - indptr[:-1], counts)
    assert rows.weights is not None
    assert rows.digits is not None
    return Rows(
        rows.width,
        indptr,
        rows.indices[entry],
        rows.values[entry],
        rows.weights[entry],
        rows.digits[chosen],
    )


def _rewards(given: list[Fraction], chosen: Ints, counts: Ints) -> Rewards:
    """The reward of each outcome: that of its row."""
    exact = sorted({given[row] for row in set(chosen.tolist())})
    position = {value: i for i, value in enumerate(exact)}
    of_row = np.array([position.get(value, 0) for value in given], dtype=np.int64)[chosen]
    return Rewards(np.array([float(v) for v in exact]), np.repeat(of_row, counts), tuple(exact))
