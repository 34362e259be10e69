"""A rover that may check rocks from a distance before it drives there to sample them."""

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from math import gcd
from typing import NamedTuple

from rpsr.domains.chances import (
    Number,
    at_least,
    check_memory,
    evenly,
    exact,
    lottery,
    probability,
)
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

Cell = tuple[int, int]  # steps east of the western edge, and north of the southern one


class _Rover(NamedTuple):
    cell: Cell
    good: tuple[bool, ...]  # which rocks are worth sampling


class _Map(NamedTuple):
    rocks: tuple[Cell, ...]
    half_distance: Decimal


_GONE = _Rover((-1, -1), ())
_MOVES = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
_LN_2 = Decimal("0.69314718055994530941723212145818")  # the distance over which e^-d halves
_USUAL_HALF_DISTANCE = Decimal(20)

# The maps that the problem's authors distribute, by n and k.
_PUBLISHED = {
    (4, 4): _Map(((3, 1), (2, 1), (1, 3), (1, 0)), _LN_2),
    (5, 5): _Map(((2, 4), (0, 4), (3, 3), (2, 2), (4, 1)), Decimal(4)),
    (5, 7): _Map(((1, 0), (2, 1), (1, 2), (2, 2), (4, 2), (0, 3), (3, 4)), Decimal(20)),
    (7, 8): _Map(((2, 0), (0, 1), (3, 1), (6, 3), (2, 4), (3, 4), (5, 5), (1, 6)), Decimal(20)),
}


