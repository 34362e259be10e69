"""One exact backup: what pruning may lose is what is added to the bound."""

import numpy as np
import pytest

from rpsr import POMDP
from rpsr.domains import build
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.pruning import Effort
from rpsr.planning.exact import backup
from rpsr.planning.exact.backup import enumerated, incremental, loss_of
from rpsr.planning.limits import no_limits
from rpsr.planning.value.value_function import ValueFunction


@pytest.mark.parametrize(("name", "tolerance"), [("tiger", 20.0), ("1d", 0.5)])
def test_what_a_backup_loses_is_at_most_its_allowance(name, tolerance):
    """Pruned with a large tolerance, backups lose value, and never more than `loss_of`.

    The exact value is that of all sums of vectors, unpruned up to rounding.
    """
    process = corner_process(build(name).belief_model())
    k = process.k
    never = np.full((1, process.observations), -1, dtype=np.int64)
    nothing = ValueFunction(np.zeros((1, k)), np.zeros(1, dtype=np.int64), never)
    before = enumerated(process, nothing, 0.0, no_limits(), Effort())
    exact = enumerated(process, before, 0.0, no_limits(), Effort())
    pruned = incremental(process, before, tolerance, no_limits(), Effort())
    beliefs = np.random.default_rng(0).dirichlet(np.ones(k), 500)
    lost = float((exact.at(beliefs) - pruned.at(beliefs)).max())
    assert 1e-3 * tolerance < lost <= loss_of(process, tolerance)


def test_filters_that_lose_all_they_may_stay_within_the_allowance(monkeypatch):
    """A filter may lose the tolerance, and as much again by rounding.

    There is one state, so vectors are numbers. The filter here drops all that are within twice the
    tolerance of the largest, but for the smallest of these. The values before are so far apart
    that after each of three observations every filter drops one number.
    """
    tolerance, n_observations = 1.0, 3
    seen = np.full((1, 1, n_observations), 1 / n_observations)
    pomdp = POMDP.from_arrays(np.ones((1, 1, 1)), seen, np.zeros(1), None, 0.5)
    process = corner_process(pomdp.belief_model())

    def worst(values, tolerance, *_):
        numbers = values[:, 0]
        close = numbers >= numbers.max() - 2 * tolerance - 1e-9  # rounding of the numbers
        return np.flatnonzero(~close | (numbers == numbers[close].min()))

    monkeypatch.setattr(backup, "filtered", worst)
    numbers = -2 * tolerance * n_observations / 0.5 * np.arange(20.0)
    successors = np.zeros((20, n_observations), dtype=np.int64)
    before = ValueFunction(numbers[:, None], np.zeros(20, dtype=np.int64), successors)
    after = incremental(process, before, tolerance, no_limits(), Effort())
    lost = -float(after.vectors.max())  # exactly, the best number is 0
    assert lost == pytest.approx(2 * n_observations * 2 * tolerance)
    assert lost <= loss_of(process, tolerance)
