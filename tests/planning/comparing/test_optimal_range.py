"""The ends of a range of optimal policies, on a graph that is known exactly."""

import numpy as np

from rpsr.domains import build
from rpsr.planning.comparing.optimal_range import _Ends
from rpsr.planning.finite_mdp import FiniteProblem
from rpsr.planning.reachable.reachable_graph import explore


def test_an_end_pays_for_the_error_of_every_step():
    """One reward at every step, and one error: both are sums over the infinite horizon."""
    graph = explore(build("loadunload").belief_model(), steps=None)
    assert not graph.open.any()
    shape = len(graph.states), len(graph.model.actions)
    everywhere = np.ones(shape, dtype=np.bool_)
    ends = _Ends(graph, np.full(shape, 2.0), everywhere, np.full(shape, 0.25), 0.9)
    nothing = np.empty(0)
    for sign, pay, per_step in ((1, 1, 2.225), (-1, 1, -1.775), (1, -1, 1.775), (-1, -1, -2.225)):
        end = ends.most(sign, nothing, pay)
        assert abs(end - per_step / (1 - 0.9)) < 1e-9
        assert pay * (end - per_step / (1 - 0.9)) >= -1e-12


def test_an_end_pays_for_values_that_are_not_optimal_yet(monkeypatch):
    """Values that are too low by 1 everywhere; the second action has no reward."""
    graph = explore(build("loadunload").belief_model(), steps=None)
    shape = len(graph.states), len(graph.model.actions)
    rewards = np.zeros(shape)
    rewards[:, 0] = 2.0
    everywhere = np.ones(shape, dtype=np.bool_)
    ends = _Ends(graph, rewards, everywhere, np.zeros(shape), 0.9)
    optimum = FiniteProblem.optimum
    monkeypatch.setattr(FiniteProblem, "optimum", lambda self: (optimum(self)[0] - 1, None))
    assert abs(ends.most(1, np.empty(0)) - 20) < 1e-9
