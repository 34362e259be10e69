"""The model at its corners: bounds allow for rounding, also of corners that were merged."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr import POMDP
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.planners import solve
from rpsr.predictive import rpsr


@pytest.mark.parametrize("deviation", [110, -110])
@pytest.mark.parametrize("reward", [1.0, -1.0])
def test_bounds_allow_for_the_rows_of_all_corners_that_were_merged(deviation, reward):
    """Rows of 120 floats sum to 1 up to 110 u, and are meant divided; an R-PSR has one state."""
    row = np.full(120, 1 / 120) * (1 + deviation * 2.0**-53)
    assert abs(float(sum(map(Fraction, row.tolist())) - 1)) > 100 * 2.0**-53
    moves, shown = np.tile(row, (1, 120, 1)), np.ones((1, 120, 1))
    rewards, start = np.full((1, 120), reward), np.full(120, 1 / 120)
    pomdp = POMDP.from_arrays(moves, shown, rewards, start, discount=0.999)
    model, value = rpsr(pomdp), Fraction(reward) / (1 - Fraction(0.999))
    assert model.dimension == 1
    assert corner_process(model).k == 1
    for planner in ("vi", "reachable"):
        plan = solve(model, planner)
        assert Fraction(plan.lower) <= value <= Fraction(plan.upper), planner


def test_the_discount_of_a_process_is_never_below_the_model_s():
    # Sums of rows are computed; the rows that are meant sum to one.
    row = np.full((1, 7, 7), 1 / 7 - 2.0**-56)
    pomdp = POMDP.from_arrays(row, np.ones((1, 7, 1)), np.eye(1, 7), discount=0.999)
    assert corner_process(pomdp.belief_model()).discount >= 0.999
