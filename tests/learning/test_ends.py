"""Tasks that end: every estimator learns when; filters do not expect an end too early."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning import worlds
from tests.learning.worlds import EARNED, ENDING, coin_log
from tests.strategies import few

from rpsr.errors import InputError
from rpsr.evaluation import simulate
from rpsr.learning import (
    EMRPSR,
    DiscoveredRPSR,
    LastKTable,
    PreparedLog,
    Search,
    Survey,
    bootstrap,
    choose,
    diagnose,
    learn,
    psr_enough,
)
from rpsr.learning.em.fitted_pomdp import Encoded
from rpsr.learning.ends import as_seen_by, final_observations, with_end
from rpsr.learning.estimator_names import ESTIMATORS, estimator_by_name
from rpsr.learning.plan_choice.off_policy import off_policy_value
from rpsr.logs import Trajectories, from_arrays, read_logs, write_logs
from rpsr.logs.readers import join
from rpsr.models.filter import RobustFilter
from rpsr.models.renaming import END, renamed
from rpsr.planning import (
    AlphaPolicy,
    UniformPolicy,
    load_policy,
    planner_by_name,
    save_policy,
    solve,
)
from rpsr.report.learning_page import learning_page
from rpsr.report.page import write_page

DISCOUNT = 0.9
LOG = coin_log(400, 3)


@pytest.fixture(scope="module", params=ESTIMATORS.own)
def fitted(request):
    return estimator_by_name(request.param, discount=DISCOUNT).fit(LOG)


def test_values_reckon_with_ends_nothing_shows(fitted):
    """Without ends, work is worth 10; with ends, less than rest."""
    rest = LOG.action_names.index("rest")
    taken = LOG.actions == rest
    often = taken[LOG.ends].sum() / taken.sum()
    worth = EARNED["rest"] / (1 - DISCOUNT * (1 - often))
    plan = solve(fitted.model_, planner_by_name("pbvi", epsilon=1e-3))
    state = fitted.model_.filter()
    assert AlphaPolicy.of(plan).act() == rest
    # Estimators differ by what they make of chance, so by less than the log can know it.
    stderr = DISCOUNT * worth**2 / EARNED["rest"] * np.sqrt(often * (1 - often) / taken.sum())
    assert plan.value == pytest.approx(worth, abs=2 * stderr)
    # Of the start a table knows what half of the episodes say: three standard errors.
    chance = ENDING["work"]
    known = 3 * np.sqrt(chance * (1 - chance) / (LOG.episodes / 2))
    assert state.predict("work")[-1] == pytest.approx(chance, abs=known)


def test_no_core_intent_asks_what_is_earned_when_all_is_over():
    """That is nothing, whatever came before: its prediction would say nothing but rounding."""
    estimator = DiscoveredRPSR(rank=3, repeats=0, discount=DISCOUNT).fit(
        coin_log(400, 3, constant=3)
    )
    assert len(estimator.core_) == 3
    assert all(str(intent).endswith("ζ") for intent in estimator.core_ if END in str(intent))
    assert estimator.model_.core[-1] == "over"
    state = estimator.model_.filter()
    state.update("work", END)
    assert (state.state @ estimator.model_.coordinates)[-1] == pytest.approx(1)


def test_ends_do_not_hide_what_a_psr_forgets():
    """Load/unload, each step of which may be the last; a constant in all rewards says nothing."""
    log = worlds.simulate("loadunload", 2500, 20, seed=1)
    over = np.random.default_rng(2).geometric(0.1, size=2500)
    lengths = np.minimum(over, 20)
    kept = np.arange(log.steps) % 20 < np.repeat(lengths, 20)
    steps = {
        name: getattr(log, name)[kept]
        for name in ("actions", "observations", "rewards", "propensities")
    }
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    log = replace(log, offsets=offsets, terminated=over <= 20, **steps)
    verdicts = [
        psr_enough(replace(log, rewards=log.rewards + constant), repeats=10)
        for constant in (0, 3, -30)
    ]
    assert [enough.verdict for enough in verdicts] == ["no"] * 3
    assert [enough.statistic for enough in verdicts] == pytest.approx(
        [verdicts[0].statistic] * 3, rel=1e-6
    )


def test_a_filter_does_not_expect_the_end_of_a_task_that_continues(fitted):
    """At every step the task may have ended, and whoever is still at work sees that it has not."""
    model = fitted.model_
    state = model.filter()
    rng = np.random.default_rng(5)
    for _ in range(100):
        state.update(int(rng.integers(2)), int(rng.integers(2)))
        earned = model.expected_rewards(state.state)
        assert earned == pytest.approx(list(EARNED.values()), abs=0.12)
    assert isinstance(state, RobustFilter)
    assert state.resets == 0
    state.update("work", END)
    assert model.expected_rewards(state.state) == pytest.approx([0, 0], abs=0.05)


def test_a_log_whose_ends_are_hidden_can_be_judged_and_speak_for_a_plan(fitted):
    other = coin_log(200, 4)
    judged = fitted.judge(other)
    often = [np.mean(np.isin(np.flatnonzero(other.actions == a), other.ends)) for a in (0, 1)]
    share = [(other.actions == a).mean() for a in (0, 1)]
    # Head or tail are a coin, and with what chance the task ends is all that there is to know.
    best = sum(
        s * (q * np.log(q) + (1 - q) * np.log((1 - q) / 2))
        for s, q in zip(share, often, strict=True)
    )
    assert best - 0.03 < judged.loglik <= best + 1e-3
    assert judged.reward_rmse < 0.1
    said = off_policy_value(fitted.model_, fitted.model_.rewards.T, other)
    assert said.low <= 1 / (1 - DISCOUNT * (1 - ENDING["work"])) <= said.high


def test_a_policy_runs_where_ends_are_not_observations(fitted, tmp_path):
    """The system names head and tail, in its own order; what the policy does is the same."""
    plan = solve(fitted.model_, planner_by_name("pbvi", epsilon=1e-3))
    save_policy(plan, tmp_path / "p")
    system = replace(
        renamed(fitted.model_, ("rest", "work"), ("tail", "head")), kind="other", estimator=None
    )
    policy, own = load_policy(tmp_path / "p", system).policy(), AlphaPolicy.of(plan)
    rng = np.random.default_rng(0)
    for _ in range(30):
        action, seen = own.act(), ("head", "tail")[rng.integers(2)]
        assert system.actions[policy.act()] == fitted.model_.actions[action]
        own.update(action, seen)
        policy.update(fitted.model_.actions[action], seen)
    wider = renamed(fitted.model_, fitted.model_.actions, ("head", "tail", "new"))
    state = wider.filter()
    for _ in range(5):  # what the model does not know tells nothing, and not that all is over
        state.update("work", "new")
    assert state.resets == 0
    assert wider.expected_rewards(state.state) == pytest.approx(list(EARNED.values()), abs=0.12)
    with pytest.raises(InputError, match="observations unknown to this system: head"):
        renamed(fitted.model_, ("rest", "work"), ("tail", END))


def test_a_learned_task_ends_when_it_is_simulated(fitted):
    model = fitted.model_
    policy = UniformPolicy(model, np.random.default_rng(0))
    log = simulate(model, policy, episodes=400, steps=30, seed=1)
    assert (log.observations[log.ends] == model.observations.index(END)).all()
    assert len(log.ends) == (log.observations == model.observations.index(END)).sum()
    assert log.terminated.mean() == pytest.approx(LOG.terminated.mean(), abs=0.05)
    assert log.lengths.mean() == pytest.approx(LOG.lengths.mean(), rel=0.2)
    assert simulate(model, policy, episodes=3, steps=9, ends=False).terminated.sum() == 0


def test_what_a_learned_task_shows_can_be_judged_by_its_model(fitted, tmp_path):
    """Names are in the order of the alphabet once they were read."""
    policy = UniformPolicy(fitted.model_, np.random.default_rng(0))
    log = simulate(fitted.model_, policy, episodes=60, steps=30, seed=1, rewards=True)
    write_logs(log, tmp_path / "log.jsonl")
    back = read_logs(tmp_path / "log.jsonl")
    assert back.observation_names != log.observation_names
    assert diagnose(fitted.model_, back).loglik == diagnose(fitted.model_, log).loglik


def test_a_task_whose_ends_show_themselves_ends_when_it_is_simulated(fitted):
    seen = LOG.observations.copy()
    seen[LOG.ends] = 2
    log = replace(LOG, observations=seen, observation_names=("head", "tail", "goal"))
    model = replace(fitted).fit(log).model_
    assert model.observations == ("head", "tail", "goal")
    policy = UniformPolicy(model, np.random.default_rng(0))
    log = simulate(model, policy, episodes=200, steps=30, seed=1)
    assert (log.observations[log.ends] == 2).all()
    assert log.terminated.mean() > 0.9


def test_a_streamed_log_is_learned_from_like_one_in_memory(tmp_path):
    parts = [LOG.select(episodes) for episodes in np.array_split(np.arange(LOG.episodes), 5)]
    whole, cut = (learn("spectral", logs, discount=DISCOUNT, rank=2) for logs in (LOG, parts))
    assert whole.model.observations == cut.model.observations == ("head", "tail", END)
    np.testing.assert_array_equal(whole.model.rewards, cut.model.rewards)
    assert whole.document()["terminated"] == cut.census.ended == LOG.terminated.sum()
    write_page(learning_page(whole, "log"), tmp_path / "page.html")
    assert f"The task ended in {len(LOG.ends)} episodes" in (tmp_path / "page.html").read_text()
    assert whole.heldout.loglik == pytest.approx(cut.heldout.loglik, abs=1e-12)


def test_resampled_logs_are_of_one_task_whatever_ends_are_drawn():
    """One of ten episodes ends, so that a third of all samples have no end."""
    rows = [[0, 1, 0]] * 10
    log = from_arrays(rows, rows, rows, terminated=[True] + [False] * 9)
    models = bootstrap(LastKTable(k=1, discount=DISCOUNT), log, repeats=8)
    assert {model.observations for model in models} == {("0", "1", END)}
    assert len({model.dimension for model in models}) == 2  # with a state for the end, and without
    assert np.isfinite(choose(models, log, episodes=5, steps=5).chosen.values).all()


def test_a_table_has_no_context_beyond_the_end_and_its_end_shows_itself():
    model = LastKTable(k=1, discount=DISCOUNT).fit(LOG).model_
    assert model.dimension == 2 + 4 + 1  # nothing, the start, four interactions, the end
    np.testing.assert_array_equal(model.predict(np.eye(7)[-1], "work"), [0, 0, 1])


def test_episodes_without_a_step_end_nothing():
    log = from_arrays([[0]] * 6 + [[]], [[0]] * 6 + [[]], [[1.0]] * 6 + [[]])
    log = replace(log, terminated=np.arange(7) == 6)
    estimator = EMRPSR(discount=DISCOUNT, search=Search(sizes=(2,), starts=2)).fit(log)
    assert estimator.candidates_[0].fitted.end == -1
    assert Survey.of([log]).rewards == (1, 1)


def test_only_the_end_shows_that_it_is_the_end():
    final = (
        EMRPSR(discount=DISCOUNT, search=Search(sizes=(3,), starts=2))
        .fit(LOG)
        .candidates_[0]
        .fitted
    )
    alive = np.arange(final.states) != final.end
    assert (final.emissions[:, -1, final.end] == 1).all()
    assert (final.emissions[:, -1, alive] == 0).all()


def test_episodes_of_one_step_that_all_end_are_learned():
    """Every observation is then one of an end."""
    log = from_arrays([[0]] * 60, [[0], [1]] * 30, [[1.0]] * 60, terminated=[True] * 60)
    assert PreparedLog.of(log).in_memory is log
    model = EMRPSR(discount=DISCOUNT, search=Search(sizes=(2,), starts=2)).fit(log).model_
    assert solve(model, planner_by_name("pbvi")).value == pytest.approx(1, abs=1e-3)


def test_logs_that_a_model_and_the_system_wrote_are_one_log():
    """The model's show the end, those of the system do not."""
    real = from_arrays([[0, 0]] * 4, [[0, 0]] * 4, [[1, 1]] * 4, terminated=[True] * 4)
    real = replace(real, observation_names=("0", END))
    shown = with_end(from_arrays([[0]], [[0]], [[1]], terminated=[True]))
    prepared = PreparedLog.of(join([real, shown])).in_memory
    assert prepared.observation_names == ("0", END)
    np.testing.assert_array_equal(prepared.observations, [0, 1] * 4 + [1])
    model = LastKTable(k=1).fit(prepared).model_
    np.testing.assert_array_equal(as_seen_by(real, model).observations, [0, 1] * 4)
    cut = from_arrays([[0, 0]], [[0, 1]], [[1, 1]], observation_names=["0", END])
    with pytest.raises(InputError, match=r"episode 4, step 1: observations: read '\(end\)'"):
        PreparedLog.of(join([real, cut])).in_memory  # noqa: B018
    other = from_arrays([[0]], [[0]], [[1]], terminated=[True], observation_names=["goal"])
    assert as_seen_by(other, model).observation_names == ("goal", END)  # a name it does not know


