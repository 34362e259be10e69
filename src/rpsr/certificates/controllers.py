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
from rpsr.certificates.reading import Fault, items, members, number, whole, whole_list


def check_controller(value: Any, model: ExactModel) -> Fraction:
    """Check a line about a controller; the value at the start."""
    given = members(value, "controller", {"actions", "successors", "first", "values"})
    if model.discount == 1:
        raise Fault("controller: the model has discount 1, expected a discount below 1")
    of, n_observations = "entries, one for each node", len(model.observations)
    size = len(items(given["actions"], "controller, actions", of))
    actions = whole_list(given["actions"], "controller, actions", size, below=len(model.actions))
    successors = [
        whole_list(row, "controller, successors", n_observations, below=size)
        for row in items(given["successors"], "controller, successors", of, size)
    ]
    values: dict[tuple[int, int], Fraction] = {}
    for k, row in enumerate(items(given["values"], "controller, values", of, size)):
        of_node = f"controller, values of node {k}"
        for s, entry in enumerate(items(row, of_node, "numbers", len(model.states))):
            if entry is not None:
                values[k, s] = number(entry, of_node)

    def value_of(k: int, s: int) -> Fraction:
        if (k, s) not in values:
            raise Fault(
                f"controller: the value of node {k} at {model.states[s]!r} is missing, but this "
                "node and state can occur"
            )
        return values[k, s]

    for (k, s), stated in values.items():
        total, row = model.rows[actions[k]][s]
        ahead = sum((w * value_of(successors[k][o], t) for o, t, w in row), Fraction(0))
        if stated != model.rewards[actions[k]][s] + model.discount * ahead / total:
            raise Fault(f"controller: the value of node {k} at {model.states[s]!r} is wrong")
    first = whole(given["first"], "controller, first", below=size)
    begin = [(s, chance) for s, chance in enumerate(model.start) if chance]
    return sum((chance * value_of(first, s) for s, chance in begin), Fraction(0))
