"""Small random POMDPs, and the dense arrays that they must agree with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rpsr import POMDP, LinearModel
from rpsr.domains import tabulate
from rpsr.models import Corners, FactoredOperators

Array = NDArray[np.float64]
Distribution = dict[int, Fraction]


@dataclass(frozen=True)
class Sizes:
    """How many actions, states and observations."""

    A: int
    S: int
    O: int


def random_rows(rng: np.random.Generator, *shape: int) -> Array:
    """Random distributions along the last axis, about half of their entries zero."""
    rows = rng.random(shape) * (rng.random(shape) < 0.5)
    rows[..., 0] += rows.sum(axis=-1) == 0
    return rows / rows.sum(axis=-1, keepdims=True)


def random_arrays(seed: int, sizes: Sizes, *, by_edge: bool = False) -> tuple[Array, Array, Array]:
    """T (A, S, S), O (A, S, O) or (S, A, S, O), and R (S, A, S, O)."""
    rng, (A, S, O) = np.random.default_rng(seed), (sizes.A, sizes.S, sizes.O)
    T = random_rows(rng, A, S, S)
    seen = random_rows(rng, S, A, S, O) if by_edge else random_rows(rng, A, S, O)
    return T, seen, rng.integers(-3, 4, (S, A, S, O)).astype(float)


def random_lottery(rng: np.random.Generator, width: int, size: int = 9) -> Distribution:
    """A random distribution over range(width) in small fractions."""
    weights = rng.integers(0, size, width) * (rng.random(width) < 0.6)
    if not weights.any():
        weights[int(rng.integers(width))] = 1
    total = int(weights.sum())
    return {i: Fraction(int(w), total) for i, w in enumerate(weights) if w}


def random_exact(seed: int, sizes: Sizes, *, by_edge: bool = False) -> POMDP:
    """A random POMDP known in fractions, with names that are not numbers."""
    rng = np.random.default_rng(seed)
    actions, observations = [f"a{i}" for i in range(sizes.A)], [f"o{i}" for i in range(sizes.O)]
    states = range(sizes.S)

    def emission_row() -> dict[str, Fraction]:
        return {observations[o]: p for o, p in random_lottery(rng, sizes.O).items()}

    return tabulate(
        name=f"random-{seed}",
        states=states,
        actions=actions,
        observations=observations,
        start=random_lottery(rng, sizes.S),
        transition=lambda _s, _a: random_lottery(rng, sizes.S),
        emission=None if by_edge else lambda _a, _t: emission_row(),
        edge_emission=(lambda _s, _a, _t: emission_row()) if by_edge else None,
        reward=lambda *_: Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 4))),
        discount=Fraction(9, 10),
        state_name=lambda s: f"s{s}",
    )


def pomdps() -> st.SearchStrategy[POMDP]:
    """Random exact POMDPs of at most 3 actions, 5 states and 4 observations."""
    return st.builds(
        lambda seed, A, S, O, by_edge: random_exact(seed, Sizes(A, S, O), by_edge=by_edge),
        st.integers(0, 2**32 - 1),
        st.integers(1, 3),
        st.integers(1, 5),
        st.integers(1, 4),
        st.booleans(),
    )


def dense_process(pomdp: POMDP) -> Array:
    """Pr(s', o | s, a) as (A, O, S, S), entry by entry from the exact rows of the record."""
    record, S = pomdp.record, len(pomdp.states)
    D = np.zeros((len(pomdp.actions), len(pomdp.observations), S, S))
    edge = 0
    for a in range(len(pomdp.actions)):
        for s in range(S):
            for t, move in record.transition.fractions(a * S + s).items():
                seen = record.emission.fractions(edge if record.emission_by_edge else a * S + t)
                for o, emission in seen.items():
                    D[a, o, s, t] = float(move * emission)
                edge += 1
    return D


def bayes(D: Array, belief: Array, action: int, observation: int) -> tuple[float, Array]:
    """The probability of an observation and the belief after it, by the definition."""
    S = len(belief)
    joint = np.zeros(S)
    for t in range(S):
        for s in range(S):
            joint[t] += belief[s] * D[action, observation, s, t]
    chance = float(joint.sum())
    return chance, joint / chance if chance > 0 else joint


def rotated(pomdp: POMDP, seed: int = 0) -> LinearModel:
    """The belief model seen through a random rotation: the form that PSRs and R-PSRs have."""
    n = len(pomdp.states)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    return LinearModel(
        kind="psr",
        name=pomdp.name,
        actions=pomdp.actions,
        observations=pomdp.observations,
        start=pomdp.start @ Q,
        operators=FactoredOperators(Q, pomdp.D),
        normalizer=Q.sum(axis=0),
        rewards=Q.T @ pomdp.R,
        discount=pomdp.discount,
        domain=Corners(Q, pomdp.D),
        rounding=1e-12,
        core=tuple(f"q{i}" for i in range(n)),
        coordinates=Q.T,
        pomdp=pomdp.digest,
        provenance={"seed": seed},
    )


# Two rewards, R(x) and R(y), whose mean is far smaller than either.
CANCELLING = """discount: .95
values: reward
states: 1
actions: 1
observations: x y
T: * identity
O: * : * .3 .7
R: * : * : * : x {}
R: * : * : * : y {}
"""


def rarely_seen(chance: Fraction) -> POMDP:
    """What tests span on the reachable states a and b hangs on one small probability."""
    seen = {"a": Fraction(0), "b": chance, "c": Fraction(1, 2)}
    return tabulate(
        name="rarely seen",
        states=["a", "b", "c"],
        actions=["wait"],
        observations=["x", "y"],
        start={"b": 1},
        transition=lambda _s, _a: {"a": 1},
        edge_emission=lambda s, _a, _t: {"x": 1 - seen[s], "y": seen[s]},
        reward=lambda s, *_: 3 if s == "b" else 0,
        discount=None,
    )
