"""Returns by a model's own rewards: POMDP and R-PSR agree on every sequence, a PSR where it can."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.evaluation.oracle import random_table
from tests.models.builders import pomdps
from tests.predictive.rationals import process
from tests.strategies import few

from rpsr import ImpossibleObservation, InputError
from rpsr.domains import build
from rpsr.evaluation import StochasticController, evaluate, exact_return, returns, simulate
from rpsr.logs import Trajectories
from rpsr.predictive import find_core, psr, rpsr
from rpsr.predictive.constructors import predictive_model

EIGHT = [
    *("4x3", "heavenhell", "iff", "line4-2goals", "loadunload", "paint", "parr", "stand-tiger"),
]


def uniform_log(pomdp, **options):
    return simulate(pomdp, StochasticController.stationary(pomdp), ends=False, **options)


def all_histories(pomdp, steps):
    """Every possible history of a number of steps, and its probability under uniform actions."""
    D = process(pomdp)
    sides = len(pomdp.actions), len(pomdp.observations)
    histories = [([], pomdp.record.start.fractions(0))]
    for _ in range(steps):
        longer = []
        for history, weights in histories:
            for a, o in np.ndindex(sides):
                moved = {}
                for s, w in weights.items():
                    for t, p in D[a][o][s].items():
                        moved[t] = moved.get(t, Fraction(0)) + w * p / sides[0]
                if moved:
                    longer.append(([*history, (a, o)], moved))
        histories = longer
    flat = np.array([step for history, _ in histories for step in history]).reshape(-1, 2)
    log = Trajectories(
        action_names=pomdp.actions,
        observation_names=pomdp.observations,
        actions=flat[:, 0],
        observations=flat[:, 1],
        offsets=np.arange(len(histories) + 1) * steps,
        terminated=np.zeros(len(histories), dtype=bool),
    )
    return log, np.array([float(sum(weights.values())) for _, weights in histories])


@pytest.mark.parametrize("name", EIGHT)
def test_pomdp_and_rpsr_agree_on_every_trajectory(name):
    pomdp = build(name)
    log = uniform_log(pomdp, episodes=100, steps=100)
    true, ours = returns(log, pomdp), returns(log, rpsr(pomdp))
    assert np.abs(true - ours).max() <= 1e-9
    assert np.abs(true - returns(log, psr(pomdp))).max() > 1e-3  # none of the eight is accurate


@given(pomdps(), st.integers(0, 2**32 - 1))
@settings(max_examples=few(30))
def test_pomdp_and_rpsr_agree_on_random_models(pomdp, seed):
    table = random_table(seed, pomdp, 2)
    log = simulate(pomdp, table, episodes=10, steps=20, seed=seed, ends=False)
    true = returns(log, pomdp)
    assert returns(log, rpsr(pomdp)) == pytest.approx(true, abs=1e-9)
    core = find_core(pomdp, "psr")
    if core.accurate:
        assert returns(log, predictive_model(pomdp, core)) == pytest.approx(true, abs=1e-9)


def test_an_accurate_psr_agrees_too():
    pomdp = build("tiger")
    log = uniform_log(pomdp, episodes=100, steps=100)
    assert returns(log, psr(pomdp)) == pytest.approx(returns(log, pomdp), abs=1e-9)


@given(pomdps(), st.sampled_from([None, 0.5, 1.0]))
@settings(max_examples=few(20))
def test_returns_add_up_what_a_filter_expects(pomdp, discount):
    log = uniform_log(pomdp, episodes=4, steps=6)
    model = rpsr(pomdp)
    factor = model.discount if discount is None else discount
    for value, episode in zip(returns(log, model, discount=discount), log, strict=True):
        state, total = model.filter(), 0.0
        steps = zip(episode.actions.tolist(), episode.observations.tolist(), strict=True)
        for t, (a, o) in enumerate(steps):
            total += factor**t * float(model.expected_rewards(state.state)[a])
            state.update(a, o)
        assert value == pytest.approx(total, abs=1e-10)


@given(pomdps())
@settings(max_examples=few(15))
def test_all_histories_average_to_the_exact_value(pomdp):
    assume(len(pomdp.actions) * len(pomdp.observations) <= 6)
    log, chances = all_histories(pomdp, 3)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    policy = StochasticController.stationary(pomdp)
    for model in (pomdp.belief_model(), psr(pomdp), rpsr(pomdp)):
        exact = exact_return(pomdp, policy, steps=3, rewards=model)
        assert chances @ returns(log, model) == pytest.approx(exact, abs=1e-9)


def test_the_corridor_by_hand():
    """Two steps at the loading end, in fractions."""
    pomdp = build("loadunload")
    log = Trajectories(
        action_names=pomdp.actions,
        observation_names=pomdp.observations,
        actions=[pomdp.actions.index("left")] * 2,
        observations=[pomdp.observations.index("loading")] * 2,
        offsets=[0, 2],
        terminated=[False],
    )
    D, R = process(pomdp), pomdp.exact_rewards()
    weights, total = pomdp.record.start.fractions(0), Fraction(0)
    for t in range(2):
        a, o = int(log.actions[t]), int(log.observations[t])
        mass = sum(weights.values())
        total += Fraction(19, 20) ** t * sum(w * R[s][a] for s, w in weights.items()) / mass
        moved = {}
        for s, w in weights.items():
            for s2, p in D[a][o][s].items():
                moved[s2] = moved.get(s2, 0) + w * p
        weights = moved
    assert returns(log, pomdp)[0] == pytest.approx(float(total), abs=1e-15)


def test_episodes_of_different_lengths():
    pomdp = build("paint")
    whole = uniform_log(pomdp, episodes=3, steps=5)
    cut = Trajectories(
        action_names=whole.action_names,
        observation_names=whole.observation_names,
        actions=whole.actions[[0, 1, 5, 6, 7, 8, 9]],
        observations=whole.observations[[0, 1, 5, 6, 7, 8, 9]],
        offsets=[0, 2, 2, 7],
        terminated=[False, False, False],
    )
    first, none, second = returns(cut, pomdp)
    alone = returns(cut.select(np.array([0])), pomdp)
    assert (first, none, second) == (alone[0], 0, returns(whole, pomdp)[1])


def test_many_episodes_are_taken_in_turns(monkeypatch):
    pomdp = build("paint")
    log = uniform_log(pomdp, episodes=25, steps=6)
    together = returns(log, pomdp)
    monkeypatch.setattr(sys.modules[returns.__module__], "TOGETHER", 10)
    assert returns(log, pomdp) == pytest.approx(together, abs=1e-14)


def test_refusals():
    pomdp = build("tiger")
    log = uniform_log(pomdp, episodes=20, steps=10)
    with pytest.raises(InputError, match="the episodes have the actions"):
        returns(log, build("paint"))
    with pytest.raises(ImpossibleObservation, match=r"episode \d+, step \d+: observation"):
        returns(log, build("tiger:accuracy=1"))


def test_evaluate_discounts_all_returns_as_the_system_does():
    tiger = build("tiger")
    half = tiger.with_discount("0.5")
    rows = evaluate(tiger, models={"same": tiger, "half": half}, episodes=20, steps=30)
    assert rows[0].mean == rows[1].mean
    assert rows[0].exact == rows[1].exact
    (alone,) = evaluate(half, models={"same": tiger}, episodes=20, steps=30)
    assert alone.mean != rows[0].mean
