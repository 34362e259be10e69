"""Values that were not computed by a planner, or badly, are proven nevertheless."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr.domains import tabulate
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.proven_worth import worth_at_start


@pytest.mark.parametrize("reward", ["-0.3", "-0.7", "-1/3"])
def test_vectors_of_zeros_prove_no_more_than_the_exact_value(reward):
    """The float of each reward is above the reward, and the vectors are smaller than it."""
    meant = Fraction(reward)
    assert Fraction(float(meant)) > meant
    pomdp = tabulate(
        name="one state",
        states=["s"],
        actions=["a"],
        observations=["o"],
        start={"s": 1},
        transition=lambda s, a: {"s": 1},
        emission=lambda a, s: {"o": 1},
        reward=lambda *step: meant,
        discount=Fraction(1, 2**60),
    )
    process = corner_process(pomdp.belief_model())
    lower = worth_at_start(process, np.zeros((1, 1)), np.array([[0, 0]]), 0)
    value = meant / (1 - Fraction(1, 2**60))
    assert value - Fraction(1, 10**12) <= Fraction(lower) <= value
