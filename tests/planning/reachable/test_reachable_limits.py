"""Planner `reachable` at limits and after Ctrl-C: bounds that hold, and a policy."""

import numpy as np
import pytest

from rpsr import InputError
from rpsr.domains import build
from rpsr.planning.finite_mdp import FiniteProblem
from rpsr.planning.limits import Clock
from rpsr.planning.planners import solve
from rpsr.planning.reachable import reachable_graph
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.reachable.reachable_graph import explore
from rpsr.planning.solution import Status
from rpsr.planning.value.controllers import extract_controller
from rpsr.planning.value.trees import PolicyTree
from rpsr.predictive import rpsr


def interrupting(calls):
    """`explore`'s expansion, interrupted after a number of calls."""
    left = iter(range(calls))

    def expand(self, states, sources, action, observation):
        if next(left, None) is None:
            raise KeyboardInterrupt
        plain(self, states, sources, action, observation)

    plain = reachable_graph._Builder.expand
    return expand


@pytest.mark.parametrize("horizon", [None, 30])
@pytest.mark.parametrize("kind", ["belief", "rpsr"])
@pytest.mark.parametrize("stop", ["states", "time", "memory", "little memory", "interrupt"])
def test_a_limit_leaves_bounds_that_hold_and_a_policy_worth_the_lower_one(
    horizon, kind, stop, monkeypatch
):
    pomdp = build("loadunload").with_discount("0.95")
    model = pomdp.belief_model() if kind == "belief" else rpsr(pomdp)
    truth = solve(model, Reachable(horizon=horizon)).value
    if stop == "interrupt":
        monkeypatch.setattr(reachable_graph._Builder, "expand", interrupting(9))
    shortest = 8 * model.dimension * (horizon or 0)  # bytes of a plan with one tree per step
    limits = {
        "states": {"max_states": 15},
        "time": {"time_limit": 1e-9},
        "memory": {"memory_limit": 8_000 + shortest},
        "little memory": {"memory_limit": 800 + shortest},
        "interrupt": {},
    }
    plan = solve(model, Reachable(horizon=horizon, **limits[stop]))
    expected = {"states": Status.SIZE, "time": Status.TIME, "interrupt": Status.INTERRUPTED}
    assert plan.status is expected.get(stop, Status.MEMORY)
    assert plan.extras["states"] < 26
    assert plan.lower <= truth <= plan.upper
    assert plan.upper - plan.lower > 1e-3
    assert plan.epsilon is None
    if horizon is None:
        assert extract_controller(plan).value(model) == pytest.approx(plan.value, abs=1e-12)
        assert plan.lower == pytest.approx(plan.value, abs=1e-9)
    else:
        assert plan.horizon == len(plan.stages) == horizon
        worth = PolicyTree.of(plan).value(model)
        assert plan.lower <= plan.value <= worth + 1e-12
        if stop != "time":  # without which a value may be no more than a lower bound
            assert plan.value == pytest.approx(worth, abs=1e-12)


def test_more_memory_closes_the_gap_and_a_model_that_does_not_fit_is_refused():
    model = build("loadunload").with_discount("0.95").belief_model()
    gaps = [solve(model, Reachable(memory_limit=size)).gap for size in (2_000, 10_000, 100_000)]
    assert gaps[0] >= gaps[1] > gaps[2]
    assert gaps[2] < 1e-9
    with pytest.raises(InputError, match="read 100 bytes, but the model alone takes 240"):
        solve(model, Reachable(memory_limit=100))


def test_a_partial_graph_marks_what_it_left_open():
    graph = explore(build("paint").belief_model(), limit=50, partial=True)
    assert graph.open.any()
    assert graph.stopped is Status.SIZE
    assert len(graph.states) <= 50
    assert set(graph.edges.source) == set(np.flatnonzero(~graph.open))
    assert (graph.depth[graph.open] == graph.depth.max()).all()
    total = np.zeros((len(graph.states), 4))
    np.add.at(total, (graph.edges.source, graph.edges.action), graph.edges.probability)
    assert np.allclose(total[~graph.open], 1)


@pytest.mark.parametrize("horizon", [None, 6])
def test_ctrl_c_while_the_problem_is_solved_leaves_a_plan(horizon, monkeypatch):
    model, pressed = build("loadunload").with_discount("0.9").belief_model(), []
    plain = FiniteProblem.action_values

    def interrupted(self, *given):
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return plain(self, *given)

    truth = solve(model, Reachable(horizon=horizon)).value
    monkeypatch.setattr(FiniteProblem, "action_values", interrupted)
    plan = solve(model, Reachable(horizon=horizon))
    assert pressed
    assert plan.status is Status.INTERRUPTED
    assert plan.lower <= truth + 1e-9
    assert truth <= plan.upper + 1e-9


def test_a_plan_is_made_in_a_hurry_after_ctrl_c_while_exploring(monkeypatch):
    hurried, plain = [], Clock.hurried
    monkeypatch.setattr(Clock, "hurried", lambda self: hurried.append(1) or plain(self))
    monkeypatch.setattr(reachable_graph._Builder, "expand", interrupting(9))
    plan = solve(build("loadunload").with_discount("0.95"), Reachable())
    assert plan.status is Status.INTERRUPTED
    assert hurried
