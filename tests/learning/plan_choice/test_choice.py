"""Which policy to follow: values across models, and policies that carry their model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import few

import rpsr
from rpsr.errors import InputError, ModelError
from rpsr.evaluation import StochasticController, open_policy, simulate
from rpsr.learning import EMRPSR, LastKTable, PreparedLog, Search, bootstrap, choose
from rpsr.learning.plan_choice.choice import RULE
from rpsr.learning.plan_choice.off_policy import off_policy_value
from rpsr.learning.plan_choice.plausibility import simulated_value, too_good
from rpsr.logs import Trajectories, from_arrays
from rpsr.logs.parts import Resampled
from rpsr.logs.trajectories import join
from rpsr.models import DenseOperators, LinearModel, Simplex
from rpsr.models.renaming import renamed
from rpsr.parallel import workers
from rpsr.planning import AlphaPolicy, planner_by_name, save_policy, solve


@pytest.fixture(scope="module")
def tiger():
    return rpsr.load_pomdp("tiger")


@pytest.fixture(scope="module")
def log(tiger):
    uniform = StochasticController.stationary(tiger)
    return simulate(tiger, uniform, episodes=60, steps=10, seed=0, rewards=True, propensities=True)


def test_the_highest_mean_over_models_is_chosen(tiger, log):
    sharp, blunt = (rpsr.load_pomdp(f"tiger:accuracy={p}").belief_model() for p in (0.99, 0.55))
    choice = choose([sharp, blunt, tiger.belief_model()], log, episodes=200, steps=40)
    means = [option.mean for option in choice.options]
    assert choice.index == int(np.argmax(means))
    assert choice.policy.model is choice.solution.model
    rows = choice.rows()
    assert [row["chosen"] for row in rows] == [i == choice.index for i in range(3)]
    json.dumps(rows)
    # Trusting every growl costs a hundred where growls are hardly better than chance.
    assert choice.options[0].values[1] < choice.options[0].values[0]
    assert all(option.off_policy.low <= option.off_policy.high for option in choice.options)
    with pytest.raises(InputError, match="at least one"):
        choose([])
    with pytest.raises(InputError, match="models: read LinearModel, expected a list of at least"):
        choose(choice.solution.model)


def test_a_policy_of_another_model_than_the_learned_one_says_so(tiger):
    choice = choose([tiger.belief_model(), rpsr.predictive.rpsr(tiger)], episodes=10, steps=3)
    assert replace(choice, index=0).own_model == ""
    assert replace(choice, index=1).own_model.startswith(
        "The best plan was made on another model (rank 2) than the learned one, that of plan 1"
    )


def test_a_choice_without_a_log_has_no_estimate_off_policy(tiger):
    choice = choose([tiger.belief_model()], episodes=10, steps=3)
    assert choice.rows()[0]["off_policy"] is None
    assert "None" not in str(choice.summary())


def test_plans_that_look_the_same_are_said_to(tiger):
    model, other = (rpsr.load_pomdp(f"tiger:accuracy={p}").belief_model() for p in (0.85, 0.6))

    def said(*models):
        return choose(models, episodes=10, steps=3).agreement()

    assert said(model) == said(model, other) == ""
    assert said(model, model) == "All 2 plans have equal rows."
    assert said(model, other, model, model) == "Plans 1, 3 and 4 have equal rows."
    nearly = replace(model, rewards=model.rewards + 1e-9)
    assert said(model, nearly) == "All 2 plans have equal rows."
    assert choose([model, nearly], episodes=10, steps=3).agreement(17) == ""


def test_a_model_without_a_discount_says_how_to_give_one(log):
    model = LastKTable(k=1).fit(log).model_
    with pytest.raises(
        ModelError, match=r"needs a discount below 1 \(--discount, in Python model.with_"
    ):
        solve(model, planner_by_name("pbvi"))
    assert solve(model.with_discount(0.5), planner_by_name("pbvi")).model.discount == 0.5


def test_values_in_models_are_simulated_whether_there_are_one_or_two(tiger, log):
    model = tiger.belief_model()
    one, two = (choose([model] * count, log, episodes=20, steps=3) for count in (1, 2))
    np.testing.assert_array_equal(two.chosen.values, [one.chosen.mean] * 2)
    assert one.chosen.mean == simulated_value(one.solution, model, 20, 3, 0)
    assert one.chosen.mean < one.solution.value  # three steps of listening and opening, not all
    assert one.rule == two.rule == f"{RULE}, by 20 simulated episodes of 3 steps in each"
    for wrong in ({"episodes": 0}, {"steps": 0}):
        with pytest.raises(InputError, match=r"read 0, expected a whole number from 1"):
            choose([model], **wrong)


def test_rewards_that_are_small_are_planned_with_as_precisely():
    """A planner's precision is in units of reward; here rewards are 0 or one power of two."""
    pomdp = rpsr.load_pomdp("loadunload")
    uniform = StochasticController.stationary(pomdp)
    log = simulate(pomdp, uniform, episodes=60, steps=10, seed=0, rewards=True)

    def value(unit):
        scaled = replace(log, rewards=log.rewards * unit)
        model = LastKTable(k=2, discount=0.95).fit(scaled).model_
        return choose([model], scaled, episodes=1, steps=1).solution.value / unit

    assert value(2.0**-40) == value(2.0**-300) == value(1.0) > 0


