"""A growing set of states with lookup by distance."""

import numpy as np
import pytest

from rpsr.planning.reachable import state_set
from rpsr.planning.reachable.state_set import StateTable


@pytest.mark.parametrize("numbers", [state_set.BLOCK, 60])
def test_neighbours_across_a_cell_border_are_found(numbers, monkeypatch):
    monkeypatch.setattr(state_set, "BLOCK", numbers)
    rng = np.random.default_rng(1)
    table = StateTable(np.array([1.0, 0.0, 0.0]), 1e-9)
    states = rng.dirichlet(np.ones(3), 300)
    for i, state in enumerate(states, 1):
        assert table.find(state) == -1
        assert table.add(state) == i
    for i, state in enumerate(states, 1):
        for _ in range(10):
            assert table.find(state + rng.uniform(-1e-9, 1e-9, 3)) == i
            assert table.find(state + 3e-9 * np.sign(rng.normal(size=3))) == -1


@pytest.mark.parametrize("numbers", [state_set.BLOCK, 60])
def test_states_have_the_places_at_which_they_were_added(numbers, monkeypatch):
    monkeypatch.setattr(state_set, "BLOCK", numbers)  # of 3 each: 20 in a block
    states = np.random.default_rng(2).dirichlet(np.ones(3), 75)
    table = StateTable(states[0], 1e-9)
    for state in states[1:]:
        table.add(state)
    assert len(table) == 75
    rows = np.array([74, 0, 19, 20, 39, 20])
    np.testing.assert_array_equal(table[rows], states[rows])
    np.testing.assert_array_equal(table[40], states[40])
    assert table.nbytes >= states.nbytes
