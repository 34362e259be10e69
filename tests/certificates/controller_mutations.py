"""Damage to certificates of controllers: values raised or lowered, successors, actions exchanged.

The stated value is then usually set to what the damaged values say of the start (`state_content`),
so that a missing check shows as a false statement.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from tests.certificates.bound_mutations import Lines, Mutation, content

from rpsr.certificates.exact_model import ExactModel


def _line(lines: Lines) -> dict[str, Any]:
    return content(lines, "controller")[0]


def _nudge(draw: random.Random) -> Fraction:
    return draw.choice([-1, 1]) * Fraction(10) ** draw.randint(-30, 2) * draw.randint(1, 9)


def _shifted(entry: str | None, by: Fraction) -> str | None:
    return None if entry is None else str(Fraction(entry) + by)


def shift_value(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    row = draw.choice(_line(lines)["values"])
    s = draw.randrange(len(row))
    row[s] = _shifted(row[s], _nudge(draw))


def shift_all_values(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    """Lower by the same everywhere, each value is below what its equation makes of the others."""
    line, by = _line(lines), _nudge(draw)
    line["values"] = [[_shifted(entry, by) for entry in row] for row in line["values"]]


def drop_value(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    row = draw.choice(_line(lines)["values"])
    row[draw.randrange(len(row))] = None


def exchange_values(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    values = _line(lines)["values"]
    one, other = draw.randrange(len(values)), draw.randrange(len(values))
    values[one], values[other] = values[other], values[one]


def exchange_successors(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    after = _line(lines)["successors"]
    one, other = draw.randrange(len(after)), draw.randrange(len(after))
    if draw.random() < 0.5:
        after[one], after[other] = after[other], after[one]
    else:
        after[one][draw.randrange(len(after[one]))] = other


def exchange_actions(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    actions = _line(lines)["actions"]
    actions[draw.randrange(len(actions))] = draw.choice(actions)


def change_first(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    line = _line(lines)
    line["first"] = draw.randrange(len(line["actions"]))


def change_statement(draw: random.Random, header: dict[str, Any], lines: Lines) -> None:
    header["controller_value"] = str(Fraction(header["controller_value"]) + _nudge(draw))


MUTATIONS: tuple[Mutation, ...] = (
    shift_value,
    shift_all_values,
    drop_value,
    exchange_values,
    exchange_successors,
    exchange_actions,
    change_first,
    change_statement,
)
STATEMENTS = (change_statement,)  # after this, nothing is made to fit


def state_content(model: ExactModel, header: dict[str, Any], lines: Lines) -> None:
    """State what the values say of the start, if all that count are given."""
    line = _line(lines)
    row = line["values"][line["first"]]
    at_start = [(chance, row[s]) for s, chance in enumerate(model.start) if chance]
    if all(value is not None for _, value in at_start):
        value = sum(chance * Fraction(value) for chance, value in at_start)
        header["controller_value"] = str(value)
