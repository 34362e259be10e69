"""The diagnosis of a model by a log: means per step."""

import numpy as np
import pytest

from rpsr.learning.diagnostics import diagnose
from rpsr.logs import Trajectories
from rpsr.models import DenseOperators, LinearModel, Unknown


@pytest.mark.parametrize("steps", [1, 4, 40])
def test_negative_mass_is_a_mean_and_does_not_grow_with_the_log(steps):
    """One state that predicts x with 1.25 and y with -0.25, at every step."""
    operators = np.array([1.25, -0.25]).reshape(1, 2, 1, 1)
    one = np.ones(1)
    model = LinearModel(
        "learned",
        "negative",
        ("a",),
        ("x", "y"),
        one,
        DenseOperators(operators),
        one,
        np.zeros((1, 1)),
        0.9,
        Unknown(),
    )
    log = Trajectories(("a",), ("x", "y"), [0] * steps, [0] * steps, [0, steps], [False])
    assert diagnose(model, log).negative_mass == pytest.approx(0.25, rel=1e-12)
