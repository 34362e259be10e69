"""Damage to certificates of bounds.

A mutation pushes numbers in the direction that would prove more (vectors up, points down, masses
and weights of points up, the floor up), drops vectors or points, or exchanges successors, weights
and actions. The stated bounds are then usually set to what the damaged content would prove if its
inequalities held (`state_content`), so that a missing check shows as a false statement.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from rpsr.certificates.bounds import (
    Scales,
    UpperCheck,
    floor_at_start,
    read_floor,
    read_point,
)
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import Fault, number

Lines = list[tuple[str, Any]]
Mutation = Callable[[random.Random, dict[str, Any], Lines], None]


def content(lines: Lines, kind: str) -> list[Any]:
    """The lines of one kind."""
    return [value for key, value in lines if key == kind]


def _amount(draw: random.Random, scale: int) -> int:
    """A nudge from one unit to several times the scale."""
    return max(1, int(scale * 10 ** draw.uniform(-18, 1)))


def raise_vector(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    vector = draw.choice(content(lines, "vector"))
    by = _amount(draw, header["scales"]["values"])
    some = range(len(vector[2])) if draw.random() < 0.5 else [draw.randrange(len(vector[2]))]
    for s in some:
        vector[2][s] += by


def raise_all_vectors(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    by = _amount(draw, header["scales"]["values"])
    for vector in content(lines, "vector"):
        vector[2] = [value + by for value in vector[2]]


def drop_vector(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    places = [i for i, (kind, _) in enumerate(lines) if kind == "vector"]
    gone = draw.randrange(len(places))
    del lines[places[gone]]
    header["lines"]["vector"] -= 1
    left = max(1, len(places) - 1)
    for vector in content(lines, "vector"):
        vector[1] = [draw.randrange(left) if j == gone else j - (j > gone) for j in vector[1]]


def exchange_successors(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    vectors = content(lines, "vector")
    one, other = draw.choice(vectors), draw.choice(vectors)
    if draw.random() < 0.5:
        one[1], other[1] = other[1], one[1]
    else:
        one[1][draw.randrange(len(one[1]))] = draw.randrange(len(vectors))


def exchange_actions(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    vectors = content(lines, "vector")
    one, other = draw.choice(vectors), draw.choice(vectors)
    one[0], other[0] = other[0], one[0]


def exchange_values(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    items = content(lines, draw.choice(["vector", "point"]))
    one, other = draw.choice(items), draw.choice(items)
    key = "values" if isinstance(one, dict) else 2
    one[key], other[key] = other[key], one[key]


def lower_point(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    point = draw.choice(content(lines, "point"))
    by = _amount(draw, header["scales"]["values"])
    every = draw.random() < 0.5
    some = range(len(point["values"])) if every else [draw.randrange(len(point["values"]))]
    for a in some:
        point["values"][a] = max(0, point["values"][a] - by)


def lower_all_points(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    by = _amount(draw, header["scales"]["values"])
    for point in content(lines, "point"):
        point["values"] = [max(0, value - by) for value in point["values"]]


def drop_point(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    places = [i for i, (kind, _) in enumerate(lines) if kind == "point"]
    gone = draw.randrange(len(places))
    del lines[places[gone]]
    header["lines"]["point"] -= 1

    def left(weights: list[Any]) -> list[Any]:
        return [[j - (j > gone), weight] for j, weight in weights if j != gone]

    for point in content(lines, "point"):
        for a, move in enumerate(point["moves"]):
            if isinstance(move, list):
                point["moves"][a] = left(move)
            else:
                point["moves"][a] = {o: left(weights) for o, weights in move.items()}
    header["start"] = left(header["start"])


def _covers(lines: Lines) -> list[list[Any]]:
    covers: list[list[Any]] = []
    for point in content(lines, "point"):
        for move in point["moves"]:
            covers += [move] if isinstance(move, list) else list(move.values())
    return [cover for cover in covers if cover]


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
    points = content(lines, "point")
    one, other = draw.choice(points), draw.choice(points)
    a, b = draw.randrange(len(one["moves"])), draw.randrange(len(one["moves"]))
    one["moves"][a], other["moves"][b] = other["moves"][b], one["moves"][a]


def widen_belief(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    """More mass for the same numbers covers more."""
    points = [point for point in content(lines, "point") if "belief" in point]
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


MUTATIONS: tuple[Mutation, ...] = (
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
STATEMENTS = (change_statement,)  # after this, nothing is made to fit


def state_content(model: ExactModel, header: dict[str, Any], lines: Lines) -> None:
    """Set the stated bounds to what the content would prove if its inequalities held."""
    scales = Scales(**header["scales"])
    at_start = [
        sum(chance * value for chance, value in zip(model.start, vector[2], strict=True))
        for vector in content(lines, "vector")
    ]
    if at_start:
        header["lower"] = str(Fraction(max(at_start)) / scales.values)
    try:
        listed = content(lines, "point")
        points = [read_point(value, model, len(listed), i) for i, value in enumerate(listed)]
        floor = read_floor(header["floor"], model)
        worth = UpperCheck(model, scales, floor, points).at_start(header["start"])
        header["upper"] = str(worth + floor_at_start(model, scales, floor))
    except (Fault, IndexError):
        return  # the verifier will refuse it