def rock_sample(
    *,
    n: int = 4,
    k: int = 4,
    rocks: Sequence[Cell] | None = None,
    start: Cell | str | None = None,
    half_distance: Number | None = None,
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """A rover collects the good ones among rocks whose places it knows and whose worth it does not.

    ::

        +---+---+---+---+
        |   | 2 |   |   |
        +---+---+---+---+           N
        | S |   |   |   | exit    W + E
        +---+---+---+---+           S
        |   |   | 1 | 0 |
        +---+---+---+---+
        |   | 3 |   |   |
        +---+---+---+---+

    Each rock is good or bad with probability 1/2. Checking a rock reads a sensor that is correct
    with probability (1 + e) / 2, where the efficiency e is 1 at the rock and halves with every
    `half_distance` of straight line to it. Sampling pays 10 on a good rock, which then turns bad,
    and costs 10 on a bad one. Driving off the eastern edge pays 10 and ends the run. Driving off
    another edge, or sampling without a rock, costs 100 and ends the run as well. The rover starts
    at the middle of the western edge, or on another cell that is given; after any action but a
    check, the observation is `good`.

    The map shown, n = k = 4, is that of the authors' distribution, as are those of (5, 5), (5, 7)
    and (7, 8), sensors included. On any other, rock i lies on the cell that is number
    i * stride mod n * n, counted northwards from the south-western corner, column by column; the
    stride is the least integer that exceeds 0.618 * n * n and is coprime to n * n. This spreads the
    rocks, and gives no cell two.

    Powers of 2 are mostly irrational, and this library's domains are exact: the probability
    that the sensor is right is rounded to 6 decimals, as it is in the published files. There are
    n * n * 2^k + 1 states.

    Args:
        n: the number of cells along each side of the square.
        k: the number of rocks.
        rocks: where the k rocks are, as (east, north) pairs counted from 0; a published map or
            the placement above by default.
        start: the cell where the rover starts, as a pair like those of `rocks` or by its name in
            states, such as `x0y3` (on the command line `rock-sample:start=x0y3`).
        half_distance: the distance at which the sensor's efficiency is one half; that of the
            published map by default (ln 2 for n = k = 4), and 20 where there is none.
        discount: the discount factor.

    References:
        T. Smith and R. Simmons, "Heuristic search value iteration for POMDPs", UAI 2004.

    """
    size = at_least("n", n, 1, "the rover needs a cell")
    count = at_least("k", k, 1, "the rover needs a rock to sample")
    check_memory(f"n={n}, k={k}", size**2 * 2**count + 1, 5 + count)
    places, accuracy = sensor_map(size, count, rocks, half_distance)
    begin = (0, size // 2) if start is None else _cell(start, size)
    rock_at = {place: rock for rock, place in enumerate(places)}
    checks = {f"check{rock}": rock for rock in range(count)}
    worths = [tuple(bool(i >> b & 1) for b in reversed(range(count))) for i in range(1 << count)]
    ground = [(east, north) for east in range(size) for north in range(size)]
    sensed: dict[
        tuple[Cell, int, bool], dict[str, Fraction]
    ] = {  # one mapping for all rovers on a cell: tables are made from these much faster
        (cell, rock, good): lottery([("good", says), ("bad", 1 - says)])
        for (cell, rock), right in accuracy.items()
        for good, says in ((True, right), (False, 1 - right))
    }
    nothing = {"good": 1}

    def drive(rover: _Rover, action: str) -> _Rover:
        east, north = _MOVES[action]
        cell = rover.cell[0] + east, rover.cell[1] + north
        return _Rover(cell, rover.good) if max(cell) < size and min(cell) >= 0 else _GONE

    def act(rover: _Rover, action: str) -> dict[_Rover, int]:
        if rover == _GONE or action in checks:
            return {rover: 1}
        if action in _MOVES:
            return {drive(rover, action): 1}
        if rover.cell not in rock_at:
            return {_GONE: 1}
        rock = rock_at[rover.cell]
        return {_Rover(rover.cell, (*rover.good[:rock], False, *rover.good[rock + 1 :])): 1}

    def read(action: str, rover: _Rover) -> Mapping[str, Fraction | int]:
        if rover == _GONE or action not in checks:
            return nothing
        rock = checks[action]
        return sensed[rover.cell, rock, rover.good[rock]]

    def reward(rover: _Rover, action: str, end: _Rover, _seen: str) -> int:
        if rover == _GONE or action in checks:
            return 0
        if end == _GONE:
            return 10 if action == "east" else -100
        if action == "sample":
            return 10 if rover.good[rock_at[rover.cell]] else -10
        return 0

    return tabulate(
        name="rock-sample" if (size, count) == (4, 4) else f"rock-sample-{size}-{count}",
        states=(*(_Rover(cell, good) for cell in ground for good in worths), _GONE),
        actions=(*_MOVES, *checks, "sample"),
        observations=("good", "bad"),
        start=evenly(_Rover(begin, good) for good in worths),
        transition=act,
        emission=read,
        reward=reward,
        discount=probability("discount", discount),
        state_name=_name,
    )


def sensor_map(
    size: int, count: int, rocks: Sequence[Cell] | None, half_distance: Number | None
) -> tuple[tuple[Cell, ...], dict[tuple[Cell, int], Fraction]]:
    """The places of the rocks, and how often the sensor is right by cell and rock."""
    known = _PUBLISHED.get((size, count))
    if rocks is not None:
        places = _checked(rocks, size, count)
    else:
        places = known.rocks if known else _spread(size, count)
    halving = known.half_distance if known else _USUAL_HALF_DISTANCE
    if half_distance is not None:
        halving = _decimal(exact("half_distance", half_distance))
    if halving <= 0:
        raise ValueError(f"half_distance is {half_distance!r}, but must be positive")
    return places, {
        ((east, north), rock): _accuracy((east, north), place, halving)
        for east in range(size)
        for north in range(size)
        for rock, place in enumerate(places)
    }


def _checked(rocks: Sequence[Cell], size: int, count: int) -> tuple[Cell, ...]:
    places = tuple((int(east), int(north)) for east, north in rocks)
    if len(set(places)) != count or len(places) != count:
        raise ValueError(
            f"rocks has {len(places)} cells, {len(set(places))} of them different, "
            f"but must have k = {count} different cells"
        )
    outside = [place for place in places if min(place) < 0 or max(place) >= size]
    if outside:
        raise ValueError(
            f"rocks has the cell {outside[0]}, which is outside the grid: "
            f"its coordinates are 0 to {size - 1} (n = {size})"
        )
    return places


def _cell(start: Cell | str, size: int) -> Cell:
    """The cell that is given as a pair or by its name."""
    named = re.fullmatch(r"x(\d{1,5})y(\d{1,5})", start) if isinstance(start, str) else None
    pair = named.groups() if named else start
    whole = isinstance(pair, tuple | list) and len(pair) == 2
    if not whole or (not named and not all(isinstance(place, int) for place in pair)):
        raise ValueError(f"start is {start!r}, but must be a cell such as x0y{size // 2}")
    cell = int(pair[0]), int(pair[1])
    if min(cell) < 0 or max(cell) >= size:
        raise ValueError(
            f"start is {start!r}, which is outside the grid: "
            f"its coordinates are 0 to {size - 1} (n = {size})"
        )
    return cell


def _spread(size: int, count: int) -> tuple[Cell, ...]:
    cells = size * size
    if count > cells:
        raise ValueError(f"k is {count}, but a grid of n = {size} has only {cells} cells for rocks")
    stride = 618 * cells // 1000 + 1
    while gcd(stride, cells) != 1:
        stride += 1
    return tuple(divmod(rock * stride % cells, size) for rock in range(count))


def _accuracy(cell: Cell, rock: Cell, half_distance: Decimal) -> Fraction:
    """The probability that the sensor is correct, to 6 decimals.

    In decimal arithmetic, which gives the same digits on every machine.
    """
    with localcontext(prec=40):
        squared = (cell[0] - rock[0]) ** 2 + (cell[1] - rock[1]) ** 2
        efficiency = Decimal(2) ** -(Decimal(squared).sqrt() / half_distance)
        return Fraction(((1 + efficiency) / 2).quantize(Decimal("1e-6"), ROUND_HALF_EVEN))


def _decimal(value: Fraction) -> Decimal:
    with localcontext(prec=40):
        return Decimal(value.numerator) / Decimal(value.denominator)


def _name(rover: _Rover) -> str:
    if rover == _GONE:
        return "gone"
    worth = "".join("g" if good else "b" for good in rover.good)
    return f"x{rover.cell[0]}y{rover.cell[1]}-{worth}"
