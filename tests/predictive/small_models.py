"""Models made by hand, each to show one thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from rpsr.domains.rules import tabulate
from rpsr.models.pomdp import POMDP

HALF = Fraction(1, 2)


def blind(
    n_states: int,
    *,
    move: Callable[[int, str], Mapping[int, Fraction | int]],
    reward: Callable[[int, str], Fraction | int],
    start: Mapping[int, Fraction | int],
    actions: tuple[str, ...] = ("go",),
) -> POMDP:
    """One observation: every test has probability one."""
    return tabulate(
        name="blind",
        states=range(n_states),
        actions=actions,
        observations=["dark"],
        start=start,
        transition=move,
        emission=lambda _a, _t: {"dark": 1},
        reward=lambda s, a, _t, _o: reward(s, a),
        discount=Fraction(9, 10),
    )


def blind_walk() -> POMDP:
    """Proposition 1's counterexample: a walk in the dark that is paid at its end."""
    return blind(
        4,
        actions=("go", "stay"),
        move=lambda s, a: {min(s + 1, 3) if a == "go" else s: 1},
        reward=lambda s, _: int(s == 3),
        start={0: 1},
    )


def hidden_coin() -> POMDP:
    """Both sides are possible at every step and neither is observed: b(h) = (1/2, 1/2)."""
    return blind(2, move=lambda s, _: {s: 1}, reward=lambda s, _: s, start={0: HALF, 1: HALF})


def two_doors() -> POMDP:
    """A prize stays behind one of two doors; opening the right one pays; nothing is observed."""
    return blind(
        2,
        actions=("left", "right"),
        move=lambda s, _: {s: 1},
        reward=lambda s, a: int(s == ["left", "right"].index(a)),
        start={0: HALF, 1: HALF},
    )


def balanced_walk() -> POMDP:
    """Three rooms in a row, each with a coin that stays hidden: beliefs move, coins stay even.

    Every state (room, coin) is reachable. The reward is 1 for heads and -1 for tails.
    """
    rooms = [(room, coin) for room in range(3) for coin in (-1, 1)]
    steps = {"left": -1, "right": 1}

    def walk(state: tuple[int, int], action: str) -> dict[tuple[int, int], Fraction]:
        room, coin = state
        there = (min(max(room + steps[action], 0), 2), coin)
        return {there: Fraction(1)} if there == state else {there: HALF, state: HALF}

    return tabulate(
        name="balanced-walk",
        states=rooms,
        actions=["left", "right"],
        observations=["end", "middle"],
        start={(0, -1): HALF, (0, 1): HALF},
        transition=walk,
        emission=lambda _a, t: {"middle" if t[0] == 1 else "end": 1},
        reward=lambda s, _a, _t, _o: s[1],
        discount=None,
        state_name=lambda s: f"{'tails' if s[1] < 0 else 'heads'}-{s[0]}",
    )


def loaded_coin() -> POMDP:
    """Two rooms in the dark, and a hidden coin that shows heads three times in five.

    The reward is zero on average in either room, though not in any state.
    """
    return blind(
        4,  # 2 * room + coin
        actions=("left", "right"),
        move=lambda s, a: {s % 2 + 2 * (a == "right"): 1},
        reward=lambda s, _: (2, -3)[s % 2] * (1 + s // 2),
        start={0: Fraction(3, 5), 1: Fraction(2, 5)},
    )


def with_a_cellar() -> POMDP:
    """Three states alike to every test; the last, where the reward is 5, is never visited."""
    return blind(
        3,
        move=lambda s, _: {0: HALF, 1: HALF} if s < 2 else {2: 1},
        reward=lambda s, _: (0, 1, 5)[s],
        start={0: 1},
    )


def fair_bets() -> POMDP:
    """Bets that pay nothing on average, though floats make that 1e-16; the stakes differ."""
    tenth = Fraction(1, 10)
    pays = {"x": 3, "y": 2, "z": -1}
    return tabulate(
        name="fair",
        states=[0, 1],
        actions=["bet", "pass"],
        observations=["x", "y", "z"],
        start={0: 1},
        transition=lambda s, _a: {s: 1},
        emission=lambda _a, _t: {"x": tenth, "y": 2 * tenth, "z": 7 * tenth},
        reward=lambda s, a, _t, o: pays[o] * (s + 1) if a == "bet" else 0,
        discount=None,
    )


def flaw(chance: Fraction) -> POMDP:
    """A thing is always sound, or it is flawed and breaks with a small probability per use."""
    breaks = {"sound": Fraction(0), "flawed": chance}
    return tabulate(
        name="flaw",
        states=["sound", "flawed"],
        actions=["use"],
        observations=["well", "broken"],
        start={"sound": HALF, "flawed": HALF},
        transition=lambda s, _a: {s: 1},
        emission=lambda _a, t: {"well": 1 - breaks[t], "broken": breaks[t]},
        reward=lambda *_: 0,
        discount=None,
    )


def fuse(n: int = 40) -> POMDP:
    """A spark of probability 1e-12 per step: outcomes of long tests underflow."""
    rare = Fraction(1, 10**12)
    return tabulate(
        name="fuse",
        states=range(n + 1),
        actions=["wait"],
        observations=["on", "off"],
        start={0: 1},
        transition=lambda s, _a: {min(s + 1, n): 1},
        emission=lambda _a, t: {"on": rare, "off": 1 - rare} if t < n else {"off": 1},
        reward=lambda s, *_: s,
        discount=None,
    )


def mixture(weight: Fraction) -> POMDP:
    """The third state moves like the first with this weight, else like the second."""
    rows = {
        (0, "l"): (1, 2, 3), (1, "l"): (5, 1, 1), (0, "r"): (2, 2, 1), (1, "r"): (1, 4, 4),
    }  # fmt: skip
    seen = {(0, "l"): 1, (1, "l"): 4, (2, "l"): 7, (0, "r"): 6, (1, "r"): 2, (2, "r"): 5}

    def move(s: int, a: str) -> dict[int, Fraction]:
        if s < 2:
            return {t: Fraction(w, sum(rows[s, a])) for t, w in enumerate(rows[s, a])}
        first, second = move(0, a), move(1, a)
        return {t: weight * first[t] + (1 - weight) * second[t] for t in range(3)}

    return tabulate(
        name="mixture",
        states=range(3),
        actions=["l", "r"],
        observations=["x", "y"],
        start={0: 1},
        transition=move,
        emission=lambda a, t: {"x": Fraction(seen[t, a], 8), "y": 1 - Fraction(seen[t, a], 8)},
        reward=lambda s, *_: s,
        discount=None,
    )
