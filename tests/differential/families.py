"""Families of processes and of rewards, each made to strain something.

Rows of chances are decimals that sum to one, or almost: what a row means is its entries divided by
their sum. A table is [action][state][column].
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

Row = list[Fraction]
Table = list[list[Row]]
Tables = tuple[Table, Table]
Outcome = tuple[int, int, int, int]  # (a, s, t, o)
Chances = dict[Outcome, Fraction]


def lottery(rng: np.random.Generator, width: int, digits: int | None = None) -> Row:
    """Chances in tenths or hundredths that sum to one, some of them zero."""
    one = 10 ** (digits or int(rng.integers(1, 3)))
    weights = rng.random(width) * (rng.random(width) < 0.7)
    weights[int(rng.integers(width))] += 0.2
    counts = rng.multinomial(one, weights / weights.sum())
    return [Fraction(int(count), one) for count in counts]


def sure(width: int, target: int) -> Row:
    """Certainty."""
    return [Fraction(int(i == target)) for i in range(width)]


# ---- processes: from random rows T and O to those of a family


def _each(change: Callable[[Row], Row], table: Table) -> Table:
    return [[change(row) for row in rows] for rows in table]


def plain(_rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """As drawn."""
    return T, O


def thin(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Rows that sum to one almost: within 1e-12 like .333333333334, or within 1e-6."""
    digits = int(rng.choice([12, 13, 15, 6]))

    def printed(row: Row) -> Row:
        if 1 in row:
            return row
        weights = [int(rng.integers(1, 8)) if value else 0 for value in row]
        short = [Fraction(w * 10**digits // sum(weights), 10**digits) for w in weights]
        short[int(np.argmax(weights))] += Fraction(int(rng.integers(0, 3)), 10**digits)
        return short

    return _each(printed, T), _each(printed, O)


def tiny(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Chances of 1e-9 to 1e-15, now and then 1e-300, of moving or of an observation."""

    def seldom(row: Row) -> Row:
        chance = Fraction(1, 10 ** int(rng.choice([9, 11, 12, 13, 14, 15, 30, 300])))
        empty = [i for i, value in enumerate(row) if not value]
        if not empty or rng.random() < 0.4:
            return row
        row = list(row)
        row[int(rng.choice(empty))] = chance
        if chance > Fraction(1, 10**16):  # otherwise the row sums to one within 1e-30
            row[int(np.argmax(row))] -= chance
        return row

    return _each(seldom, T), _each(seldom, O)


def alike(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """The last state copies the first one's rows, exactly or up to 1e-6 to 1e-14."""
    S = len(T[0])
    off = Fraction(int(rng.integers(0, 3)), 10 ** int(rng.integers(6, 15)))

    def moved(row: Row) -> Row:
        high, low = int(np.argmax(row)), int(np.argmin(row))
        return [v - off * (i == high) + off * (i == low) for i, v in enumerate(row)]

    for table in (T, O):
        for rows in table:
            rows[S - 1] = moved(rows[0]) if len(rows[0]) > 1 else list(rows[0])
    return T, O


def goal(_rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """The last state is never left, and is seen."""
    S, width = len(T[0]), len(O[0][0])
    for rows, seen in zip(T, O, strict=True):
        rows[S - 1], seen[S - 1] = sure(S, S - 1), sure(width, width - 1)
    return T, O


def certain(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Moves without chance, observations with or without."""

    def anywhere(row: Row) -> Row:
        return sure(len(row), int(rng.integers(len(row))))

    return _each(anywhere, T), _each(anywhere, O) if rng.random() < 0.5 else O


def blind(_rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """One observation."""
    return T, [[sure(1, 0) for _ in rows] for rows in O]


def visible(_rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Every state is seen."""
    return T, [[sure(len(rows), t) for t in range(len(rows))] for rows in O]


def resets(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Most actions lead to the same distribution from every state, so that beliefs recur."""
    return [[rows[0]] * len(rows) if rng.random() < 0.7 else rows for rows in T], O


def mirrored(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Every action moves and shows alike, so that actions tie but for rewards."""
    still = [sure(len(T[0]), s) for s in range(len(T[0]))]
    rows = still if rng.random() < 0.5 else T[0]
    return [rows] * len(T), [O[0]] * len(O)


def committed(_rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Nothing is seen; the first action leads to the last state for good, others stay."""
    S = len(T[0])
    stay = [sure(S, s) for s in range(S)]
    T = [[sure(S, S - 1)] * S if a == 0 else stay for a in range(len(T))]
    return T, [[sure(1, 0) for _ in rows] for rows in O]


def mixed(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """The last state moves like the average of the first two, now and then with tiny chances."""
    if rng.random() < 0.5:
        T, O = tiny(rng, T, O)
    S = len(T[0])
    for rows in T if S > 2 else []:
        rows[S - 1] = [(p + q) / 2 for p, q in zip(rows[0], rows[1], strict=True)]
    return T, O


def hoard(rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """Mixed states, from which a last one is reached hardly ever; it is seen, and never left."""
    chance, width = Fraction(1, 10 ** int(rng.integers(12, 16))), len(O[0][0])
    none = Fraction(0)
    for rows in T:
        first, second = ([*lottery(rng, 3), none] for _ in range(2))
        first[int(np.argmax(first))] -= chance
        first[3] = chance
        mean = [(p + q) / 2 for p, q in zip(first, second, strict=True)]
        rows[:] = [first, second, mean, sure(4, 3)]
    for rows in O:
        rows[:] = [[*lottery(rng, width), none] for _ in range(3)] + [sure(width + 1, width)]
    return T, O


def islands(_rng: np.random.Generator, T: Table, O: Table) -> Tables:
    """The last state is reached from itself only, and looks like the first."""
    S = len(T[0])
    for rows, seen in zip(T, O, strict=True):
        rows[: S - 1] = [[*row[:-2], row[-2] + row[-1], Fraction(0)] for row in rows[: S - 1]]
        seen[S - 1] = list(seen[0])
    return T, O


PROCESSES: dict[str, Callable[[np.random.Generator, Table, Table], Tables]] = {
    family.__name__: family
    for family in (
        *(plain, thin, tiny, alike, mixed, goal, certain, blind, visible, resets, mirrored),
        *(committed, hoard, islands),
    )
}


# ---- rewards: by outcome, from the chance of each outcome


def _by_action(chances: Chances, amount: Callable[[], Fraction]) -> Chances:
    earned = {(a, s): amount() for a, s in sorted({(a, s) for a, s, _, _ in chances})}
    return {outcome: earned[outcome[:2]] for outcome in chances}


def _small(rng: np.random.Generator) -> Fraction:
    return Fraction(int(rng.integers(-100, 101)), int(rng.choice([1, 10, 100])))


def by_action(rng: np.random.Generator, chances: Chances) -> Chances:
    """R(s, a)."""
    return _by_action(chances, lambda: _small(rng))


def by_outcome(rng: np.random.Generator, chances: Chances) -> Chances:
    """R(s, a, t, o)."""
    return {outcome: _small(rng) for outcome in chances}


def cancelling(rng: np.random.Generator, chances: Chances) -> Chances:
    """Opposite rewards of up to 1e15 whose expectation is small."""
    scale = 10 ** int(rng.integers(0, 12))
    earned = by_action(rng, chances)
    for a, s in sorted({outcome[:2] for outcome in chances}):
        outcomes = [outcome for outcome in chances if outcome[:2] == (a, s)]
        if len(outcomes) < 2:
            continue
        one, other = (outcomes[i] for i in rng.choice(len(outcomes), 2, replace=False))
        amount = scale * int(rng.integers(1, 10))
        earned[one] += amount * round(10**4 * chances[other])
        earned[other] -= amount * round(10**4 * chances[one])
    return earned


def rare(rng: np.random.Generator, chances: Chances) -> Chances:
    """The less likely, the larger: outcomes of 1e-15 earn up to 1e15."""
    earned = by_action(rng, chances)
    for outcome, chance in chances.items():
        if chance < Fraction(1, 10**8) and rng.random() < 0.7:
            power = min(len(str(int(1 / chance))) - 1, 15)
            earned[outcome] = Fraction(int(rng.integers(-9, 10)) * 10**power)
    return earned


def zero(_rng: np.random.Generator, chances: Chances) -> Chances:
    """Nothing."""
    return dict.fromkeys(chances, Fraction(0))


def constant(rng: np.random.Generator, chances: Chances) -> Chances:
    """The same whatever happens."""
    amount = Fraction(int(rng.integers(-3, 4)), int(rng.choice([1, 10])))
    return dict.fromkeys(chances, amount)


def large(rng: np.random.Generator, chances: Chances) -> Chances:
    """In units of 1e7."""
    return _by_action(chances, lambda: _small(rng) * 10**7)


def gamble(_rng: np.random.Generator, chances: Chances) -> Chances:
    """A little for sure, or much that is lost again if the state is another one."""
    last = max(s for _, s, _, _ in chances)

    def amount(a: int, s: int) -> Fraction:
        if a == 0:
            return Fraction(1)
        if s == last > 1:
            return Fraction(0)
        return Fraction(3) if (s - a) % 2 == 0 else Fraction(-7, 2)

    return {outcome: amount(*outcome[:2]) for outcome in chances}


def on_arrival(rng: np.random.Generator, chances: Chances) -> Chances:
    """R(a, t, o): by what an action leads to, much where that is hardly ever from some state."""
    rarest: Chances = {}
    for (a, _, t, o), chance in chances.items():
        rarest[a, 0, t, o] = min(chance, rarest.get((a, 0, t, o), chance))
    earned = {
        arrival: _small(rng) * (10**13 if chance < Fraction(1, 10**8) else 1)
        for arrival, chance in rarest.items()
    }
    return {(a, s, t, o): earned[a, 0, t, o] for a, s, t, o in chances}


def treasure(rng: np.random.Generator, chances: Chances) -> Chances:
    """Up to 1e15 in one state, little elsewhere: getting there may be as unlikely."""
    where, much = int(rng.integers(1, 4)), 10 ** int(rng.integers(9, 15))
    earned = by_action(rng, chances)
    return {outcome: r * (much if outcome[1] == where else 1) for outcome, r in earned.items()}


def opposite(rng: np.random.Generator, chances: Chances) -> Chances:
    """As much in every other state as is lost in the rest, so that averages vanish."""
    amounts = [abs(_small(rng)) for _ in range(3)]
    return {(a, s, t, o): amounts[a] * (-1) ** s for a, s, t, o in chances}


def scaled(rng: np.random.Generator, chances: Chances) -> Chances:
    """In one unit from 1e-12 to 1e12."""
    unit = Fraction(10) ** int(rng.integers(-12, 13))
    return _by_action(chances, lambda: _small(rng) * unit)


def giant(rng: np.random.Generator, chances: Chances) -> Chances:
    """Up to 1e14 in the last state, where a process of islands never is."""
    last = max(s for _, s, _, _ in chances)
    earned = by_action(rng, chances)
    return {outcome: r * (10**12 if outcome[1] == last else 1) for outcome, r in earned.items()}


REWARDS: dict[str, Callable[[np.random.Generator, Chances], Chances]] = {
    family.__name__: family
    for family in (
        *(by_action, by_outcome, cancelling, rare, on_arrival, treasure, opposite, zero),
        *(constant, large, gamble, scaled, giant),
    )
}
