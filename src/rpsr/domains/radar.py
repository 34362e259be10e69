"""Friend or foe: an aircraft approaches a base, and observing it exposes the base."""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, at_least, evenly, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP


class _Aircraft(NamedTuple):
    side: str  # "friend" or "foe"
    range: int  # steps away from the base
    exposure: int  # of the base, by its own actions


class _Sensor(NamedTuple):
    identifies: Fraction  # the probability of reading the correct side
    misranges: Fraction  # the probability of reading one step too near, and of one too far


_ACTIVE = _Sensor(Fraction(4, 5), Fraction(1, 20))
_PASSIVE = _Sensor(Fraction(3, 5), Fraction(1, 10))
_SENSOR = {"active-sensor": _ACTIVE, "passive-sensor": _PASSIVE, "fire": _ACTIVE}
_EXPOSES = {  # by action, a change of the exposure and its probability
    "active-sensor": (1, Fraction(19, 20)),
    "passive-sensor": (1, Fraction(1, 10)),
    "lie-low": (-1, Fraction(1, 4)),
    "fire": (1, Fraction(4, 5)),
}
_ADVANCE = Fraction(4, 5)
_FOE_DOWN, _FRIEND_DOWN, _BASE_STRUCK = 20, -30, -100
_MOST_EXPOSED = 7  # the last exposure v with a strike of 1/4 + v/10 below 1
_OVER = ("passed", "base-struck", "foe-down", "friend-down")
_State = _Aircraft | str  # a string is a final state


def iff(*, ranges: int = 10, exposures: int = 5, discount: Number = Fraction(999, 1000)) -> POMDP:
    """An aircraft comes in, friend or foe: look at it, lie low, or fire before it arrives.

    ::

        base | 0 | 1 | 2 | ... | 9 |  <-- aircraft, one step nearer four times in five

    The active sensor reads side and range best, but exposes the base almost every time; the passive
    sensor is less accurate and rarely exposes it; lying low observes nothing and lowers the
    exposure with probability 1/4. Range readings are sometimes off by one step, too near and too
    far with equal probability, and stay on the scale.

    Firing brings the aircraft down at range d of D with probability ((D - d) / D)^2. It exposes the
    base too, and observes as much as the active sensor. A foe shot down pays 20, a friend costs 30.
    An aircraft at range 0 that is not fired at arrives: a friend passes, and a foe strikes the
    base, at a cost of 100, with probability 1/4 + v/10 if the exposure is v; otherwise it passes as
    well. Rewards are these amounts in expectation, paid when the base acts. Then the task is over,
    which the base observes.

    It starts with the aircraft as far away as possible, friend or foe equally likely, and no
    exposure. The file that this domain equals has numbers only: the story and the names are our
    reading of them.

    Args:
        ranges: how many ranges there are.
        exposures: how many levels of exposure there are, 8 at most.
        discount: the discount factor.

    References:
        Known from A. R. Cassandra's collection of POMDP files. On problems of its kind:
        A. R. Cassandra, "A survey of POMDP applications", AAAI Fall Symposium on Planning with
        POMDPs 1998.

    """
    farthest = (
        at_least("ranges", ranges, 2, "the aircraft comes nearer, from one range to another") - 1
    )
    most_exposed = at_least("exposures", exposures, 1, "the lowest level is no exposure") - 1
    if most_exposed > _MOST_EXPOSED:
        raise ValueError(
            f"exposures is {exposures}, but must be {_MOST_EXPOSED + 1} or less: "
            "each level adds 1/10 to the probability of a strike, which is at most 1"
        )
    sides = ("friend", "foe")
    readings = [(side, distance) for side in sides for distance in range(ranges)]

    def hit(aircraft: _Aircraft, action: str) -> Fraction:
        return Fraction(ranges - aircraft.range, ranges) ** 2 if action == "fire" else Fraction(0)

    def strike(aircraft: _Aircraft) -> Fraction:
        """The probability that the aircraft strikes the base now, if it is not shot down."""
        arrived = aircraft.side == "foe" and aircraft.range == 0
        return Fraction(1, 4) + Fraction(aircraft.exposure, 10) if arrived else Fraction(0)

    def fly_on(aircraft: _Aircraft, action: str) -> dict[_State, Fraction]:
        if aircraft.range == 0:
            return lottery([("base-struck", strike(aircraft)), ("passed", 1 - strike(aircraft))])
        change, changes = _EXPOSES[action]
        changed = min(max(aircraft.exposure + change, 0), most_exposed)
        nearings = ((aircraft.range - 1, _ADVANCE), (aircraft.range, 1 - _ADVANCE))
        exposings = ((changed, changes), (aircraft.exposure, 1 - changes))
        return lottery(
            (aircraft._replace(range=distance, exposure=exposure), p * q)
            for distance, p in nearings
            for exposure, q in exposings
        )

    def act(state: _State, action: str) -> dict[_State, Fraction]:
        if isinstance(state, str):
            return {state: Fraction(1)}
        shot_down = hit(state, action)
        flown_on = fly_on(state, action).items()
        return lottery(
            [(f"{state.side}-down", shot_down), *((s, (1 - shot_down) * p) for s, p in flown_on)]
        )

    def read(action: str, state: _State) -> dict[str, Fraction]:
        if isinstance(state, str):
            return {"over": Fraction(1)}
        if action not in _SENSOR:
            return {"nothing": Fraction(1)}
        identifies, misranges = _SENSOR[action]
        return lottery(
            (
                f"{side}-{min(max(state.range + error, 0), farthest)}",
                p * (identifies if side == state.side else 1 - identifies),
            )
            for side in sides
            for error, p in ((-1, misranges), (0, 1 - 2 * misranges), (1, misranges))
        )

    def reward(state: _State, action: str, _next: _State, _seen: str) -> Fraction | int:
        if isinstance(state, str):
            return 0
        downed = _FOE_DOWN if state.side == "foe" else _FRIEND_DOWN
        shot_down = hit(state, action)
        return shot_down * downed + (1 - shot_down) * strike(state) * _BASE_STRUCK

    def name(state: _State) -> str:
        if isinstance(state, str):
            return state
        return f"{state.side}-range-{state.range}-exposure-{state.exposure}"

    flying = [_Aircraft(*reading, level) for reading in readings for level in range(exposures)]
    return tabulate(
        name="iff",
        states=[*_OVER, *flying],
        actions=tuple(_EXPOSES),
        observations=["nothing", "over", *(f"{side}-{distance}" for side, distance in readings)],
        start=evenly(_Aircraft(side, farthest, 0) for side in sides),
        transition=act,
        emission=read,
        reward=reward,
        discount=probability("discount", discount),
        state_name=name,
    )
