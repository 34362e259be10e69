"""Floors of cells to search: four moves that always work, and a goal to be found.

Both problems share their rules. Moving into a wall leaves the robot where it is, arriving at the
goal pays 1, and any action there moves the robot to one of the other cells, all equally likely.
They differ in the floor and in the observations.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from rpsr.domains.chances import Number, at_least, evenly, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

Cell = tuple[int, int]  # row, counted from the north, and column, counted from the west

_MOVES = {"N0": (-1, 0), "S0": (1, 0), "E0": (0, 1), "W0": (0, -1)}
_SIDES = {"N": "N0", "E": "E0", "S": "S0", "W": "W0"}


def grid(*, rows: int = 4, columns: int = 4, discount: Number = Fraction(19, 20)) -> POMDP:
    """A robot searches an open grid for the one corner that it can recognise.

    ::

        +---+---+---+---+
        |   |   |   |   |
        +---+---+---+---+      N
        |   |   |   |   |    W + E
        +---+---+---+---+      S
        |   |   |   |   |
        +---+---+---+---+
        |   |   |   | G |
        +---+---+---+---+

    The robot observes only whether it stands on the goal, so it has to use the outer walls:
    going south often enough, then east often enough, leads there from anywhere. It starts on any
    cell but the goal, all equally likely.

    Args:
        rows: how many rows the grid has.
        columns: how many columns it has.
        discount: the discount factor.

    References:
        A. R. Cassandra, L. P. Kaelbling and M. L. Littman, "Acting optimally in partially
        observable stochastic domains", AAAI 1994.

    """
    height = at_least("rows", rows, 1, "the grid must have cells")
    width = at_least("columns", columns, 1, "the grid must have cells")
    if height * width < 2:
        raise ValueError("rows and columns are both 1, but there must be a cell besides the goal")
    return _search(
        name="4x4" if (height, width) == (4, 4) else f"grid-{height}x{width}",
        cells=[(row, column) for row in range(height) for column in range(width)],
        goal=(height - 1, width - 1),
        observations=("nothing", "goal"),
        look=lambda _cell: "nothing",
        discount=discount,
    )


def cheese(*, depth: int = 2, discount: Number = Fraction(19, 20)) -> POMDP:
    """A mouse in a maze of three blind alleys, one of which has the cheese at its end.

    ::

        +---+---+---+---+---+
        |                   |
        |   +---+   +---+   |      N
        |   |   |   |   |   |    W + E
        |   |   |   |   |   |      S
        |   |   | G |   |   |
        +---+   +---+   +---+

    The mouse observes on which sides of its cell there are walls, and whether it is at the cheese.
    Inside, the alleys have the same observations: only its past path tells in which one it is. It
    starts on any cell but the cheese, all equally likely.

    Args:
        depth: how many cells each alley has below the corridor that joins them.
        discount: the discount factor.

    References:
        R. A. McCallum, "Overcoming incomplete perception with utile distinction memory", ICML 1993.

    """
    bottom = at_least("depth", depth, 1, "the cheese lies in an alley's last cell")
    corridor = [(0, column) for column in range(5)]
    alleys = [(row, column) for row in range(1, bottom + 1) for column in (0, 2, 4)]
    cells, goal = corridor + alleys, (bottom, 2)

    def walls(cell: Cell) -> str:
        blocked = [side for side, move in _SIDES.items() if _beside(cell, move) not in cells]
        return f"walls-{''.join(blocked)}"

    seen = dict.fromkeys(walls(cell) for cell in cells if cell != goal)  # in order of appearance
    return _search(
        name="cheese",
        cells=cells,
        goal=goal,
        observations=(*seen, "goal"),
        look=walls,
        discount=discount,
    )


def _search(
    *,
    name: str,
    cells: Sequence[Cell],
    goal: Cell,
    observations: Sequence[str],
    look: Callable[[Cell], str],
    discount: Number,
) -> POMDP:
    """The rules that both floors share; the goal is the last of the states."""
    elsewhere = [cell for cell in cells if cell != goal]
    anywhere = evenly(elsewhere)

    def walk(cell: Cell, action: str) -> dict[Cell, Fraction]:
        if cell == goal:
            return anywhere
        ahead = _beside(cell, action)
        return {ahead if ahead in cells else cell: Fraction(1)}

    return tabulate(
        name=name,
        states=(*elsewhere, goal),
        actions=tuple(_MOVES),
        observations=observations,
        start=anywhere,
        transition=walk,
        emission=lambda _action, cell: {"goal" if cell == goal else look(cell): 1},
        reward=lambda _cell, _action, next_cell, _seen: int(next_cell == goal),
        discount=probability("discount", discount),
        state_name=lambda cell: "goal" if cell == goal else f"r{cell[0]}c{cell[1]}",
    )


def _beside(cell: Cell, action: str) -> Cell:
    south, east = _MOVES[action]
    return cell[0] + south, cell[1] + east
