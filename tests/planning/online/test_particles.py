"""Planning online with a simulator: the tree's bounds, the particles, and what is refused."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import rpsr
from rpsr.planning import ParticlePolicy, PomdpSimulator
from rpsr.planning.online.effort import Effort
from rpsr.planning.online.scenario_tree import ScenarioTree
from rpsr.planning.online.simulator import Batches
from rpsr.testing import check_policy


class Walk:
    """A corridor of 5 cells; the last one pays 1 and ends the episode. Cells are not observed."""

    actions = ("left", "right")
    observations = ("dark", "end")
    discount = 0.5
    reward_range = (0, 1)

    def start(self, rng):
        return ("cell", int(rng.integers(2)))

    def step(self, state, action, rng):
        cell = max(0, state[1] + (1 if action == 1 else -1))
        return ("cell", cell), int(cell == 4), float(cell == 4), cell == 4


@cache
def tiger():
    return rpsr.load_pomdp("tiger").with_discount(Fraction(3, 4))


def test_a_sure_problem_is_solved_exactly():
    policy = ParticlePolicy(Walk(), trials=30, particles=50, scenarios=20)
    assert policy.act() == 1
    assert policy.estimates is not None
    # From cell 0 four steps are needed, from cell 1 three: 1/8 and 1/4.
    lower, upper = policy.estimates
    share = np.mean([state[1] for state in policy.states])
    assert lower <= 0.25
    assert abs(lower - (0.125 + 0.125 * share)) <= 0.125 / 2
    assert upper >= lower
    for _ in range(2):
        policy.update(policy.act(), "dark")
    policy.update("right", "end")
    assert len(policy.states) == 0
    assert policy.act() == 0
    policy.update(0, "dark")  # after the end nothing changes
    assert len(policy.states) == 0


def test_more_trials_never_loosen_the_bounds_in_the_scenarios():
    batches = Batches(PomdpSimulator(rpsr.load_pomdp("tiger")))
    bounds = []
    for trials in (1, 3, 10, 30):
        rng = np.random.default_rng(0)
        effort = Effort.of(None, trials)
        tree = ScenarioTree(batches, batches.start(rng, 50), rng, 0.0, effort.clock())
        tree.search(effort)
        bounds.append((tree.root.lower, tree.root.upper))
    lows, highs = zip(*bounds, strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs, reverse=True)
    assert highs[-1] - lows[-1] < highs[0] - lows[0]


def test_regularization_prefers_small_policies():
    batches = Batches(PomdpSimulator(rpsr.load_pomdp("tiger")))
    lows = []
    for penalty in (0.0, 1.0):
        rng = np.random.default_rng(0)
        effort = Effort.of(None, 20)
        tree = ScenarioTree(batches, batches.start(rng, 50), rng, penalty, effort.clock())
        tree.search(effort)
        lows.append(tree.root.lower)
    assert lows[1] < lows[0]


def test_it_is_a_policy_like_any_other():
    policy = ParticlePolicy(PomdpSimulator(tiger()), trials=2, particles=100, scenarios=20)
    check_policy(policy, tiger(), histories=2, steps=3)
    row = rpsr.evaluate(tiger(), policy, models=["pomdp"], episodes=2, steps=3)[0]
    assert row.policy == "ParticlePolicy"


@pytest.mark.parametrize("observations", [(0,), (0, 0), (0, 0, 1)])
def test_particles_follow_the_exact_filter(observations):
    n = 4000
    policy = ParticlePolicy(PomdpSimulator(tiger()), trials=1, particles=n)
    exact = tiger().belief_model().filter()
    # A set of particles is a sample; listening multiplies an error of a share by the derivative of
    # Bayes' rule, .85 * .15 / P(o)^2, and the next set is a sample again.
    variance = 0.25 / n
    for observation in observations:
        chance = 0.15 + 0.7 * exact.state[observation]
        policy.update("listen", observation)
        exact.update("listen", observation)
        variance = (0.85 * 0.15 / chance**2) ** 2 * variance + np.prod(exact.state) / n
    share = np.bincount(policy.states, minlength=2) / n
    assert np.abs(share - exact.state).max() <= 4 * variance**0.5


def test_particles_that_die_are_an_error_or_are_perturbed():
    policy = ParticlePolicy(Walk(), trials=1, particles=10)
    with pytest.raises(
        rpsr.ImpossibleObservation, match="none of 10 particles gave observation 'end' after"
    ):
        policy.update("left", "end")

    class Near(Walk):
        def perturb(self, state, rng):
            return ("cell", int(rng.integers(1, 4)))

        def step(self, state, action, rng):
            after, _, reward, done = super().step(state, action, rng)
            return after, int(after[1] == 3), reward, done

    policy = ParticlePolicy(Near(), trials=1, particles=10)
    policy.update("right", 1)
    assert [state[1] for state in policy.states] == [3] * 10


class Slow:
    """Ten actions that never end and pay their number; a step of all states takes one second."""

    batched = True
    actions = tuple("abcdefghij")
    discount = 0.99

    def __init__(self, monkeypatch, **members):
        self.steps = 0
        monkeypatch.setattr("rpsr.planning.limits.time.perf_counter", lambda: float(self.steps))
        for name, value in members.items():
            setattr(self, name, value)

    def start(self, rng, count):
        return np.zeros(count, dtype=int)

    def step(self, states, action, rng):
        self.steps += 1
        ended = np.zeros(len(states), dtype=bool)
        return states, rng.integers(50, size=len(states)), np.full(len(states), action), ended


@pytest.mark.parametrize(
    "members", [{"reward_range": (0, 9)}, {"upper": lambda states: np.full(len(states), 900.0)}]
)
@pytest.mark.parametrize("seconds", [5, 40, 200])
def test_a_step_keeps_its_seconds(monkeypatch, members, seconds):
    slow = Slow(monkeypatch, **members)
    policy = ParticlePolicy(slow, seconds=seconds, particles=60, scenarios=60)
    assert 0 <= policy.act() < 10
    assert slow.steps <= seconds + 12  # one step beyond the limit, for each action once
    lower, upper = policy.estimates
    assert 0 <= lower <= upper <= 900 * (1 + 1e-12)
    if seconds == 200:  # enough for a step of each action after the roll-outs
        assert policy.act() == 9


def test_roll_outs_have_a_largest_length(monkeypatch):
    monkeypatch.setattr("rpsr.planning.online.scenario_tree.LONGEST", 7)
    slow = Slow(monkeypatch, reward_range=(-1, 9))
    effort, rng, batches = Effort.of(None, 1), np.random.default_rng(0), Batches(slow)
    tree = ScenarioTree(batches, batches.start(rng, 1), rng, 0.0, effort.clock())
    # One roll-out for each action, one for the root, and one for each child of it.
    assert slow.steps == 10 * 7 + 7 + 10 + 10 * 7
    # Seven rewards of 9, and then -1 at every step.
    blind = 9 * (1 - 0.99**7) / 0.01 - 0.99**7 / 0.01
    assert tree.root.floor == pytest.approx(blind)


def test_the_worst_reward_so_far_stands_for_an_unknown_lowest_one(monkeypatch):
    class Costly(Slow):
        def step(self, states, action, rng):
            after, seen, paid, ended = super().step(states, action, rng)
            return after, seen, paid - 3, ended

    monkeypatch.setattr("rpsr.planning.online.scenario_tree.LONGEST", 7)
    costly = Costly(monkeypatch, upper=lambda states: np.full(len(states), 600.0))
    effort, rng, batches = Effort.of(None, 1), np.random.default_rng(0), Batches(costly)
    tree = ScenarioTree(batches, batches.start(rng, 1), rng, 0.0, effort.clock())
    # Seven rewards of 9 - 3, and then 0 - 3 at every step.
    assert tree.root.floor == pytest.approx(6 * (1 - 0.99**7) / 0.01 - 3 * 0.99**7 / 0.01)


def test_the_simulator_of_a_pomdp_has_its_outcomes_and_bounds():
    maze = rpsr.load_pomdp("4x3").with_discount(Fraction(19, 20))
    simulator, rng = PomdpSimulator(maze), np.random.default_rng(0)
    outcomes, count = maze.outcomes, 2000
    for action in range(len(maze.actions)):
        for state in range(len(maze.states)):
            rows = (outcomes.action == action) & (outcomes.state == state)
            after, seen, _, _ = simulator.step(np.full(count, state), action, rng)
            for s, o, chance in zip(
                outcomes.next_state[rows],
                outcomes.observation[rows],
                outcomes.probability[rows],
                strict=True,
            ):
                got = int(((after == s) & (seen == o)).sum())
                # Six standard deviations, at least one draw.
                assert abs(got - count * chance) <= 1 + 6 * (count * chance * (1 - chance)) ** 0.5
    best = rpsr.solve(maze, "sarsop", max_iterations=20)
    start = simulator.start(rng, 4000)
    assert simulator.upper(start).mean() >= best.lower
    assert best.upper is not None
    # The mean over a sample of 4,000 starts: values differ by less than 3.
    assert simulator.lower(start).max() <= best.upper + 5 * 3 / 4000**0.5


@pytest.mark.parametrize(
    ("simulator", "options", "message"),
    [
        ("tiger", {}, "simulator: read 'tiger', expected an object with actions"),
        (Walk, {}, "simulator: read the class Walk"),
        (Walk(), {"particles": 0}, "particles: read 0, expected a whole number from 1"),
        (Walk(), {"particles": 2.5}, "particles: read 2.5, expected a whole number"),
        (Walk(), {"particles": "a"}, "particles: read 'a', expected a whole number"),
        (Walk(), {"scenarios": float("nan")}, "scenarios: read nan, expected a whole number"),
        (Walk(), {"seed": "a"}, "seed: read 'a', expected a whole number from 0"),
        (Walk(), {"seed": -1}, "seed: read -1, expected a whole number from 0"),
        (
            Walk(),
            {"regularization": "a"},
            "regularization: read 'a', expected a finite number from 0",
        ),
        (type("W", (Walk,), {"discount": "x"})(), {}, "read discount 'x', expected 0 < discount"),
        (type("W", (Walk,), {"actions": 5})(), {}, "read actions 5, expected a list of names"),
        (
            Walk(),
            {"regularization": -1},
            "regularization: read -1, expected a finite number from 0",
        ),
        (type("W", (Walk,), {"discount": 1})(), {}, "read discount 1, expected 0 < discount < 1"),
        (type("W", (Walk,), {"reward_range": None})(), {}, "expected a method `upper"),
        (Walk(), {"seconds": float("inf")}, "seconds: read inf, expected a finite number of secon"),
        (type("W", (Walk,), {"batched": "no"})(), {}, "read batched 'no', expected True or False"),
        (
            type("W", (Walk,), {"actions": ("left", "right", "left")})(),
            {},
            "read 'left' twice in actions, expected it once",
        ),
        (
            type("W", (Walk,), {"observations": ("dark", "dark")})(),
            {},
            "read 'dark' twice in observations, expected it once",
        ),
    ],
)
def test_bad_input_is_refused(simulator, options, message):
    with pytest.raises(rpsr.InputError, match=message):
        ParticlePolicy(simulator, trials=1, **options)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"step": lambda *_: (0, 0, 1.0)}, "`step` gave 3 values, expected 4: state, observ"),
        ({"step": lambda *_: None}, "`step` gave None, expected 4"),
        (
            {"step": lambda *_: (0, [1], 1.0, False)},
            "wrong observations, expected one per state, each of them an int",
        ),
        (
            {"step": lambda *_: (0, np.ones(2), 1.0, False)},
            "wrong observations, expected one per state, each of them",
        ),
        ({"step": lambda *_: (0, 0, "much", False)}, "rewards that are not finite numbers"),
        (
            {"step": lambda *_: (0, 0, 1.0, [True, False])},
            "`done` in a wrong shape, expected one bool per state",
        ),
        ({"step": lambda *_: (0, 0, 1.0, None)}, "`step` gave done None, expected True or False"),
        ({"step": lambda *_: (0, 0, 1.0, np.nan)}, "`step` gave done nan, expected True or False"),
        ({"step": lambda *_: (0, 0, 1.0, "no")}, "`step` gave done 'no', expected True or False"),
        (
            {"step": lambda *_: (np.nan, 0, 1.0, False)},
            "`step` gave the state nan, expected",
        ),
        (
            {"step": lambda *_: (np.array([0, np.nan]), 0, 1.0, False)},
            r"`step` gave the state array\(\[ 0., nan\]\), expected no NaN",
        ),
        (
            {"step": lambda *_: (0, 0, 1.5, False)},
            "`step` gave reward 1.5, expected a reward in reward_range, 0",
        ),
        ({"step": lambda *_: (0, 0, -0.1, False)}, "`step` gave reward -0.1, expected a reward in"),
        (
            {"step": lambda *_: (0, 2, 1.0, False)},
            "`step` gave observation 2, expected an index into the simulator's `observations`, 0",
        ),
        ({"step": lambda *_: (0, -1, 1.0, False)}, "`step` gave observation -1, expected an index"),
        ({"step": lambda *_: (0, "end", 1.0, False)}, "observation 'end', expected an index into"),
        (
            {"upper": lambda *_: 1.0, "lower": lambda *_: 1.5},
            r"`lower` gave 1.5, above the upper bound of the same states, 1 \(means",
        ),
        ({"upper": lambda *_: float("nan")}, "`upper` gave bounds that are not finite numbers"),
        ({"lower": lambda *_: float("nan")}, "`lower` gave bounds that are not finite numbers"),
    ],
)
def test_a_simulator_with_wrong_results_is_refused(members, message):
    policy = ParticlePolicy(type("W", (Walk,), members)(), trials=1, particles=5, scenarios=5)
    with pytest.raises(rpsr.ModelError, match=message):
        policy.act()


@pytest.mark.parametrize("batched", [False, True])
def test_a_wrong_batched_is_named(batched):
    simulator = PomdpSimulator(tiger()) if not batched else Walk()
    simulator.batched = batched
    with pytest.raises(rpsr.ModelError, match=f"`start` failed: .*; `batched` is {batched}, so"):
        ParticlePolicy(simulator, trials=1)


def test_a_step_of_one_state_that_is_said_to_be_batched_is_named():
    class One(Walk):
        batched = True

        def start(self, rng, count):
            return np.zeros(count)

        def step(self, state, action, rng):
            return state, 0, 1.0 if state > 0 else 0.0, False

    policy = ParticlePolicy(One(), trials=1, particles=5, scenarios=5)
    with pytest.raises(rpsr.ModelError, match="`step` failed: The truth value of an array"):
        policy.act()


def test_a_row_with_nan_is_refused(monkeypatch):
    slow = Slow(monkeypatch, reward_range=(0, 9))
    slow.start = lambda rng, count: np.full((count, 2), np.nan)
    with pytest.raises(rpsr.ModelError, match="`start` gave a state with NaN"):
        ParticlePolicy(slow, trials=1, particles=5)


def test_a_reward_in_single_precision_is_in_the_range():
    class Single(Walk):
        reward_range = (0, 0.1)

        def step(self, state, action, rng):
            after, seen, _, done = super().step(state, action, rng)
            return after, seen, np.float32(0.1), done  # above 0.1 by 1.5e-9

    assert ParticlePolicy(Single(), trials=1, particles=5, scenarios=5).act() in (0, 1)


def test_the_effort_is_said_in_the_singular_and_the_plural():
    assert str(Effort.of(1, 1)) == "1 second and 1 trial per step"
    assert str(Effort.of(0.5, 2)) == "0.5 seconds and 2 trials per step"


def test_an_observation_that_cannot_be_hashed_is_refused():
    policy = ParticlePolicy(type("W", (Walk,), {"observations": None})(), trials=1, particles=5)
    with pytest.raises(rpsr.InputError, match=r"observation: read \[1\], expected an integer"):
        policy.update("left", [1])


def test_numbers_of_numpy_are_accepted():
    policy = ParticlePolicy(
        Walk(), seconds=np.float32(0.5), trials=np.int64(3), particles=np.int64(5)
    )
    assert (policy.effort.seconds, policy.effort.trials, policy.particles) == (0.5, 3, 5)


def test_the_front_door_chooses_by_the_system():
    assert type(rpsr.plan_online(Walk(), trials=1)).__name__ == "ParticlePolicy"
    assert type(rpsr.plan_online(tiger(), trials=1)).__name__ == "OnlinePolicy"
    with pytest.raises(rpsr.InputError, match="OnlinePolicy has no option 'particles'"):
        rpsr.plan_online(tiger(), trials=1, particles=3)
    for given, read in (("tag", "'tag'"), (Walk, "the class Walk"), (3, "int")):
        expected = f"system: read {read}, expected a POMDP, a linear model or a simulator"
        with pytest.raises(rpsr.InputError, match=expected):
            rpsr.plan_online(given)
    with pytest.raises(rpsr.InputError, match=r"rpsr.load_pomdp opens files and names"):
        rpsr.plan_online("tag")
