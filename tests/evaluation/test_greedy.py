"""Greedy policies as controllers: only what can happen is computed, and not too much of it."""

from fractions import Fraction

import numpy as np
import pytest
from tests.planning.lottery import lottery

from rpsr.domains import build
from rpsr.evaluation import greedy
from rpsr.models import LinearModel
from rpsr.planning import AlphaPolicy


def always(name, action):
    """The policy of one action at every belief."""
    model = build(name).belief_model()
    return AlphaPolicy(model, np.zeros((1, model.dimension)), actions=np.array([action]))


@pytest.fixture
def moves(monkeypatch):
    """The numbers of states in each call of `LinearModel.moved`."""
    sizes = []
    moved = LinearModel.moved

    def counted(self, states, action, observation):
        sizes.append(len(states))
        return moved(self, states, action, observation)

    monkeypatch.setattr(LinearModel, "moved", counted)
    return sizes


def test_impossible_observations_cost_nothing(moves):
    table = greedy.tabulate(always("loadunload", 0))
    assert table is not None
    possible = (table.successors[:, 0] >= 0).sum()
    assert 0 < possible < len(table) * len(table.observation_names)
    assert sum(moves) == possible


def test_a_large_model_has_few_nodes(moves, monkeypatch):
    policy = always("hallway", 1)
    monkeypatch.setattr(greedy, "LIMIT_NUMBERS", 10 * policy.model.dimension)
    assert greedy.tabulate(policy) is None
    assert sum(moves) <= 10 * len(policy.model.observations)


def test_actions_are_those_of_each_state_even_if_states_repeat():
    model = build("tiger").belief_model()
    policy = AlphaPolicy(model, np.array([[-100.0, 10.0], [-1.0, -1.0], [10.0, -100.0]]))
    beliefs = np.random.default_rng(0).dirichlet([0.3, 0.3], size=40)
    states = np.vstack([beliefs, [[0.0, 1.0], [-0.0, 1.0]], beliefs[::-1]])
    expected = [policy.action_at(state) for state in states]
    assert greedy.greedy_actions(policy, states, 0).tolist() == expected
    assert len(greedy._distinct(states)[0]) == 41


@pytest.mark.parametrize("rare", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_a_rare_observation_has_a_node(rare):
    model = lottery(rare).belief_model()
    table = greedy.tabulate(AlphaPolicy(model, np.zeros((1, 2)), actions=np.array([0])))
    assert table is not None
    assert table.successors[:, 0].tolist() == [[0, 1], [-1, 1]]
