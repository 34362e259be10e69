"""The compiled loops: tables that hold what they were given, and episodes as written in Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.oracle import random_table
from tests.models.builders import pomdps
from tests.models.test_terminal import loop
from tests.strategies import few

from rpsr import episodic
from rpsr.evaluation import kernels
from rpsr.evaluation.systems import HiddenStates
from rpsr.models.operators import entries_of
from rpsr.models.terminal import final_observations

ROWS = st.lists(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=30), min_size=1, max_size=6)


@given(ROWS)
def test_an_alias_table_holds_its_probabilities(rows):
    indptr = np.cumsum([0, *map(len, rows)])
    weights = np.concatenate(rows)
    keep, other = kernels.alias_tables(indptr, weights)
    for row, first, last in zip(rows, indptr[:-1], indptr[1:], strict=True):
        held = np.zeros(len(row))
        for i in range(first, last):
            held[i - first] += keep[i]
            held[other[i] - first] += 1 - keep[i]
        assert ((keep[first:last] >= 0) & (keep[first:last] <= 1)).all()
        expected = np.array(row) * len(row) / np.sum(row)
        assert np.abs(held - expected).max() <= 1e-14 * len(row) ** 2


@given(ROWS)
@settings(max_examples=few(20))
def test_alias_tables_uncompiled(rows):
    indptr = np.cumsum([0, *map(len, rows)])
    compiled = kernels.alias_tables(indptr, np.concatenate(rows))
    plain = kernels.alias_tables.py_func(indptr, np.concatenate(rows))
    assert all(np.array_equal(a, b) for a, b in zip(compiled, plain, strict=True))


@given(
    pomdps() | st.just(episodic(loop())),  # which ends
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.booleans(),
)
@settings(max_examples=few(25))
def test_episodes_uncompiled(pomdp, seed, nodes, holes):
    system, table = HiddenStates(pomdp), random_table(seed, pomdp, nodes)
    successors = table.successors.copy()
    if holes:
        successors[0, :, 0] = -1
    logs, lengths = [], []
    for run in (kernels.episodes, kernels.episodes.py_func):
        log = np.zeros((4, 9, 5), dtype=np.int64)
        steps = run(
            np.random.default_rng(seed),
            system.outcomes,
            final_observations(pomdp),
            table.cumulative,
            successors,
            table.first,
            log,
        )
        logs.append(log)
        lengths.append(steps)
    assert np.array_equal(*logs)
    assert np.array_equal(*lengths)


@given(pomdps(), st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
@settings(max_examples=few(15))
def test_a_walk_uncompiled(pomdp, seed, nodes, holes):
    table, n = random_table(seed, pomdp, nodes), len(pomdp.states)
    entries = entries_of(pomdp.belief_model().operators.as_process())
    row = entries.action * n + entries.row
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(len(pomdp.actions) * n + 1))
    parts = entries.observation[order], entries.column[order], entries.value[order]
    successors = table.successors.copy()
    if holes:
        successors[0, :, 0] = -1
    shares = np.random.default_rng(seed).dirichlet(np.ones(nodes * n)).reshape(nodes, n)
    results = []
    for run in (kernels.walk, kernels.walk.py_func):
        after = np.zeros_like(shares)
        lost = run(kernels.Steps(indptr, *parts), table.probabilities, successors, shares, after)
        results.append((*lost, after))
        assert holes or (lost[0] == 0 and after.sum() == pytest.approx(1))
    assert results[0][:3] == results[1][:3]
    assert np.array_equal(results[0][3], results[1][3])
