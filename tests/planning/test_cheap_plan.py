"""An interrupt in a planner's set-up leaves a plan between cheap bounds."""

import pytest
from tests.planning.plans import ignore

from rpsr.domains import build
from rpsr.planning.planners import PLANNER_NAMES, planner_by_name
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import extract_controller

TIGER = build("tiger").belief_model()
BEST = 19.3713683


@pytest.fixture(autouse=True)
def _interrupted(monkeypatch):
    """Every planner is interrupted as soon as it begins."""

    def interrupt(*_):
        raise KeyboardInterrupt

    for name in PLANNER_NAMES:
        monkeypatch.setattr(type(planner_by_name(name)), "plan", interrupt)


@pytest.mark.parametrize("name", PLANNER_NAMES)
def test_every_planner_has_a_plan_when_interrupted_at_once(name):
    plan = planner_by_name(name).solve(TIGER, ignore)
    assert (plan.status, plan.planner) == (Status.INTERRUPTED, name)
    assert plan.lower <= BEST <= plan.upper
    assert extract_controller(plan).value(TIGER) >= plan.lower


def test_where_nothing_is_cheap_the_interrupt_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        planner_by_name("vi", horizon=3).solve(TIGER, ignore)
