"""Vectors of an earlier run, added to those of a search."""

import numpy as np
from tests.planning.plans import ignore

from rpsr.domains import build
from rpsr.planning.anytime.resuming import add_vectors
from rpsr.planning.anytime.schedule import Schedule
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import Clock
from rpsr.planning.value.value_function import ValueFunction


def test_vectors_that_join_a_search_continue_with_each_other():
    """They are placed after those of the search, and so are their successors."""
    process = corner_process(build("tiger").belief_model())
    state = Schedule(process, Clock(ignore), None, True, 0).state
    before = int(state.graph.counts["vectors"])
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    add_vectors(state, ValueFunction(values, np.array([1, 0]), np.array([[0, 1], [1, 1]])))
    rows = np.array([before, before + 1])
    assert int(state.graph.counts["vectors"]) == before + 2
    first, second = rows.tolist()
    assert state.vectors.choice[rows].tolist() == [[1, first, second], [0, second, second]]
    np.testing.assert_array_equal(state.values_of(rows), values)
