"""Lines of cells: a delivery road, a blind walk between two goals, a corridor with one goal.

In each of them the agent stands on one cell of a line and observes little about its position.
"""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, at_least, evenly, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

_STEPS = {"left": -1, "right": 1, "w0": -1, "e0": 1}


class _Cart(NamedTuple):
    cell: int
    loaded: bool


def load_unload(*, cells: int = 5, discount: Number = Fraction(19, 20)) -> POMDP:
    """A cart fetches goods at one end of a road and drops them at the other, one at a time.

    ::

        +---------+--------+--------+--------+-----------+
        | loading | travel | travel | travel | unloading |
        +---------+--------+--------+--------+-----------+

    The cart observes the kind of its cell, but not whether it is loaded: one bit to remember, and
    no more is needed to act optimally. It handles its load on the step after it arrives: any action
    while empty at the loading end pays 1 and leaves it loaded; any action while loaded at the
    unloading end pays 1 and leaves it empty. Driving off the road does not move the cart. It starts
    anywhere, loaded or not, all equally likely.

    At the ends, only the rewards distinguish a loaded cart from an empty one. So a model that
    predicts observations alone cannot represent them.

    Args:
        cells: the length of the road.
        discount: the discount factor.

    References:
        L. Peshkin, N. Meuleau and L. P. Kaelbling, "Learning policies with external memory",
        ICML 1999. N. Meuleau, L. Peshkin, K.-E. Kim and L. P. Kaelbling, "Learning finite-state
        controllers for partially observable environments", UAI 1999.

    """
    last = at_least("cells", cells, 3, "the road has two ends and a cell between them") - 1
    carts = [_Cart(cell, loaded) for cell in range(cells) for loaded in (True, False)]

    def handles_load(cart: _Cart) -> bool:
        return cart in (_Cart(0, loaded=False), _Cart(last, loaded=True))

    def drive(cart: _Cart, action: str) -> dict[_Cart, int]:
        cell = cart.cell + _STEPS[action]
        return {_Cart(min(max(cell, 0), last), cart.loaded ^ handles_load(cart)): 1}

    def see(_: str, cart: _Cart) -> dict[str, int]:
        return {{0: "loading", last: "unloading"}.get(cart.cell, "travel"): 1}

    return tabulate(
        name="loadunload",
        states=carts,
        actions=("right", "left"),
        observations=("loading", "unloading", "travel"),
        start=evenly(carts),
        transition=drive,
        emission=see,
        reward=lambda cart, _action, _next, _seen: int(handles_load(cart)),
        discount=probability("discount", discount),
        state_name=lambda cart: f"{'loaded' if cart.loaded else 'empty'}-{cart.cell}",
    )


def line_two_goals(*, cells: int = 4, slip: Number = Fraction(1, 5), discount: Number = 1) -> POMDP:
    """A blind walk along a line that ends in a goal on either side.

    ::

        +------+------+------+------+
        | goal |  1   |  2   | goal |
        +------+------+------+------+

    Observations carry no information. A step succeeds unless it slips; a slip stays in place or
    goes the other way, with probability 1/2 each. Both goals are absorbing. A step that reaches the
    goal it aims for pays 1; slipping into the other goal also ends the walk, but pays nothing. The
    walk starts anywhere, the goals included.

    Args:
        cells: the length of the line, goals included.
        slip: the probability that a step fails.
        discount: the discount factor; 1 by default, since the walk ends by itself.

    References:
        Known from A. R. Cassandra's collection of POMDP files.

    """
    last = at_least("cells", cells, 3, "the line has two goals and a cell between them") - 1
    failure = probability("slip", slip)

    def walk(cell: int, action: str) -> dict[int, Fraction]:
        if cell in (0, last):
            return {cell: Fraction(1)}
        step = _STEPS[action]
        return lottery(
            [(cell + step, 1 - failure), (cell, failure / 2), (cell - step, failure / 2)]
        )

    def reward(cell: int, action: str, next_cell: int, _seen: str) -> int:
        return int(next_cell == cell + _STEPS[action] and next_cell in (0, last))

    return tabulate(
        name=f"line{cells}-2goals",
        states=range(cells),
        actions=("left", "right"),
        observations=("nothing",),
        start=evenly(range(cells)),
        transition=walk,
        emission=lambda _action, _cell: {"nothing": 1},
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda cell: {0: "left-goal", last: "right-goal"}.get(cell, f"cell-{cell}"),
    )


def corridor(
    *, slip: Number = 0, start_at_goal: bool = True, discount: Number = Fraction(3, 4)
) -> POMDP:
    """A robot in a corridor of four cells observes only whether it stands on the goal.

    ::

        +------+--------+------+-------+
        | left | middle | goal | right |
        +------+--------+------+-------+

    The robot steps west (`w0`) or east (`e0`); walls stop it, and a step that slips goes the other
    way. Arriving at the goal pays 1. From the goal, either action puts the robot down on one of the
    three other cells, all equally likely.

    Args:
        slip: the probability that a step goes the other way; 0 by default, 1/10 in the noisy maze.
        start_at_goal: whether the start is equally likely to be any of the four cells, or any of
            the three that are not the goal.
        discount: the discount factor.

    References:
        A. R. Cassandra, L. P. Kaelbling and M. L. Littman, "Acting optimally in partially
        observable stochastic domains", AAAI 1994. L. P. Kaelbling, M. L. Littman and
        A. R. Cassandra, "Planning and acting in partially observable stochastic domains",
        Artificial Intelligence 101, 1998.

    """
    failure = probability("slip", slip)
    from_west_to_east = ("left", "middle", "goal", "right")
    elsewhere = ("left", "middle", "right")

    def beside(cell: str, step: int) -> str:
        place = from_west_to_east.index(cell) + step
        return from_west_to_east[min(max(place, 0), len(from_west_to_east) - 1)]

    def move(cell: str, action: str) -> dict[str, Fraction]:
        if cell == "goal":
            return evenly(elsewhere)
        step = _STEPS[action]
        return lottery([(beside(cell, step), 1 - failure), (beside(cell, -step), failure)])

    return tabulate(
        name="1d" if failure == 0 else "1d.noisy",
        states=(*elsewhere, "goal"),
        actions=("w0", "e0"),
        observations=("nothing", "goal"),
        start=evenly((*elsewhere, "goal") if start_at_goal else elsewhere),
        transition=move,
        emission=lambda _action, cell: {"goal" if cell == "goal" else "nothing": 1},
        reward=lambda _cell, _action, next_cell, _seen: int(next_cell == "goal"),
        discount=probability("discount", discount),
    )