def test_models_of_resampled_logs_differ_and_can_be_had_again(log):
    table = LastKTable(k=1, discount=0.95)
    first, second = bootstrap(table, log, repeats=2, seed=0)
    assert abs(first.rewards[0] - second.rewards[0]).max() > 0
    np.testing.assert_array_equal(
        bootstrap(table, log, repeats=1, seed=1)[0].rewards, second.rewards
    )
    with pytest.raises(AttributeError):
        _ = table.model_  # the estimator that was given is left as it was


def test_ensembles_and_plans_are_the_same_wherever_they_are_made(log):
    said = []
    estimator = LastKTable(k=1, discount=0.9)
    results = []
    for jobs in (1, 2):
        with workers(jobs) as executor:
            how = {"executor": executor, "progress": said.append}
            models = bootstrap(estimator, log, repeats=3, seed=5, **how)
            choice = choose(models, log, episodes=20, steps=10, **how)
        results.append((models, choice))
    (here, chosen), (there, chosen_there) = results
    for one, other in zip(here, there, strict=True):
        assert one.rewards.tobytes() == other.rewards.tobytes()
        assert not other.rewards.flags.writeable
    assert chosen.rows() == chosen_there.rows()
    names = ("resampled log", "plan", "value of plan")
    assert said == 2 * [f"{name} {number} of 3" for name in names for number in (1, 2, 3)]


@settings(max_examples=few(60), deadline=None)
@given(
    lengths=st.lists(st.integers(0, 2), min_size=1, max_size=3),
    seed=st.integers(0, 40),
    parts=st.integers(1, 3),
)
def test_a_sample_of_few_episodes_is_not_empty_however_they_are_cut(lengths, seed, parts):
    steps = sum(lengths)
    log = Trajectories(
        ("a",), ("x",), [0] * steps, [0] * steps, np.cumsum([0, *lengths]), [False] * len(lengths)
    )
    log = replace(log, rewards=np.arange(steps))
    cut = [log.select(part) for part in np.array_split(np.arange(log.episodes), parts)]
    sample = Resampled(log, seed)
    whole, again, chunked = (join(chunks) for chunks in (sample, sample, Resampled(cut, seed)))
    assert np.count_nonzero(whole.lengths) >= min(np.count_nonzero(lengths), 2)
    for other in (again, chunked):
        np.testing.assert_array_equal(other.rewards, whole.rewards)
        np.testing.assert_array_equal(other.offsets, whole.offsets)


def test_an_ensemble_of_few_episodes_has_all_its_models(log):
    """Of twenty Poisson counts of one episode about seven are zero; EM needs two episodes."""
    table = LastKTable(k=1, backoff=1e-9)  # copies of an episode have the frequencies of one
    one = log.select([0])
    models = bootstrap(table, one, repeats=20)
    expected = LastKTable(k=1, backoff=1e-9).fit(one).model_
    assert len(models) == 20
    for model in models:
        np.testing.assert_allclose(model.rewards, expected.rewards, rtol=1e-6)
    em, two = EMRPSR(search=Search(sizes=(2,), starts=1, memories=0)), log.select([0, 1])
    models = bootstrap(em, two, repeats=6, seed=3)
    prepared = PreparedLog.of(two)
    for seed, model in enumerate(models, 3):
        again = replace(em).fit(prepared.resampled(seed)).model_
        np.testing.assert_array_equal(model.rewards, again.rewards)
    assert len({model.rewards.tobytes() for model in models}) > 1
    assert len(models) == 6


def test_a_learned_policy_carries_its_filter_to_systems_with_the_same_names(tiger, log, tmp_path):
    learned = EMRPSR(discount=0.95, seed=0, search=Search(sizes=(5,), starts=2, memories=0)).fit(
        log
    )
    plan = solve(learned.model_, planner_by_name("pbvi"))
    path = tmp_path / "policy.json"
    save_policy(plan, path)
    here = open_policy(path, tiger)
    assert isinstance(here, AlphaPolicy)
    turned = renamed(tiger.belief_model(), tiger.actions[::-1], tiger.observations[::-1])
    there = open_policy(path, turned)
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = tiger.actions[here.act()]
        assert turned.actions[there.act()] == action
        seen = tiger.observations[int(rng.integers(2))]
        here.update(action, seen)
        there.update(action, seen)


def test_a_policy_that_carries_its_model_refuses_other_names_and_damage(tiger, log, tmp_path):
    plan = solve(LastKTable(k=1, discount=0.95).fit(log).model_, planner_by_name("reachable"))
    path = tmp_path / "policy.json"
    save_policy(plan, path)
    with pytest.raises(InputError, match="has the actions listen"):
        open_policy(path, rpsr.load_pomdp("paint"))
    document = json.loads(path.read_text())
    document["carries"] = document["carries"][:100]
    path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        open_policy(path, tiger)


