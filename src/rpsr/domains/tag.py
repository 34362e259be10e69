"""A robot that chases an opponent, which it observes only in its own cell."""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, at_least, check_memory, evenly, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

Cell = tuple[int, int]  # steps east of the western edge, and north of the southern one


class _Chase(NamedTuple):
    robot: Cell
    opponent: Cell | None  # None once it has been tagged


_BOARD = (  # north at the top, as on a map
    "     ...",
    "     ...",
    "     ...",
    "..........",
    "..........",
)
_MOVES = {"North": (0, 1), "South": (0, -1), "East": (1, 0), "West": (-1, 0)}
_USUAL_EVASION = Fraction(4, 5)

# The model in common use departs from its own rules in four of the 841 positions: by the cells of
# robot and opponent, the opponent's moves.
_SLIPS: dict[tuple[Cell, Cell], dict[Cell, Fraction]] = {
    ((9, 1), (9, 1)): {(9, 1): Fraction(1, 2), (8, 1): Fraction(1, 4), (9, 0): Fraction(1, 4)},
    ((6, 4), (6, 4)): {
        (6, 4): Fraction(1, 2),
        **dict.fromkeys(((5, 4), (7, 4), (6, 3)), Fraction(1, 6)),
    },
    ((6, 4), (6, 3)): {
        (6, 3): Fraction(2, 5),
        **dict.fromkeys(((5, 3), (7, 3), (6, 2)), Fraction(1, 5)),
    },
    ((7, 3), (5, 3)): {(5, 3): Fraction(3, 5), (5, 2): Fraction(1, 5), (7, 3): Fraction(1, 5)},
}


def _stretched(line: str, scale: int) -> str:
    return "".join(mark * scale for mark in line)


def tag(
    *,
    scale: int = 1,
    evasion: Number = _USUAL_EVASION,
    slips: bool = True,
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """A robot hunts for an opponent who sees it coming and moves away.

    ::

                  +--+--+--+
                  |26|27|28|
                  +--+--+--+
                  |23|24|25|
                  +--+--+--+                  N
                  |20|21|22|                W + E
        +--+--+--+--+--+--+--+--+--+--+       S
        |10|11|12|13|14|15|16|17|18|19|
        +--+--+--+--+--+--+--+--+--+--+
        | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|
        +--+--+--+--+--+--+--+--+--+--+

    The robot observes its own cell, and whether the opponent is there too. Its moves never fail,
    but walls stop them, and each costs 1. While it moves, the opponent moves too, away from the
    robot's previous cell: with probability evasion / 2 along the axis from west to east, and with
    evasion / 2 along that from south to north. Along each, it goes away from the robot or, if the
    two are level, either way with equal probability. Otherwise, and at a wall, it stays in place.

    Catching the opponent in the robot's own cell pays 10; trying elsewhere costs 10, and the
    opponent stays in place. Once it is tagged nothing moves any more: moves still cost 1, and
    trying to catch costs nothing. At the start, each of the two is anywhere, all equally likely.

    Args:
        scale: how many times as long and as wide the board is; it has 29 * scale^2 cells.
        evasion: the probability that the opponent tries to move.
        slips: whether the opponent departs from these rules in four of the 841 positions, as in the
            model in common use. Ignored if the evasion is not 4/5 or the scale is not 1.
        discount: the discount factor.

    References:
        J. Pineau, G. Gordon and S. Thrun, "Point-based value iteration: an anytime algorithm for
        POMDPs", IJCAI 2003.

    """
    chance = probability("evasion", evasion)
    size = at_least("scale", scale, 1, "the board needs cells")
    exceptions = _SLIPS if slips and chance == _USUAL_EVASION and size == 1 else {}
    count = size**2 * sum(mark != " " for line in _BOARD for mark in line)
    check_memory(f"scale={scale}", count * (count + 1), 1 + len(_MOVES))
    cells = [
        (east, north)
        for north in range(size * len(_BOARD))
        for east, mark in enumerate(_stretched(_BOARD[-1 - north // size], size))
        if mark != " "
    ]
    number = {cell: i for i, cell in enumerate(cells)}
    chases = [_Chase(robot, opponent) for robot in cells for opponent in (*cells, None)]
    index = {chase: i for i, chase in enumerate(chases)}

    def step(cell: Cell, move: Cell) -> Cell:
        ahead = cell[0] + move[0], cell[1] + move[1]
        return ahead if ahead in number else cell

    def flee(robot: Cell, opponent: Cell) -> dict[Cell, Fraction]:
        if (robot, opponent) in exceptions:
            return exceptions[robot, opponent]
        tickets = [(opponent, 1 - chance)]
        for axis, unit in enumerate(((1, 0), (0, 1))):
            gap = opponent[axis] - robot[axis]
            for sign in (1, -1):
                share = Fraction(1, 2) if gap == 0 else Fraction(int(gap * sign > 0))
                move = unit[0] * sign, unit[1] * sign
                tickets.append((step(opponent, move), chance / 2 * share))
        return lottery(tickets)

    def play(chase: _Chase, action: str) -> dict[_Chase, Fraction]:
        if chase.opponent is None:
            return {chase: Fraction(1)}
        if action == "Catch":
            caught = chase.opponent == chase.robot
            return {_Chase(chase.robot, None if caught else chase.opponent): Fraction(1)}
        robot = step(chase.robot, _MOVES[action])
        fled = flee(chase.robot, chase.opponent)
        return {_Chase(robot, opponent): share for opponent, share in fled.items()}

    def look(action: str, chase: _Chase) -> dict[str, int]:
        meets = action != "Catch" and chase.opponent == chase.robot
        return {"yes" if meets else f"o{number[chase.robot]}": 1}

    def reward(chase: _Chase, action: str, _end: _Chase, _seen: str) -> int:
        if action != "Catch":
            return -1
        if chase.opponent is None:
            return 0
        return 10 if chase.opponent == chase.robot else -10

    return tabulate(
        name="tag",
        states=chases,
        actions=(*_MOVES, "Catch"),
        observations=(*(f"o{i}" for i in range(len(cells))), "yes"),
        start=evenly(chase for chase in chases if chase.opponent is not None),
        transition=play,
        emission=look,
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda chase: f"s{index[chase]}",
    )
