"""A corridor that ends in a choice, and a sign read many steps before."""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, at_least, evenly, exact, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP


class _Walker(NamedTuple):
    goal: str
    cell: int


_OUTSIDE = _Walker("unknown", -1)


def t_maze(
    *,
    length: int = 10,
    right_turn: Number = 4,
    wrong_turn: Number = Fraction(-1, 10),
    standstill: Number = Fraction(-1, 10),
    discount: Number = Fraction(49, 50),
) -> POMDP:
    """A sign at the mouth of a corridor tells which way to turn at its far end.

    ::

                                 +---+
                                 | ? |
        +------+---+---   ---+---+   |         N
        | sign                       |       W + E
        +------+---+---   ---+---+   |         S
                                 | ? |
                                 +---+

    The first action, whichever it is, enters the maze at the sign, which points north or south with
    probability 1/2 each. All cells of the corridor have the same observation, and the junction's
    does not depend on the sign: an agent without memory can only guess. Turning north or south at
    the junction ends the episode, and the walker is outside again. Any other step into a wall
    leaves it in place.

    The state `outside` is needed because in a POMDP an observation follows an action, and the sign
    is the first observation.

    Args:
        length: the number of steps east from the sign to the junction.
        right_turn: the reward for turning where the sign pointed.
        wrong_turn: the reward for turning the other way.
        standstill: the reward for a step into a wall.
        discount: the discount factor.

    References:
        B. Bakker, "Reinforcement learning with long short-term memory", NIPS 2001.

    """
    junction = at_least("length", length, 1, "the junction is east of the sign")
    sides = ("north", "south")
    entry = evenly(_Walker(goal, 0) for goal in sides)
    rewards = {
        "right": exact("right_turn", right_turn),
        "wrong": exact("wrong_turn", wrong_turn),
        "standstill": exact("standstill", standstill),
    }

    def turns(walker: _Walker, action: str) -> bool:
        return walker.cell == junction and action in sides

    def walk(walker: _Walker, action: str) -> dict[_Walker, Fraction]:
        if walker == _OUTSIDE:
            return entry
        if turns(walker, action):
            return {_OUTSIDE: Fraction(1)}
        cell = walker.cell + {"east": 1, "west": -1}.get(action, 0)
        return {_Walker(walker.goal, min(max(cell, 0), junction)): Fraction(1)}

    def look(_action: str, walker: _Walker) -> dict[str, int]:
        special = {-1: "outside", 0: f"sign-{walker.goal}", junction: "junction"}
        return {special.get(walker.cell, "corridor"): 1}

    def reward(walker: _Walker, action: str, end: _Walker, _seen: str) -> Fraction:
        if turns(walker, action):
            return rewards["right" if action == walker.goal else "wrong"]
        return rewards["standstill"] if end == walker else Fraction(0)

    return tabulate(
        name="t-maze",
        states=(_OUTSIDE, *(_Walker(goal, cell) for goal in sides for cell in range(junction + 1))),
        actions=("north", "east", "south", "west"),
        observations=("sign-north", "sign-south", "corridor", "junction", "outside"),
        start={_OUTSIDE: 1},
        transition=walk,
        emission=look,
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda walker: (
            "outside" if walker == _OUTSIDE else f"goal-{walker.goal}-{walker.cell}"
        ),
        resets=turns,
    )
