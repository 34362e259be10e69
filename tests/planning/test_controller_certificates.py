"""Exact values of controllers: against a value by hand, floats, and damage."""

import json
from fractions import Fraction

import numpy as np
import pytest

from rpsr import FiniteStateController, InputError, ModelError, solve, verify
from rpsr.domains import build
from rpsr.planning import certify_controller, extract_controller


def listening(pomdp):
    """Always the first action: in tiger, listen."""
    after = np.zeros((1, len(pomdp.observations)), dtype=np.int64)
    names = (pomdp.actions, pomdp.observations)
    return FiniteStateController(*names, np.zeros(1, dtype=np.int64), after)


def test_listening_costs_one_at_every_step(tmp_path):
    pomdp = build("tiger")
    made = certify_controller(listening(pomdp), pomdp)
    assert made.value == -1 / (1 - pomdp.record.discount)
    made.save(tmp_path / "c.json.gz")
    assert verify(pomdp, tmp_path / "c.json.gz").controller_value == made.value


@pytest.mark.parametrize("name", ["tiger", "parr", "shuttle", "cheese"])
def test_the_exact_value_is_that_of_floats_up_to_rounding(tmp_path, name):
    pomdp = build(name)
    plan = solve(pomdp, "sarsop")
    controller = extract_controller(plan)
    made = certify_controller(controller, pomdp)
    in_floats = float(controller.vectors(pomdp)[controller.first] @ pomdp.start)
    assert float(made.value) == pytest.approx(in_floats, rel=1e-11)
    assert made.value >= Fraction(plan.lower)
    made.save(tmp_path / "c.json")
    assert verify(pomdp, tmp_path / "c.json").controller_value == made.value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda header, _: header.update(controller_value="-19"),
            "controller_value: the certificate states -19, but proves",
        ),
        (lambda _, line: line["values"][0].__setitem__(0, "-19"), "the value of node 0 at"),
        (
            lambda _, line: line["values"][0].__setitem__(1, None),
            "is missing, but this node and state can occur",
        ),
        (lambda _, line: line.update(actions=[1]), "the value of node 0 at"),
        (lambda _, line: line.update(first=1), "controller, first"),
        (
            lambda _, line: line.update(values=[]),
            "controller, values: expected a list of 1 entries, one for each node",
        ),
        (
            lambda _, line: line.update(values=None),
            "controller, values: expected a list of 1 entries, one for each node",
        ),
        (lambda _, line: line.update(successors=[[0, 1]]), "controller, successors"),
    ],
)
def test_damage_is_named(tmp_path, change, said):
    pomdp = build("tiger")
    path = tmp_path / "c.json"
    certify_controller(listening(pomdp), pomdp).save(path)
    header, line = (json.loads(text) for text in path.read_text().splitlines())
    change(header, line["controller"])
    path.write_text("".join(json.dumps(value) + "\n" for value in (header, line)))
    with pytest.raises(InputError, match=said):
        verify(pomdp, path)


def test_large_ones_and_those_without_a_discount_are_refused():
    pomdp = build("hallway")
    with pytest.raises(ModelError, match="too many for exact arithmetic"):
        certify_controller(extract_controller(solve(pomdp, "sarsop", max_iterations=3)), pomdp)
    tiger = build("tiger").with_discount(1)
    with pytest.raises(ModelError, match="a discount below 1"):
        certify_controller(listening(tiger), tiger)
