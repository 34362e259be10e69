"""One exact backup: what pruning may lose is what is added to the bound."""

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.pruning import Effort
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
