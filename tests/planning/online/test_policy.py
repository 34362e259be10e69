"""Planning online on linear models: bounds against exact arithmetic, and what the policy does."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import rpsr
from rpsr.domains import tabulate
from rpsr.planning import AlphaPolicy, OnlinePolicy
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.online.corner_filter import CornerFilter
from rpsr.testing import check_policy

FAR = 60  # steps of exact values; later rewards are bounded


@cache
def tiger():
    return rpsr.load_pomdp("tiger").with_discount(Fraction(3, 4))


@cache
def exact_tiger():
    """Tables of the tiger problem as fractions: start, D[a][o][s][s'] and R[s][a]."""
    pomdp = tiger()
    model = pomdp.belief_model()
    shape = model.operators.shape
    dense = np.array(
        [[model.operators.left(np.eye(2), a, o) for o in range(shape[1])] for a in range(shape[0])]
    )

    def plain(number):
        return Fraction(float(number)).limit_denominator(1000)

    moves = [[[[plain(x) for x in row] for row in o] for o in a] for a in dense]
    rewards = [[plain(x) for x in row] for row in model.rewards]
    return tuple(plain(x) for x in model.start), moves, rewards


@cache
def value(belief, steps):
    """The optimal value for a number of steps and the Q of every action, in exact arithmetic."""
    if steps == 0:
        return Fraction(0), ()
    _, moves, rewards = exact_tiger()
    actions = []
    for a, by_observation in enumerate(moves):
        total = sum(belief[s] * rewards[s][a] for s in range(2))
        for table in by_observation:
            after = [sum(belief[s] * table[s][t] for s in range(2)) for t in range(2)]
            if mass := sum(after):
                ahead = value(tuple(x / mass for x in after), steps - 1)[0]
                total += Fraction(3, 4) * mass * ahead
        actions.append(total)
    return max(actions), tuple(actions)


def optimum(belief):
    """Exact bounds on the optimal value, and the Q's of FAR steps."""
    worth, actions = value(belief, FAR)
    rest = Fraction(3, 4) ** FAR * 100 * 4  # no reward is beyond 100 in size
    return worth - rest, worth + rest, actions


def moved(belief, action, observation):
    _, moves, _ = exact_tiger()
    table = moves[action][observation]
    after = [sum(belief[s] * table[s][t] for s in range(2)) for t in range(2)]
    return tuple(x / sum(after) for x in after)


@pytest.mark.parametrize("form", ["belief", "rpsr"])
def test_bounds_hold_and_actions_are_best_along_histories(form):
    pomdp = tiger()
    policy = OnlinePolicy(pomdp if form == "belief" else rpsr.rpsr(pomdp), trials=20)
    rng = np.random.default_rng(3)
    for _ in range(3):
        policy.reset()
        belief = exact_tiger()[0]
        for _ in range(5):
            action = policy.act()
            least, most, worths = optimum(belief)
            lower, upper = map(Fraction, policy.bounds)
            assert lower <= most
            assert upper >= least
            # The gap that the search closes by default is 1e-6 of the range of values, 440.
            assert max(worths) - worths[action] <= Fraction(1, 1000)
            observation = int(rng.integers(2))
            policy.update(action, observation)
            belief = moved(belief, action, observation)


def test_more_trials_never_loosen_the_bounds():
    maze = rpsr.load_pomdp("4x3").with_discount(Fraction(19, 20))
    bounds = []
    for trials in (1, 2, 4, 8, 16):
        policy = OnlinePolicy(maze, trials=trials)
        before = policy.bounds
        policy.act()
        bounds += [before, policy.bounds] if not bounds else [policy.bounds]
    lows, highs = zip(*bounds, strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs, reverse=True)
    assert highs[-1] - lows[-1] < 0.5 * (highs[0] - lows[0])
    best = rpsr.solve(maze, "sarsop", max_iterations=60)
    assert best.upper is not None
    assert lows[-1] <= best.upper
    assert highs[-1] >= best.lower


def test_it_is_a_policy_like_any_other():
    check_policy(OnlinePolicy(tiger(), trials=2), tiger(), histories=2, steps=4)
    row = rpsr.evaluate(
        tiger(), OnlinePolicy(tiger(), trials=3), models=["pomdp"], episodes=3, steps=5
    )[0]
    assert (row.policy, row.episodes) == ("OnlinePolicy", 3)


def test_equal_seeds_give_equal_episodes():
    def run():
        policy = OnlinePolicy(tiger(), trials=2, seed=5)
        return rpsr.simulate(tiger(), policy, episodes=3, steps=4, seed=1)

    first, second = run(), run()
    assert first.actions.tolist() == second.actions.tolist()
    assert first.observations.tolist() == second.observations.tolist()


def test_a_copy_searches_by_itself():
    policy = OnlinePolicy(tiger(), trials=2)
    policy.act()
    twin, before = policy.copy(), (policy.bounds, policy.trials)
    twin.update(twin.act(), 0)
    twin.act()
    assert (policy.bounds, policy.trials) == before
    assert twin.trials > policy.trials


def test_a_plan_is_where_the_search_begins():
    plan = rpsr.solve(tiger(), "sarsop", max_iterations=30)
    policy = OnlinePolicy(tiger(), trials=1, plan=plan)
    # Away from the start, close beliefs count as one: 1e-9 times the largest value, 400.
    assert policy.bounds[0] >= plan.lower - 1e-6
    assert policy.bounds[0] > OnlinePolicy(tiger(), trials=1).bounds[0] + 1
    assert policy.act() == AlphaPolicy(plan.model, plan.vectors).act()


def test_a_full_search_begins_again():
    maze = rpsr.load_pomdp("4x3").with_discount(Fraction(19, 20))
    policy = OnlinePolicy(maze, trials=30, memory_limit=100_000)
    for _ in range(3):
        action = policy.act()
        lower, upper = policy.bounds
        assert lower <= upper
        seen = int(policy.model.predict(policy.state, action).argmax())
        policy.update(action, seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials: read 0, expected a whole number from 1"),
        ({"seconds": -1}, "seconds: read -1, expected a finite number of seconds"),
        ({"seed": "a"}, "seed: read 'a', expected a whole number from 0"),
        ({"seed": -1}, "seed: read -1, expected a whole number from 0"),
        ({"memory_limit": "1GB"}, "memory_limit: read '1GB', expected a whole number from 1"),
        ({"plan": "sarsop"}, "plan: read 'sarsop', expected a plan of rpsr.solve"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(rpsr.InputError, match=message):
        OnlinePolicy(tiger(), **options)


def test_what_it_cannot_plan_is_refused():
    with pytest.raises(rpsr.ModelError, match="discount 1"):
        OnlinePolicy(tiger().with_discount(1), trials=1)
    plan = rpsr.solve(tiger(), "vi", horizon=2)
    with pytest.raises(rpsr.InputError, match="no controller for an infinite horizon"):
        OnlinePolicy(tiger(), trials=1, plan=plan)


def test_impossible_observations_are_refused_and_leave_the_policy_unchanged():
    maze = rpsr.load_pomdp("4x3").with_discount(Fraction(19, 20))
    policy = OnlinePolicy(maze, trials=1)
    first = policy.act()
    policy.update(first, int(policy.model.predict(policy.state, first).argmax()))
    action = policy.act()
    before = policy.memory
    impossible = int(policy.model.predict(policy.state, action).argmin())
    with pytest.raises(rpsr.ImpossibleObservation):
        policy.update(action, impossible)
    assert np.array_equal(policy.memory, before)
    assert policy.act() == action


def counter():
    """An estimated model whose states count steps from 0 to 8; `look` shows whether 4 is exceeded.

    After eight steps, `low` is impossible; after the last four of them, it is not.
    """
    pomdp = tabulate(
        name="counter",
        states=range(9),
        actions=("step", "look"),
        observations=("blank", "low", "high"),
        start={0: 1},
        transition=lambda state, action: {min(state + (action == "step"), 8): 1},
        emission=lambda action, state: {
            "blank" if action == "step" else "low" if state <= 4 else "high": 1
        },
        reward=lambda state, *_: state,
        discount=Fraction(1, 2),
    )
    return replace(pomdp.belief_model(), estimator="em")


LOST = (*[(0, 0)] * 8, (1, 1))  # eight steps, then `low`


def test_a_lost_filter_replays_five_interactions():
    process = corner_process(counter())
    assert CornerFilter(process).after(np.eye(9)[8], LOST).tolist() == np.eye(9)[4].tolist()


def test_a_lost_policy_replays_five_interactions():
    policy = OnlinePolicy(counter(), trials=1)
    for action, observation in LOST:
        policy.update(action, observation)
    assert policy.state.tolist() == np.eye(9)[4].tolist()
