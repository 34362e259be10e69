"""Merge states that no test and no intent distinguishes, before the search.

A partition of the states into blocks is *lumpable* if, for every action a, observation o and block
B, the sum of D[a,o][s,s'] over s' in B is the same for all s of a block. If moreover the vectors
that a search starts from (ones; for intents also the rewards R[:,a]) are constant on blocks, then
so is every outcome vector, by induction over u(aoq) = D[a,o] u(q). The search may then run on one
coordinate per block, and

    rank <= number of blocks,

without further computation. Most models of the literature attain this bound. It turns "the rank is
at least r", which is all that one prime can prove, into "the rank is r".

The coarsest lumpable partition is found by refinement: split blocks by a fingerprint of the block
sums, a random linear combination of them modulo p, until nothing splits. States of equal sums have
equal fingerprints, so no split is unnecessary; those of different sums have equal ones with
probability 1/p, so the last partition is checked without chance, and refined further if it fails.

Reference: J. G. Kemeny and J. L. Snell, Finite Markov Chains, on lumpability; A. Valmari and
G. Franceschinis (2010) on refinement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rpsr import deadline
from rpsr.io.records import Bools, Ints
from rpsr.models.pomdp import POMDP, Sparse
from rpsr.predictive.rank.modular import ModularPOMDP


@dataclass(frozen=True, eq=False)
class Quotient:
    """A partition of S states into n blocks, numbered in the order of their first states.

    labels (S,): the block of each state. first (n,): the first state of each block.
    """

    labels: Ints
    first: Ints

    @property
    def size(self) -> int:
        """The number of blocks n."""
        return len(self.first)

    @property
    def trivial(self) -> bool:
        """Whether every state is alone in its block."""
        return len(self.first) == len(self.labels)

    def operators(self, pomdp: POMDP, probability: NDArray[Any]) -> Sparse:
        """All D[a,o] between blocks, stacked: sparse (A*O*n, n), row (a*O + o)*n + block.

        `probability` (N,) is that of `pomdp.outcomes`, in floats or as residues; sums of residues
        are left unreduced.
        """
        outcomes, n_observations = pomdp.outcomes, len(pomdp.observations)
        kept = self.first[self.labels[outcomes.state]] == outcomes.state
        operator = outcomes.action[kept] * n_observations + outcomes.observation[kept]
        rows = operator * self.size + self.labels[outcomes.state[kept]]
        columns = self.labels[outcomes.next_state[kept]]
        shape = (len(pomdp.actions) * n_observations * self.size, self.size)
        return sp.coo_array((probability[kept], (rows, columns)), shape=shape).tocsr()


def coarsest(model: ModularPOMDP, rng: np.random.Generator, *, rewards: bool) -> Quotient:
    """The coarsest lumpable partition modulo the model's prime.

    With `rewards`, states of a block also have the same reward for every action.
    """
    deadline.begin("merging indistinguishable states")
    outcomes, prime = model.pomdp.outcomes, model.prime
    operator = outcomes.action * len(model.pomdp.observations) + outcomes.observation
    order = np.argsort(outcomes.state, kind="stable")
    starts = np.searchsorted(outcomes.state[order], np.arange(len(model.pomdp.states)))
    operator, next_state = operator[order], outcomes.next_state[order]
    probability = model.probability[order]

    quotient = _partition([*model.rewards.T] if rewards else [np.zeros_like(starts)])
    while True:
        deadline.check()
        weights = rng.integers(prime, size=(operator.max() + 1, quotient.size))
        terms = probability * weights[operator, quotient.labels[next_state]] % prime
        fingerprint = np.add.reduceat(terms, starts) % prime
        refined = _partition([quotient.labels, fingerprint])
        if refined.size == quotient.size and is_lumpable(model, refined):
            return refined
        quotient = refined


def is_lumpable(model: ModularPOMDP, quotient: Quotient) -> bool:
    """Whether the partition is lumpable modulo the model's prime; deterministic."""
    if quotient.trivial:
        return True
    outcomes, n = model.pomdp.outcomes, quotient.size
    operator = outcomes.action * len(model.pomdp.observations) + outcomes.observation
    columns = operator * n + quotient.labels[outcomes.next_state]
    shape = (len(quotient.labels), (int(operator.max()) + 1) * n)
    sums = sp.coo_array((model.probability, (outcomes.state, columns)), shape=shape).tocsr()
    difference = sums - sums[quotient.first[quotient.labels]]
    return not (difference.data % model.prime).any()


def constant_rewards(model: ModularPOMDP, quotient: Quotient) -> Bools:
    """(A,): the actions with equal rewards in all states of a block, modulo the prime."""
    return (model.rewards == model.rewards[quotient.first[quotient.labels]]).all(axis=0)


def _partition(keys: list[Ints]) -> Quotient:
    """States grouped by equal keys, each (S,)."""
    order = np.lexsort(keys)  # stable: within a group, states ascend
    new = np.zeros(len(order), dtype=np.bool_)
    new[0] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    first = order[new]
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    labels = np.empty_like(order)
    labels[order] = rank[np.cumsum(new) - 1]
    return Quotient(labels, np.sort(first))
