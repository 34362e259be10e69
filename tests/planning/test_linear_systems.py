"""Values of a fixed policy: the parts of the solvers, against numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from rpsr.planning import linear_systems
from rpsr.planning.limits import Clock
from rpsr.planning.linear_systems import BOUT, factorised, iterated


@pytest.fixture
def system():
    """Discounted moves (n, n), rewards (n,) and values (n,)."""
    rng = np.random.default_rng(0)
    moves = 0.9 * rng.dirichlet(np.ones(30), size=30)
    rewards = rng.normal(size=30)
    return moves, rewards, np.linalg.solve(np.eye(30) - moves, rewards)


def test_a_bout_of_sweeps_is_the_sum_of_the_first_powers(system):
    moves, rewards, _ = system
    step = linear_systems._sweeps(lambda v: v - moves @ v, rewards)
    powers = [np.linalg.matrix_power(moves, i) @ rewards for i in range(BOUT)]
    np.testing.assert_allclose(step, np.sum(powers, axis=0), rtol=1e-12)


@pytest.mark.parametrize("large", [False, True])
def test_bouts_end_at_the_solution(system, large, monkeypatch):
    moves, rewards, values = system
    monkeypatch.setattr(linear_systems, "LARGE", 0 if large else 100)
    solution, converged = iterated(
        moves.__matmul__, rewards, Clock(lambda row: None), np.zeros_like(rewards)
    )
    assert converged
    np.testing.assert_allclose(solution, values, rtol=1e-10)


def test_a_refined_factorisation_is_the_solution_to_the_last_digits(system):
    moves, rewards, values = system
    np.testing.assert_allclose(factorised(sp.csr_array(moves), rewards), values, rtol=1e-13)