def test_an_observation_that_a_model_never_saw_tells_it_nothing(tiger):
    model = tiger.belief_model()
    wider = renamed(model, model.actions, (*model.observations, "thunder"))
    state = model.update(model.start, "listen", 0)
    np.testing.assert_allclose(wider.update(state, "listen", "thunder"), state, atol=1e-9)
    assert wider.predict(state, "listen").sum() == pytest.approx(1, abs=1e-9)
    with pytest.raises(InputError, match="unknown to this system"):
        renamed(model, model.actions, ("thunder",))


def test_what_a_log_says_of_a_plan_does_not_depend_on_the_order_of_its_names(tiger, log):
    model = replace(tiger.belief_model(), discount=1.0)
    order = np.arange(len(model.actions))[::-1]
    turned = replace(log, actions=order[log.actions], action_names=log.action_names[::-1])
    estimates = [off_policy_value(model, model.rewards.T, form) for form in (log, turned)]
    assert estimates[0] == estimates[1]


def test_episodes_speak_by_how_unlikely_they_were_and_the_interval_is_that_of_their_mean(tiger):
    """One step: of five that listen, four by a chance of 1/2 earn 1, one by 1/8 earns nothing."""
    model = replace(tiger.belief_model(), discount=1.0)
    rare = np.arange(500) % 5 == 0
    log = Trajectories(
        model.actions,
        model.observations,
        np.full(500, tiger.actions.index("listen")),
        np.zeros(500, dtype=int),
        np.arange(501),
        np.zeros(500, dtype=bool),
        np.where(rare, 0.0, 1.0),
        np.where(rare, 1 / 8, 1 / 2),
    )
    estimate = off_policy_value(model, np.array([[-1.0, -1.0]]), log, resamples=2000)
    assert estimate.value == pytest.approx(4 * 2 / (4 * 2 + 8))
    # The standard error of a ratio: that of w (r - value), over the mean of w.
    weights = 1 / log.propensities
    error = (weights * (log.rewards - estimate.value)).std() / weights.mean() / np.sqrt(500)
    interval = estimate.value + 1.645 * error * np.array([-1, 1])
    assert (estimate.low, estimate.high) == pytest.approx(interval, abs=0.2 * error)


def test_an_ended_episode_goes_on_speaking_of_nothing_earned(tiger):
    """All listen; half end after one step, half earn -1 a second time. Cut off, they say less."""
    listen = tiger.actions.index("listen")
    model = replace(tiger.belief_model(), discount=1.0)
    vectors = np.array([[-1.0, -1.0]])  # a single vector: then listening earns the most
    for ended, expected in ((True, -1.5), (False, -2.0)):
        log = Trajectories(
            model.actions,
            model.observations,
            np.full(6, listen),
            np.zeros(6, dtype=int),
            np.array([0, 1, 2, 4, 6]),
            np.array([ended, ended, False, False]),
            np.full(6, -1.0),
            np.full(6, 1.0),
        )
        assert off_policy_value(model, vectors, log).value == pytest.approx(expected)


@pytest.mark.parametrize(("value", "doubted"), [(10.005, False), (10.02, True)])
@pytest.mark.parametrize("ends", [False, True])
def test_a_promise_that_no_rewards_add_up_to_is_doubted(value, doubted, ends):
    """Rewards up to 1 have values up to 10; on estimated models planners may claim more."""
    log = from_arrays([[0, 0]] * 9, [[0, 0]] * 9, [[1, 0]] * 9, terminated=[ends] * 9)
    model = LastKTable(k=1, discount=0.9).fit(log).model_
    plan = replace(solve(model, planner_by_name("pbvi")), value=value)
    said = too_good(plan, PreparedLog.of(log).census)
    assert ("the rewards of the log allow a return of at most 10:" in said) == doubted


def test_an_off_policy_value_is_that_of_the_policy_of_the_plan():
    """Rewards of 1 and 1 + 1e-14: whichever action the policy takes, the estimate agrees."""
    model = LinearModel(
        "learned",
        "tie",
        ("first", "second"),
        ("x",),
        np.ones(1),
        DenseOperators(np.ones((2, 1, 1, 1))),
        np.ones(1),
        np.array([[1.0, 1.0 + 1e-14]]),
        0.5,
        Simplex(1),
    )
    vectors = np.array([[2.0]])
    taken = AlphaPolicy(model, vectors).act()
    for action in (0, 1):
        log = from_arrays([[action, action]] * 6, [[0, 0]] * 6, [[1, 1]] * 6)
        log = replace(log, action_names=model.actions, observation_names=("x",))
        log = replace(log, propensities=np.full(12, 0.5))
        value = off_policy_value(model, vectors, log)
        assert (value.steps, value.value) == ((2, 1.5) if action == taken else (0, 0.0))


def test_a_log_without_episodes_has_no_off_policy_value(tiger, log):
    model = tiger.belief_model()
    with pytest.raises(InputError, match="the log has no episodes"):
        off_policy_value(model, model.rewards.T, log[:0])
