"""The float/reset world, the running example of the first paper on predictive representations.

No fixed number of recent observations determines its state, but a few tests do: after a reset the
next one shows the light with certainty, and each float in between makes that less likely.
"""

from fractions import Fraction

from rpsr.domains.chances import Number, at_least, evenly, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP


def float_reset(*, positions: int = 5, discount: Number = Fraction(99, 100)) -> POMDP:
    """A float drifts along a line, and a reset that finds it at home shines a light.

    ::

        home
        +---+---+---+---+---+
        | 0 | 1 | 2 | 3 | 4 |
        +---+---+---+---+---+

    Floating (`f`) drifts one position to either side, with probability 1/2 each; at the two ends,
    drifting outwards stays in place. Resetting (`r`) puts the float back at 0. Observation 1, the
    light, follows a reset if the float was at 0 already; otherwise the observation is 0. The reward
    of a reset is the float's position before it. The float starts at 0.

    Args:
        positions: how many positions there are.
        discount: the discount factor.

    References:
        M. L. Littman, R. S. Sutton and S. Singh, "Predictive representations of state", NIPS 2001,
        without rewards. A. Baisero and C. Amato, "Reconciling rewards with predictive state
        representations", IJCAI 2021, with them.

    """
    last = at_least("positions", positions, 2, "the float needs two positions to drift") - 1

    def drift(position: int, action: str) -> dict[int, Fraction]:
        if action == "r":
            return {0: Fraction(1)}
        return evenly((max(position - 1, 0), min(position + 1, last)))

    def light(position: int, action: str, _next: int) -> dict[str, int]:
        return {"1" if action == "r" and position == 0 else "0": 1}

    return tabulate(
        name="floatreset",
        states=range(positions),
        actions=("f", "r"),
        observations=("0", "1"),
        start={0: 1},
        transition=drift,
        edge_emission=light,
        reward=lambda position, action, _next, _seen: position if action == "r" else 0,
        discount=probability("discount", discount),
    )
