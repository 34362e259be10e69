"""Which vectors are kept: the wanted ones, and successors that none of them can stand in for."""

import numpy as np
import pytest

from rpsr.planning.corners.covering import close


def closed(values, choices, slack, wanted):
    """What `close` returns and marks, interpreted, so that no index out of range goes unnoticed."""
    marked = np.array(wanted)
    return close.plain(np.array(values, dtype=float), np.array(choices), slack, marked), marked


def test_a_successor_is_wanted_unless_a_wanted_vector_stands_in_for_it():
    values = [[5.0, 5.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [9.0, 9.0]]
    choices = [[0, 4, 4], [0, 2, 3], [0, 2, 2], [0, 1, 1], [0, 4, 4]]
    deputy, marked = closed(values, choices, 0.0, [False, True, False, False, False])
    assert marked.tolist() == [False, True, True, True, False]
    assert deputy.tolist() == [-1, 1, 2, 3, -1]  # nothing leads to the first and the last
    deputy, marked = closed(values, choices, 0.5, [False, True, False, False, False])
    assert marked.tolist() == [False, True, True, False, False]
    assert deputy.tolist() == [-1, 1, 2, 1, -1]


@pytest.mark.parametrize("seed", range(20))
def test_wanted_vectors_lead_to_wanted_stand_ins_and_no_others_are_kept(seed):
    rng = np.random.default_rng(seed)
    values, choices = rng.integers(3, size=(8, 2)), rng.integers(8, size=(8, 4))
    first = rng.random(8) < (1.0 if seed == 0 else 0.3)
    deputy, marked = closed(values, choices, 0.0, first)
    assert (marked >= first).all()
    after = np.unique(choices[marked, 1:])
    assert marked[deputy[after]].all()
    assert (values[after] <= values[deputy[after]]).all()
    for new in np.flatnonzero(marked & ~first):
        assert new in after
        assert not (values[new] <= values[first]).all(axis=1).any()
