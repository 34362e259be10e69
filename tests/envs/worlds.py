"""Small systems for the tests of environments."""

from fractions import Fraction

from rpsr import POMDP
from rpsr.domains import tabulate


def stairs(start: dict[int, Fraction | int] | None = None) -> POMDP:
    """Three steps down to an end: 'down' takes one and pays its height, 'stay' pays nothing.

    Nothing is random but, where it is given, the start; so two programs that step it agree exactly.
    """
    return tabulate(
        name="stairs",
        states=[0, 1, 2, 3],
        actions=["down", "stay"],
        observations=["low", "high", "over"],
        start=start or {3: 1},
        transition=lambda s, a: {max(s - 1, 0) if a == "down" else s: 1},
        emission=lambda _a, t: {"over" if t == 0 else "low" if t == 1 else "high": 1},
        reward=lambda s, a, _t, _o: s if a == "down" else 0,
        discount=Fraction(1, 2),
    )
