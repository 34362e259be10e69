"""A model as a Gymnasium environment: names, ends, seeds, `info`, pictures."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import count

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from tests.envs.worlds import stairs
from tests.models.test_terminal import loop

import rpsr
from rpsr import InputError, ModelError
from rpsr.envs import ID, NamedDiscrete, POMDPEnv, make


def play(env, policy, seed=0, steps=200):
    """Rewards, observations, infos and the end of one episode."""
    observation, info = env.reset(seed=seed)
    seen, paid, infos = [observation], [], [info]
    for step in range(steps):
        observation, reward, terminated, truncated, info = env.step(policy(step))
        seen.append(observation)
        paid.append(reward)
        infos.append(info)
        if terminated or truncated:
            break
    return seen, paid, infos, terminated, truncated


def test_an_environment_without_a_model_asks_for_one():
    for make_it in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InputError, match=r'^source: missing, .*: source="tiger"$'):
            make_it("rpsr.envs:rpsr/POMDP-v0")


@pytest.mark.parametrize("source", ["tiger", "4x3", "hallway", "loadunload", "t-maze", "network"])
def test_gymnasium_accepts_every_domain(source):
    gymnasium_check(gymnasium.make(ID, source=source).unwrapped)


def test_files_pomdps_and_linear_models_are_sources(tmp_path):
    tiger = rpsr.load("tiger")
    rpsr.save(tiger, tmp_path / "tiger.pomdp")
    rpsr.save(rpsr.rpsr(tiger), tmp_path / "tiger.rpsr")
    for source in (tmp_path / "tiger.pomdp", str(tmp_path / "tiger.rpsr"), tiger, rpsr.psr(tiger)):
        env = gymnasium.make(ID, source=source)
        gymnasium_check(env.unwrapped)
        assert env.unwrapped.action_space.names == tiger.actions
    with pytest.raises(InputError, match="source: read int, expected"):
        POMDPEnv(3)


def test_the_id_works_without_importing_the_package():
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('rpsr.envs:rpsr/POMDP-v0', source='tiger')\n"
        "print(env.unwrapped.observation_space.names)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert said.strip() == "('tiger-left', 'tiger-right', '(start)')"


def test_names_are_kept_and_the_start_has_one():
    env = make("tiger")
    assert env.action_space.names == ("listen", "open-left", "open-right")
    assert env.observation_space.names == ("tiger-left", "tiger-right", "(start)")
    first, _ = env.reset(seed=0)
    assert first == env.observation_space.initial == 2
    assert env.step(0)[0] in (0, 1)


def test_a_name_that_is_taken_gets_another():
    tiger = rpsr.load("tiger")
    arrays = (
        np.stack([tiger.transition(a).toarray() for a in tiger.actions]),
        np.stack([tiger.emission(a).toarray() for a in tiger.actions]),
        tiger.R,
    )
    names = {"observations": ("(start)", "other")}
    odd = rpsr.POMDP.from_arrays(*arrays, discount=0.9, names=names)
    assert make(odd).observation_space.names == ("(start)", "other", "((start))")


def test_spaces_with_other_names_differ():
    assert NamedDiscrete(["a", "b"]) != NamedDiscrete(["a", "c"])
    assert NamedDiscrete(["a", "b"]) == NamedDiscrete(["a", "b"]) == gymnasium.spaces.Discrete(2)
    assert repr(NamedDiscrete(["a", "b"])) == "NamedDiscrete(a, b)"


def test_an_episode_terminates_where_the_library_says():
    *_, terminated, truncated = play(make(stairs()), lambda _: 0)
    assert (terminated, truncated) == (True, False)
    seen, paid, *_ = play(make(stairs()), lambda _: 0)
    assert (seen, paid) == ([3, 1, 0, 2], [3.0, 2.0, 1.0])
    seen, *_, terminated, _ = play(make(stairs(), ends=False), lambda _: 0, steps=9)
    assert (len(seen), terminated) == (10, False)


def test_a_reset_is_no_end_unless_it_is_made_one():
    *_, terminated, _ = play(make(loop()), lambda _: 0)
    assert not terminated
    env = make(rpsr.episodic(loop()))
    seen, *_, terminated, _ = play(env, lambda _: 0)
    assert terminated
    assert env.observation_space.names[seen[-1]] == "end"


def test_a_limit_truncates():
    seen, *_, terminated, truncated = play(make("tiger", max_episode_steps=7), lambda _: 0)
    assert (len(seen), terminated, truncated) == (8, False, True)


def test_equal_seeds_give_equal_episodes():
    env = make("hallway")
    first, again, other = (play(env, lambda t: t % 5, seed=s)[0] for s in (1, 1, 2))
    assert first == again != other


def test_every_step_is_an_outcome_of_the_model():
    pomdp = rpsr.load("hallway")
    o = pomdp.outcomes
    columns = (o.state, o.action, o.next_state, o.observation, o.reward)
    possible = set(zip(*(column.tolist() for column in columns), strict=True))
    env = make(pomdp, hidden_state=True)
    seen, paid, infos, *_ = play(env, lambda t: t % 5, steps=500)
    states = [info["state"] for info in infos]
    steps = zip(states, count(), states[1:], seen[1:], paid, strict=False)
    assert {(s, t % 5, n, z, r) for s, t, n, z, r in steps} <= possible
    assert len(set(states)) > 20


def test_frequencies_are_those_of_the_model():
    """Listening, then opening, over 4,000 episodes; each share within five standard errors."""
    pomdp = rpsr.load("tiger")
    env, tally, episodes = make(pomdp), Counter(), 4000
    env.reset(seed=5)
    for _ in range(episodes):
        env.reset()
        heard = env.step(0)[0]
        tally[heard, env.step(1)[1]] += 1
    for heard, wrong in ((0, 0.85), (1, 0.15)):
        for reward, share in ((-100.0, 0.5 * wrong), (10.0, 0.5 * (1 - wrong))):
            error = np.sqrt(share * (1 - share) / episodes)
            assert abs(tally[heard, reward] / episodes - share) <= 5 * error


def test_a_linear_model_pays_what_it_expects():
    pomdp = stairs({3: Fraction(1, 2), 1: Fraction(1, 2)})
    env = make(rpsr.rpsr(pomdp))
    firsts = [play(env, lambda _: 0, seed=seed)[1][0] for seed in range(5)]
    assert firsts == pytest.approx([2.0] * 5)
    ends = {len(play(env, lambda _: 0, seed=seed)[1]) for seed in range(20)}
    assert ends == {200}  # a linear model that was not learned has no final observations


@pytest.mark.parametrize("action", [-1, 3, 0.5, "listen"])
def test_a_wrong_action_is_refused(action):
    env = POMDPEnv("tiger")
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"action: read .*, expected an index from 0 to 2"):
        env.step(action)


def test_a_step_needs_an_episode():
    env = POMDPEnv(stairs())
    with pytest.raises(InputError, match="call reset first"):
        env.step(0)
    play(env, lambda _: 0)
    with pytest.raises(InputError, match="call reset first"):
        env.step(0)


# ---- the optimum


def test_the_regret_is_the_optimum_minus_the_discounted_return():
    # Down three times is best: 3 + 2/2 + 1/4.
    env = make(stairs(), optimum=True)
    _, paid, infos, *_ = play(env, [1, 0, 0, 0].__getitem__)
    assert infos[0]["optimum"] == pytest.approx(4.25, abs=1e-5)
    assert infos[0]["optimum_gap"] <= 1e-5
    assert env.unwrapped.optimum.solved
    assert "proven within" in env.unwrapped.optimum.title()
    assert paid == [0, 3, 2, 1]
    returns = np.cumsum([0, 0, 3 / 2, 2 / 4, 1 / 8])
    assert [info["regret"] for info in infos] == pytest.approx(
        (infos[0]["optimum"] - returns).tolist()
    )
    assert {info["optimum"] for info in infos} == {infos[0]["optimum"]}


def test_an_unfinished_solution_is_a_bound_and_says_so():
    hallway = rpsr.load("hallway")
    plan = rpsr.solve(hallway, "sarsop", max_iterations=2)
    env = make(hallway, optimum=plan)
    _, info = env.reset(seed=0)
    assert info["optimum"] == plan.upper
    assert info["optimum_gap"] == plan.upper - plan.lower > 0.1
    assert not env.unwrapped.optimum.solved
    assert env.unwrapped.optimum.title().startswith("optimum at most")
    assert "iteration limit" in env.unwrapped.optimum.status


def test_an_optimum_that_cannot_be_had_is_refused():
    tiger = rpsr.load("tiger")
    with pytest.raises(InputError, match="other actions, observations or discount"):
        make(stairs(), optimum=rpsr.solve(tiger, "sarsop", max_iterations=1))
    with pytest.raises(InputError, match="a horizon of 3 steps"):
        make(tiger, optimum=rpsr.solve(tiger, "vi", horizon=3))
    with pytest.raises(InputError, match="optimum: read 'vi', expected True, False or a solution"):
        make(tiger, optimum="vi")
    with pytest.raises(ModelError, match="the sum of rewards is infinite"):
        make(rpsr.load("parr").with_discount(1), optimum=True)
    known = make("line4-2goals", optimum=True).unwrapped.optimum  # its sums are finite
    assert 0 < known.lower <= known.upper < 1


# ---- what it looks like


def test_words_for_every_model():
    env = make("tiger", render_mode="ansi")
    assert env.unwrapped.metadata["render_modes"] == ["ansi"]
    env.reset(seed=0)
    assert env.render() == "start\n"
    env.step(0)
    assert env.render() == "listen -> tiger-right, reward -1\n"
    with pytest.raises(InputError, match="render_mode: read 'rgb_array', expected 'ansi'"):
        make("tiger", render_mode="rgb_array")


def test_hidden_states_only_where_there_are_some():
    with pytest.raises(ModelError, match="a psr model has no hidden states"):
        make(rpsr.psr(rpsr.load("tiger")), hidden_state=True)


def test_a_floor_shows_the_agent():
    env = make("tiger-grid", render_mode="ansi", hidden_state=True)
    _, info = env.reset(seed=0)
    state = rpsr.load("tiger-grid").states[info["state"]]
    assert state == "r1c3-N"
    assert env.render() == "- . + . -\n. . # ^ .\nstart\n"
    image = make("tiger-grid", render_mode="rgb_array")
    image.reset(seed=0)
    assert image.render().shape == (64, 160, 3)
