"""Mazes of square cells: Russell's four by three, and the fork between heaven and hell."""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, at_least, evenly, exact, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

Cell = tuple[int, int]  # (column, row); rows count southwards

_EAST, _SOUTH, _WEST, _NORTH = (1, 0), (0, 1), (-1, 0), (0, -1)


def _beside(cell: Cell, heading: Cell) -> Cell:
    return (cell[0] + heading[0], cell[1] + heading[1])


def four_by_three(
    *,
    drift: Number = Fraction(1, 10),
    step: Number = Fraction(-1, 25),
    misprint: bool = True,
    discount: Number = Fraction(19, 20),
) -> POMDP:
    """A robot with a wall detector on either side looks for the good corner of a small maze.

    ::

        +---+---+---+---+
        |   |   |   | + |
        +---+---+---+---+
        |   |###|   | - |
        +---+---+---+---+
        |   |   |   |   |
        +---+---+---+---+

    A move goes in its own direction, or drifts off at a right angle, to one side or the other; a
    move into a wall stays in place. The robot observes a wall or the pillar to its west (`left`),
    to its east (`right`), on both sides or on neither, and recognises the two marked cells when it
    stands on them (`good`, `bad`). An action there pays 1 or -1 and leads to any of the nine other
    cells, all equally likely. An action anywhere else pays `step`.

    Args:
        drift: the probability of drifting to one given side; the move succeeds otherwise.
        step: the reward of acting on an unmarked cell.
        misprint: whether to keep the one number of the published file that breaks these rules: in
            the third cell of the bottom row, going east and drifting south into the wall lands
            one cell to the west. Results in the literature contain it.
        discount: the discount factor.

    References:
        S. Russell and P. Norvig, "Artificial Intelligence: A Modern Approach", Prentice Hall 1995,
        where the marked cells end the walk. R. Parr and S. Russell, "Approximating optimal policies
        for partially observable stochastic domains", IJCAI 1995, with the wall detectors.

    """
    sideways = probability("drift", drift)
    if sideways > Fraction(1, 2):
        raise ValueError(
            f"drift is {drift!r}, but must be at most 1/2: "
            "a move may drift to either of two sides with this probability"
        )
    pay_elsewhere = exact("step", step)
    plan = ("...+", ".#.-", "....")
    marks = {(x, y): mark for y, row in enumerate(plan) for x, mark in enumerate(row)}
    cells = [cell for cell, mark in marks.items() if mark != "#"]
    starts = evenly(cell for cell in cells if marks[cell] == ".")
    headings = {"n": _NORTH, "s": _SOUTH, "e": _EAST, "w": _WEST}

    def move(cell: Cell, action: str) -> dict[Cell, Fraction]:
        if marks[cell] != ".":
            return starts
        dx, dy = headings[action]
        chances = {(dx, dy): 1 - 2 * sideways, (dy, -dx): sideways, (-dy, dx): sideways}
        misprinted = misprint and action == "e" and cell == (2, 2)
        bump = _beside(cell, _WEST) if misprinted else cell
        ahead = {heading: _beside(cell, heading) for heading in chances}
        return lottery((ahead[h] if ahead[h] in cells else bump, p) for h, p in chances.items())

    def feel(_: str, cell: Cell) -> dict[str, int]:
        walls = (_beside(cell, _WEST) not in cells, _beside(cell, _EAST) not in cells)
        felt = {(True, False): "left", (False, True): "right", (True, True): "both"}
        return {{"+": "good", "-": "bad"}.get(marks[cell], felt.get(walls, "neither")): 1}

    return tabulate(
        name="4x3",
        states=cells,
        actions=tuple(headings),
        observations=("left", "right", "neither", "both", "good", "bad"),
        start=starts,
        transition=move,
        emission=feel,
        reward=lambda cell, _action, _next, _felt: {"+": 1, "-": -1}.get(
            marks[cell], pay_elsewhere
        ),
        discount=probability("discount", discount),
        state_name=lambda cell: f"column-{cell[0]}-row-{cell[1]}",
    )


class _Pilgrim(NamedTuple):
    heaven: str  # the side of the fork that heaven is on
    place: int


def heaven_hell(
    *,
    stem: int = 2,
    arm: int = 2,
    aisle: int = 2,
    accuracy: Number = 1,
    discount: Number = Fraction(99, 100),
) -> POMDP:
    """Heaven lies at one end of a fork and hell at the other; a priest down the aisle knows which.

    ::

            4   3   2   5   6      4 and 6: heaven and hell, or hell and heaven
                    1
                    0              0: start
                    7   8   P      P: priest

    A hidden fair coin puts heaven on the left or on the right. The pilgrim observes its cell at
    every step; moves never fail, and a move into a wall stays in place. Only on the priest's cell
    does it learn the side (`left`, `right`). Any action in heaven pays 1, any action in hell costs
    1, and both lead to 0 with a new coin.

    Args:
        stem: how many steps lead north from the start to the fork.
        arm: how many steps lead from the fork to either end.
        aisle: how many steps lead east from below the start to the priest.
        accuracy: the probability that the priest tells the truth.
        discount: the discount factor.

    References:
        H. Geffner and B. Bonet, "Solving large POMDPs using real time dynamic programming", AAAI
        Fall Symposium on POMDPs 1998, who credit S. Thrun.

    """
    at_least("stem", stem, 1, "the fork is north of the start")
    at_least("arm", arm, 1, "heaven and hell are different cells")
    at_least("aisle", aisle, 0, "the priest is south of the start, or further east")
    honesty = probability("accuracy", accuracy)
    upwards = [(0, -y) for y in range(stem + 1)]
    left_arm = [(-x, -stem) for x in range(1, arm + 1)]
    right_arm = [(x, -stem) for x in range(1, arm + 1)]
    way_to_priest = [(x, 1) for x in range(aisle + 1)]
    cells = upwards + left_arm + right_arm + way_to_priest
    ends = {cells.index(left_arm[-1]): "left", cells.index(right_arm[-1]): "right"}
    priest = cells.index(way_to_priest[-1])
    sides = ("left", "right")
    headings = {"N": _NORTH, "S": _SOUTH, "E": _EAST, "W": _WEST}
    starts = evenly(_Pilgrim(heaven, 0) for heaven in sides)

    def walk(pilgrim: _Pilgrim, action: str) -> dict[_Pilgrim, Fraction]:
        if pilgrim.place in ends:
            return starts
        ahead = _beside(cells[pilgrim.place], headings[action])
        place = cells.index(ahead) if ahead in cells else pilgrim.place
        return {pilgrim._replace(place=place): Fraction(1)}

    def see(_: str, pilgrim: _Pilgrim) -> dict[str, Fraction]:
        if pilgrim.place != priest:
            return {f"s{pilgrim.place}": Fraction(1)}
        return lottery((side, honesty if side == pilgrim.heaven else 1 - honesty) for side in sides)

    def reward(pilgrim: _Pilgrim, _action: str, _next: _Pilgrim, _seen: str) -> int:
        if pilgrim.place not in ends:
            return 0
        return 1 if ends[pilgrim.place] == pilgrim.heaven else -1

    return tabulate(
        name="heavenhell",
        states=[_Pilgrim(heaven, place) for heaven in sides for place in range(len(cells))],
        actions=tuple(headings),
        observations=[f"s{place}" for place in range(priest)] + ["left", "right"],
        start=starts,
        transition=walk,
        emission=see,
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda pilgrim: f"heaven-{pilgrim.heaven}-s{pilgrim.place}",
    )
