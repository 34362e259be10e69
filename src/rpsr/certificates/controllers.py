"""The exact value of a finite-state controller, with a discount below 1.

Node k takes action a and continues with node k(o). Its values v_k(s) satisfy

    v_k(s) = R(s,a) + g sum_{o,s'} D[a,o][s,s'] v_k(o)(s').

Given for a set of pairs (k, s) that contains the pairs that can follow, this equation has one
solution, because g < 1. So numbers that satisfy it are the values, and b0 . v_first is the
controller's value. Pairs outside the set are null.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import Fault, number, whole, whole_list


def check_controller(value: Any, model: ExactModel) -> Fraction:
    """Check a line about a controller; the value at the start."""
    keys = {"actions", "successors", "first", "values"}
    if not isinstance(value, dict) or set(value) != keys:
        raise Fault(f"controller: expected an object with the keys {', '.join(sorted(keys))}")
    if model.discount == 1:
        raise Fault("controller: the model has discount 1, expected a discount below 1")
    if not all(isinstance(value[key], list) for key in ("actions", "successors", "values")):
        raise Fault("controller: expected actions, successors and values to be lists")
    size, n_observations = len(value["actions"]), len(model.observations)
    if not len(value["successors"]) == len(value["values"]) == size:
        raise Fault("controller: expected actions, successors and values of equal length")
    actions = whole_list(value["actions"], "controller, actions", size, below=len(model.actions))
    successors = [
        whole_list(row, "controller, successors", n_observations, below=size)
        for row in value["successors"]
    ]
    values = [_read_values(row, len(model.states), k) for k, row in enumerate(value["values"])]
    for k, (action, after) in enumerate(zip(actions, successors, strict=True)):
        for s, stated in enumerate(values[k]):
            if stated is None:
                continue
            total, row = model.rows[action][s]
            ahead = Fraction(0)
            for o, target, weight in row:
                ahead += weight * _needed(values[after[o]][target], k)
            if stated != model.rewards[action][s] + model.discount * ahead / total:
                raise Fault(f"controller: the value of node {k} at {model.states[s]!r} is wrong")
    first = whole(value["first"], "controller, first", below=size)
    begin = [(s, chance) for s, chance in enumerate(model.start) if chance]
    return sum((chance * _needed(values[first][s], first) for s, chance in begin), Fraction(0))


def _read_values(row: Any, size: int, k: int) -> list[Fraction | None]:
    if not isinstance(row, list) or len(row) != size:
        raise Fault(f"controller, values of node {k}: expected {size} numbers")
    what = f"controller, values of node {k}"
    return [None if entry is None else number(entry, what) for entry in row]


def _needed(value: Fraction | None, k: int) -> Fraction:
    if value is None:
        raise Fault(f"controller: the value of a node that can follow node {k} is missing")
    return value
