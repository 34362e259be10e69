"""The exact value of a small controller, with a proof: a linear system solved in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rpsr._version import __version__
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import SCHEMA
from rpsr.errors import ModelError
from rpsr.io.json_lines import write_json_lines
from rpsr.models.pomdp import POMDP
from rpsr.planning.value.controllers import FiniteStateController

MOST_PAIRS = 300  # of a node and a state: fractions grow with their number
MOST_BITS = 13_000  # of a numerator or denominator; a verifier reads 4000 digits

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ControllerCertificate:
    """The exact value of a controller at the start, and what proves it."""

    value: Fraction
    header: dict[str, Any]
    line: dict[str, Any]

    def save(self, path: str | Path) -> int:
        """Write it, compressed if the name ends in `.gz`; returns the bytes of its text."""
        return write_json_lines(path, [self.header, {"controller": self.line}])


def certify_controller(controller: FiniteStateController, pomdp: POMDP) -> ControllerCertificate:
    """The exact value of a controller on a POMDP with a discount below 1.

    A `ModelError` if more than 300 pairs of a node and a state can occur.
    """
    controller.check(pomdp.belief_model())
    model = ExactModel(pomdp.record)
    if model.discount == 1:
        raise ModelError(
            f"{pomdp.name}: the exact value of a controller needs a discount below 1; give one "
            "with pomdp.with_discount"
        )
    rows, earned = _equations(controller, model, pomdp.name)
    values = _solved(rows, earned)
    if max(max(abs(x.numerator), x.denominator).bit_length() for x in values.values()) > MOST_BITS:
        raise ModelError(
            f"{pomdp.name}: the controller's exact values have too many digits for a certificate; "
            "use a controller with fewer nodes"
        )
    value = model.at_start(
        [values.get((controller.first, s), Fraction(0)) for s in range(len(model.states))]
    )
    listed = [
        [str(values[k, s]) if (k, s) in values else None for s in range(len(model.states))]
        for k in range(len(controller))
    ]
    line = {
        "actions": controller.actions.tolist(),
        "successors": [
            [controller.after(k, o) for o in range(len(model.observations))]
            for k in range(len(controller))
        ],
        "first": controller.first,
        "values": listed,
    }
    header = {
        "schema": SCHEMA,
        "version": __version__,
        "model": {"name": pomdp.name, "digest": pomdp.digest},
        "lines": {"controller": 1},
        "controller_value": str(value),
    }
    return ControllerCertificate(value, header, line)


def _equations(
    controller: FiniteStateController, model: ExactModel, name: str
) -> tuple[dict[Pair, dict[Pair, Fraction]], dict[Pair, Fraction]]:
    """Rows of I - discount P over the pairs that can occur, and the rewards there."""
    waiting = [(controller.first, s) for s, chance in enumerate(model.start) if chance]
    rows: dict[Pair, dict[Pair, Fraction]] = {}
    earned: dict[Pair, Fraction] = {}
    while waiting:
        pair = waiting.pop()
        if pair in rows:
            continue
        if len(rows) == MOST_PAIRS:
            raise ModelError(
                f"{name}: more than {MOST_PAIRS} pairs of a node and a state can occur, too many "
                "for exact arithmetic; use a controller with fewer nodes"
            )
        k, s = pair
        action = int(controller.actions[k])
        total, outcomes = model.rows[action][s]
        row = {pair: Fraction(1)}
        for o, target, weight in outcomes:
            following = (controller.after(k, o), target)
            row[following] = row.get(following, 0) - model.discount * Fraction(weight, total)
            waiting.append(following)
        rows[pair], earned[pair] = row, model.rewards[action][s]
    return rows, earned


def _solved(
    rows: dict[Pair, dict[Pair, Fraction]], right: dict[Pair, Fraction]
) -> dict[Pair, Fraction]:
    """The solution of a system that is diagonally dominant: no pivot is 0."""
    order = list(rows)
    for i, pivot in enumerate(order):
        row = rows[pivot]
        for other in order[i + 1 :]:
            below = rows[other]
            factor = below.pop(pivot, None)
            if not factor:
                continue
            factor /= row[pivot]
            for column, entry in row.items():
                if column != pivot:
                    below[column] = below.get(column, Fraction(0)) - factor * entry
            right[other] -= factor * right[pivot]
    values: dict[Pair, Fraction] = {}
    for pivot in reversed(order):
        row = rows[pivot]
        known = sum((row[c] * values[c] for c in row if c in values), Fraction(0))
        values[pivot] = (right[pivot] - known) / row[pivot]
    return values