@st.composite
def short_logs(draw):
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    seen = draw(st.lists(st.integers(0, 2), min_size=sum(lengths), max_size=sum(lengths)))
    ended = draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths)))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    number = np.arange(sum(lengths))
    return Trajectories(("a",), ("x", "y", "z"), 0 * number, seen, offsets, ended, number)


@settings(max_examples=few(200), deadline=None)
@given(log=short_logs(), parts=st.integers(1, 3))
def test_an_end_that_looks_like_no_end_is_seen(log, parts):
    """By the definition, step by step; in memory as in a stream; once as often as twice."""
    ends, others = set(), set()
    for (first, last), over in zip(pairwise(log.offsets), log.terminated, strict=True):
        for t in range(first, last):
            (ends if over and t == last - 1 else others).add(int(log.observations[t]))
    prepared = PreparedLog.of(log).in_memory
    if ends & others:
        assert prepared.observation_names == ("x", "y", "z", END)
        expected = log.observations.copy()
        expected[log.ends] = 3
        np.testing.assert_array_equal(prepared.observations, expected)
        assert not final_observations(log).any()
    else:
        assert prepared is log
        assert set(np.flatnonzero(final_observations(log))) == ends
    assert PreparedLog.of(prepared).in_memory is prepared
    np.testing.assert_array_equal(prepared.rewards, log.rewards)
    chunks = [log.select(episodes) for episodes in np.array_split(np.arange(log.episodes), parts)]
    stream = PreparedLog.of(chunks)
    again = join(stream)
    np.testing.assert_array_equal(again.observations, prepared.observations)
    assert again.observation_names == prepared.observation_names
    assert PreparedLog.of(stream) is stream
    for part in (stream.training, stream.held_out, stream.resampled(0)):
        assert part.hidden_ends == stream.hidden_ends  # whatever ends the part has itself
    assert (Encoded.of(prepared).final == final_observations(prepared)).all() if log.steps else True


def test_one_end_that_also_occurs_elsewhere_is_enough():
    """Tasks end at y or at z; z occurs elsewhere, too. So neither marks an end."""
    log = Trajectories(("a",), ("x", "y", "z"), [0] * 4, [0, 1, 2, 2], [0, 2, 4], [True, True])
    assert not final_observations(log).any()
    log = Trajectories(("a",), ("x", "y", "z"), [0] * 4, [0, 1, 0, 2], [0, 2, 4], [True, True])
    assert final_observations(log).tolist() == [False, True, True]
