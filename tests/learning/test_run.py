"""From a log to a model and its diagnostics: every estimator, in memory or streamed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.learning.worlds import coin_log, simulate
from tests.strategies import few

import rpsr
from rpsr.errors import InputError
from rpsr.evaluation import simulate as run
from rpsr.learning import EMRPSR, LastKTable, Search, SpectralRPSR, diagnose, learn, psr_enough
from rpsr.learning.estimator_names import ESTIMATORS, streams
from rpsr.learning.moments.survey import Survey
from rpsr.learning.propensities import (
    BEHAVIOURS,
    Overlap,
    propensities,
    shrunk_policy,
    unseen_case,
    unseen_share,
)
from rpsr.logs import Trajectories, from_arrays
from rpsr.logs.parts import LONG, Part, beginning, pieces
from rpsr.logs.readers import join
from rpsr.models.filter import RobustFilter
from rpsr.models.renaming import END
from rpsr.planning import AlphaPolicy, planner_by_name, solve

LOG = simulate("loadunload", 60, 15, seed=0)
FEW = {"em": 6, "last-k": 2}  # states and interactions; the others' rank is


def chunks(log, parts):
    return [log.select(part) for part in np.array_split(np.arange(log.episodes), parts)]


@settings(max_examples=few(25), deadline=None)
@given(parts=st.integers(1, 60), rewarded=st.booleans())
def test_a_judgement_does_not_depend_on_how_the_log_is_cut(parts, rewarded):
    log = LOG if rewarded else replace(LOG, rewards=None)
    model = rpsr.load_pomdp("loadunload").belief_model()
    whole, cut = diagnose(model, log), diagnose(model, chunks(log, parts))
    for name in ("loglik", "reward_rmse", "reward_std", "negative_mass", "resets", "steps"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name), abs=1e-12)
    np.testing.assert_allclose(cut.calibration, whole.calibration, atol=1e-12)
    assert (whole.reward_rmse is None) == (not rewarded)
    if rewarded:
        assert whole.reward_std == pytest.approx(LOG.rewards.std(), rel=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS.own)
def test_streams_and_logs_in_memory_say_the_same(name):
    """And every estimator is judged on the same fifth of the episodes."""
    rank = FEW.get(name, 5)
    whole, cut = (
        learn(name, log, discount=0.95, rank=rank).document() for log in (LOG, chunks(LOG, 4))
    )
    assert cut["overlap"].pop("never") == whole["overlap"].pop("never") == ()
    for key in ("heldout", "overlap"):  # sums of floats
        assert cut[key] == pytest.approx(whole[key], rel=1e-9)
    for key in set(whole) - {"heldout", "overlap", "negative_mass", "seconds"}:
        assert json.dumps(cut[key]) == json.dumps(whole[key]), key
    assert whole["heldout"]["steps"] == 12 * 15
    held = LOG.select(np.arange(4, 60, 5))
    assert whole["heldout"]["reward_std"] == pytest.approx(held.rewards.std(), rel=1e-12)
    assert whole["overlap"]["effective"] > 0.8
    assert whole["choice"] is None
    assert streams(name) == (name != "last-k")


def test_plans_of_resampled_logs_are_alternatives_that_are_reported():
    learned = learn("last-k", LOG, discount=0.95, rank=2, plan=True, ensemble=2, seed=3)
    options = learned.choice.options
    assert len(options) == 3
    assert options[0].solution.model is learned.model
    rows = learned.document()["choice"]["options"]
    assert sum(row["chosen"] for row in rows) == 1
    best = max(rows, key=lambda row: row["mean_value"])
    assert best["chosen"]
    assert all(len(row["values"]) == 3 for row in rows)
    assert all(row["off_policy"]["episodes"] == 60 for row in rows)
    assert len(learned.choice.summary()[0]) == len(learned.choice.COLUMNS)


def test_overlap_is_that_of_its_definition():
    """An action of two taken three times of four: (mean w)^2 / mean w^2, w = 1 / (2 pi)."""
    rng = np.random.default_rng(0)
    actions = (rng.random(4000) < 0.25).astype(int)
    log = Trajectories(
        ("often", "rarely"), ("x",), actions, 0 * actions, [0, 4000], [False], rewards=0.0 * actions
    )
    log = replace(log, propensities=np.where(actions == 1, 0.25, 0.75))
    overlap = Survey.of([log]).overlap
    w = 1 / (2 * log.propensities)
    assert overlap.effective == pytest.approx(w.mean() ** 2 / (w**2).mean(), rel=1e-12)
    assert (overlap.smallest, overlap.unseen) == (0.25, 0.0)
    counted = Survey.of([replace(log, propensities=None)]).overlap
    assert counted.effective == pytest.approx(overlap.effective, abs=0.03)
    never = replace(log, actions=0 * actions, propensities=None)
    assert Survey.of([never]).overlap.unseen == 1.0
    assert overlap.never == ()
    assert Survey.of([never]).overlap.never == ("rarely",)


def test_propensities_are_shrunk_towards_those_of_shorter_contexts():
    """Two actions, one observation: a context is the last action. The shorter is worth 8 counts."""
    tables = np.array([[[30, 10], [0, 0]], [[4, 0], [0, 0]]])
    none, one = shrunk_policy(tables, 2)
    np.testing.assert_allclose(none, [[(30 + 4) / 48, (10 + 4) / 48]])
    shorter = none[0]
    np.testing.assert_allclose(one, [(np.array([4, 0]) + 8 * shorter) / 12, shorter])


def test_only_contexts_that_came_often_lack_an_action():
    """Ten times for each of two actions makes a context common."""
    assert unseen_share(np.array([[20, 0], [19, 0], [10, 10], [30, 5], [0, 0]])) == 1 / 3
    assert unseen_share(np.array([[19, 0], [0, 3]])) == 0
    some, few = (Overlap(0.5, 1.0, share, ()).warning for share in (0.06, 0.04))
    assert "after 6% of the frequent interactions, at least one action was never" in some
    assert few == ""


def test_the_most_frequent_interaction_without_an_action_is_named():
    follows = np.array([[20, 0], [0, 30], [10, 10], [30, 5], [0, 0]])
    assert unseen_case(follows) == (1, 0)
    assert unseen_case(follows[2:]) is None
    log = from_arrays([[0, 1, 0]] * 40, [[0, 1, 0]] * 40, [[1, 1, 1]] * 40)
    log = replace(log, action_names=("go", "stay"), observation_names=("dark", "light"))
    overlap = Survey.of([log]).overlap
    assert overlap.missing == ("go", "go", "dark")
    assert "never taken next, such as go after go, dark: the log has no data" in overlap.warning


def test_an_action_that_is_never_taken_is_named_however_short_the_log():
    log = from_arrays(*([[0, seven, 0, 0, seven]] * 20 for seven in (7, 1, 1)))
    for overlap in (SpectralRPSR(rank=1).fit(log).overlap_, Survey.of([log.select([0])]).overlap):
        assert overlap.never == tuple("123456")
        assert "no episode takes 1, 2, 3, 4 and 2 more:" in overlap.warning


@given(
    st.lists(st.integers(0, 9), max_size=6), st.integers(0, 99), st.booleans(), st.integers(1, 3)
)
def test_overlap_adds_up_what_every_step_weighs(lengths, seed, logged, longest):
    rng = np.random.default_rng(seed)
    actions, seen = ([rng.integers(0, 2, n) for n in lengths] for _ in range(2))
    chances = [rng.uniform(0.1, 1, n) for n in lengths] if logged else None
    log = from_arrays(actions, seen, propensities=chances)
    assume(log.steps)
    survey = Survey.of([log, log], longest)
    pi = propensities(log, "logged" if logged else "estimated", survey.policy)
    overlap, w = survey.overlap, 1 / (len(log.action_names) * pi)
    assert overlap.smallest == pytest.approx(pi.min(), rel=1e-12)
    assert overlap.effective == pytest.approx(w.mean() ** 2 / (w**2).mean(), rel=1e-9)


@pytest.mark.filterwarnings("ignore:behaviour blind")
def test_overlap_is_of_the_log_whatever_policy_is_declared():
    """To take a policy for uniform does not make it so."""
    log = simulate("loadunload", 50, 10, seed=3, chances=lambda _: (0.9, 0.1))
    overlaps = [
        SpectralRPSR(rank=2, behaviour=behaviour).fit(log).overlap_ for behaviour in BEHAVIOURS
    ]
    assert overlaps[0] == overlaps[1] == overlaps[2] == Survey.of([log]).overlap
    assert overlaps[0].smallest == pytest.approx(0.1)


@pytest.mark.parametrize("name", ESTIMATORS.own)
def test_the_unit_of_rewards_changes_nothing_else(name):
    documents = []
    for unit in (1.0, 2.0**300, 2.0**-300):
        log = replace(LOG, rewards=LOG.rewards * unit)
        document = learn(name, log, discount=0.9, rank=FEW.get(name, 3)).document()
        for key in ("reward_rmse", "reward_std"):
            document["heldout"][key] /= unit
        document["psr_enough"]["reward_error"] /= unit
        documents.append({key: document[key] for key in ("rank", "heldout", "psr_enough")})
    assert documents[0] == documents[1] == documents[2]


@pytest.mark.parametrize("name", ESTIMATORS.own)
@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (1e200, r"rewards: read 1e\+200, expected a number from -1e\+100 to 1e\+100"),
        (-1.7e308, r"rewards: read -1.7e\+308, expected a number from -1e\+100"),
        (1e-300, r"the range of rewards: read 1e-300, expected a number from 1e-100, or 0"),
        (5e-324, r"the range of rewards: read 5e-324"),
    ],
)
def test_rewards_out_of_a_floats_reach_are_refused(name, unit, said):
    with pytest.raises(InputError, match=said):
        learn(name, replace(LOG, rewards=LOG.rewards * unit), discount=0.9)


def test_a_reward_out_of_reach_is_named_by_its_place():
    rewards = LOG.rewards.copy()
    rewards[47 * 15 + 3] = -1e200
    with pytest.raises(InputError, match=r"^episode 47, step 3: rewards: read -1e\+200"):
        replace(LOG, rewards=rewards)


@pytest.mark.parametrize("discount", [None, 1, 1 - 1e-15])
def test_a_discount_that_no_plan_can_have_is_refused_before_learning(discount):
    steps = []
    with pytest.raises(
        InputError, match=r"discount: read .*, expected one below 1 to choose among plans by a log"
    ):
        learn("spectral", LOG, discount=discount, plan=True, progress=steps.append)
    assert steps == []


def test_what_cannot_be_judged_is_refused():
    for episodes, said in ((4, "4 episodes"), (1, "1 episode")):
        with pytest.raises(InputError, match=f"read {said}, expected at least 5"):
            learn("last-k", LOG.select(np.arange(episodes)), discount=0.9)
    with pytest.raises(InputError, match="no rewards"):
        learn("em", replace(LOG, rewards=None), discount=0.9)
    with pytest.raises(InputError, match="behaviour 'logged' needs the probability"):
        learn("psr", replace(LOG, propensities=None), discount=0.9, behaviour="logged")
    with pytest.raises(InputError, match="no estimator is called 'magic'"):
        learn("magic", LOG, discount=0.9)


def test_logs_that_can_be_gone_through_once_are_refused():
    """Rather than found empty the second time."""
    for name in ("spectral", "discovered"):
        with pytest.raises(InputError, match="read list_iterator, which can be read only once"):
            learn(name, iter(chunks(LOG, 4)), discount=0.9, rank=3)
    with pytest.raises(InputError, match="read only once"):
        psr_enough(iter([LOG]))
    assert learn("last-k", iter(chunks(LOG, 4)), discount=0.9, rank=1).steps == LOG.steps


@st.composite
def logs_of_any_lengths(draw):
    lengths = draw(st.lists(st.sampled_from([0, 1, 3, 499, 501, 1300]), min_size=1, max_size=12))
    steps = sum(lengths)
    ended = draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths)))
    number = np.arange(steps)  # every step is distinct
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Trajectories(("a",), ("x",), 0 * number, 0 * number, offsets, ended, rewards=number)


@settings(max_examples=few(60), deadline=None)
@given(log=logs_of_any_lengths(), parts=st.integers(1, 5), one_in=st.sampled_from([2, 5]))
def test_every_step_is_either_learned_from_or_held_out(log, parts, one_in):
    """Whatever the chunks; and no end of a task is where only the part ends."""
    cut = chunks(log, parts)
    sides = [
        join(Part(logs, held_out, one_in=one_in))
        for held_out in (False, True)
        for logs in (log, cut)
    ]
    np.testing.assert_array_equal(sides[0].rewards, sides[1].rewards)
    np.testing.assert_array_equal(sides[2].rewards, sides[3].rewards)
    np.testing.assert_array_equal(sides[0].offsets, sides[1].offsets)
    np.testing.assert_array_equal(sides[2].offsets, sides[3].offsets)
    both = np.concatenate([sides[0].rewards, sides[2].rewards])
    np.testing.assert_array_equal(np.sort(both), log.rewards)
    for side in sides:
        assert set(side.rewards[side.ends]) <= set(log.rewards[log.ends])
    if (log.lengths > LONG).any():
        assert sides[2].steps >= LONG // one_in


@settings(max_examples=few(60), deadline=None)
@given(log=logs_of_any_lengths(), parts=st.integers(1, 5), steps=st.integers(1, 3000))
def test_a_beginning_is_as_few_episodes_as_have_the_steps(log, parts, steps):
    """And the same whatever the chunks: what is chosen by it must not depend on them."""
    taken = beginning(log, steps)
    np.testing.assert_array_equal(taken.rewards, log.rewards[: taken.steps])
    assert taken.steps >= min(steps, log.steps)
    if taken.steps >= steps:
        assert taken.steps - taken.lengths[-1] < steps
    np.testing.assert_array_equal(beginning(chunks(log, parts), steps).rewards, taken.rewards)


@settings(max_examples=few(60), deadline=None)
@given(log=logs_of_any_lengths(), parts=st.integers(1, 5), groups=st.integers(1, 4))
def test_pieces_hold_every_step_once_and_do_not_depend_on_chunks(log, parts, groups):
    whole, cut = (
        [
            np.concatenate([part.rewards for group, part in pieces(logs, groups) if group == g])
            for g in range(groups)
        ]
        for logs in (log, chunks(log, parts))
    )
    for a, b in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.sort(np.concatenate(whole)), log.rewards)
    assert max((part.lengths.max(initial=0) for _, part in pieces(log, 1))) <= LONG


def test_a_log_without_alternatives_cannot_say_that_a_psr_is_enough():
    """Load/unload, shuttled by one who knows: rewards follow from observations, on this log."""
    pomdp = rpsr.load_pomdp("loadunload")
    shuttle = solve(pomdp.belief_model(), planner_by_name("reachable"))
    log = run(pomdp, AlphaPolicy.of(shuttle), episodes=80, steps=30, seed=0, rewards=True)
    assert psr_enough(log).verdict != "yes"


def test_what_is_learned_is_a_value_with_a_model_a_policy_and_a_page(tmp_path):
    learned = learn("last-k", LOG, discount=0.9, k=1, plan=True)
    learned.save(tmp_path / "m.rpsr")
    again = rpsr.load(tmp_path / "m.rpsr")
    np.testing.assert_array_equal(again.rewards, learned.model.rewards)
    assert (again.estimator, again.final) == ("LastKTable", ())
    learned.report(tmp_path / "page.html", "my log")
    text = (tmp_path / "page.html").read_text()
    assert "A model learned from my log" in text
    assert learned.policy().act() in range(len(learned.model.actions))
    assert learned.findings.rank == learned.model.dimension == learned.estimator.rank_
    with pytest.raises(InputError, match="no plan was made"):
        learn("last-k", LOG, discount=0.9, k=1).policy()


@pytest.mark.parametrize("name", ESTIMATORS.own)
def test_parameters_of_an_estimator_are_taken_and_others_refused(name):
    said = f"^estimator {name} has no parameter 'colour'; its parameters are .*discount"
    with pytest.raises(InputError, match=said):
        learn(name, LOG, discount=0.9, colour="red")
    if name in FEW:
        with pytest.raises(InputError, match=r"has no parameter 'behaviour' \(--behaviour\)"):
            learn(name, LOG, discount=0.9, behaviour="logged")
    with pytest.raises(InputError, match=r"^enough: read -1|^backoff: read -1"):
        learn(name, LOG, discount=0.9, **({"backoff": -1} if name == "last-k" else {"enough": -1}))


def test_one_size_is_not_given_by_two_names():
    with pytest.raises(InputError, match="read rank and states, which mean the same; give one"):
        learn("em", LOG, discount=0.9, rank=3, states=4)


def test_a_parameter_may_be_called_name():
    learned = learn("spectral", LOG, discount=0.9, rank=2, name="mine")
    assert learned.model.name == "mine"


def test_episodes_without_steps_are_not_called_too_few():
    offsets, never = np.append(LOG[:4].offsets, 60), [False] * 5
    five = replace(LOG[:4], offsets=offsets, terminated=never, truncated=never)
    with pytest.raises(InputError, match=r"held-out episodes \(one in 5\) have no steps"):
        learn("last-k", five, discount=0.9)


@pytest.mark.parametrize("name", ["em", "last-k", "spectral"])
def test_the_test_of_a_psr_uses_the_propensities_of_the_log(name):
    """Of estimators that need none; of the others, those that they use."""
    learned = learn(name, LOG, discount=0.9, rank=FEW.get(name, 3))
    own = "estimated" if name == "spectral" else "logged"
    assert learned.psr_enough == psr_enough(LOG, behaviour=own)
    assert psr_enough(LOG, behaviour="logged") != psr_enough(LOG, behaviour="estimated")
    silent = learn(name, replace(LOG, propensities=None), discount=0.9, rank=FEW.get(name, 3))
    assert silent.psr_enough == psr_enough(LOG, behaviour="estimated")


def test_the_model_that_is_judged_knows_that_it_was_learned():
    """So that its filter is robust, and its simulations end where tasks do."""
    log = coin_log(60, seed=0)
    search = Search(sizes=(3,), starts=1, descents=1, memories=0)
    for estimator in (EMRPSR(search=search), SpectralRPSR(rank=2), LastKTable(k=1)):
        estimator.fit(log)
        for model in (estimator.fitted_, estimator.model_):
            assert (model.estimator, model.final) == (type(estimator).__name__, (END,))
            assert type(model.filter()) is RobustFilter
