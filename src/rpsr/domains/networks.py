"""A network that earns more under a higher load, until it crashes."""

from fractions import Fraction

from rpsr.domains.chances import Number, evenly, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

_CRASHED = -1

# Changes of the load: by action, the probability in tenths of each number of levels up or down.
_DRIFTS = {
    "unrestrict": {-2: 1, -1: 1, 0: 3, 1: 3, 2: 1, 3: 1},
    "steady": {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1},
    "restrict": {-4: 1, -2: 1, -1: 3, 0: 3, 1: 1, 2: 1},
}


def network(*, level: int = 20, discount: Number = Fraction(19, 20)) -> POMDP:
    """An operator keeps the load of a network high but off the crash that lies above it.

    ::

        s000 - s020 - s040 - s060 - s080 - s100 - crash

    The load is a percentage that changes by whole levels: mostly up while unrestricted, mostly
    down while restricted, either way while steady. It stays at or above 0; above 100 the network
    crashes and stays down until it is rebooted, which sets the load to 0.

    The only observation is whether the network answers a probe. A crashed network never does; a
    running one fails to answer with a probability that grows with its load above 50, from 1/10 at
    60 to 5/10 at 100.

    The reward of a step is the load before it, less running costs of 20, which a crashed network
    has too; rebooting costs 40 instead. The start is any state, all equally likely, crashed
    included.

    Args:
        level: the size of a level, in percent of load; it must divide 100.
        discount: the discount factor.

    References:
        A network monitoring problem of 1996, known from A. R. Cassandra's collection of POMDP
        files.

    """
    if level != int(level) or not 1 <= level <= 100 or 100 % level:
        raise ValueError(f"level is {level!r}, but must be a positive integer that divides 100")
    loads = range(0, 101, int(level))
    states = (*loads, _CRASHED)

    def drift(load: int, action: str) -> dict[int, Fraction]:
        if action == "reboot":
            return {0: Fraction(1)}
        if load == _CRASHED:
            return {_CRASHED: Fraction(1)}
        ends = [(load + change * level, tenths) for change, tenths in _DRIFTS[action].items()]
        return lottery(
            (_CRASHED if end > 100 else max(end, 0), Fraction(tenths, 10)) for end, tenths in ends
        )

    def probe(_action: str, load: int) -> dict[str, Fraction]:
        fails = Fraction(1) if load == _CRASHED else Fraction(max(load - 50, 0), 100)
        return lottery([("up", 1 - fails), ("down", fails)])

    def reward(load: int, action: str, _end: int, _seen: str) -> int:
        return -40 if action == "reboot" else max(load, 0) - 20

    return tabulate(
        name="network",
        states=states,
        actions=(*_DRIFTS, "reboot"),
        observations=("up", "down"),
        start=evenly(states),
        transition=drift,
        emission=probe,
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda load: "crash" if load == _CRASHED else f"s{load:03d}",
    )
