"""The vector environment steps as Gymnasium's own does over single ones, only faster."""

from __future__ import annotations

from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tests.envs.worlds import stairs

import rpsr
from rpsr import InputError
from rpsr.envs import ID, make
from rpsr.envs.kernels import advance
from rpsr.evaluation.systems import HiddenStates
from rpsr.models.filter_batch import filter_batch

MODES = list(AutoresetMode)


def same(mine, theirs):
    """Equal arrays, also inside dictionaries, with the same types."""
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys()
        for key in theirs:
            same(mine[key], theirs[key])
        return
    assert mine.dtype == theirs.dtype
    assert np.array_equal(mine, theirs)


def masked(info):
    """Info with entries that the masks rule out set to zero: nobody may read them."""
    kept = {}
    for key, value in info.items():
        if isinstance(value, dict):
            kept[key] = masked(value)
        elif f"_{key}" in info and value.dtype != object:
            kept[key] = np.where(info[f"_{key}"], value, 0)
        else:
            kept[key] = value
    return kept


@pytest.mark.parametrize("mode", MODES)
def test_it_steps_as_gymnasiums_own_does(mode):
    """On a system without chance both give the same arrays, whatever they are asked for."""
    plan = rpsr.solve(stairs(), "sarsop")
    options = {"source": stairs(), "max_episode_steps": 4, "hidden_state": True, "optimum": plan}
    mine = make(num_envs=5, autoreset_mode=mode, **options)
    theirs = gymnasium.make_vec(
        ID,
        num_envs=5,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **options,
    )
    assert isinstance(theirs, SyncVectorEnv)
    for kind in ("action_space", "observation_space", "single_action_space"):
        assert getattr(mine, kind) == getattr(theirs, kind)
    assert mine.metadata == theirs.metadata
    rng, ended = np.random.default_rng(0), 0
    results = [env.reset(seed=1) for env in (mine, theirs)]
    for _ in range(60):
        for one, other in zip(*results, strict=True):
            same(*(masked(x) if isinstance(x, dict) else x for x in (one, other)))
        if mode is AutoresetMode.DISABLED and len(results[0]) == 5:
            over = results[0][2] | results[0][3]
            if over.any():
                ended += over.sum()
                results = [env.reset(options={"reset_mask": over}) for env in (mine, theirs)]
                continue
        elif len(results[0]) == 5:
            ended += (results[0][2] | results[0][3]).sum()
        actions = rng.integers(2, size=5)
        results = [env.step(actions) for env in (mine, theirs)]
    assert ended > 20


@pytest.mark.parametrize("source", ["tiger", "4x3"])
def test_one_copy_is_the_single_environment(source):
    """A seed gives both the same episodes."""
    single, vector = make(source, hidden_state=True), make(source, num_envs=1, hidden_state=True)
    (first, info), (firsts, infos) = single.reset(seed=9), vector.reset(seed=9)
    assert (first, info["state"]) == (firsts[0], infos["state"][0])
    for step in range(100):
        action = step % 3
        seen, paid, _, _, info = single.step(action)
        seens, paids, _, _, infos = vector.step(np.array([action]))
        assert (seen, paid, info["state"]) == (seens[0], paids[0], infos["state"][0])


def test_one_copy_begins_again_as_the_single_environment():
    pomdp = stairs({3: Fraction(1, 2), 1: Fraction(1, 2)})
    single, vector = make(pomdp), make(pomdp, num_envs=1)
    single.reset(seed=4)
    vector.reset(seed=4)
    lengths = set()
    for _ in range(30):
        length, terminated = 0, False
        while not terminated:
            length += 1
            seen, paid, terminated, *_ = single.step(0)
            seens, paids, terminateds, *_ = vector.step(np.array([0]))
            assert (seen, paid, terminated) == (seens[0], paids[0], terminateds[0])
        lengths.add(length)
        first, reward, terminated, *_ = vector.step(np.array([1]))
        assert (single.reset()[0], 0.0, False) == (first[0], reward[0], terminated[0])
    assert lengths == {1, 3}


def test_the_kernel_uncompiled():
    hallway = rpsr.load("hallway")
    tables = HiddenStates(hallway)
    rng = np.random.default_rng(0)
    batch, results = 64, []
    inputs = rng.random(batch), rng.integers(5, size=batch), rng.random(batch) < 0.2
    for run in (advance, advance.py_func):
        states, seen, paid = np.arange(batch) % 60, np.empty(batch, dtype=np.int64), np.empty(batch)
        fixed = tables.outcomes, tables.rewards, tables.n_states, len(hallway.observations)
        run(*fixed, *inputs, states, seen, paid)
        results.append((states, seen, paid))
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_the_mean_return_is_the_exact_one():
    """Of the uniform policy on hallway, 5,000 episodes of 100 steps, within five standard errors.

    What the steps after the hundredth are worth is at most 0.95^100 / 0.05 = 0.12.
    """
    hallway = rpsr.load("hallway")
    exact = rpsr.evaluation.exact_return(hallway, "uniform", steps=100)
    envs = make(hallway, num_envs=5000)
    envs.reset(seed=0)
    rng, returns = np.random.default_rng(1), np.zeros(5000)
    for step in range(100):
        returns += 0.95**step * envs.step(rng.integers(5, size=5000))[1]
    assert abs(returns.mean() - exact) <= 5 * returns.std() / np.sqrt(5000)


