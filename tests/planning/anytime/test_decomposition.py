"""The value of a point in the upper bound."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from rpsr.domains import build
from rpsr.planning import SARSOP, solve
from rpsr.planning.anytime import lower_bound, schedule
from rpsr.planning.anytime.belief_graph import Scratch
from rpsr.planning.anytime.decomposition import decompose, worth


@pytest.mark.parametrize("best", range(3))
def test_the_worth_of_a_point_is_its_best_q_whichever_action_has_it(best):
    value = np.zeros((2, 2, 3))
    value[0, 1, best] = 7.0
    value[1, 1], value[0, 0] = 9.0, 8.0  # other numbers, another point
    assert worth.py_func(SimpleNamespace(value=value), 1) == 7.0


def test_a_decomposition_is_as_good_as_the_best_by_linear_programming(monkeypatch):
    above = []

    def compared(graph, vectors):
        nodes, k = int(graph.counts["nodes"]), len(vectors.column)
        scratch = Scratch(np.zeros(0), np.zeros(0, np.int64), np.full(k, -1), np.zeros(0))
        beliefs = np.zeros((nodes, k))
        for i, (begin, length) in enumerate(graph.node[["begin", "length"]][:nodes].tolist()):
            at = slice(begin, begin + length)
            beliefs[i, graph.corner[0, at]] = graph.share[0, at]
        points = np.array([*range(k), *graph.pool[: graph.counts["pool"]]])
        columns = beliefs[graph.point["node"][points]].T
        cost = graph.value[0, points].max(axis=1)
        between = graph.node["point"][:nodes] < 0  # other nodes have a value of their own
        for i in np.flatnonzero(between & (graph.node["length"][:nodes] > 1))[::5].tolist():
            best = linprog(cost, A_eq=columns, b_eq=beliefs[i]).fun
            above.append(decompose(graph, scratch, i, 50, 1e-12) / best - 1)
        lower_bound.prune(graph, vectors)

    monkeypatch.setattr(schedule, "prune", compared)
    monkeypatch.setattr(schedule, "GREEDY_SHARE", 0.0)  # drawn observations: more degenerate ones
    solve(build("4x3"), SARSOP(max_iterations=30))
    assert len(above) > 20
    # Weights by points that have left the pool may be better than any program of those in it; a
    # degenerate vertex may end the search for weights early.
    assert np.mean(np.array(above) < 1e-12) > 0.95
    assert max(above) < 1e-3
