"""A hidden coin, an action that observes it, and a choice that pays if it matches the coin.

Listening for the tigers costs reward; in Parr and Russell's world, looking costs time.
"""

from fractions import Fraction
from typing import NamedTuple

from rpsr.domains.chances import Number, evenly, exact, lottery, probability
from rpsr.domains.rules import tabulate
from rpsr.models import POMDP

_OTHER = {"left": "right", "right": "left"}


def _growl(side: str, accuracy: Fraction) -> dict[str, Fraction]:
    """The side on which the listener hears the tiger."""
    return lottery([(side, accuracy), (_OTHER[side], 1 - accuracy)])


def tiger(*, accuracy: Number = Fraction(17, 20), discount: Number = Fraction(19, 20)) -> POMDP:
    """Two doors, a tiger behind one and a treasure behind the other: listen, then open.

    Listening costs 1 and reports the correct side with probability `accuracy`. Opening the
    treasure's door pays 10, opening the tiger's costs 100. Then the tiger is placed behind a random
    door, both equally likely, as at the start; the observation of that step is noise.

    Args:
        accuracy: the probability that the tiger is heard on its own side.
        discount: the discount factor.

    References:
        A. R. Cassandra, L. P. Kaelbling and M. L. Littman, "Acting optimally in partially
        observable stochastic domains", AAAI 1994.

    """
    hearing = probability("accuracy", accuracy)
    sides = ("left", "right")

    def hear(action: str, side: str) -> dict[str, Fraction]:
        heard = _growl(side, hearing if action == "listen" else Fraction(1, 2))
        return {f"tiger-{heard_side}": chance for heard_side, chance in heard.items()}

    def reward(side: str, action: str, _next: str, _heard: str) -> int:
        if action == "listen":
            return -1
        return -100 if action == f"open-{side}" else 10

    return tabulate(
        name="tiger",
        states=sides,
        actions=("listen", "open-left", "open-right"),
        observations=("tiger-left", "tiger-right"),
        start=evenly(sides),
        transition=lambda side, action: {side: 1} if action == "listen" else evenly(sides),
        emission=hear,
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda side: f"tiger-{side}",
    )


class _Listener(NamedTuple):
    side: str  # where the tiger is
    posture: str


def stand_tiger(*, accuracy: Number = Fraction(4, 5), discount: Number = Fraction(19, 20)) -> POMDP:
    """The tiger behind one of two doors again, but doors open standing and ears work sitting.

    ::

        sitting  -- stand-up -->  standing  -- open-left, open-right -->  sitting, new tiger
           listen: informative       listen: noise

    Only opening a door ends standing. The posture is observed, and listening while standing gives
    noise. Listening costs 1 while sitting and nothing while standing; opening a door while sitting
    does nothing, at no cost. Opened while standing, the treasure pays 30 and the tiger costs 100.
    The start is equally likely to be any of the four states.

    Args:
        accuracy: the probability that the tiger is heard on its own side while sitting.
        discount: the discount factor.

    References:
        A variant of the tiger of A. R. Cassandra, L. P. Kaelbling and M. L. Littman, "Acting
        optimally in partially observable stochastic domains", AAAI 1994, known from
        A. R. Cassandra's collection of POMDP files.

    """
    hearing = probability("accuracy", accuracy)
    sides = ("left", "right")
    states = [_Listener(side, posture) for posture in ("sitting", "standing") for side in sides]

    def act(listener: _Listener, action: str) -> dict[_Listener, Fraction]:
        if action == "stand-up":
            return {_Listener(listener.side, "standing"): Fraction(1)}
        if action == "listen" or listener.posture == "sitting":
            return {listener: Fraction(1)}
        return evenly(_Listener(side, "sitting") for side in sides)

    def hear(action: str, listener: _Listener) -> dict[str, Fraction]:
        # Every action but listening determines the posture; listening keeps it.
        posture = {"listen": listener.posture, "stand-up": "standing"}.get(action, "sitting")
        informative = action == "listen" and posture == "sitting"
        heard = _growl(listener.side, hearing if informative else Fraction(1, 2))
        felt = {"sitting": "sit", "standing": "stand"}[posture]
        return {f"tiger-{side}-{felt}": chance for side, chance in heard.items()}

    def reward(listener: _Listener, action: str, _next: _Listener, _heard: str) -> int:
        if listener.posture == "sitting":
            return -1 if action == "listen" else 0
        if action in ("listen", "stand-up"):
            return 0
        return -100 if action == f"open-{listener.side}" else 30

    return tabulate(
        name="stand-tiger",
        states=states,
        actions=("listen", "open-left", "open-right", "stand-up"),
        observations=[f"tiger-{side}-{felt}" for felt in ("sit", "stand") for side in sides],
        start=evenly(states),
        transition=act,
        emission=hear,
        reward=reward,
        discount=probability("discount", discount),
        state_name=lambda listener: f"T{listener.side[0].upper()}-{listener.posture}",
    )


def parr(*, right: Number = 2, wrong: Number = 0, discount: Number = Fraction(19, 20)) -> POMDP:
    """Seven states, one of two lookalikes hidden: take a look at it first, or guess.

    ::

                     +-- a --> C (hi) or D (lo) -- a --> back, the same lookalike
                     |                          -- b, c --> I
        I --> A -----+
          hi or lo   +-- c, where it is hi; b, where it is lo --> plus1  --> I
                     +-- b, where it is hi; c, where it is lo --> minus1 --> I

    Every action leads from I to A, where a fair coin decides between hi-A and lo-A; these two have
    the same observation, and every other state has its own. Action `a` distinguishes them, by way
    of C or D, which takes two steps. Leaving plus1 or minus1 pays; nothing else does.

    Args:
        right: the reward of the outcome plus1.
        wrong: the reward of the outcome minus1. The authors pay 1 and -1; their planner needed
            rewards that are not negative, hence 2 and 0.
        discount: the discount factor.

    References:
        R. Parr and S. Russell, "Approximating optimal policies for partially observable stochastic
        domains", IJCAI 1995.

    """
    pay = {"plus1": exact("right", right), "minus1": exact("wrong", wrong)}
    lookalikes = ("hi-A", "lo-A")
    view = {"hi-A": "C", "lo-A": "D"}
    back = {there: lookalike for lookalike, there in view.items()}
    key = {"hi-A": "c", "lo-A": "b"}

    def move(state: str, action: str) -> dict[str, Fraction]:
        if state == "I":
            return evenly(lookalikes)
        if state in lookalikes and action != "a":
            return {"plus1" if action == key[state] else "minus1": Fraction(1)}
        return {{**view, **back}.get(state, "I") if action == "a" else "I": Fraction(1)}

    return tabulate(
        name="parr",
        states=("I", *lookalikes, "C", "D", "plus1", "minus1"),
        actions=("a", "b", "c"),
        observations=("I", "A", "C", "D", "plus1", "minus1"),
        start={"I": 1},
        transition=move,
        emission=lambda _action, state: {"A" if state in lookalikes else state: 1},
        reward=lambda state, _action, _next, _seen: pay.get(state, 0),
        discount=probability("discount", discount),
    )
