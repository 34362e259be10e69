"""The reason that a model forgets: how many states it takes, and whether the log shows them."""

import json

import pytest
from tests.learning.worlds import memory_log

from rpsr.learning import LastKTable, PreparedLog, learn
from rpsr.learning.promises.long_memory import LongMemory, long_memory


def reason_of(log, k, policy_k=0):
    log = PreparedLog.of(log)
    trained = LastKTable(discount=0.9, k=k).fit(log.training)
    policy = LastKTable(discount=0.9, k=policy_k or k).fit(log).model_
    return long_memory(trained, log.held_out, log, policy)


def test_a_table_that_is_too_short_forgets():
    log = memory_log(3, 300, 20, seed=0)
    reason = reason_of(log, k=2)
    assert (reason.lag, reason.states, reason.needed, reason.most) == (3, 8, 80, None)
    assert reason.shown == 1
    assert reason.action in log.action_names
    assert "such as em" in reason.advice
    assert reason_of(log, k=3) is None
    assert reason_of(log, k=2, policy_k=3) is None


def test_a_log_that_is_too_short_for_its_states_says_so():
    reason = reason_of(memory_log(8, 300, 20, seed=0), k=1)
    assert (reason.lag, reason.states, reason.needed) == (8, 256, 2560)
    # 12 of 20 steps follow 8 symbols: 7 steps for each of 512 cases, four of which are rarer than 5
    assert reason.shown == pytest.approx(0.9, abs=0.05)
    reason = reason_of(memory_log(8, 150, 20, seed=0), k=1)
    assert reason.shown < 0.5
    assert f"{reason.shown:.0%}" in reason.advice
    assert "about 2,560 steps" in reason.advice


def test_the_reason_is_reported_with_a_plan():
    learned = learn("last-k", memory_log(5, 300, 20, seed=0), discount=0.9, rank=1, plan=True)
    reason = next(one for one in learned.reasons if isinstance(one, LongMemory))
    assert (reason.lag, reason.states) == (5, 32)
    assert any("the last 5 interactions" in line for line in learned.warnings())
    assert json.loads(json.dumps(reason.document()))["kind"] == "LongMemory"


@pytest.mark.parametrize(
    ("shown", "most", "advice"),
    [
        (0.25, 90, "cannot show 128 states: 25% of its steps"),
        (0.95, 90, "allow more than 90 states (search.most of EMRPSR)"),
        (0.95, 128, "try another --estimator, such as em"),
        (0.95, None, "try another --estimator, such as em"),
    ],
)
def test_advice_depends_on_the_log_and_on_the_estimator(shown, most, advice):
    reason = LongMemory("{go}", 7, 128, shown, 1280, most)
    assert advice in reason.advice
    assert "those of {go} depend on the observation 7 steps before" in reason.words
    assert "up to 128 states, or a table of the last 7 interactions" in reason.words
