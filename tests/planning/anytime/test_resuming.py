"""Vectors of an earlier run join those of a search."""

from types import SimpleNamespace

import numpy as np

from rpsr.planning.anytime import resuming
from rpsr.planning.value.value_function import ValueFunction


def test_vectors_that_join_a_search_continue_with_each_other(monkeypatch):
    """They are placed after three vectors and two columns, and so are their successors."""
    monkeypatch.setattr(resuming, "scan", lambda *arguments: None)
    arrays = {"table": np.zeros((9, 2)), "choice": np.zeros((9, 3), int)}
    arrays |= {"column": np.zeros((2, 9)), "origin": np.zeros(9, int)}
    graph = SimpleNamespace(counts={"vectors": 3, "columns": 2})
    state = SimpleNamespace(
        make_room=lambda count: None,
        graph=graph,
        vectors=SimpleNamespace(**arrays),
        knobs=SimpleNamespace(root=0),
    )
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    resuming.add_vectors(state, ValueFunction(values, np.array([1, 0]), np.array([[0, 1], [1, 1]])))
    assert graph.counts == {"vectors": 5, "columns": 4}
    assert arrays["choice"][3:5].tolist() == [[1, 3, 4], [0, 4, 4]]
    assert arrays["origin"][2:4].tolist() == [3, 4]
    np.testing.assert_array_equal(arrays["table"][3:5], values)
    np.testing.assert_array_equal(arrays["column"][:, 2:4], values.T)