@pytest.mark.parametrize("mode", MODES)
def test_a_linear_model_steps_as_its_pomdp(mode):
    """Without chance, an R-PSR gives the observations and rewards of its POMDP."""
    pomdp = stairs()
    ours, theirs = (
        make(model, num_envs=4, max_episode_steps=6, autoreset_mode=mode, ends=False)
        for model in (rpsr.rpsr(pomdp), pomdp)
    )
    rng = np.random.default_rng(2)
    ours.reset(seed=0)
    theirs.reset(seed=0)
    for _ in range(20):
        actions = rng.integers(2, size=4)
        mine, other = ours.step(actions), theirs.step(actions)
        assert np.array_equal(mine[0], other[0])
        assert mine[1] == pytest.approx(other[1])
        assert np.array_equal(mine[3], other[3])
        if mode is AutoresetMode.DISABLED and mine[3].any():
            for env in (ours, theirs):
                env.reset(options={"reset_mask": mine[3]})


@pytest.mark.parametrize("estimated", [False, True])
def test_a_restarted_history_forgets(estimated):
    """Some histories of a batch begin again; the others go on, also where one was lost."""
    model = rpsr.rpsr(rpsr.load("4x3"))
    if estimated:
        model = (
            rpsr.learning.SpectralRPSR(rank=4)
            .fit(rpsr.simulate(rpsr.load("4x3"), "uniform", episodes=200, steps=20, rewards=True))
            .fitted_
        )
    log = rpsr.simulate(rpsr.load("4x3"), "uniform", episodes=6, steps=12, seed=3)
    actions, seen = (log.padded(name, 0) for name in ("actions", "observations"))
    together = filter_batch(model, 6)
    for t in range(12):
        if t == 7:
            together.restart(np.array([1, 4]))
        together.update(actions[:, t], seen[:, t])
    for i in range(6):
        alone = filter_batch(model, 1)
        for t in range(7 if i in (1, 4) else 0, 12):
            alone.update(actions[[i], t], seen[[i], t])
        assert together.states[i] == pytest.approx(alone.states[0], abs=1e-9)


def test_results_are_not_overwritten():
    envs = make("tiger", num_envs=3, hidden_state=True)
    first, info = envs.reset(seed=0)
    kept = envs.step(np.zeros(3, dtype=np.int64))
    copies = [np.copy(x) for x in (first, info["state"], *kept[:4], kept[4]["state"])]
    for _ in range(5):
        envs.step(np.ones(3, dtype=np.int64))
    now = (first, info["state"], *kept[:4], kept[4]["state"])
    assert all(np.array_equal(a, b) for a, b in zip(copies, now, strict=True))


def test_frames_of_all_copies():
    envs = make("4x3", num_envs=2, render_mode="ansi")
    envs.reset(seed=0)
    frames = envs.render()
    assert len(frames) == 2
    assert all(frame.endswith("start\n") for frame in frames)
    seen, paid, *_ = envs.step(np.array([0, 2]))
    pomdp = rpsr.load("4x3")
    for frame, action, o, r in zip(envs.render(), "ne", seen, paid, strict=True):
        assert frame.endswith(f"{action} -> {pomdp.observations[o]}, reward {r:g}\n")


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (np.zeros(2, dtype=int), r"actions: read int64 of shape \(2,\), expected 3 indices"),
        (np.zeros(3), "actions: read float64"),
        (np.array([0, 0, 3]), "actions: read 3, expected indices from 0 to 2"),
        (np.array([0, -1, 0]), "actions: read -1, expected indices from 0 to 2"),
    ],
)
def test_wrong_actions_are_refused(actions, said):
    envs = make("tiger", num_envs=3)
    envs.reset(seed=0)
    with pytest.raises(InputError, match=said):
        envs.step(actions)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="num_envs: read 0, expected a whole number from 1"):
        make("tiger", num_envs=0)
    with pytest.raises(InputError, match="autoreset_mode: read 'never', expected one of 'Next"):
        make("tiger", num_envs=2, autoreset_mode="never")
    envs = make(stairs(), num_envs=2, autoreset_mode="Disabled", max_episode_steps=1)
    with pytest.raises(InputError, match="call reset first"):
        envs.step(np.zeros(2, dtype=int))
    envs.reset(seed=0)
    with pytest.raises(InputError, match="reset_mask: expected 2 booleans"):
        envs.reset(options={"reset_mask": np.array([1, 0])})
    envs.step(np.zeros(2, dtype=int))
    with pytest.raises(InputError, match="episode 0 is over: call reset with a reset_mask"):
        envs.step(np.zeros(2, dtype=int))
