"""Office corridors: one robot that moves and sees with error, on three floors.

The robot stands on a cell and faces north, east, south or west. It is the same on all three floors.

Moving forward succeeds with probability 8/10. With probability 1/20 each, it slips to the left, to
the right or backwards, or does not move. Slipping sideways leaves it facing the way it slipped;
after slipping backwards it faces forwards or backwards, with probability 1/2 each. A wall stops any
of these movements, and then nothing changes. Turning has its own errors; staying has none.

An observation reports, for each of the robot's four sides independently, whether there is a wall: a
wall is seen with probability 9/10, and one that is not there with probability 1/20. Only the goal,
and on one floor the alcoves, are recognised without error.

Arriving at a goal pays 1. Any action on a goal moves the robot to a pose of the start distribution.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

from rpsr.domains.chances import Number, at_least, evenly, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

Cell = tuple[int, int]  # row, counted from the north, and column, counted from the west


class _Pose(NamedTuple):
    cell: Cell
    heading: int  # quarter turns clockwise from north


_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # one cell along each heading
_AHEAD, _RIGHT, _BACK, _LEFT = range(4)  # quarter turns clockwise from the robot's heading
_SIDES = ("F", "R", "B", "L")  # front, right, back, left

# Forward: the direction of the movement, the direction faced after it, and their probability.
_DRIFT = (
    (_AHEAD, _AHEAD, Fraction(8, 10)),
    (_RIGHT, _RIGHT, Fraction(1, 20)),
    (_LEFT, _LEFT, Fraction(1, 20)),
    (_BACK, _BACK, Fraction(1, 40)),
    (_BACK, _AHEAD, Fraction(1, 40)),
)

# Turning: the probability of each number of quarter turns clockwise.
_TURNS = {
    "right": {1: Fraction(7, 10), 0: Fraction(1, 10), 2: Fraction(1, 10), 3: Fraction(1, 10)},
    "around": {2: Fraction(6, 10), 0: Fraction(1, 10), 1: Fraction(3, 20), 3: Fraction(3, 20)},
    "left": {3: Fraction(7, 10), 0: Fraction(1, 10), 1: Fraction(1, 10), 2: Fraction(1, 10)},
}


def hallway(
    *,
    alcoves: int = 4,
    wall_seen: Number = Fraction(9, 10),
    wall_imagined: Number = Fraction(1, 20),
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """A lost robot looks for the last of the alcoves along a corridor.

    ::

        . . . . . . . . . . .        N
            .   .   .   G          W + E
                                     S

    Facing south in front of an alcove, the robot recognises which one it is, without error;
    everywhere else it sees only walls, with errors. It starts anywhere but on the goal, facing any
    way, all equally likely.

    Args:
        alcoves: how many alcoves there are; every second cell of the corridor has one, and the
            easternmost is the goal.
        wall_seen: the probability that a wall is seen.
        wall_imagined: the probability that a wall is seen where there is none.
        discount: the discount factor.

    References:
        M. L. Littman, A. R. Cassandra and L. P. Kaelbling, "Learning policies for partially
        observable environments: scaling up", ICML 1995.

    """
    count = at_least("alcoves", alcoves, 1, "one alcove is the goal")
    doors = range(2, 2 * count + 1, 2)
    alley = "".join("." if column in doors else " " for column in range(2 * count))
    return _robot(
        name="hallway",
        floor=("." * (2 * count + 3), alley + "G"),
        landmarks={_Pose((0, door), 2): f"alcove{i + 1}" for i, door in enumerate(doors)},
        wall_seen=wall_seen,
        wall_imagined=wall_imagined,
        discount=discount,
    )


def hallway2(
    *,
    wall_seen: Number = Fraction(9, 10),
    wall_imagined: Number = Fraction(1, 20),
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """A lost robot looks for one of four identical doors on two joined loops of corridor.

    ::

          . . . . .
        . .   .   . .        N
          .   .   .        W + E
        . .   .   . G        S
          . . . . .

    Except for the goal the floor is symmetric in both directions, so a robot that has not been at
    the goal cannot know at which of the doors it is. It starts anywhere but on the goal, facing any
    way, all equally likely.

    Args:
        wall_seen: the probability that a wall is seen.
        wall_imagined: the probability that a wall is seen where there is none.
        discount: the discount factor.

    References:
        M. L. Littman, A. R. Cassandra and L. P. Kaelbling, "Learning policies for partially
        observable environments: scaling up", ICML 1995.

    """
    return _robot(
        name="hallway2",
        floor=(" ..... ", ".. . ..", " . . . ", ".. . .G", " ..... "),
        wall_seen=wall_seen,
        wall_imagined=wall_imagined,
        discount=discount,
    )


def tiger_grid(
    *,
    wall_seen: Number = Fraction(9, 10),
    wall_imagined: Number = Fraction(1, 20),
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """A robot in one of two mirrored rooms takes the turn that leads to a goal, not to a tiger.

    ::

        X . G . X          N
        . .   . .        W + E
                           S

    The robot starts below one of the two cells beside the goal, facing north, and the two are
    equally likely. From the western one the goal is to the right and a tiger to the left; from the
    eastern one it is the other way round. Every step that ends on a tiger (X) pays -1.

    Args:
        wall_seen: the probability that a wall is seen.
        wall_imagined: the probability that a wall is seen where there is none.
        discount: the discount factor.

    References:
        M. L. Littman, A. R. Cassandra and L. P. Kaelbling, "Learning policies for partially
        observable environments: scaling up", ICML 1995.

    """
    return _robot(
        name="tiger-grid",
        floor=("X.G.X", ".. .."),
        start=evenly([_Pose((1, 1), 0), _Pose((1, 3), 0)]),
        wall_seen=wall_seen,
        wall_imagined=wall_imagined,
        discount=discount,
    )


def _robot(
    *,
    name: str,
    floor: Sequence[str],
    wall_seen: Number,
    wall_imagined: Number,
    discount: Number,
    start: Mapping[_Pose, Fraction] | None = None,
    landmarks: Mapping[_Pose, str] | None = None,
) -> POMDP:
    """The robot on a floor plan, in which a space is solid and `G` and `X` are goals and tigers.

    Without a start, every pose that is not on a goal is equally likely. Landmarks are poses with an
    observation of their own, without error.
    """
    plan = {
        (row, column): mark
        for row, line in enumerate(floor)
        for column, mark in enumerate(line)
        if mark != " "
    }
    poses = [_Pose(cell, heading) for cell in plan for heading in range(4)]
    opening = start or evenly(pose for pose in poses if plan[pose.cell] != "G")
    unmistakable = dict(landmarks or {})
    chance_of_wall = {
        True: probability("wall_seen", wall_seen),
        False: probability("wall_imagined", wall_imagined),
    }
    patterns = list(product((False, True), repeat=4))  # the front varies slowest

    def beside(pose: _Pose, side: int) -> Cell:
        south, east = _STEPS[(pose.heading + side) % 4]
        return pose.cell[0] + south, pose.cell[1] + east

    def act(pose: _Pose, action: str) -> Mapping[_Pose, Fraction]:
        if plan[pose.cell] == "G":
            return opening
        if action == "stay":
            return {pose: Fraction(1)}
        if action == "forward":
            return drive(pose)
        turns = _TURNS[action]
        return {_Pose(pose.cell, (pose.heading + k) % 4): chance for k, chance in turns.items()}

    def drive(pose: _Pose) -> dict[_Pose, Fraction]:
        movements = [
            (_Pose(beside(pose, side), (pose.heading + faced) % 4), chance)
            for side, faced, chance in _DRIFT
            if beside(pose, side) in plan
        ]
        return lottery([*movements, (pose, 1 - sum(chance for _, chance in movements))])

    def look(_action: str, pose: _Pose) -> dict[str, Fraction]:
        if plan[pose.cell] == "G":
            return {"goal": Fraction(1)}
        if pose in unmistakable:
            return {unmistakable[pose]: Fraction(1)}
        sides = [chance_of_wall[beside(pose, side) not in plan] for side in range(4)]
        factors = {
            pattern: [p if wall else 1 - p for p, wall in zip(sides, pattern, strict=True)]
            for pattern in patterns
        }
        return {
            _pattern_name(pattern): prod(ps, start=Fraction(1)) for pattern, ps in factors.items()
        }

    return tabulate(
        name=name,
        states=poses,
        actions=("stay", "forward", "right", "around", "left"),
        observations=(*map(_pattern_name, patterns), *unmistakable.values(), "goal"),
        start=opening,
        transition=act,
        emission=look,
        reward=lambda _pose, _action, end, _seen: {"G": 1, "X": -1}.get(plan[end.cell], 0),
        discount=probability("discount", discount),
        state_name=lambda pose: f"r{pose.cell[0]}c{pose.cell[1]}-{'NESW'[pose.heading]}",
    )


def _pattern_name(pattern: Sequence[bool]) -> str:
    walls = "".join(side for side, wall in zip(_SIDES, pattern, strict=True) if wall)
    return f"walls-{walls or 'none'}"
