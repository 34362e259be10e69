"""Every planner that has a name keeps what all planners promise."""

import pytest

from rpsr.planning.solve import PLANNER_NAMES, planner_by_name
from rpsr.testing import check_planner


@pytest.mark.parametrize("name", PLANNER_NAMES)
def test_planners_pass_the_public_check(name):
    options = {"q-learning": {"steps": 5_000}}
    check_planner(planner_by_name(name, **options.get(name, {})), tolerance=1e-3)
