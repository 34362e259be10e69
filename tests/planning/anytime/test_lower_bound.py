"""Vectors in use: their columns are those vectors, and nodes find the best of them."""

import numpy as np
import pytest

from rpsr.domains import build
from rpsr.planning import SARSOP, solve
from rpsr.planning.anytime import lower_bound, schedule
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import no_limits


def test_after_pruning_columns_are_vectors_and_nodes_find_the_best(monkeypatch):
    moved, lost = [], []

    def prune(graph, vectors):
        oldest = vectors.origin[0]
        lower_bound.prune(graph, vectors)
        used = vectors.origin[: graph.counts["columns"]]
        values = vectors.values[vectors.first[used][:, None] + np.arange(len(vectors.column))]
        np.testing.assert_array_equal(vectors.column[:, : len(used)].T, values)
        moved.append(vectors.origin[0] != oldest)
        for i in range(graph.counts["nodes"]):
            node = graph.node[i]
            lost.append(node["vector"] < 0)
            at = slice(node["begin"], node["begin"] + node["length"])
            best = (values[:, graph.corner[at]] @ graph.share[at]).max()
            assert lower_bound.scan(graph, vectors, i) == pytest.approx(best, rel=1e-12)

    monkeypatch.setattr(schedule, "prune", prune)
    solve(build("4x3"), SARSOP(max_iterations=30))
    assert any(moved)  # a column was dropped before those that remain
    assert any(lost)  # the vector of some node was dropped


def test_a_backup_adds_a_vector_only_where_it_raises_the_bound():
    process = corner_process(build("4x3").belief_model())
    search = schedule.Schedule(process, no_limits(), 1e-3, selective=False, seed=0)
    search.sample()
    state, raises = search.state, []
    for p in np.flatnonzero(state.graph.point["first"] > 0).tolist():
        for _ in range(20):
            state.make_room()
            graph, vectors = state.graph, state.vectors
            i, had = int(graph.point[p]["node"]), int(graph.counts["vectors"])
            before = lower_bound.scan(graph, vectors, i)
            raised = lower_bound.backup(graph, state.moves, vectors, p, state.knobs)
            assert graph.counts["vectors"] == had + raised
            assert (graph.bound[i]["lower"] > before) == raised
            raises.append(raised)
            if not raised:
                break
    assert any(raises)
    assert not all(raises)
