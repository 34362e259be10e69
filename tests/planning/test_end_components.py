"""End components, beside an enumeration of all sets of states and actions."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from rpsr.planning.end_components import end_components, leading_to, surely_reaching


def by_enumeration(targets, k):
    """Unions of all end components: targets[a][s] are the states that action a may lead to."""
    sets = []
    for size in range(1, k + 1):
        for states in map(set, combinations(range(k), size)):
            stays = {(a, s) for a in range(len(targets)) for s in states if targets[a][s] <= states}
            if any(all((a, s) not in stays for a in range(len(targets))) for s in states):
                continue
            reach = {s: {s} for s in states}
            for _ in range(k):
                for a, s in stays:
                    reach[s] |= targets[a][s]
                    for t in list(reach[s]):
                        reach[s] |= reach[t]
            if all(reach[s] == states for s in states):
                sets.append((frozenset(states), stays))
    return [
        (states, stays) for states, stays in sets if not any(states < other for other, _ in sets)
    ]


@given(st.data())
def test_they_are_those_of_the_definition(data):
    k, n_actions = 4, 2
    subsets = st.sets(st.integers(0, k - 1), min_size=1, max_size=3)
    targets = [[data.draw(subsets) for _ in range(k)] for _ in range(n_actions)]
    rows = [(a * k + s, t) for a in range(n_actions) for s in range(k) for t in targets[a][s]]
    row, column = np.array(rows).T
    parts = (np.ones(len(rows)), (row, column))
    moves = sp.csr_array(sp.coo_array(parts, shape=(n_actions * k, k)))
    component, inside = end_components(moves, n_actions)
    components = {
        frozenset(np.flatnonzero(component == c).tolist())
        for c in np.unique(component[inside.any(axis=0)])
    }
    expected = by_enumeration(targets, k)
    assert components == {states for states, _ in expected}
    pairs = {pair for _, stays in expected for pair in stays}
    assert {tuple(pair) for pair in np.argwhere(inside).tolist()} == pairs
    outside = [s for s in range(k) if not inside[:, s].any()]
    assert len({component[s] for s in outside}) == len(outside)


def corridor(k, kind=sp.csr_array):
    """Two actions: one leads to the next state with probability .9, the other stays."""
    ahead = sp.diags_array([np.append(np.full(k - 1, 0.1), 1), np.full(k - 1, 0.9)], offsets=[0, 1])
    return kind(sp.vstack([ahead, sp.eye_array(k)]))


@given(st.data())
def test_states_that_lead_to_a_set(data):
    k, n_actions = 5, 2
    moves = np.array(data.draw(st.lists(st.sampled_from([0, 0, 1]), min_size=50, max_size=50)))
    moves = moves.reshape(n_actions * k, k)
    target = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=10, max_size=10))).reshape(2, k)
    step = (moves.reshape(n_actions, k, k) * allowed[:, :, None]).any(axis=0)
    paths = np.linalg.matrix_power(np.eye(k, dtype=int) + step, k) > 0
    expected = (paths & target).any(axis=1)
    leads = leading_to(sp.csr_array(moves.astype(float)), target, allowed)
    assert leads.tolist() == expected.tolist()


def test_long_corridors_are_passed_once():
    class Counting(sp.csr_array):
        products = 0

        def __matmul__(self, other):
            Counting.products += 1
            return super().__matmul__(other)

    k = 300
    target = np.arange(k) == k - 1
    assert leading_to(corridor(k, Counting), target).all()
    assert Counting.products == 0
    assert surely_reaching(corridor(k), 2, target).all()
