"""Damage certificates so that they might state something false, and count what the verifier says.

    python -m tests.certificates.mutations --seed 0 --count 100000 tiger parr 4x3
    python -m tests.certificates.mutations --count 1000 tiger --horizon 4

A mutation pushes numbers in the direction that would prove more (vectors up, points down, masses
and weights of points up, the floor up), drops vectors or points, or exchanges successors, weights
and actions. Then the stated bounds are usually set to what the damaged content would prove if its
inequalities held, so that a missing check shows as a false statement. The model's hash is kept.

A much longer search proves a narrow interval for the optimal value. A statement is true if it
contains that interval, false if it excludes it, and otherwise undecided.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from rpsr import POMDP, certify, load_pomdp, solve
from rpsr.certificates.bounds import (
    Scales,
    UpperCheck,
    floor_at_start,
    read_floor,
    read_point,
)
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import Fault, number
from rpsr.certificates.verifier import check
from rpsr.models.timed import timed

Lines = list[tuple[str, Any]]


class Intact(NamedTuple):
    """A verified certificate: the model, its header, its lines, and an interval for the value."""

    model: ExactModel
    header: dict[str, Any]
    lines: Lines
    lower: Fraction
    upper: Fraction


def intact(pomdp: POMDP, loose: float, narrow: float, time_limit: float = 20) -> Intact:
    """The certificate of a plan with a loose gap, and the interval of one with a narrow gap."""
    plan, better = (
        solve(pomdp, "sarsop", epsilon=epsilon, time_limit=time_limit, keep_points=True)
        for epsilon in (loose, narrow)
    )
    made, closer = certify(plan), certify(better)
    model = ExactModel(pomdp.record)
    header, listed = json.loads(json.dumps([made.header, made.lines]))  # as read from a file
    lines = [(kind, value) for kind, value in listed]
    found = check(model, header, lines)
    assert found.lower is not None
    assert found.upper is not None
    assert closer.upper is not None
    return Intact(model, header, lines, Fraction(closer.lower), Fraction(closer.upper))


def _of(lines: Lines, kind: str) -> list[Any]:
    return [value for key, value in lines if key == kind]


def _amount(draw: random.Random, scale: int) -> int:
    """A nudge from one unit to several times the scale."""
    return max(1, int(scale * 10 ** draw.uniform(-18, 1)))


def raise_vector(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    vector = draw.choice(_of(lines, "vector"))
    by = _amount(draw, header["scales"]["values"])
    some = range(len(vector[2])) if draw.random() < 0.5 else [draw.randrange(len(vector[2]))]
    for s in some:
        vector[2][s] += by


def raise_all_vectors(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    by = _amount(draw, header["scales"]["values"])
    for vector in _of(lines, "vector"):
        vector[2] = [value + by for value in vector[2]]


def drop_vector(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    places = [i for i, (kind, _) in enumerate(lines) if kind == "vector"]
    gone = draw.randrange(len(places))
    del lines[places[gone]]
    header["lines"]["vector"] -= 1
    left = max(1, len(places) - 1)
    for vector in _of(lines, "vector"):
        vector[1] = [draw.randrange(left) if j == gone else j - (j > gone) for j in vector[1]]


def exchange_successors(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    vectors = _of(lines, "vector")
    one, other = draw.choice(vectors), draw.choice(vectors)
    if draw.random() < 0.5:
        one[1], other[1] = other[1], one[1]
    else:
        one[1][draw.randrange(len(one[1]))] = draw.randrange(len(vectors))


def exchange_actions(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    vectors = _of(lines, "vector")
    one, other = draw.choice(vectors), draw.choice(vectors)
    one[0], other[0] = other[0], one[0]


def exchange_values(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    items = _of(lines, draw.choice(["vector", "point"]))
    one, other = draw.choice(items), draw.choice(items)
    key = "values" if isinstance(one, dict) else 2
    one[key], other[key] = other[key], one[key]


def lower_point(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    point = draw.choice(_of(lines, "point"))
    by = _amount(draw, header["scales"]["values"])
    every = draw.random() < 0.5
    some = range(len(point["values"])) if every else [draw.randrange(len(point["values"]))]
    for a in some:
        point["values"][a] = max(0, point["values"][a] - by)


def lower_all_points(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    by = _amount(draw, header["scales"]["values"])
    for point in _of(lines, "point"):
        point["values"] = [max(0, value - by) for value in point["values"]]


def drop_point(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    places = [i for i, (kind, _) in enumerate(lines) if kind == "point"]
    gone = draw.randrange(len(places))
    del lines[places[gone]]
    header["lines"]["point"] -= 1

    def left(weights: list[Any]) -> list[Any]:
        return [[j - (j > gone), weight] for j, weight in weights if j != gone]

    for point in _of(lines, "point"):
        for a, move in enumerate(point["moves"]):
            if isinstance(move, list):
                point["moves"][a] = left(move)
            else:
                point["moves"][a] = {o: left(weights) for o, weights in move.items()}
    header["start"] = left(header["start"])


def _covers(lines: Lines) -> list[list[Any]]:
    found: list[list[Any]] = []
    for point in _of(lines, "point"):
        for move in point["moves"]:
            found += [move] if isinstance(move, list) else list(move.values())
    return [cover for cover in found if cover]


def change_weights(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    covers = _covers(lines) or [[[0, 1]]]
    cover = draw.choice(covers)
    i = draw.randrange(len(cover))
    j, weight = cover[i]
    by = _amount(draw, header["scales"]["model"])
    kind = draw.randrange(3)
    if kind == 0:
        cover[i] = [j, max(0, weight - by)]
    elif kind == 1:
        cover[i] = [j, weight + by]
    else:
        cover[i] = [draw.randrange(header["lines"]["point"]), weight]


def exchange_moves(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    points = _of(lines, "point")
    one, other = draw.choice(points), draw.choice(points)
    a, b = draw.randrange(len(one["moves"])), draw.randrange(len(one["moves"]))
    one["moves"][a], other["moves"][b] = other["moves"][b], one["moves"][a]


def widen_belief(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    """More mass for the same numbers covers more."""
    points = [point for point in _of(lines, "point") if "belief" in point]
    if not points:
        return
    belief = draw.choice(points)["belief"]
    i = draw.randrange(len(belief))
    s, mass = belief[i]
    belief[i] = [
        s,
        max(0, mass + draw.choice([-1, 1, 1]) * _amount(draw, header["scales"]["beliefs"])),
    ]


def change_scale(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    name = draw.choice(["model", "values", "beliefs"])
    by = Fraction(draw.choice([1, 2, 3, 99, 101]), draw.choice([1, 2, 3, 100]))
    header["scales"][name] = max(1, int(header["scales"][name] * by))


def change_floor(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    by = _amount(draw, header["scales"]["values"]) * draw.choice([-1, 1])
    floor = header["floor"]
    if isinstance(floor, list) and draw.random() < 0.5:
        floor[draw.randrange(len(floor))] += by
    elif isinstance(floor, list):
        header["floor"] = [value + by for value in floor]
    else:
        header["floor"] = floor + by


def change_statement(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    by = Fraction(10 ** draw.uniform(-15, 2))
    which = draw.choice(["lower", "upper"])
    stated = number(header[which], which)
    header[which] = str(stated + by if which == "lower" else stated - by)


MUTATIONS: tuple[Callable[[random.Random, dict[str, Any], Lines], None], ...] = (
    raise_vector,
    raise_all_vectors,
    drop_vector,
    exchange_successors,
    exchange_actions,
    exchange_values,
    lower_point,
    lower_all_points,
    drop_point,
    change_weights,
    exchange_moves,
    widen_belief,
    change_scale,
    change_floor,
    change_statement,
)


def state_content(model: ExactModel, header: dict[str, Any], lines: Lines) -> None:
    """Set the stated bounds to what the content would prove if its inequalities held."""
    scales = Scales(**header["scales"])
    at_start = [
        sum(chance * value for chance, value in zip(model.start, vector[2], strict=True))
        for vector in _of(lines, "vector")
    ]
    if at_start:
        header["lower"] = str(Fraction(max(at_start)) / scales.values)
    try:
        listed = _of(lines, "point")
        points = [read_point(value, model, len(listed), i) for i, value in enumerate(listed)]
        floor = read_floor(header["floor"], model)
        worth = UpperCheck(model, scales, floor, points).at_start(header["start"])
        header["upper"] = str(worth + floor_at_start(model, scales, floor))
    except (Fault, IndexError):
        return  # the verifier will refuse it


def verdict(whole: Intact, draw: random.Random) -> tuple[str, str]:
    """The name of a mutation, and refused, true, undecided or false."""
    header, lines = copy.deepcopy(whole.header), copy.deepcopy(whole.lines)
    chosen = [draw.choice(MUTATIONS) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
    if not _of(lines, "vector"):
        return "none", "refused"
    for mutate in chosen:
        if _of(lines, "vector") and _of(lines, "point"):
            mutate(draw, header, lines)
    if change_statement not in chosen and draw.random() < 0.8:
        state_content(whole.model, header, lines)
    name = chosen[0].__name__ if len(chosen) == 1 else "several"
    try:
        found = check(whole.model, header, lines)
    except Fault:
        return name, "refused"
    lower, upper = found.lower, found.upper
    assert lower is not None
    assert upper is not None
    if lower > whole.upper or upper < whole.lower:
        return name, "false"
    return name, "true" if lower <= whole.lower and upper >= whole.upper else "undecided"


def count(whole: Intact, number_of: int, seed: int) -> Counter[tuple[str, str]]:
    """How often each mutation ended how."""
    draw = random.Random(seed)
    return Counter(verdict(whole, draw) for _ in range(number_of))


def main() -> int:
    """Count, print a table, and return 1 if a false statement was accepted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", nargs="+", type=str)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="of mutations, for each source")
    parser.add_argument("--horizon", type=int, help="a number of steps, without a discount")
    options = parser.parse_args()
    total: Counter[tuple[str, str]] = Counter()
    for source in options.sources:
        pomdp = load_pomdp(source, normalize=Path(source).exists())
        if options.horizon is not None:
            pomdp = timed(pomdp.with_discount(1), options.horizon)
        whole = intact(pomdp, 1e-2, 1e-9)
        found = count(whole, options.count, options.seed)
        total += found
        ends = Counter[str]()
        for (_, end), times in found.items():
            ends[end] += times
        print(
            f"{source}: {dict(ends)}; interval {float(whole.upper - whole.lower):.2g}", flush=True
        )
    ends = ("refused", "true", "undecided", "false")
    print(f"{'mutation':22}" + "".join(f"{end:>11}" for end in ends))
    for name in sorted({name for name, _ in total}):
        print(f"{name:22}" + "".join(f"{total[name, end]:>11}" for end in ends))
    print(
        f"{'all':22}"
        + "".join(
            f"{sum(times for (_, end), times in total.items() if end == one):>11}" for one in ends
        )
    )
    return 1 if any(end == "false" for _, end in total) else 0


if __name__ == "__main__":
    sys.exit(main())
