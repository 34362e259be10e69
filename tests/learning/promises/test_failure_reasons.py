"""Reasons for doubt: each is found where it holds, and only there."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import simulate

import rpsr
from rpsr.learning import EMRPSR, PreparedLog, Search, learn
from rpsr.learning.diagnostics import diagnose
from rpsr.learning.promises import failure_reasons
from rpsr.learning.promises.failure_reasons import (
    BadPredictions,
    BadRewards,
    EqualRewards,
    FewHeldOut,
    ModelsDisagree,
    MoreData,
    MoreStates,
    OneAction,
    PlanDisagrees,
    SingleAction,
    StoppedEarly,
    Unsupported,
)
from rpsr.learning.promises.promise import EQUAL, Gap
from rpsr.learning.result import TOO_SHORT
from rpsr.logs import from_arrays
from rpsr.models import DenseOperators
from rpsr.planning import Status
from rpsr.report.learning_page import verdict_card
from rpsr.report.prose import plain

LOG = simulate("loadunload", 150, 15, seed=0)
PREPARED = PreparedLog.of(LOG)
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
    reason = failure_reasons._predictions(blurred(0.5), PREPARED)
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
    assert failure_reasons._predictions(TRUTH, PREPARED) is None
    assert failure_reasons._data((TRUTH, TRUTH), PREPARED) is None
    assert failure_reasons._rewards(diagnose(TRUTH, LOG), PREPARED.census) is None


def test_refits_that_predict_worse_ask_for_more_data():
    reason = failure_reasons._data((TRUTH, blurred(0.2)), PREPARED)
    assert isinstance(reason, MoreData)
    losses = [diagnose(model, LOG).loglik for model in (TRUTH, blurred(0.2))]
    assert reason.loss == pytest.approx(losses[0] - losses[1])
    assert failure_reasons._data((blurred(0.2), TRUTH), PREPARED) is None


def test_rewards_that_are_not_predicted_are_a_reason():
    constant = replace(TRUTH, rewards=np.full_like(TRUTH.rewards, LOG.rewards.mean()))
    heldout = diagnose(constant, LOG)
    assert isinstance(failure_reasons._rewards(heldout, PREPARED.census), BadRewards)
    rounding = replace(heldout, reward_std=6.9e-18)  # the held-out rewards are equal
    assert failure_reasons._rewards(rounding, PREPARED.census) is None


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
        changed = replace(promise, in_models=(low, high), in_fits=(low, high), value=value)
        offers = (replace(safe.offers[0], promise=changed), *safe.offers[1:])
        return replace(safe, offers=offers, index=0)

    own, logged = safe.solution.value, safe.offers[-1].promise.value
    far = with_models(own - 1, own + 1, logged + 0.1)
    assert failure_reasons._disagreement(far) == ModelsDisagree(own - 1, own + 1)
    assert failure_reasons._disagreement(with_models(own, own, logged + 1)) is None
    agreeing = with_models(own - 1, own + 1, logged + 0.1)
    agreed = replace(agreeing.offers[0].promise, in_fits=(own, own))  # only refits are apart
    offers = (replace(agreeing.offers[0], promise=agreed), *agreeing.offers[1:])
    assert failure_reasons._disagreement(replace(agreeing, offers=offers)) is None
    assert failure_reasons._planner(with_models(own, own, own)) is None
    reason = failure_reasons._planner(with_models(2 * own, 2 * own, 2 * own))
    assert isinstance(reason, PlanDisagrees)
    cut = with_models(2 * own, 2 * own, 2 * own)
    stopped = replace(cut.solution, status=Status.TIME)
    offers = (replace(cut.offers[0], solution=stopped), *cut.offers[1:])
    assert isinstance(failure_reasons._planner(replace(cut, offers=offers)), StoppedEarly)
    low = with_models(own / 2, own / 2, own / 2)  # more planning would not lower the plan's value
    offers = (replace(low.offers[0], solution=stopped), *low.offers[1:])
    assert isinstance(failure_reasons._planner(replace(low, offers=offers)), PlanDisagrees)
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
        (
            ModelsDisagree(-1.5, 7.0),
            "its value is -1.5 in one and 7 in another",
            "only if the true system is like one of these models",
        ),
        (EqualRewards(5.0), "all rewards of the log are 5, so", "check the reward column"),
        (SingleAction("{go}"), "the log has one action only, {go}, so", "check the action column"),
        (FewHeldOut(1), "held-out episodes is 1, too few", "record at least 25 episodes"),
        (MoreData(0.125, 0.01), "is lower by 0.12 nats per held-out", "longer"),
        (MoreStates(18), "the largest size that was tried, 18 states", "search.most of EMRPSR"),
        (StoppedEarly("stopped", 3.0, 1.0), "earns 1 in models of the log (planner: stopped)", ""),
        (PlanDisagrees(3.0, 1.0), "value is 3 in its own model, and the policy earns 1 in", ""),
        (
            Unsupported(GAP),
            "after {stay}, dark, the policy takes jump (in the log: once)",
            "jump af",
        ),
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
    assert OneAction(only, learned.plan.model.dimension) in learned.reasons
    assert any("always takes" in line and "--rank 2" in line for line in learned.warnings())
    assert "always takes" in dict(verdict_card(learned).facts)["the policy"]


def test_fewer_states_are_advised_only_where_there_are_more_than_two():
    assert "fewer states" in OneAction("go", 3).advice
    assert OneAction("go", 2).advice.endswith("(em or spectral), or record more episodes")


@pytest.mark.parametrize("fault", ["rewards", "actions"])
def test_a_log_that_cannot_tell_policies_apart_is_bad(fault):
    if fault == "rewards":
        log, kind = replace(LOG, rewards=np.full(LOG.steps, 5.0)), EqualRewards(5.0)
    else:
        rows = LOG.observations.reshape(-1, 15), LOG.rewards.reshape(-1, 15)
        log = from_arrays(np.zeros((150, 15), int), *rows)
        kind = SingleAction(log.action_names[0])
    for plan in (True, False):
        learned = learn("last-k", log, discount=0.9, rank=1, plan=plan)
        assert kind in learned.reasons
        assert not any(isinstance(reason, OneAction) for reason in learned.reasons)
        card = verdict_card(learned)
        assert card.tone == "bad"
        assert kind.words in card.text
        assert "every policy" not in card.title
        if plan and fault == "rewards":
            assert card.title == f"The chosen policy has no promise: {EQUAL}."
        if plan:
            assert any("does not show that the policy" in line for line in learned.warnings())


def test_a_task_of_equal_rewards_that_ends_can_tell_policies_apart():
    """Each step costs 1: a policy that ends the task earlier is better."""
    costs = replace(LOG, rewards=np.full(LOG.steps, -1.0), terminated=np.ones(150, dtype=bool))
    assert failure_reasons.faults_of(PreparedLog.of(costs).census) == ()
    running = replace(costs, terminated=np.zeros(150, dtype=bool))
    assert failure_reasons.faults_of(PreparedLog.of(running).census) == (EqualRewards(-1.0),)


def test_few_held_out_episodes_show_nothing():
    counts = {}
    for episodes in (20, 25):
        held_out = PreparedLog.of(LOG.select(range(episodes)), held=True)
        counts[episodes] = failure_reasons._few_held_out(held_out.held_out, held_out.census)
    assert counts == {20: FewHeldOut(4), 25: None}


def test_the_card_has_the_warnings_of_the_terminal_and_a_short_log_comes_last():
    learned = learn("last-k", LOG.select(range(20)), discount=0.9, rank=1, plan=True)
    *others, last = learned.warnings()
    assert last == TOO_SHORT
    card = verdict_card(learned)
    assert others
    assert all(f"- {plain(line)}" in card.text for line in others)
    assert last not in card.text  # the card says so in a sentence of its own
    restarted = replace(learned, heldout=replace(learned.heldout, resets=2))
    assert any(
        "of probability 0 in the model: record more" in line for line in restarted.warnings()
    )


def test_shares_of_actions_are_those_of_steps():
    learned = learn("last-k", LOG, discount=0.9, rank=2, plan=True)
    shares = learned.document()["policy_actions"]
    assert sum(shares.values()) == pytest.approx(1)
    assert len(shares) == 2
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert learned.safe.acts.endswith(" % of steps")
    assert not any(isinstance(reason, OneAction) for reason in learned.reasons)
