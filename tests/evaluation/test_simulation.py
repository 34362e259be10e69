"""Simulation: what is possible happens as often as it should, and seeds decide everything."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.evaluation.oracle import random_table
from tests.models.builders import Sizes, pomdps, random_exact
from tests.models.test_terminal import loop, street
from tests.planning.lottery import lottery
from tests.strategies import few

from rpsr import ImpossibleObservation, InputError, ModelError, episodic
from rpsr.domains import build
from rpsr.evaluation import StochasticController, simulate, simulate_blocks
from rpsr.evaluation.systems import FilteredStates
from rpsr.models.terminal import final_observations
from rpsr.planning import (
    AlphaPolicy,
    FiniteStateController,
    PolicyTree,
    StagedPolicy,
    UniformPolicy,
    ValueIteration,
    extract_controller,
    solve,
)
from rpsr.predictive import psr, rpsr

COLUMNS = ("actions", "observations", "offsets", "terminated", "rewards", "propensities", "states")


def same(first, second):
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in COLUMNS
        if getattr(first, name) is not None or getattr(second, name) is not None
    )


def uniform(pomdp):
    return UniformPolicy(pomdp.belief_model(), np.random.default_rng(99))


class Repeats:
    """A user's own policy, with a history of its own: does what it saw two steps ago."""

    def __init__(self, n_actions):
        self.n_actions, self.history = n_actions, []

    @property
    def memory(self):
        return np.array(self.history[-2:], dtype=float)

    def reset(self):
        self.history = []

    def act(self):
        return self.history[-2] % self.n_actions if len(self.history) > 1 else 0

    def update(self, action, observation):
        self.history.append(observation)


class Drawn(Repeats):
    """A user's own policy that chooses by chance."""

    def __init__(self, probabilities):
        super().__init__(len(probabilities))
        self._row = probabilities

    def probabilities(self):
        return self._row


# ---- what happened could happen, and paid what it pays


