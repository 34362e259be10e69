"""Two goal problems of the literature as rules, for `undiscounted.py`.

`grid_4`: the 4x4 grid of Littman, Cassandra and Kaelbling (1995) with a state to avoid; nothing is
observed until the end, and a move fails with probability 0.1. `rocks_12`: RockSample on a 12x12
map with two rocks; the goal is to sample a good rock and then to leave by the east side.
"""

from dataclasses import replace
from fractions import Fraction

from rpsr import POMDP
from rpsr.domains.rules import tabulate

ONE = Fraction(1)


def labelled(pomdp, **labels):
    """The POMDP with labels, each a state's name."""
    named = tuple((name, (pomdp.states.index(state),)) for name, state in labels.items())
    return POMDP(replace(pomdp.record, labels=named))


def grid_4(slip=Fraction(1, 10)):
    """Start anywhere but at the goal, (3, 0), and at the bad state, (1, 1)."""
    goal, bad = (3, 0), (1, 1)
    cells = [(x, y) for x in range(4) for y in range(4)]
    steps = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "south": (0, -1)}

    def move(s, a):
        if s in (goal, bad):
            return {s: ONE}
        there = tuple(min(max(c + d, 0), 3) for c, d in zip(s, steps[a], strict=True))
        return {s: ONE} if there == s else {there: 1 - slip, s: slip}

    grid = tabulate(
        name="grid-4",
        states=cells,
        actions=tuple(steps),
        observations=("dark", "end", "fall"),
        start={s: Fraction(1, 14) for s in cells if s not in (goal, bad)},
        transition=move,
        emission=lambda a, s: {"end" if s == goal else "fall" if s == bad else "dark": ONE},
        reward=lambda s, a, after, seen: 0,
        discount=ONE,
        state_name=lambda s: f"{s[0]},{s[1]}",
    )
    return labelled(grid, goal="3,0", bad="1,1")


def rocks_12(size=12):
    """States: place, whether each rock is good, whether a good one was sampled."""
    rocks = ((size // 2, size // 2), (1, size // 2))
    steps = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
    places = [(x, y) for x in range(1, size + 1) for y in range(1, size + 1)]
    states = ["done", "lost"] + [
        (at, (first, second), got)
        for at in places
        for first in (0, 1)
        for second in (0, 1)
        for got in (0, 1)
    ]

    def move(s, a):
        if isinstance(s, str) or a.startswith("check"):
            return {s: ONE}
        at, good, got = s
        if a == "sample":
            if at not in rocks:
                return {s: ONE}
            which = rocks.index(at)
            left = tuple(0 if i == which else g for i, g in enumerate(good))
            return {(at, left, int(got or good[which])): ONE}
        x, y = at[0] + steps[a][0], at[1] + steps[a][1]
        if x > size:
            return {"done" if got else "lost": ONE}
        return {((max(x, 1), min(max(y, 1), size)), good, got): ONE}

    def see(a, s):
        if isinstance(s, str) or not a.startswith("check"):
            return {"none": ONE}
        (x, y), good, _ = s
        rock = rocks[int(a[-1])]
        away = ((x - rock[0]) ** 2 + (y - rock[1]) ** 2) ** 0.5
        right = Fraction((1 + 2 ** (-away / 20)) / 2).limit_denominator(10**6)
        seen, other = ("good", "bad") if good[int(a[-1])] else ("bad", "good")
        return {seen: right, other: 1 - right} if right < 1 else {seen: ONE}

    made = tabulate(
        name="rocks-12",
        states=states,
        actions=("sample", *steps, "check0", "check1"),
        observations=("none", "good", "bad"),
        start={((1, 1), (i, j), 0): Fraction(1, 4) for i in (0, 1) for j in (0, 1)},
        transition=move,
        emission=see,
        reward=lambda s, a, after, seen: 0,
        discount=ONE,
        state_name=lambda s: s if isinstance(s, str) else f"{s[0][0]},{s[0][1]},{s[1]},{s[2]}",
    )
    return labelled(made, goal="done")
