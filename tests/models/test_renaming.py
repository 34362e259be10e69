"""Models in another order of names."""

import pytest

import rpsr
from rpsr.models.renaming import renamed


def test_an_r_psr_in_another_order_is_planned_on_as_before():
    model = rpsr.rpsr(rpsr.load("tiger"))
    other = renamed(model, model.actions[::-1], model.observations[::-1])
    plan = rpsr.solve(other, "sarsop", epsilon=1e-6)
    expected = rpsr.solve(model, "sarsop", epsilon=1e-6)
    assert plan.lower == pytest.approx(expected.lower, abs=1e-6)
    assert plan.upper == pytest.approx(expected.upper, abs=1e-6)
