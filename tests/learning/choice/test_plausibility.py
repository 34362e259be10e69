"""Whether plans of learned models can be believed: simulated in their own model, and by the log."""

from dataclasses import replace

import pytest

from rpsr.domains.catalogue import build
from rpsr.evaluation import exact_return
from rpsr.learning import choose
from rpsr.learning.choice import plausibility
from rpsr.learning.choice.plausibility import doubt, play_out, simulated_value
from rpsr.planning.planners import planner_by_name, solve
from rpsr.planning.value.policies import AlphaPolicy


def test_a_plan_simulated_in_its_own_model_earns_the_exact_value():
    model = build("tiger").belief_model()
    plan = solve(model, planner_by_name("pbvi"))
    exact = exact_return(model, AlphaPolicy(model, plan.vectors), steps=30)
    found, stderr = simulated_value(plan, model, 3000, 30, 0)
    assert 0.05 < stderr < 0.3
    assert abs(found - exact) <= 4 * stderr


def test_a_value_that_does_not_play_out_is_doubted():
    """By more than what is left after the last step; an honest plan never is."""
    model = build("tiger").belief_model()  # discount 0.95
    plan = solve(model, planner_by_name("pbvi"))
    played, stderr = simulated_value(plan, model, 3000, 100, 0)
    assert doubt(plan, played, 100) == ""
    said = doubt(replace(plan, value=2 * plan.value), played, 100)
    assert f"earns {played:.4g}, not {2 * plan.value:.4g}" in said
    assert doubt(replace(plan, value=1.3 * played), played, 20) == ""  # 0.95^20 is above 0.3
    assert doubt(replace(plan, value=played + 2), played, 100, stderr=1.0) == ""  # by chance
    assert 0 < stderr < 1
    assert choose([model], steps=200).options[0].doubt == ""


def test_without_a_discount_what_is_left_may_be_as_much_again():
    plan = solve(build("tiger").with_discount(None), "vi", horizon=3)
    assert doubt(plan, plan.value / 2, 2) == ""
    assert doubt(plan, -3 * abs(plan.value), 2)


def test_a_plan_that_plays_out_as_promised_is_not_doubted():
    model = build("tiger").belief_model()
    plan = solve(model, "vi")
    played = play_out(plan)
    assert played.doubt == ""
    assert played.steps == 135  # .95^135 < 1e-3 <= .95^134
    assert abs(played.mean - plan.value) <= 4 * played.stderr + 1e-3 * plan.value
    assert play_out(solve(model, "vi", horizon=3)) is None


@pytest.mark.parametrize(
    ("mean", "stderr", "steps", "doubted"),
    [
        (7.0, 0.1, 66, True),  # far off, and sure of it
        (7.0, 1.0, 66, False),  # as far off, but hardly simulated: noise may do that
        (7.0, 0.1, 8, False),  # .9^8 of the value is still to come after so few steps
        (3.0, 0.1, 8, True),  # more than that is missing
    ],
)
def test_a_doubt_knows_how_long_and_how_surely_was_simulated(
    monkeypatch, mean, stderr, steps, doubted
):
    plan = replace(solve(build("tiger").with_discount("0.9"), "qmdp"), value=10.0)
    monkeypatch.setattr(plausibility, "simulated_value", lambda *given: (mean, stderr))
    monkeypatch.setattr(plausibility, "MOST_STEPS", steps)
    played = play_out(plan)
    assert played.steps == steps
    assert bool(played.doubt) is doubted
