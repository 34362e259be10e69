"""Support: models do not speak for actions that the log hardly took where the policy takes them."""

import numpy as np
import pytest

from rpsr.learning import LastKTable, PreparedLog
from rpsr.learning.plan_choice.off_policy import Agreement
from rpsr.learning.promises.failure_reasons import Unsupported
from rpsr.learning.promises.make_promise import promise
from rpsr.logs import Trajectories
from rpsr.planning import AlphaPolicy

ARM, GO = 0, 1


def log_of(firsts, steps=10):
    """Episodes that begin with one action and then go; going has reward 1, arming 0."""
    actions = np.array([[first] + [GO] * (steps - 1) for first in firsts]).ravel()
    return Trajectories(
        action_names=("arm", "go"),
        observation_names=("ok",),
        actions=actions,
        observations=np.zeros(len(actions), dtype=np.int64),
        rewards=(actions == GO).astype(float),
        offsets=np.arange(0, len(actions) + 1, steps),
        terminated=np.zeros(len(firsts), dtype=np.bool_),
    )


def always(model, action):
    return AlphaPolicy(model, np.zeros((1, len(model.start))), actions=np.array([action]))


def promised(log, action, discount=0.9):
    prepared = PreparedLog.of(log)
    table = LastKTable(discount=discount, k=1).fit(prepared)
    families = table.families(prepared, 2, 2, seed=0)
    return promise(always(families[0][0], action), prepared, [families])


def test_the_first_propensity_is_the_frequency_of_first_actions():
    """Half of the episodes begin with go, although nearly all steps go."""
    log = PreparedLog.of(log_of([ARM, GO] * 500))
    first = log.propensities[log.in_memory.offsets[:-1]]
    assert first == pytest.approx(np.full(1000, 0.5), abs=0.01)
    policy = always(LastKTable(discount=0.9, k=1).fit(log).model_, GO)
    agreement = Agreement.of(policy, log)
    # weights of one step add up to the number of episodes if propensities are right
    assert agreement.weights[:, 0].sum() == pytest.approx(1000, rel=0.02)
    tables = log.survey().policy  # those of the estimators' operators do not know the start
    assert tables[0][0, GO] == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_a_first_action_that_the_log_never_begins_with_has_no_promise(discount):
    promise = promised(log_of([ARM] * 100), GO, discount)
    assert (promise.method, promise.low) == ("importance", promise.least)
    assert promise.vacuous
    assert promise.reason == (
        "the log hardly shows the policy's actions: at the start, the policy takes go (in the "
        "log: never)"
    )


def test_an_action_that_the_log_never_takes_later_has_no_promise_either():
    promise = promised(log_of([ARM] * 100), ARM)
    assert promise.method == "importance"
    assert promise.gap.after == ("arm", "ok")
    assert (promise.gap.action, promise.gap.times) == ("arm", 0)
    reason = Unsupported(promise.gap)
    assert reason.advice == "record episodes that take arm after arm, ok"
    assert reason.document()["gap"]["share"] == pytest.approx(promise.gap.share)


def test_models_speak_for_actions_that_the_log_shows():
    promise = promised(log_of([ARM, GO] * 50), GO)
    assert (promise.method, promise.gap) == ("models", None)
    few = promised(log_of([ARM] * 96 + [GO] * 4), GO)
    assert (few.method, few.gap.times) == ("importance", 4)
