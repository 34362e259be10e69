"""Plans do not rely on rarely tried actions; predictions are unchanged."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learning.worlds import simulate, uniform_log

import rpsr
from rpsr.errors import InputError
from rpsr.learning import DiscoveredRPSR, SpectralPSR, SpectralRPSR, choose, filtered, learn
from rpsr.learning.caution import Caution, known_share, worst
from rpsr.learning.moments.survey import Survey
from rpsr.planning.value.value_function import action_values

ESTIMATORS = {
    "spectral": SpectralRPSR(rank=4, discount=0.95),
    "psr": SpectralPSR(rank=4, discount=0.95),
    "discovered": DiscoveredRPSR(rank=4, discount=0.95, repeats=0),
}


def lucky(times, pay=10.0, episodes=60):
    """A log of load/unload in which a third action was taken a number of times and always paid."""
    _, log = uniform_log("loadunload", episodes, 20, seed=2)
    rng = np.random.default_rng(2)
    early = np.flatnonzero(np.arange(log.steps) % 20 < 16)  # what comes after is logged, too
    at = rng.choice(early, times, replace=False)
    actions, rewards = log.actions.copy(), log.rewards.copy()
    actions[at], rewards[at] = 2, pay
    return replace(
        log,
        action_names=(*log.action_names, "jump"),
        actions=actions,
        rewards=rewards,
        propensities=None,
    )


def planned(estimator, log):
    """The value of a plan, and how often it jumps where the log went."""
    plan = choose([estimator.fit(log).model_], episodes=1, steps=1).solution
    states = filtered(plan.model, log, states=True).states
    return plan.value, (action_values(plan.model, states, plan.vectors).argmax(axis=1) == 2).mean()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_plan_rests_on_luck_only_if_it_came_often(name):
    """Load/unload is worth 4.5 at most; 10 at every step would be worth 200."""
    value, jumps = planned(replace(ESTIMATORS[name]), lucky(1))
    assert value < 20
    assert jumps == 0
    assert planned(replace(ESTIMATORS[name]), lucky(200)) == (pytest.approx(200), 1)
    believer = replace(ESTIMATORS[name]).set_params(enough=0)
    assert planned(believer, lucky(1))[0] == pytest.approx(200)  # what caution is for


def test_what_was_never_tried_is_no_hope_either():
    value, jumps = planned(replace(ESTIMATORS["spectral"]), lucky(0))
    assert value < 20
    assert jumps == 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_caution_is_for_planning_and_changes_nothing_else(name):
    log, held = lucky(1), lucky(4, episodes=20)
    careful = replace(ESTIMATORS[name]).fit(log)
    careless = replace(ESTIMATORS[name]).set_params(enough=0).fit(log)
    one, other = (vars(estimator.judge(held)) for estimator in (careful, careless))
    assert {k: v for k, v in one.items() if k != "calibration"} == {
        k: v for k, v in other.items() if k != "calibration"
    }
    np.testing.assert_array_equal(careful.fitted_.rewards, careless.model_.rewards)
    np.testing.assert_array_equal(careful.model_.emissions, careless.model_.emissions)
    np.testing.assert_array_equal(careful.model_.start, careless.model_.start)
    state = careful.model_.filter()
    for action, seen in ((0, 0), (1, 1), (0, 0)):
        fitted = careful.fitted_.expected_rewards(state.state)
        expected = careful.model_.expected_rewards(state.state)
        # Once of the required twenty times; else 0 now, and 10 less than possible at every step.
        assert expected[2] == pytest.approx(fitted[2] / 20 - 190 * 19 / 20)
        np.testing.assert_array_equal(expected[:2], fitted[:2])
        state.update(action, seen)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_where_every_action_is_common_there_is_one_model(name):
    estimator = replace(ESTIMATORS[name]).fit(simulate("loadunload", 60, 15, seed=0))
    assert estimator.model_ is estimator.fitted_
    assert estimator.caution_.unknown == ()


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6), st.sampled_from([0.0, 3.0, 20.0, 1000.0])
)
def test_what_is_known_is_what_was_taken_often_or_about_as_often(taken, enough):
    counts = np.array(taken)
    known = known_share(counts, enough)
    assert ((known >= 0) & (known <= 1)).all()
    assert (np.diff(known[np.argsort(counts, kind="stable")]) >= 0).all()
    assert (known[(counts >= enough) | (counts >= np.maximum(counts.max() / 4, 5))] == 1).all()
    few = (counts < min(enough, 5)) | ((counts < enough) & (counts < counts.max() / 4))
    assert (known[few] < 1).all()


@given(
    st.floats(-10, 10),
    st.floats(0, 10),
    st.sampled_from([0.0, 0.5, 0.95]),
    st.lists(st.floats(0, 1), max_size=40),
)
def test_nothing_makes_up_for_the_worst(low, extent, discount, rewards):
    """Followed by the best reward at every step, it is no better than always the least one."""
    high = low + extent
    least = worst(low, high, discount, 0)
    best = least + discount / (1 - discount) * high
    assert best <= low / (1 - discount) + 1e-9 * (1 + abs(best))
    steps = len(rewards)
    undiscounted = worst(low, high, None, steps) + steps * high
    assert undiscounted <= (steps + 1) * low + 1e-9 * (1 + abs(undiscounted))


def test_caution_is_of_the_whole_log_whatever_its_chunks():
    log = lucky(3)
    chunks = [log.select(part) for part in np.array_split(np.arange(60), 7)]
    assert Caution.of(Survey.of(chunks), None, 20) == Caution.of(Survey.of([log]), None, 20)
    caution = Caution.of(Survey.of(chunks), None, 20)
    assert caution == Caution((1.0, 1.0, 3 / 20), -20 * 10, ("jump",))  # episodes are of 20 steps


def test_caution_is_reported():
    learned = learn("spectral", lucky(1), discount=0.95, rank=3)
    assert learned.document()["caution"] == {"unknown": 1, "actions": 3}
    assert learned.findings.caution.warning.startswith(
        "1 of 3 actions (jump) was rarely tried: for planning, their rewards are mixed with a "
        f"penalty (w = {learned.findings.caution.worst:.3g})"
    )
    silent = learn("spectral", lucky(200), discount=0.95, rank=3)
    assert silent.document()["caution"] == {"unknown": 0, "actions": 3}
    assert silent.findings.caution.warning == ""


def test_how_much_is_enough_is_a_number():
    with pytest.raises(InputError, match="enough: read -1"):
        SpectralRPSR(enough=-1).fit(lucky(1))
    assert rpsr.learning.EMRPSR().enough == SpectralRPSR().enough


def test_a_document_names_the_cases_that_are_counted():
    assert Caution().document() is None
    assert Caution.none(("a", "b")).document() == {"unknown": 0, "actions": 2}
    states = Caution((1.0, 0.2, 0.0), -1.0, ("a in s", "b in s"), by_state=True)
    assert states.document() == {"unknown": 2, "pairs": 3}
