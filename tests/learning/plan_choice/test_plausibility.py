"""Whether plans of learned models can be believed: simulated in their own model, and by the log."""

from dataclasses import replace

import numpy as np
import pytest

from rpsr.domains.catalogue import build
from rpsr.evaluation import exact_return
from rpsr.learning import choose
from rpsr.learning.plan_choice import plausibility
from rpsr.learning.plan_choice.plausibility import play_out, simulated_value
from rpsr.models import DenseOperators, LinearModel, Unknown
from rpsr.planning.planners import planner_by_name, solve
from rpsr.planning.value.policies import AlphaPolicy


def chain(discount: float, costs: int = 20) -> LinearModel:
    """A chain: so many states in which the one action costs, then one that pays 1 at every step.

    The costs are such that all rewards together are worth 0 at the start.
    """
    n, left = costs + 1, discount**costs
    moves = np.eye(n, k=1)
    moves[-1, -1] = 1.0
    rewards = np.append(np.full(costs, -left / (1 - left)), 1.0)
    return LinearModel(
        "learned",
        "chain",
        ("go",),
        ("x",),
        np.eye(n)[0],
        DenseOperators(moves[None, None]),
        np.ones(n),
        rewards[:, None],
        discount,
        Unknown(),
        estimator="Test",
    )


class Wrong:
    """A planner whose value at the start is off, but not its value function."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def solve(self, model, _progress):
        plan = solve(model, planner_by_name("pbvi"))
        return replace(plan, value=self.factor * plan.value)


def test_a_plan_simulated_in_its_own_model_earns_the_exact_value():
    model = build("tiger").belief_model()
    plan = solve(model, planner_by_name("pbvi"))
    exact = exact_return(model, AlphaPolicy(model, plan.vectors), steps=30)
    means = [simulated_value(plan, model, 1000, 30, seed) for seed in range(5)]
    stderr = np.std(means, ddof=1) / np.sqrt(len(means))
    assert 0.02 < stderr < 0.3
    assert abs(np.mean(means) - exact) <= 4 * stderr


def test_what_comes_after_the_last_step_is_what_the_plan_promises_there():
    """Costs first, pay later: after 688 or 100 steps most of the pay is still to come."""
    model = chain(0.99)
    (option,) = choose([model]).options
    assert option.solution.value == pytest.approx(0.0, abs=1e-9)
    assert option.doubt == ""
    played = play_out(option.solution, episodes=20)  # all episodes are equal
    assert (played.steps, played.doubt) == (688, "")
    assert played.mean == pytest.approx(0.0, abs=1e-9)
    wrong = replace(option.solution, value=0.5)
    assert play_out(wrong, episodes=20).doubt != ""  # costs are worth 82


def test_choosing_doubts_what_solving_doubts():
    """Not by a simulation of its own, which leaves a third of the value to later steps."""
    model = build("tiger").belief_model().with_discount(0.99)
    for factor, doubted in ((1.0, False), (1.3, True)):
        (option,) = choose([model], planner=Wrong(factor), episodes=5, steps=5).options
        assert option.doubt == play_out(option.solution).doubt
        assert bool(option.doubt) is doubted


def test_a_value_that_does_not_play_out_is_doubted():
    model = build("tiger").belief_model()
    plan = solve(model, planner_by_name("pbvi"))
    said = play_out(replace(plan, value=2 * plan.value))
    earned = f"earns {said.mean:.4g} when simulated in its own model"
    assert f"{earned}, and the planner's value is {2 * plan.value:.4g}" in said.doubt


def test_a_plan_that_plays_out_as_promised_is_not_doubted():
    model = build("tiger").belief_model()
    plan = solve(model, "vi")
    played = play_out(plan)
    assert played.doubt == ""
    assert played.steps == 135  # .95^135 < 1e-3 <= .95^134
    assert abs(played.mean - plan.value) <= 4 * played.stderr
    assert play_out(solve(model, "vi", horizon=3)) is None


@pytest.mark.parametrize(
    ("episodes", "away", "doubted"),
    [
        (1000, 4.0, True),  # far off, and sure of it
        (10, 4.0, False),  # as far off, but hardly simulated: noise may do that
        (1000, 1.0, False),  # within a tenth of the value
    ],
)
def test_a_doubt_depends_on_how_much_was_simulated(episodes, away, doubted):
    plan = solve(build("tiger"), "vi")  # 19.37, with a standard deviation of 34
    wrong = replace(plan, value=play_out(plan, episodes=episodes).mean + away)
    assert bool(play_out(wrong, episodes=episodes).doubt) is doubted


@pytest.mark.parametrize("most", [10, 1000])
def test_a_short_simulation_is_no_excuse(monkeypatch, most):
    """Of ten steps, the value after them is the plan's own, and the rest must fit."""
    monkeypatch.setattr(plausibility, "MOST_STEPS", most)
    plan = solve(chain(0.99), planner_by_name("pbvi"))
    assert play_out(plan, episodes=20).doubt == ""
    assert play_out(replace(plan, value=plan.value - 5), episodes=20).doubt != ""
