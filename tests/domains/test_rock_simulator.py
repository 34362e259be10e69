"""The simulator of RockSample follows the rules of the domain, and its bounds hold."""

from functools import cache

import numpy as np
import pytest

from rpsr.domains.rock_simulator import RockSampleSimulator
from rpsr.domains.rocks import rock_sample
from rpsr.planning.corners.cheap_bounds import mdp_values
from rpsr.planning.corners.corner_model import corner_process


@cache
def small():
    """A simulator, its POMDP, and the POMDP's index of every state of the simulator."""
    simulator = RockSampleSimulator(n=3, k=2)
    pomdp = rock_sample(n=3, k=2)
    states = np.array([(x, y, m) for x in range(3) for y in range(3) for m in range(4)])
    names = [
        f"x{x}y{y}-" + "".join("g" if m >> i & 1 else "b" for i in range(2)) for x, y, m in states
    ]
    return simulator, pomdp, states, np.array([pomdp.states.index(name) for name in names])


def test_names_are_those_of_the_domain():
    simulator, pomdp, _, _ = small()
    assert simulator.actions == pomdp.actions
    assert simulator.observations == pomdp.observations
    assert simulator.discount == pomdp.discount


def test_steps_are_those_of_the_domain():
    simulator, pomdp, states, index = small()
    outcomes, gone = pomdp.outcomes, pomdp.states.index("gone")
    table = {}
    for row in zip(
        outcomes.action.tolist(), outcomes.state.tolist(), outcomes.next_state.tolist(),
        outcomes.observation.tolist(), outcomes.probability.tolist(), outcomes.reward.tolist(),
        strict=True,
    ):  # fmt: skip
        table[row[:4]] = row[4:]
    place = {tuple(row): int(i) for row, i in zip(states.tolist(), index, strict=True)}
    draws, rng = 400, np.random.default_rng(0)
    for state, s in zip(states, index, strict=True):
        for action in range(len(simulator.actions)):
            many = np.repeat(state[None], draws, axis=0)
            after, seen, rewards, done = simulator.step(many, action, rng)
            counts: dict[tuple[int, int, int, int], int] = {}
            for row, o, reward, end in zip(after.tolist(), seen, rewards, done, strict=True):
                key = action, int(s), gone if end else place[tuple(row)], int(o)
                counts[key] = counts.get(key, 0) + 1
                assert key in table
                assert reward == table[key][1]
            for key, count in counts.items():
                chance = table[key][0]
                # Six standard deviations: one false alarm in half a billion comparisons.
                off = 6 * (draws * chance * (1 - chance)) ** 0.5
                assert abs(count - draws * chance) <= off


def test_the_upper_bound_is_the_value_with_observed_rocks():
    simulator, pomdp, states, index = small()
    observed = mdp_values(corner_process(pomdp.belief_model()))
    assert simulator.upper(states) == pytest.approx(observed[index], abs=1e-9)


def test_the_lower_bound_is_below_the_upper_one_for_every_belief():
    simulator = RockSampleSimulator(n=5, k=4)
    rng = np.random.default_rng(1)
    for _ in range(50):
        states = simulator.start(rng, 30)
        states[:, :2] = rng.integers(5, size=2)
        assert simulator.lower(states) <= simulator.upper(states).mean() + 1e-12


def test_a_certain_belief_has_the_value_of_the_tour():
    simulator = RockSampleSimulator(n=3, k=1, rocks=[(1, 1)])
    state = np.array([[0, 1, 1]])
    g = simulator.discount
    # East, sample, then east twice: 10 after one step, 10 after three.
    assert simulator.lower(state) == pytest.approx(10 * g + 10 * g**3)
    assert simulator.upper(state)[0] == pytest.approx(10 * g + 10 * g**3)
