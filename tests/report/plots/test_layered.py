"""Drawings of graphs: layers, and nothing on top of anything else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rpsr.planning import FiniteStateController
from rpsr.report import plot_policy_graph
from rpsr.report.plots.layered import distances, increasing, layered
from rpsr.report.plots.policy_graphs import joined


def random_graph(n, degree, seed):
    """n nodes that node 0 reaches, and some edges between any two."""
    rng = np.random.default_rng(seed)
    edges = {(int(rng.integers(node)), node) for node in range(1, n)}
    edges |= {(int(s), int(t)) for s, t in rng.integers(n, size=(degree * n, 2))}
    widths = rng.uniform(0.2, 1.6, size=len(edges))
    return (
        {node: (0.5 + 0.1 * (node % 3), 0.3) for node in range(n)},
        {edge: (float(w), 0.15) for edge, w in zip(sorted(edges), widths, strict=True)},
    )


def along(line, shares=17):
    """Points of a chain of cubic Bezier curves."""
    t = np.linspace(0, 1, shares)[:, None]
    for k in range(0, len(line) - 1, 3):
        a, b, c, d = line[k : k + 4]
        yield from (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d


def inside(box, point, border=1e-6):
    return (
        box.left + border < point[0] < box.right - border
        and box.bottom + border < point[1] < box.top - border
    )


@given(st.integers(1, 30), st.integers(0, 3), st.integers(0, 10**6))
def test_nothing_overlaps(n, degree, seed):
    nodes, edges = random_graph(n, degree, seed)
    layout = layered(0, nodes, edges)
    assert set(layout.nodes) == set(nodes)
    assert set(layout.labels) == set(layout.lines) == set(edges)
    boxes = [*layout.nodes.values(), *layout.labels.values()]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    for edge, line in layout.lines.items():
        others = [box for other, box in layout.labels.items() if other != edge]
        for point in along(line):
            assert not any(inside(box, point) for box in (*layout.nodes.values(), *others))


@given(st.integers(2, 30), st.integers(0, 3), st.integers(0, 10**6))
def test_layers_are_distances_from_the_start_and_stand_from_left_to_right(n, degree, seed):
    nodes, edges = random_graph(n, degree, seed)
    layout = layered(0, nodes, edges)
    assert layout.layers[0] == 0
    for node in range(1, n):
        before = [s for s, t in edges if t == node and s != node]
        assert layout.layers[node] == 1 + min(layout.layers[s] for s in before)
    for one, other in combinations(nodes, 2):
        if layout.layers[one] < layout.layers[other]:
            assert layout.nodes[one].right < layout.nodes[other].left
        elif layout.layers[one] == layout.layers[other]:
            assert layout.nodes[one].x == layout.nodes[other].x


@given(st.integers(2, 30), st.integers(0, 3), st.integers(0, 10**6))
def test_lines_join_their_nodes_and_pass_their_labels(n, degree, seed):
    nodes, edges = random_graph(n, degree, seed)
    layout = layered(0, nodes, edges)
    for (source, target), line in layout.lines.items():
        for node, (x, y) in ((source, line[0]), (target, line[-1])):
            box = layout.nodes[node]
            on_side = any(np.isclose(x, side) for side in (box.left, box.right))
            on_top = source == target and np.isclose(y, box.top)
            assert box.bottom <= y <= box.top + 1e-9
            assert on_side or on_top
        label = layout.labels[source, target]
        near = min(
            np.hypot(max(abs(x - label.x) - label.width / 2, 0), abs(y - label.y))
            for x, y in along(line)
        )
        assert near < 0.2


def test_edges_back_to_one_node_share_their_track():
    # 0 -> 1 -> 2 -> 3 -> 4, and 3 and 4 return to 0.
    edges = dict.fromkeys([(0, 1), (1, 2), (2, 3), (3, 4), (3, 0), (4, 0)], (0.4, 0.15))
    layout = layered(0, dict.fromkeys(range(5), (0.5, 0.3)), edges)
    near, far = (layout.lines[source, 0] for source in (3, 4))
    assert np.array_equal(near[-10:], far[-10:])  # from column to column up to the first node
    forward = layout.lines[0, 1]
    assert forward[0, 0] == layout.nodes[0].right < layout.nodes[1].left == forward[-1, 0]
    assert far[0, 0] == layout.nodes[4].left
    assert far[-1, 0] == layout.nodes[0].right


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=7), st.integers(0, 99))
def test_increasing_numbers_are_the_nearest(values, seed):
    weights = np.random.default_rng(seed).uniform(0.5, 3, len(values))
    wanted = np.array(values, dtype=float)
    nearest = increasing(wanted, weights)
    assert (np.diff(nearest) >= 0).all()
    oracle = minimize(
        lambda y: weights @ (y - wanted) ** 2,
        np.sort(wanted),
        constraints={"type": "ineq", "fun": np.diff} if len(values) > 1 else (),
        method="SLSQP",
    )
    assert weights @ (nearest - wanted) ** 2 <= oracle.fun + 1e-6


def test_unreached_nodes_have_no_distance():
    assert distances(0, [(0, 1), (1, 0), (2, 0)]) == {0: 0, 1: 1}


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["a"], "a"),
        (["left", "right"], "left, right"),
        ([f"o{i}" for i in range(40)], "o0, o1, o2, o3 and 36 others"),
        (["a" * 20, "b" * 10], "aaaaaaaaaaaaaaa… and 1 other"),
        (["wall-" * 8], "wall-wall-wall-wall-wall-wa…"),
        (["a" * 12, "b" * 12, "c" * 12], "aaaaaaaaaaaa and 2 others"),
    ],
)
def test_many_observations_are_counted(names, label):
    assert joined(names) == label
    assert len(label) <= 28


def test_drawn_texts_of_thirty_nodes_keep_apart():
    n, o = 30, 5
    rng = np.random.default_rng(3)
    successors = rng.integers(n, size=(n, o))
    successors[:, 0] = (np.arange(n) + 1) % n  # all are reached
    controller = FiniteStateController(
        ("north", "east-north-east", "w"),
        tuple(f"observation {i}" for i in range(o)),
        rng.integers(3, size=n),
        successors,
    )
    figure = plot_policy_graph(controller)
    axes = figure.axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    drawn = len({(s, int(t)) for s in range(n) for t in successors[s]})
    assert len(boxes) == n + 1 + drawn  # one label for all observations between two nodes
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    whole = figure.bbox
    assert all(whole.x0 <= b.x0 and b.x1 <= whole.x1 for b in boxes)
    assert all(whole.y0 <= b.y0 and b.y1 <= whole.y1 for b in boxes)
    ids = [artist.get_gid() for artist in (*axes.patches, *axes.texts) if artist.get_gid()]
    assert len(ids) == len(set(ids)) == 2 * n + 2 * drawn
