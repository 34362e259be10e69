"""A delivery run between two space stations."""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP


class _Ship(NamedTuple):
    """The ship's position relative to the station that it faces.

    ahead: the cells between the two: 0 right before the station, 1 in open space, 2 with its back
    to the other station, and 3 backed into that other station's dock.
    """

    faces: str
    ahead: int


_LEAST, _MOST = "LRV", "MRV"  # the least and the most recently visited station
_OTHER = {_LEAST: _MOST, _MOST: _LEAST}
_DOCKED_IN_LEAST, _DOCKED_IN_MOST = _Ship(_MOST, 3), _Ship(_LEAST, 3)

# The errors of backing up depend on the position: by the cells ahead, the probability of backing up
# one cell or none, and of ending up turned around or not.
_BACKUP = {
    0: {(1, False): Fraction(3, 10), (0, False): Fraction(4, 10), (0, True): Fraction(3, 10)},
    1: {(1, False): Fraction(8, 10), (0, False): Fraction(1, 10), (1, True): Fraction(1, 10)},
    2: {(1, False): Fraction(7, 10), (0, False): Fraction(3, 10)},
    3: {(0, False): Fraction(1)},
}


def shuttle(*, visibility: Number = Fraction(7, 10), discount: Number = Fraction(19, 20)) -> POMDP:
    """A ship carries goods between two space stations that it can dock at only backwards.

    ::

        [dock] station  :  before  |  space  |  before  :  station [dock]

    A delivery counts at the station that was visited less recently (LRV); the other is the most
    recently visited one (MRV). As soon as the ship acts after docking in LRV, that station is
    MRV, and the run goes the other way.

    Going forward never fails, nor does turning around: from a dock it ends before that station,
    facing it. Docking needs backing up, which may fail (see the table `_BACKUP`): from right before
    a station, with its back to it, it docks with probability 7/10. Docking in LRV pays 10; going
    forward into a station that is right ahead costs 3.

    The ship observes when it is docked, and where. It sees a station right ahead, sees the one it
    faces from open space most of the time, and with its back to a station sees nothing. It starts
    docked in MRV.

    Args:
        visibility: the probability of seeing, from open space, the station that the ship faces.
        discount: the discount factor.

    References:
        L. Chrisman, "Reinforcement learning with perceptual aliasing: the perceptual distinctions
        approach", AAAI 1992.

    """
    seen_from_space = probability("visibility", visibility)

    def turned(ship: _Ship) -> _Ship:
        return _Ship(_OTHER[ship.faces], max(2 - ship.ahead, 0))

    def fly(ship: _Ship, action: str) -> dict[_Ship, Fraction]:
        if ship == _DOCKED_IN_LEAST:
            ship = _DOCKED_IN_MOST  # because of the delivery
        if action == "TurnAround":
            return {turned(ship): Fraction(1)}
        if action == "GoForward":
            return {_Ship(ship.faces, max(ship.ahead - 1, 0)): Fraction(1)}
        endings = [
            (_Ship(ship.faces, ship.ahead + cells), turns, chance)
            for (cells, turns), chance in _BACKUP[ship.ahead].items()
        ]
        return lottery((turned(end) if turns else end, chance) for end, turns, chance in endings)

    def look(_action: str, ship: _Ship) -> dict[str, Fraction]:
        if ship.ahead == 3:
            return {f"docked-{_OTHER[ship.faces]}": Fraction(1)}
        seen = {0: Fraction(1), 1: seen_from_space, 2: Fraction(0)}[ship.ahead]
        return lottery([(f"see-{ship.faces}", seen), ("nothing", 1 - seen)])

    def reward(ship: _Ship, action: str, end: _Ship, _seen: str) -> int:
        if action == "GoForward" and ship.ahead == 0:
            return -3
        return 10 if end == _DOCKED_IN_LEAST else 0

    return tabulate(
        name="shuttle",
        states=(
            _DOCKED_IN_LEAST,
            *(_Ship(_MOST, ahead) for ahead in (0, 1, 2)),
            *(_Ship(_LEAST, ahead) for ahead in (2, 1, 0)),
            _DOCKED_IN_MOST,
        ),
        actions=("TurnAround", "GoForward", "Backup"),
        observations=("see-LRV", "see-MRV", "docked-MRV", "nothing", "docked-LRV"),
        start={_DOCKED_IN_MOST: 1},
        transition=fly,
        emission=look,
        reward=reward,
        discount=probability("discount", discount),
        state_name=_name,
    )


def _name(ship: _Ship) -> str:
    behind = _OTHER[ship.faces]
    return {
        0: f"before-{ship.faces}-facing-it",
        1: f"space-facing-{ship.faces}",
        2: f"before-{behind}-back-to-it",
        3: f"docked-{behind}",
    }[ship.ahead]
