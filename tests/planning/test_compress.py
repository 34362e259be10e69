"""Compression loses nothing: values, bounds and actions are those of the POMDP itself."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.builders import random_lottery
from tests.strategies import few

from rpsr import POMDP
from rpsr.domains import build, tabulate
from rpsr.planning.comparing.joint_runs import walk
from rpsr.planning.compression import compress, restricted
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.finite_mdp import lowest_within
from rpsr.planning.planners import solve
from rpsr.planning.points.pbvi import PBVI
from rpsr.planning.value.policies import AlphaPolicy
from rpsr.planning.value.value_function import action_values
from rpsr.predictive.reach import reachable_states


def wasteful(seed, *, by_edge=False):
    """A random POMDP of three states, with a twin of each and two unreachable states.

    A state is (what matters, which twin). "Outside" leads in, and nothing leads there.
    """
    rng = np.random.default_rng(seed)
    moves = {(s, a): random_lottery(rng, 3) for s in range(3) for a in "ab"}
    emissions = {
        (a, t): {f"o{o}": p for o, p in random_lottery(rng, 2).items()}
        for a in "ab"
        for t in range(3)
    }
    rewards = {(s, a): Fraction(int(rng.integers(-9, 10)), 2) for s in range(3) for a in "ab"}
    share = {(s, a): Fraction(int(rng.integers(0, 4)), 3) for s in range(3) for a in "ab"}

    def transition(state, action):
        inner = state[0] % 3
        out = {}
        for t, p in moves[inner, action].items():
            first = share[inner, action] * p
            for twin, chance in (("left", first), ("right", p - first)):
                if chance:
                    out[t, twin] = chance
        return out

    states = [(s, twin) for s in range(3) for twin in ("left", "right")]
    states[2:2] = [(3, "outside"), (4, "outside")]
    emission = {(a, t): emissions[a, t % 3] for a in "ab" for t in range(5)}
    return tabulate(
        name=f"wasteful-{seed}",
        states=states,
        actions=["a", "b"],
        observations=["o0", "o1"],
        start={(0, "left"): Fraction(1, 3), (1, "right"): Fraction(2, 3)},
        transition=transition,
        emission=None if by_edge else lambda a, t: emission[a, t[0]],
        edge_emission=(lambda _s, a, t: emission[a, t[0]]) if by_edge else None,
        reward=lambda s, a, *_: rewards[s[0] % 3, a] - (100 if s[0] > 2 else 0),
        discount=Fraction(9, 10),
        state_name=lambda s: f"{s[0]}-{s[1]}",
    )


# Of larger seeds, three in a hundred make problems of thousands of vectors, which take minutes.
@given(st.integers(0, 100), st.booleans())
@settings(max_examples=few(15))
def test_nothing_is_lost_with_an_infinite_horizon(seed, by_edge):
    pomdp = wasteful(seed, by_edge=by_edge)
    small = compress(pomdp)
    assert small.saved.states == 8
    assert small.saved.reached <= 6
    assert small.model.dimension <= 3
    whole = solve(pomdp, ValueIteration(epsilon=1e-6))
    lifted = small.lift(solve(small.model, ValueIteration(epsilon=1e-6)))
    assert lifted.model.dimension == 8
    assert lifted.value == pytest.approx(whole.value, abs=2e-6)
    assert lifted.lower <= whole.upper
    assert whole.lower <= lifted.upper
    policies = AlphaPolicy.of(whole), AlphaPolicy.of(lifted)
    nodes = walk(policies, pomdp.belief_model(), limit=50)
    for node in nodes:
        if len(set(node.actions)) > 1:  # only where both actions are optimal
            values = action_values(whole.model, node.state[None], whole.vectors)
            tied = lowest_within(-values[:, list(node.actions)], 1e-5)
            assert values[0, list(node.actions)] == pytest.approx(values.max(), abs=1e-5), tied


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=few(10))
def test_nothing_is_lost_over_a_horizon(seed, horizon):
    pomdp = wasteful(seed)
    small = compress(pomdp)
    whole = solve(pomdp, ValueIteration(horizon=horizon))
    lifted = small.lift(solve(small.model, ValueIteration(horizon=horizon)))
    assert lifted.value == pytest.approx(whole.value, abs=1e-9)
    for stage, theirs in zip(lifted.stages, whole.stages, strict=True):
        beliefs = np.zeros((5, 8))
        kept = np.flatnonzero(reachable_states(pomdp))
        beliefs[:, kept] = np.random.default_rng(seed).dirichlet(np.ones(len(kept)), 5)
        mine, other = ((beliefs @ v.T).max(axis=1) for v in (stage.vectors, theirs.vectors))
        assert np.allclose(mine, other, atol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=few(10))
def test_lifted_vectors_stay_below_the_optimum_everywhere(seed):
    pomdp = wasteful(seed)
    small = compress(pomdp)
    lifted = small.lift(solve(small.model, PBVI(max_points=20)))
    optimum = solve(pomdp, ValueIteration(epsilon=1e-6))
    beliefs = np.vstack([np.eye(8), np.random.default_rng(0).dirichlet(np.ones(8), 20)])
    assert (lifted.value_at(beliefs) <= optimum.value_at(beliefs) + 1e-5).all()


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=few(15))
def test_states_left_out_leave_the_rest_as_it_was(seed, by_edge):
    pomdp = wasteful(seed, by_edge=by_edge)
    kept = np.flatnonzero(reachable_states(pomdp))
    smaller = restricted(pomdp, kept)
    assert smaller.exact
    assert smaller.states == tuple(pomdp.states[s] for s in kept)
    assert np.array_equal(smaller.R, pomdp.R[kept])
    assert np.array_equal(smaller.start, pomdp.start[kept])
    for a in range(2):
        for o in range(2):
            dense = pomdp.D[a][o].toarray()
            assert np.array_equal(smaller.D[a][o].toarray(), dense[np.ix_(kept, kept)])


def test_what_is_saved_is_counted():
    saved = compress(build("iff")).saved
    assert (saved.states, saved.reached, saved.dimension) == (104, 104, 57)
    assert saved.nonzeros == sum(m.nnz for row in build("iff").D for m in row)
    same = compress(build("tiger"))
    assert same.saved.dimension == 2
    assert isinstance(restricted(build("tiger"), np.arange(2)), POMDP)
    assert "2 states, 2 of them reachable, merged to dimension 2" in str(same.saved)


@pytest.mark.parametrize("name", ["parr", "stand-tiger", "shuttle"])
def test_what_was_proven_by_looking_ahead_is_valued_so_when_lifted(name):
    pomdp, epsilon = build(name), 1e-3
    small = compress(pomdp)
    plan = solve(small.model, ValueIteration(epsilon=epsilon, faces=True))
    assert plan.value_function.ahead is small.model
    lifted = small.lift(plan)
    assert lifted.epsilon is not None
    assert lifted.epsilon <= epsilon
    whole = solve(pomdp, ValueIteration(epsilon=epsilon, faces=False))
    beliefs = np.zeros((len(small.kept) + 30, len(pomdp.states)))
    mixed = np.random.default_rng(0).dirichlet(np.ones(len(small.kept)), 30)
    beliefs[:, small.kept] = np.vstack([np.eye(len(small.kept)), mixed])
    apart = np.abs(lifted.value_at(beliefs) - whole.value_at(beliefs))
    assert apart.max() <= lifted.epsilon + whole.epsilon
