"""Random models as plain records, for property tests of everything that takes a model.

Small, valid and canonical: what a reader or a generator could have made. Rows may be dense or
sparse, printed as decimals (also rounded ones, whose sum is off) or known as fractions or only in
floats; states may be copies of one another, so that ranks fall short; rewards depend on any of
(s, a, s', o); rows may be declared `reset`; names may be the format's own keywords.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from rpsr.io.records import Record, Rewards, Rows, integers

Row = tuple[tuple[int, ...], tuple[int, ...], int]  # columns, weights, digits (-1: not decimals)

ODD_NAMES = (
    *("T", "O", "OO", "R", "start", "include", "exclude", "uniform", "identity", "reset"),
    *("states", "actions", "observations", "discount", "values", "reward", "cost"),
    *("a", "left-1", "-x", "+y", "a-", "*x", "x.5", "1st", "e5", "1e999", "."),
    *("é", "状態", "a\u00a0b"),
)

USUAL = 100  # examples of a law in the gate, where the test does not say otherwise


def few(examples: int) -> int:
    """The examples of a law that takes long: this many in the gate, and more in other profiles.

    A profile scales them like those of any other law, so that `random` draws five times as many.
    """
    return examples * settings().max_examples // USUAL


def names(count: int) -> st.SearchStrategy[tuple[str, ...]]:
    """Labels of one kind: numbers, as a file that gives a count has them, or names."""
    odd = st.lists(st.sampled_from(ODD_NAMES), min_size=count, max_size=count, unique=True)
    return st.one_of(st.just(tuple(str(i) for i in range(count))), odd.map(tuple))


@st.composite
def rows(draw: st.DrawFn, width: int) -> Row:
    """A row of probabilities: its columns, integer weights, and how many decimals it has."""
    columns = draw(st.sets(st.integers(0, width - 1), min_size=1))
    if draw(st.booleans()):
        columns = set(range(width))
    count = len(columns)
    form = draw(st.sampled_from(["even", "small", "large", "decimals", "rounded", "nearly"]))
    if form == "even":
        weights, digits = [1] * count, -1
    elif form in ("small", "large"):
        largest = 7 if form == "small" else 10**25
        weights = draw(st.lists(st.integers(1, largest), min_size=count, max_size=count))
        digits = -1
    else:
        digits = draw(st.integers(6 if form == "rounded" else 13 if form == "nearly" else 1, 16))
        one = 10**digits - {"decimals": 0, "rounded": 2 * 10 ** (digits - 6), "nearly": 3}[form]
        cuts = draw(
            st.lists(st.integers(1, one - 1), min_size=count - 1, max_size=count - 1, unique=True)
        )
        ends = [0, *sorted(cuts), one]
        weights = [high - low for low, high in pairwise(ends)]
    return tuple(sorted(columns)), tuple(weights), digits


def exact_rows(table: Sequence[Row], width: int) -> Rows:
    """Rows as a reader makes them: floats are the quotients, correctly rounded."""
    values = [w / sum(weights) for _, weights, _ in table for w in weights]
    return Rows(
        width,
        np.append(0, np.cumsum([len(columns) for columns, _, _ in table])),
        np.array([c for columns, _, _ in table for c in columns]),
        np.array(values),
        integers([w for _, weights, _ in table for w in weights]),
        np.array([digits for _, _, digits in table]),
    )


def float_rows(table: Sequence[Row], width: int) -> Rows:
    """The same rows, known only in floats."""
    known = exact_rows([(columns, weights, -1) for columns, weights, _ in table], width)
    return Rows(width, known.indptr, known.indices, known.values)


DECIMAL_REWARDS = st.one_of(
    st.integers(-3, 3).map(Fraction),
    st.integers(-(10**6), 10**6).map(lambda n: Fraction(n, 1000)),
    st.sampled_from([Fraction(10**22 + 1), Fraction(1, 2**60), Fraction(-1, 10**30)]),
)
REWARDS = st.one_of(DECIMAL_REWARDS, st.fractions(-2, 2, max_denominator=9))
DISCOUNTS = st.sampled_from([None, Fraction(0), Fraction(1), Fraction(19, 20), Fraction(999, 1000)])


@st.composite
def records(
    draw: st.DrawFn,
    *,
    exact: bool | None = None,
    by_edge: bool | None = None,
    rewards: st.SearchStrategy[Fraction] = REWARDS,
    most_states: int = 4,
) -> Record:
    """A model. exact, by_edge: None for either kind."""
    exact = draw(st.booleans()) if exact is None else exact
    by_edge = draw(st.booleans()) if by_edge is None else by_edge
    S, A, O = draw(st.integers(1, most_states)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    start = draw(rows(S))
    moves = [draw(rows(S)) for _ in range(A * S)]
    resets = np.array(draw(st.lists(st.booleans(), min_size=A * S, max_size=A * S)))
    if draw(st.booleans()):
        resets[:] = False
    if draw(st.booleans()):  # the last state is a copy of the first: no history tells them apart
        for a in range(A):
            moves[a * S + S - 1] = moves[a * S]
            resets[a * S + S - 1] = resets[a * S]
    moves = [start if reset else row for row, reset in zip(moves, resets, strict=True)]
    edges = [(a, s, t) for a in range(A) for s in range(S) for t in moves[a * S + s][0]]
    if by_edge:
        emissions = [draw(rows(O)) for _ in edges]
        seen = emissions
    else:
        emissions = [draw(rows(O)) for _ in range(A * S)]
        seen = [emissions[a * S + t] for a, _, t in edges]
    as_rows = exact_rows if exact else float_rows
    return Record(
        name="random",
        states=draw(names(S)),
        actions=draw(names(A)),
        observations=draw(names(O)),
        discount=draw(DISCOUNTS),
        start=as_rows([start], S),
        transition=as_rows(moves, S),
        emission=as_rows(emissions, O),
        emission_by_edge=by_edge,
        rewards=draw(_rewards(edges, [row[0] for row in seen], rewards, exact)),
        resets=resets.reshape(A, S),
    )


@st.composite
def _rewards(
    draw: st.DrawFn,
    edges: list[tuple[int, int, int]],
    seen: list[tuple[int, ...]],
    values: st.SearchStrategy[Fraction],
    exact: bool,
) -> Rewards:
    """Rewards that depend on some of (a, s, s', o)."""
    axes = draw(st.sets(st.integers(0, 3)))
    outcomes = [(*edge, o) for edge, row in zip(edges, seen, strict=True) for o in row]
    keys = [tuple(outcome[i] for i in sorted(axes)) for outcome in outcomes]
    worth = {key: draw(values) for key in dict.fromkeys(keys)}
    if not exact:
        worth = {key: Fraction(float(value)) for key, value in worth.items()}
    table = {value: i for i, value in enumerate(sorted(set(worth.values())))}
    return Rewards(
        np.array([float(value) for value in table]),
        np.array([table[worth[key]] for key in keys]),
        tuple(table) if exact else None,
    )
