"""Figures show what they are given: their artists are read back, not their pixels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rpsr
from rpsr.errors import DataError, InputError, ModelError
from rpsr.logs import Trajectories
from rpsr.planning import FiniteStateController, ProgressRow, ValueIteration, solve
from rpsr.report import (
    plot_bounds,
    plot_convergence,
    plot_corridor,
    plot_policy_graph,
    plot_predictions,
    plot_reconstruction,
    plot_returns,
    plot_simplex,
    plot_states,
    plot_trajectory,
    plot_value_function,
    svg_text,
)
from rpsr.report.plots.values import envelope, region, undominated


@pytest.fixture(scope="module")
def measured(loadunload):
    return rpsr.accuracy(loadunload)


def texts(axes):
    return [text.get_text() for text in axes.texts]


# ---- value functions

values = st.integers(-20, 20).map(float)


@given(arrays(float, st.tuples(st.integers(1, 6), st.just(2)), elements=values))
def test_the_envelope_is_the_maximum(vectors):
    pieces = envelope(vectors)
    assert pieces[0][1] == 0
    assert pieces[-1][2] == 1
    for (_, _, end), (_, begin, _) in pairwise(pieces):
        assert end == begin
    for k, low, high in pieces:
        assert low <= high
        for x in (low, (low + high) / 2, high):
            at = np.array([1 - x, x])
            assert vectors[k] @ at == pytest.approx((vectors @ at).max(), abs=1e-9)


@given(arrays(float, st.tuples(st.integers(1, 5), st.just(3)), elements=values))
def test_regions_share_out_the_triangle(vectors):
    corner = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    total = 0.0
    for k in range(len(vectors)):
        polygon = region(vectors, k)
        if len(polygon) == 0:
            continue
        best = (polygon @ vectors.T).max(axis=1)
        assert polygon @ vectors[k] == pytest.approx(best, abs=1e-9)
        x, y = (polygon @ corner).T
        total += abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
    assert total == pytest.approx(0.5)


def test_a_value_function_needs_two_or_three_corners(loadunload):
    with pytest.raises(ModelError, match="10 corners"):
        plot_value_function(solve(loadunload, ValueIteration(horizon=1)))


def test_the_segment_shows_the_actions_of_the_plan():
    tiger = rpsr.load_pomdp("tiger")
    figure = plot_value_function(solve(tiger, ValueIteration(horizon=2)), tiger.states)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    # With two steps to go, listening is best in the middle and doors at the ends, in this order.
    assert names == ["open-right", "listen", "open-left"]


@given(arrays(float, st.tuples(st.integers(1, 8), st.just(3)), elements=values))
def test_dominated_vectors_are_not_missed(vectors):
    kept = undominated(vectors)
    points = np.random.default_rng(0).dirichlet(np.ones(3), size=40)
    assert (points @ vectors[kept].T).max(axis=1) == pytest.approx((points @ vectors.T).max(axis=1))
    assert len(np.unique(vectors[kept], axis=0)) == len(kept)


def test_a_simplex_of_three_chosen_states_shows_the_best_actions_there():
    grid = rpsr.load_pomdp("4x3")
    plan = solve(grid, "pbvi", max_iterations=8)
    chosen = grid.states[4], grid.states[0], grid.states[8]
    axes = plot_simplex(plan, chosen, corners=grid).axes[0]
    corners = [text.get_text().split("\n") for text in axes.texts]
    assert [name for name, _ in corners] == list(chosen)
    at = [4, 0, 8]
    tops = plan.vectors[:, at].max(axis=0)
    assert [value for _, value in corners] == [f"{top:.4g}" for top in tops]
    shown = {text.get_text() for text in axes.get_legend().get_texts()}
    points = np.random.default_rng(0).dirichlet(np.ones(3), size=500)
    best = plan.actions[(points @ plan.vectors[:, at].T).argmax(axis=1)]
    assert {grid.actions[a] for a in best} <= shown


def test_beliefs_are_dots_where_they_are_among_the_three_states():
    grid = rpsr.load_pomdp("4x3")
    plan = solve(grid, "pbvi", max_iterations=2)
    beliefs = np.zeros((3, len(grid.states)))
    beliefs[0, 1] = 1
    beliefs[1, [0, 1, 5]] = 0.25, 0.25, 0.5  # half of it elsewhere
    beliefs[2, 6] = 1  # none of it here
    axes = plot_simplex(plan, (0, 1, 2), beliefs=beliefs).axes[0]
    (dots,) = [collection for collection in axes.collections if len(collection.get_offsets())]
    assert dots.get_offsets().tolist() == [[1.0, 0.0], [0.5, 0.0]]
    full, half = dots.get_sizes()
    assert half == full / 2


@pytest.mark.parametrize(
    ("states", "beliefs", "message"),
    [
        ((), None, "read none of 11 states, expected three different"),
        ((0, 1), None, "read 2, expected three different"),
        ((0, 1, 1), None, "read 2, expected three different"),
        (("nowhere", 1, 2), None, "a plan has no names of states; give corners, the POMDP"),
        ((0, 1, 2), [[0.5, 0.5]], r"beliefs: read shape \(1, 2\), expected \(m, 11\)"),
        ((0, 1, 2), [[2, -1, *[0] * 9]], "rows of probabilities that sum to 1"),
    ],
)
def test_a_simplex_needs_three_states_and_whole_beliefs(states, beliefs, message):
    plan = solve(rpsr.load_pomdp("4x3"), "pbvi", max_iterations=1)
    with pytest.raises(InputError, match=message):
        plot_simplex(plan, states, beliefs=beliefs)


# ---- policy graphs

TWO = FiniteStateController(
    ("right", "left"),
    ("loading", "unloading", "travel"),
    np.array([0, 1]),
    np.array([[0, 1, 0], [0, 1, 1]]),
)


def test_a_policy_graph_names_actions_and_observations(loadunload):
    axes = plot_policy_graph(TWO, loadunload.belief_model()).axes[0]
    shown = texts(axes)
    assert sorted(shown) == sorted(
        ["right", "left", "loading", "unloading", "travel", "travel", "start"]
    )


def test_a_graph_of_too_many_nodes_is_refused():
    n = 40
    chain = FiniteStateController(("a",), ("o",), np.zeros(n, int), (np.arange(n)[:, None] + 1) % n)
    with pytest.raises(ModelError, match="reaches 40 nodes"):
        plot_policy_graph(chain)


# ---- rewards


def test_the_heat_map_holds_the_three_matrices(loadunload, measured):
    figure = plot_reconstruction(loadunload, measured)
    maps = [axes.collections[0].get_array().reshape(10, 2) for axes in figure.axes[:3]]
    assert np.array_equal(maps[0], loadunload.R)
    assert np.array_equal(maps[1], measured.reconstruction)
    assert np.array_equal(maps[2], measured.reconstruction - loadunload.R)
    assert len({axes.collections[0].get_clim() for axes in figure.axes[:3]}) == 1


def test_the_corridor_has_the_papers_numbers_on_its_edges(loadunload, measured):
    shown = texts(plot_corridor(loadunload, measured.reconstruction).axes[0])
    assert shown.count("1 (1/2)") == 4
    assert shown.count("0 (1/2)") == 4
    with pytest.raises(ModelError, match="is not a state of it"):
        plot_corridor(rpsr.load_pomdp("tiger"), np.zeros((2, 3)))


# ---- planning, returns, trajectories


def test_convergence_and_bounds_draw_their_rows():
    rows = (
        ProgressRow(0.1, 1, lower=-1.0, upper=0.0, gap=1.0),
        ProgressRow(0.2, 2, lower=-0.5, upper=-0.4, gap=0.1, residual=0.05),
    )
    line = plot_convergence({"x": rows}).axes[0].lines[0]
    assert line.get_xydata().tolist() == [[1, 1.0], [2, 0.1]]
    line = plot_convergence({"x": rows}, quantity="residual").axes[0].lines[0]
    assert line.get_xydata().tolist() == [[2, 0.05]]
    lower, _, upper, _ = plot_bounds({"x": rows}).axes[0].lines
    assert lower.get_xydata().tolist() == [[0.1, -1.0], [0.2, -0.5]]
    assert upper.get_xydata().tolist() == [[0.1, 0.0], [0.2, -0.4]]  # a bound of zero is a bound
    with pytest.raises(InputError, match="at least one"):
        plot_convergence({})


def test_traces_come_from_solutions():
    tiger = rpsr.load_pomdp("tiger")
    solution = solve(tiger, ValueIteration(epsilon=1e-2))
    line = plot_convergence({"tiger": solution}).axes[0].lines[0]
    assert line.get_ydata().tolist() == [row.gap for row in solution.trace]


@dataclass
class Return:
    policy: str
    model: str
    mean: float
    stderr: float | None
    exact: float | None


def test_returns_have_their_intervals():
    figure = plot_returns([Return("p", "m", 1.0, 0.5, 1.25), Return("q", "m", 2.0, None, None)])
    axes = figure.axes[0]
    bars = [bar for c in axes.containers for bar in c[2][0].get_segments()]
    assert [bar[:, 0].tolist() for bar in bars] == [
        pytest.approx([1 - 1.96 * 0.5, 1 + 1.96 * 0.5], abs=1e-4),
        [2.0, 2.0],
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["p", "q"]
    with pytest.raises(InputError, match="at least one"):
        plot_returns([])


def test_a_trajectory_shows_the_filters_states(loadunload):
    models = {"b": loadunload.belief_model(), "p": rpsr.psr(loadunload)}
    figure = plot_trajectory(models, [("left", "loading"), (0, "travel")], states=loadunload.states)
    strip = figure.axes[0].collections[0].get_array().reshape(10, 3)
    assert strip[:, 0].tolist() == loadunload.start.tolist()
    assert strip[:, 1].tolist() == pytest.approx([0.75, 0.25] + [0.0] * 8)
    assert strip[:, 2].tolist() == pytest.approx([0.0, 0.0, 1.0] + [0.0] * 7)
    true, believed = (line.get_ydata().tolist() for line in figure.axes[2].lines)
    assert true == pytest.approx([0.2, 0.25])
    assert believed == pytest.approx([0.2, 0.5])
    with pytest.raises(InputError, match="at least one"):
        plot_trajectory(models, [])


@pytest.fixture(scope="module")
def log():
    return Trajectories(
        action_names=("right", "left"),
        observation_names=("loading", "unloading", "travel"),
        actions=[1, 1, 0],
        observations=[0, 0, 2],
        offsets=[0, 1, 3],
        terminated=[False, False],
        rewards=[0.5, 0.0, 1.0],
    )


def test_states_along_an_episode_are_the_filters(loadunload, log):
    figure = plot_states({"b": loadunload, "p": rpsr.psr(loadunload)}, log, 1)
    strip, core, rewards = figure.axes[:3]
    table = strip.collections[0].get_array().reshape(10, 3)
    assert table[:, 1].tolist() == pytest.approx([0.75, 0.25] + [0.0] * 8)
    assert [label.get_text() for label in strip.get_yticklabels()] == list(loadunload.states)
    names = [label.get_text() for label in core.get_yticklabels()]
    assert names == list(rpsr.psr(loadunload).core)
    assert rewards.lines[-1].get_ydata().tolist() == [0.0, 1.0]  # received in this episode
    ticks = [label.get_text() for label in rewards.get_xticklabels()]
    assert ticks == ["start", "left\nloading", "right\ntravel"]
    assert figure.get_suptitle() == "episode 1"


def test_a_long_episode_is_cut_and_says_so(loadunload, log):
    figure = plot_states(loadunload, log, 1, most=1)
    assert figure.get_suptitle() == "episode 1, first 1 of 2 steps"
    assert figure.axes[0].collections[0].get_array().reshape(10, -1).shape == (10, 2)


def test_states_need_an_episode_of_the_models_names(loadunload, log):
    with pytest.raises(InputError, match="episode: read 2, expected 0 to 1"):
        plot_states(loadunload, log, 2)
    with pytest.raises(InputError, match="most: read 0"):
        plot_states(loadunload, log, most=0)
    with pytest.raises(DataError, match="the log's actions are right, left; those of belief are"):
        plot_states(rpsr.load_pomdp("tiger"), log)
    with pytest.raises(InputError, match="at least one model"):
        plot_states({}, log)


def test_no_global_state_is_left(loadunload, measured):
    def settings():
        return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}

    before = settings()
    svg_text(plot_reconstruction(loadunload, measured))
    assert settings() == before
    from matplotlib import _pylab_helpers

    assert not _pylab_helpers.Gcf.figs


def test_the_users_style_does_not_change_a_figure(loadunload, measured):
    plain = svg_text(plot_reconstruction(loadunload, measured))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "figure.dpi": 37}):
        assert svg_text(plot_reconstruction(loadunload, measured)) == plain


# ---- predictions


def test_a_narrow_heat_map_has_the_worst_states_in_three_rows():
    pomdp = rpsr.load_pomdp("iff")
    measured = rpsr.accuracy(pomdp)
    axes = plot_reconstruction(pomdp, measured, stacked=True).axes
    lefts = {round(panel.get_position().x0, 3) for panel in axes[:3]}
    assert len(lefts) == 1
    shown = [label.get_text() for label in axes[2].get_yticklabels()]
    errors = dict(
        zip(pomdp.states, np.abs(pomdp.R - measured.reconstruction).max(axis=1), strict=True)
    )
    assert len(shown) == 24
    others = [errors[state] for state in pomdp.states if state not in shown]
    assert min(errors[state] for state in shown) >= max(others) - 1e-9


def test_a_matrix_of_predictions_shows_them_all(loadunload):
    histories = ["ε", "left loading", "left loading, right travel"]
    axes = plot_predictions(loadunload, histories, ["ε; left", "right travel"]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == histories
    columns = [label.get_text() for label in axes.get_xticklabels()]
    assert columns == ["right travel", "ε; left"]  # tests first
    shown = [text.get_text() for text in axes.texts]
    # At the start every state is equally likely: 6 of 10 move right onto travel, 2 of 10 are paid.
    assert shown == ["0.6", "0.2", "1", "0.25", "1", "0"]
    with pytest.raises(InputError, match="at least one history"):
        plot_predictions(loadunload, [], ["ε; left"])
