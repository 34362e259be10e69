"""The value of a point in the upper bound."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from rpsr import POMDP
from rpsr.domains import build
from rpsr.planning import SARSOP, solve
from rpsr.planning.anytime import lower_bound, schedule
from rpsr.planning.anytime.belief_graph import SIGN_BITS, Scratch
from rpsr.planning.anytime.decomposition import decompose, worth
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import no_limits


@pytest.mark.parametrize("best", range(3))
def test_the_worth_of_a_point_is_its_best_q_whichever_action_has_it(best):
    value = np.zeros((2, 2, 3))
    value[0, 1, best] = 7.0
    value[1, 1], value[0, 0] = 9.0, 8.0  # other numbers, another point
    assert worth.py_func(SimpleNamespace(value=value), 1) == 7.0


def test_a_decomposition_is_as_good_as_the_best_by_linear_programming(monkeypatch):
    above = []

    def compared(searched, vectors):
        graph = with_room_for_weights(searched)
        nodes, k = int(graph.counts["nodes"]), len(vectors.column)
        scratch = Scratch(np.zeros(0), np.zeros(0, np.int64), np.full(k, -1), np.zeros(0))
        beliefs = np.zeros((nodes, k))
        for i, (begin, length) in enumerate(graph.node[["begin", "length"]][:nodes].tolist()):
            at = slice(begin, begin + length)
            beliefs[i, graph.corner[at]] = graph.share[at]
        points = np.array([*range(k), *graph.pool[: graph.counts["pool"]]])
        columns = beliefs[graph.point["node"][points]].T
        cost = graph.value[0, points].max(axis=1)
        between = graph.node["point"][:nodes] < 0  # other nodes have a value of their own
        for i in np.flatnonzero(between & (graph.node["length"][:nodes] > 1))[::5].tolist():
            best = linprog(cost, A_eq=columns, b_eq=beliefs[i]).fun
            above.append(decompose(graph, scratch, i, 50, 1e-12) / best - 1)
        lower_bound.prune(searched, vectors)

    monkeypatch.setattr(schedule, "prune", compared)
    monkeypatch.setattr(schedule, "GREEDY_SHARE", 0.0)  # drawn observations: more degenerate ones
    solve(build("4x3"), SARSOP(max_iterations=30))
    assert len(above) > 20
    # Weights by points that have left the pool may be better than any program of those in it; a
    # degenerate vertex may end the search for weights early.
    assert np.mean(np.array(above) < 1e-12) > 0.95
    assert max(above) < 1e-3


def with_room_for_weights(graph):
    """A copy in which every node can get weights of its own."""
    copy = type(graph)(*(array.copy() for array in graph))
    more = int(graph.node["length"][: graph.counts["nodes"]].sum())
    return copy._replace(
        corner=np.append(copy.corner, np.zeros(more, np.int32)),
        share=np.append(copy.share, np.zeros(more)),
    )


@pytest.mark.parametrize(
    ("name", "trials"), [("4x3", 60), ("rock-sample:n=4,k=4", 60), ("hallway", 10)]
)
def test_sums_over_corners_are_those_of_the_weights(name, trials, monkeypatch):
    """Sums that are kept are above today's by less than what counts as a fall of the corners."""
    checked, tighten = [], schedule.Schedule.tighten

    def watched(search):
        tighten(search)
        lower, upper = search.bounds
        scale = np.abs(search.state.graph.value[0]).max()
        over = list(excesses(search.state.graph))
        # Rounding from below; from above, corners may have fallen by this without being noticed.
        assert min(over, default=0.0) >= -1e-13 * scale
        assert max(over, default=0.0) <= 1e-2 * (upper - lower) + 1e-13 * scale
        checked.extend(over)

    monkeypatch.setattr(schedule.Schedule, "tighten", watched)
    solve(build(name), SARSOP(max_iterations=trials))
    assert len(checked) > 100


def excesses(graph):
    """By how much the sums over corners that are kept exceed those of today's values."""
    for i in np.flatnonzero(graph.node["point"][: graph.counts["nodes"]] < 0).tolist():
        held, inner, count = graph.node[["held", "corners", "weights"]][i].tolist()
        among, weights = (array[held : held + count] for array in (graph.corner, graph.share))
        assert (among[:inner] < len(graph.of)).all()
        assert (among[inner:] >= len(graph.of)).all()
        if graph.node["fallen"][i] == graph.counts["fallen"]:
            over = graph.corner_sum[i] - weights[:inner] @ graph.value[0, among[:inner]]
            yield from over.tolist()


@pytest.mark.parametrize(("shares", "bound"), [((0.25, 0.75), -2 / 3), ((1.0, 0.0), 0.0)])
def test_a_point_bounds_only_beliefs_that_it_is_a_part_of(shares, bound):
    """Corners are worth 0, and one point -1; the belief is half corner 0 and half corner 1.

    It is 2/3 of (1/4, 3/4) and a corner. Of the other point it could be a part only if corners 0
    and `SIGN_BITS`, which share a bit, were one.
    """
    k = SIGN_BITS + 2
    still = POMDP.from_arrays(np.eye(k)[None], np.ones((1, k, 1)), np.zeros((k, 1)), discount=0.5)
    process = corner_process(still.belief_model())
    state = schedule.Schedule(process, no_limits(), 1e-3, selective=False, seed=0).state
    halves, mixture = np.zeros(k), np.zeros(k)
    halves[:2], mixture[:2] = 0.5, shares
    if shares[1] == 0:
        mixture[[0, SIGN_BITS]] = 0.25, 0.75
    i, point = state._node(halves, 0.0), state._open(state._node(mixture, 0.0))
    graph, counts = state.graph, state.graph.counts
    place = graph.pool[: counts["pool"]].tolist().index(point)
    graph.value[0, : counts["points"]] = 0.0
    graph.value[0, point], graph.gain[place] = -1.0, 1.0
    graph.bound["upper"][i] = 0.0
    assert decompose.plain(graph, state.scratch, i, 5, 1e-9) == pytest.approx(bound, abs=1e-12)
