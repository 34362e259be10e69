"""Reasons for doubt: each is found where it holds, and only there."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import simulate

import rpsr
from rpsr.learning import EMRPSR, Search
from rpsr.learning.diagnostics import diagnose
from rpsr.learning.learn import learn
from rpsr.learning.promises import reasons as found_by
from rpsr.learning.promises.reasons import (
    BadPredictions,
    BadRewards,
    ModelsDisagree,
    MoreData,
    MoreStates,
    OneAction,
    PlanDisagrees,
    StoppedEarly,
    Unsupported,
)
from rpsr.learning.promises.record import Gap
from rpsr.models import DenseOperators
from rpsr.planning import Status
from rpsr.report.learning_page import verdict_card

LOG = simulate("loadunload", 150, 15, seed=0)
TRUTH = rpsr.load_pomdp("loadunload").belief_model()


def blurred(share):
    """The true model with predictions mixed with uniform ones."""
    shape = TRUTH.operators.shape
    exact = np.array(
        [[TRUTH.operators.matrix(a, o) for o in range(shape[1])] for a in range(shape[0])]
    )
    mean = exact.sum(axis=1, keepdims=True) / shape[1]
    return replace(TRUTH, operators=DenseOperators((1 - share) * exact + share * mean))


def test_wrong_predictions_are_named_with_the_worst_case():
    reason = found_by._predictions(blurred(0.5), LOG)
    assert isinstance(reason, BadPredictions)
    before = LOG.observation_names.index(reason.after)
    action = LOG.action_names.index(reason.action)
    after = np.flatnonzero((LOG.actions == action) & (np.arange(LOG.steps) % 15 > 0))
    after = after[LOG.observations[after - 1] == before]
    came = LOG.observations[after] == LOG.observation_names.index(reason.observation)
    assert (reason.steps, reason.observed) == (len(after), pytest.approx(came.mean()))
    assert abs(reason.predicted - reason.observed) > 0.05
    assert reason.after in reason.words


def test_the_true_model_is_not_doubted():
    assert found_by._predictions(TRUTH, LOG) is None
    assert found_by._data((TRUTH, TRUTH), LOG) is None
    assert found_by._rewards(diagnose(TRUTH, LOG)) is None


def test_refits_that_predict_worse_ask_for_more_data():
    reason = found_by._data((TRUTH, blurred(0.2)), LOG)
    assert isinstance(reason, MoreData)
    losses = [diagnose(model, LOG).loglik for model in (TRUTH, blurred(0.2))]
    assert reason.loss == pytest.approx(losses[0] - losses[1])
    assert found_by._data((blurred(0.2), TRUTH), LOG) is None


def test_rewards_that_are_not_predicted_are_a_reason():
    constant = replace(TRUTH, rewards=np.full_like(TRUTH.rewards, LOG.rewards.mean()))
    assert isinstance(found_by._rewards(diagnose(constant, LOG)), BadRewards)


def test_a_best_size_at_the_limit_is_reported():
    few = {"search": Search(sizes=(2,), starts=1, descents=1, memories=0, largest=2, most=2)}
    assert EMRPSR(discount=0.9, **few).fit(LOG).findings().at_largest == 2
    learned = learn("last-k", LOG, discount=0.9, rank=1, plan=True)
    assert learned.findings.at_largest is None
    promise = learned.promise
    low, high = promise.in_models
    assert low <= promise.value <= high
    safe = learned.safe

    def with_models(low, high, value):
        changed = replace(promise, in_models=(low, high), value=value)
        offers = (replace(safe.offers[0], promise=changed), *safe.offers[1:])
        return replace(safe, offers=offers, index=0)

    own, logged = safe.solution.value, safe.offers[-1].promise.value
    far = with_models(own - 1, own + 1, logged + 0.1)
    assert found_by._disagreement(far) == ModelsDisagree(own - 1, own + 1)
    assert found_by._disagreement(with_models(own, own, logged + 1)) is None
    assert found_by._planner(with_models(own, own, own)) is None
    reason = found_by._planner(with_models(2 * own, 2 * own, 2 * own))
    assert isinstance(reason, PlanDisagrees)
    cut = with_models(2 * own, 2 * own, 2 * own)
    stopped = replace(cut.solution, status=Status.TIME)
    offers = (replace(cut.offers[0], solution=stopped), *cut.offers[1:])
    assert isinstance(found_by._planner(replace(cut, offers=offers)), StoppedEarly)
    low = with_models(own / 2, own / 2, own / 2)  # more planning would not lower the plan's value
    offers = (replace(low.offers[0], solution=stopped), *low.offers[1:])
    assert isinstance(found_by._planner(replace(low, offers=offers)), PlanDisagrees)
    doubted = replace(learned, reasons=(reason, MoreStates(2)))
    assert [row["kind"] for row in doubted.document()["reasons"]] == ["PlanDisagrees", "MoreStates"]
    json.dumps(doubted.document())
    assert any(line.endswith(reason.advice) for line in doubted.warnings())


GAP = Gap(share=0.2, action="jump", after=("{stay}", "dark"), times=1)


@pytest.mark.parametrize(
    ("reason", "words", "advice"),
    [
        (
            BadPredictions("dark", "{go}", "light", 0.25, 0.75, 40),
            "after dark, {go}: light was predicted with probability 0.25 and came in 0.75 of 40",
            "or allow more states (--rank)",
        ),
        (BadRewards(2.5, 2.51), "(RMSE 2.5 instead of 2.51)", "record more episodes"),
        (ModelsDisagree(-1.5, 7.0), "its value is -1.5 in one and 7 in another", "lower bound"),
        (MoreData(0.125, 0.01), "models of resampled logs lose 0.12 nats per held-out", "longer"),
        (MoreStates(18), "the largest size that was tried, 18 states", "search.most of EMRPSR"),
        (StoppedEarly("stopped", 3.0, 1.0), "earns 1 in models of the log (planner: stopped)", ""),
        (PlanDisagrees(3.0, 1.0), "value is 3 in its own model, and the policy earns 1 in", ""),
        (Unsupported(GAP), "after {stay}, dark the policy takes jump, and the log once", "jump af"),
    ],
)
def test_a_reason_names_its_numbers_and_what_to_do(reason, words, advice):
    assert words in reason.words
    assert advice in reason.advice
    document = reason.document()
    assert (document["words"], document["advice"]) == (reason.words, reason.advice)
    assert document["kind"] == type(reason).__name__
    assert len(document) == 3 + len(vars(reason))


def test_a_policy_that_ignores_every_observation_is_reported():
    """All rewards are those of one action: the plan takes it always."""
    reward = (LOG.actions == 1).astype(float)
    learned = learn("last-k", replace(LOG, rewards=reward), discount=0.9, rank=1, plan=True)
    only = LOG.action_names[1]
    assert learned.document()["policy_actions"] == {only: 1.0}
    assert learned.safe.acts == f"always takes {only}, whatever is observed in simulations"
    assert OneAction(only) in learned.reasons
    assert any("always takes" in line and "--rank 2" in line for line in learned.warnings())
    assert "always takes" in dict(verdict_card(learned).facts)["the policy"]


def test_shares_of_actions_are_those_of_steps():
    learned = learn("last-k", LOG, discount=0.9, rank=2, plan=True)
    shares = learned.document()["policy_actions"]
    assert sum(shares.values()) == pytest.approx(1)
    assert len(shares) == 2
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert learned.safe.acts.endswith(" % of steps")
    assert not any(isinstance(reason, OneAction) for reason in learned.reasons)