@given(pomdps(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=few(30))
def test_every_step_is_an_outcome_of_the_model(pomdp, seed, compiled):
    table = random_table(seed, pomdp, 2)
    policy = table if compiled else Repeats(len(pomdp.actions))
    log = simulate(
        pomdp, policy, episodes=5, steps=8, seed=seed, rewards=True, states=True, propensities=True
    )
    o = pomdp.outcomes
    keys = zip(*(c.tolist() for c in (o.state, o.action, o.next_state, o.observation)), strict=True)
    reward = dict(zip(keys, o.reward.tolist(), strict=True))
    for episode in log:
        states = episode.states.tolist()
        assert pomdp.start[states[0]] > 0
        node = table.first
        for step, (s, t) in enumerate(pairwise([*states, None])):
            a, seen = int(episode.actions[step]), int(episode.observations[step])
            if t is not None:
                assert episode.rewards[step] == reward[s, a, t, seen]
            if compiled:
                assert episode.propensities[step] == table.probabilities[node, a] > 0
                node = table.successors[node, a, seen]
            else:
                assert episode.propensities[step] == 1
                expected = int(episode.observations[step - 2]) % len(pomdp.actions)
                assert a == (expected if step > 1 else 0)


@pytest.mark.parametrize("way", ["compiled", "filtered", "belief", "drawn"])
def test_observations_come_as_often_as_they_should(way):
    """Two steps of tiger's listening and opening, all histories, by their exact probabilities."""
    pomdp = build("tiger")
    model = pomdp.belief_model()
    chances = np.array([0.5, 0.25, 0.25])
    expected = np.zeros((3, 2, 3, 2))
    for a, o, b, p in np.ndindex(expected.shape):
        first = model.predict(model.start, a)[o]
        second = model.predict(model.update(model.start, a, o), b)[p]
        expected[a, o, b, p] = chances[a] * first * chances[b] * second
    drawn = StochasticController.stationary(pomdp, chances)
    episodes = 20_000 if way != "drawn" else 4000
    system, policy = {
        "compiled": (pomdp, drawn),
        "filtered": (rpsr(pomdp), drawn),
        "belief": (model, drawn),
        "drawn": (pomdp, Drawn(chances)),
    }[way]
    log = simulate(system, policy, episodes=episodes, steps=2, seed=1)
    a, o = log.actions.reshape(-1, 2).T, log.observations.reshape(-1, 2).T
    counts = np.zeros(expected.shape)
    np.add.at(counts, (a[0], o[0], a[1], o[1]), 1)
    assert chisquare(counts.ravel(), episodes * expected.ravel()).pvalue > 1e-3


class LastDraw:
    """A generator whose every number is the middle of [1 - width, 1)."""

    def __init__(self, width):
        self.drawn = 1 - float(width) / 2

    def random(self, size):
        return np.full(size, self.drawn)


@pytest.mark.parametrize("rare", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_a_linear_model_draws_rare_observations(rare):
    """A number above 1 - rare selects the jackpot, which has this probability."""
    system, waits = FilteredStates(lottery(rare).belief_model()), np.zeros(4, dtype=np.int64)
    generators: list[Any] = [LastDraw(width) for width in (rare, 4 * rare)]
    seen = [system.step(rng, system.begin(rng, 4), waits)[1].tolist() for rng in generators]
    assert seen == [[1] * 4, [0] * 4]


def test_linear_models_pay_what_they_expect():
    model = psr(build("loadunload"))
    controller = StochasticController.stationary(model)
    log = simulate(model, controller, episodes=3, steps=20, rewards=True)
    for episode in log:
        state = model.filter()
        for step in range(20):
            a, o = int(episode.actions[step]), int(episode.observations[step])
            expected = model.expected_rewards(state.state)[a]
            assert episode.rewards[step] == pytest.approx(expected, abs=1e-12)
            state.update(a, o)


# ---- seeds, workers, blocks


@pytest.mark.parametrize("kind", ["table", "greedy", "linear", "asked"])
def test_workers_and_blocks_change_nothing(kind, monkeypatch):
    pomdp = build("tiger")
    system = rpsr(pomdp) if kind == "linear" else pomdp
    policy = {"asked": Repeats(3), "greedy": AlphaPolicy.of(solve(pomdp, ValueIteration()))}.get(
        kind, uniform(pomdp)
    )
    if kind == "greedy":  # as if it reached too many states for a table
        monkeypatch.setattr("rpsr.evaluation.simulation.tabulate", lambda policy, steps: None)
    options = {"episodes": 600, "steps": 7, "seed": 5, "rewards": True, "propensities": True}
    alone = simulate(system, policy, **options)
    assert same(alone, simulate(system, policy, **options, workers=3))
    blocks = list(simulate_blocks(system, policy, **options))
    assert [block.episodes for block in blocks] == [256, 256, 88]
    assert np.array_equal(np.concatenate([b.actions for b in blocks]), alone.actions)
    assert not same(alone, simulate(system, policy, **(options | {"seed": 6})))


def test_more_episodes_begin_with_the_same_ones():
    pomdp = build("paint")
    few, many = (simulate(pomdp, uniform(pomdp), episodes=n, steps=5) for n in (512, 700))
    assert same(few, many.select(np.arange(512)))


def test_long_episodes_come_in_smaller_blocks():
    pomdp = build("tiger")
    blocks = simulate_blocks(pomdp, uniform(pomdp), episodes=5, steps=2**17)
    assert [block.episodes for block in blocks] == [2, 2, 1]


def test_progress_is_told():
    calls = []
    pomdp = build("tiger")
    simulate(pomdp, uniform(pomdp), episodes=300, steps=2, progress=lambda *at: calls.append(at))
    assert calls == [(256, 300), (300, 300)]


# ---- all forms of one policy


@pytest.mark.parametrize("name", ["tiger", "loadunload", "heavenhell", "stand-tiger"])
def test_all_forms_of_a_policy_do_the_same(name, monkeypatch):
    """A greedy policy as a table, filtered in batches, and asked step by step."""
    pomdp = build(name).with_discount("0.95")
    policy = AlphaPolicy.of(solve(rpsr(pomdp), ValueIteration(epsilon=1e-8)))
    options = {"episodes": 40, "steps": 30, "ends": False, "states": True}
    log = simulate(pomdp, policy, **options)
    for episode in log:
        policy.reset()
        for a, o in zip(episode.actions.tolist(), episode.observations.tolist(), strict=True):
            assert policy.act() == a
            policy.update(a, o)
    monkeypatch.setattr("rpsr.evaluation.simulation.tabulate", lambda policy, steps: None)
    for episode in simulate(pomdp, policy, **options):
        policy.reset()
        for a, o in zip(episode.actions.tolist(), episode.observations.tolist(), strict=True):
            assert policy.act() == a
            policy.update(a, o)


def test_plans_for_a_horizon_are_followed_to_their_end():
    pomdp = build("tiger")
    plan = solve(pomdp, ValueIteration(horizon=5))
    tree, staged = PolicyTree.of(plan), StagedPolicy.of(plan)
    for policy in (tree, tree.policy(), staged):
        log = simulate(pomdp, policy, episodes=50, steps=5)
        follower = staged if policy is staged else tree.policy()
        for episode in log:
            follower.reset()
            for a, o in zip(episode.actions.tolist(), episode.observations.tolist(), strict=True):
                assert follower.act() == a
                follower.update(a, o)
        with pytest.raises(ModelError, match="a plan for 5 steps, expected one for 6 steps"):
            simulate(pomdp, policy, episodes=1, steps=6)


def test_a_controller_begins_again_at_what_it_never_expected():
    pomdp = build("tiger")
    successors = np.array([[1, -1], [0, -1]])
    controller = FiniteStateController(
        pomdp.actions, pomdp.observations, np.array([0, 1]), successors
    )
    first, second = (
        simulate(pomdp, policy, episodes=20, steps=20, seed=3)
        for policy in (controller, controller.policy())
    )
    assert same(first, second)
    for episode in first:
        follower = controller.policy()
        for a, o in zip(episode.actions.tolist(), episode.observations.tolist(), strict=True):
            assert follower.act() == a
            follower.update(a, o)


# ---- ends


def test_an_episode_ends_where_an_observation_says_so():
    pomdp = episodic(loop())
    assert final_observations(pomdp).tolist() == [False, False, True]
    log = simulate(pomdp, uniform(pomdp), episodes=200, steps=4, rewards=True)
    ended = log.observations[log.offsets[1:] - 1] == 2
    assert ended.any()
    assert (~ended).any()
    assert np.array_equal(log.terminated, ended)
    assert (log.observations == 2).sum() == ended.sum()
    assert (log.lengths[~ended] == 4).all()
    whole = simulate(pomdp, uniform(pomdp), episodes=200, steps=4, ends=False)
    assert (whole.lengths == 4).all()
    assert not whole.terminated.any()


def test_an_end_for_a_policy_that_is_asked():
    pomdp = episodic(loop())
    log = simulate(pomdp, Repeats(2), episodes=10, steps=4)
    assert log.lengths.tolist() == [1] * 10  # it goes at once
    assert log.terminated.all()


def test_an_end_that_nobody_sees_is_none():
    assert not final_observations(street()).any()
    assert not final_observations(build("line4-2goals")).any()
    over = episodic(loop())
    begun = street(start={"one": 1, "over": 0})
    assert not final_observations(begun).any()
    assert final_observations(over).any()


# ---- what is refused


def test_refusals():
    pomdp = build("tiger")
    policy = uniform(pomdp)
    for changes, message in (
        ({"episodes": 0}, "episodes: read 0"),
        ({"steps": 0}, "steps: read 0"),
        ({"workers": 0}, "workers: read 0"),
        ({"seed": -1}, "seed: read -1"),
    ):
        with pytest.raises(InputError, match=message):
            simulate(pomdp, policy, **({"episodes": 1, "steps": 1} | changes))
    with pytest.raises(ModelError, match="no hidden states"):
        simulate(pomdp.belief_model(), policy, episodes=1, steps=1, states=True)
    with pytest.raises(ModelError, match="the policy has the actions"):
        simulate(build("paint"), policy, episodes=1, steps=1)
    greedy = AlphaPolicy.of(solve(pomdp, ValueIteration()))
    with pytest.raises(ModelError, match="the policy has the actions"):
        simulate(build("paint"), greedy, episodes=1, steps=1)
    own = Repeats(3)
    own.act = lambda: 7
    with pytest.raises(ModelError, match="chose action 7, expected the index of an action, 0 to 2"):
        simulate(pomdp, own, episodes=1, steps=1)
    with pytest.raises(ModelError, match="probabilities"):
        simulate(pomdp, Drawn([0.5, 0.6, 0.1]), episodes=1, steps=1)


@pytest.mark.parametrize("tabulated", [True, False])
def test_an_observation_that_the_policy_excludes_is_an_error(tabulated, monkeypatch):
    """A policy for a system with reliable observations, on a system with unreliable ones."""
    if not tabulated:
        monkeypatch.setattr("rpsr.evaluation.simulation.tabulate", lambda policy, steps: None)
    sure = build("tiger:accuracy=1").belief_model().with_rewards(np.zeros((2, 3)))
    policy = AlphaPolicy(sure, np.zeros((1, 2)))  # all values are equal, so it always listens
    with pytest.raises(ImpossibleObservation, match=r"rules out .* after action 'listen'"):
        simulate(build("tiger"), policy, episodes=100, steps=10)


def test_controllers_are_checked():
    names = ("a", "b"), ("x",)
    stay = np.zeros((1, 2, 1), dtype=np.int64)
    StochasticController(*names, np.array([[0.5, 0.5]]), stay)
    for probabilities, successors, message in (
        ([[0.5, 0.6]], stay, "sum to 1"),
        ([[1.5, -0.5]], stay, "sum to 1"),
        ([[0.5, 0.5, 0.0]], stay, "shapes"),
        ([[0.5, 0.5]], stay + 1, "from -1 to 0"),
        ([[0.5, 0.5]], stay[:, :1], "shapes"),
    ):
        with pytest.raises(InputError, match=message):
            StochasticController(*names, np.array(probabilities), successors)
    with pytest.raises(InputError, match="first"):
        StochasticController(*names, np.array([[0.5, 0.5]]), stay, first=1)


def test_an_impossible_action_is_never_drawn():
    pomdp = random_exact(0, Sizes(3, 2, 2))
    third = 1 / 3
    policy = StochasticController.stationary(pomdp, [third, 1 - third, 0.0])
    assert policy.cumulative.tolist() == [[third, 1.0, 1.0]]
    log = simulate(pomdp, policy, episodes=100, steps=50, propensities=True)
    assert log.actions.max() == 1


def test_extracted_controllers_run():
    pomdp = build("loadunload")
    controller = extract_controller(solve(pomdp, ValueIteration()))
    assert simulate(pomdp, controller, episodes=10, steps=10).steps == 100
