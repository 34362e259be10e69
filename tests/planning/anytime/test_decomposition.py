"""The value of a point in the upper bound."""

from types import SimpleNamespace

import numpy as np
import pytest

from rpsr.planning.anytime.decomposition import worth


@pytest.mark.parametrize("best", range(3))
def test_the_worth_of_a_point_is_its_best_q_whichever_action_has_it(best):
    value = np.zeros((2, 2, 3))
    value[0, 1, best] = 7.0
    value[1, 1], value[0, 0] = 9.0, 8.0  # other numbers, another point
    assert worth.py_func(SimpleNamespace(value=value), 1) == 7.0
