"""Observations replaced by a model's state: the state that the model's own filter has."""

from dataclasses import replace
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.vector import AutoresetMode
from tests.envs.worlds import stairs

import rpsr
from rpsr import ImpossibleObservation, InputError, ModelError
from rpsr.envs import PredictiveState, VectorPredictiveState, make, record
from rpsr.learning import SpectralRPSR
from rpsr.models import DenseOperators


def models(pomdp):
    return {"belief": pomdp, "psr": rpsr.psr(pomdp), "rpsr": rpsr.rpsr(pomdp)}


@pytest.fixture(scope="module")
def learned():
    log = record(make("loadunload"), "uniform", 200, steps=20)
    return SpectralRPSR(rank=5, discount=0.95).fit(log).model_


@pytest.mark.parametrize("kind", ["belief", "psr", "rpsr", "learned"])
def test_the_state_is_the_filters(kind, learned):
    pomdp = rpsr.load("loadunload")
    model = learned if kind == "learned" else models(pomdp)[kind]
    raw, wrapped = make(pomdp), PredictiveState(make(pomdp), model)
    linear = pomdp.belief_model() if kind == "belief" else model
    reference = linear.filter()
    raw.reset(seed=3)
    state, _ = wrapped.reset(seed=3)
    assert state == pytest.approx(reference.start())
    rng = np.random.default_rng(0)
    for _ in range(30):
        action = int(rng.integers(2))
        observation, *rest = raw.step(action)
        state, *mine = wrapped.step(action)
        assert mine == rest
        name = pomdp.observations[observation]
        assert state == pytest.approx(reference.update(pomdp.actions[action], name), abs=1e-9)
        assert wrapped.observation_space.contains(state)


def test_gymnasium_accepts_the_wrapper():
    env = PredictiveState(make("tiger"), "tiger")
    with pytest.warns(UserWarning, match="different from the unwrapped"):
        gymnasium_check(env, skip_render_check=True)
    assert env.observation_space == gymnasium.spaces.Box(0, 1, (2,), np.float64)
    again = env.spec.make()
    assert again.reset(seed=0)[0] == pytest.approx([0.5, 0.5])


def test_the_cores_predictions_instead_of_coordinates(learned):
    pomdp = rpsr.load("loadunload")
    model = rpsr.psr(pomdp)
    env = PredictiveState(make(pomdp), model, core=True)
    state, _ = env.reset(seed=0)
    assert state == pytest.approx(model.start @ model.coordinates)
    with pytest.raises(
        ModelError, match="a belief model has no core tests or intents; leave out core=True"
    ):
        PredictiveState(make(pomdp), pomdp, core=True)
    origin = rf"model \(learned by {learned.estimator}\)"
    message = f"{origin} has no core tests or intents; leave out core=True"
    with pytest.raises(ModelError, match=message):
        PredictiveState(make(pomdp), learned, core=True)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", ["belief", "rpsr"])
def test_vector_environments_in_every_autoreset_mode(mode, kind):
    """Each copy has the state of a filter that begins where its episode begins."""
    pomdp = stairs({3: Fraction(1, 2), 2: Fraction(1, 2)})
    model = models(pomdp)[kind]
    linear = pomdp.belief_model() if kind == "belief" else model
    options = {"num_envs": 4, "max_episode_steps": 5, "autoreset_mode": mode}
    raw, wrapped = make(pomdp, **options), PredictiveState(make(pomdp, **options), model)
    assert isinstance(wrapped, VectorPredictiveState)
    raw.reset(seed=1)
    states, _ = wrapped.reset(seed=1)
    filters = [linear.filter() for _ in range(4)]
    over, rng, ended = np.zeros(4, dtype=bool), np.random.default_rng(0), 0
    for _ in range(40):
        if mode is AutoresetMode.DISABLED and over.any():
            mask = {"reset_mask": over}
            raw.reset(options=mask)
            states, _ = wrapped.reset(options=mask)
            for i in np.flatnonzero(over):
                filters[i].start()
        actions = rng.integers(2, size=4)
        seen, *rest, info = raw.step(actions)
        states, *mine, wrapped_info = wrapped.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(mine, rest, strict=True))
        begins = over if mode is AutoresetMode.NEXT_STEP else np.zeros(4, dtype=bool)
        over = rest[1] | rest[2]
        ended += over.sum()
        for i, one in enumerate(filters):
            if begins[i]:
                one.start()
                continue
            last = info["final_obs"][i] if mode is AutoresetMode.SAME_STEP and over[i] else seen[i]
            one.update(int(actions[i]), int(last))
            if mode is AutoresetMode.SAME_STEP and over[i]:
                assert wrapped_info["final_obs"][i] == pytest.approx(one.state)
                one.start()
        assert states == pytest.approx(np.array([one.state for one in filters]), abs=1e-12)
    assert ended > 10


def test_an_environment_of_others_with_its_first_observation():
    """With initial="step" the observation of `reset` enters the state."""
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=20)
    corners = gymnasium.wrappers.TransformObservation(
        lake, lambda s: s % 4, gymnasium.spaces.Discrete(4)
    )
    log = record(corners, "uniform", 300, initial="step")
    assert log.action_names == ("0", "1", "2", "3")
    model = SpectralRPSR(rank=3, discount=0.9).fit(log).model_
    env = PredictiveState(corners, model, initial="step")
    state, _ = env.reset(seed=0)
    assert state == pytest.approx(model.filter().update("0", "0"), abs=2e-3)
    blind, _ = PredictiveState(corners, model).reset(seed=0)
    assert blind == pytest.approx(model.start)
    with pytest.raises(InputError, match="initial: read 'keep', expected 'drop' or 'step'"):
        PredictiveState(corners, model, initial="keep")


def test_an_unknown_observation_moves_a_learned_state_as_the_mean(learned):
    pomdp = rpsr.load("loadunload")
    known = tuple(name for name in learned.observations if name != "unloading")
    assert len(known) == 2
    matrices = np.array(
        [
            [learned.operators.matrix(a, learned.observations.index(o)) for o in known]
            for a in range(2)
        ]
    )
    partial = replace(learned, observations=known, operators=DenseOperators(matrices))
    env = PredictiveState(make(pomdp), partial)
    env.reset(seed=0)
    for _ in range(8):
        state, *_ = env.step(0)  # ends at the unloading end
    assert np.isfinite(state).all()


def test_models_of_other_systems_are_refused():
    with pytest.raises(InputError, match="has action 'listen', which the model lacks"):
        PredictiveState(make("tiger"), "4x3")
    numbered = make(stairs())
    numbered.unwrapped.observation_space = gymnasium.spaces.Discrete(4)
    with pytest.raises(InputError, match="has observation 'low', which the environment lacks"):
        PredictiveState(numbered, stairs())
    env = PredictiveState(make(stairs({3: 1})), stairs({1: 1}))
    env.reset(seed=0)
    with pytest.raises(
        ImpossibleObservation, match="a model of another environment; give another model"
    ):
        env.step(0)
