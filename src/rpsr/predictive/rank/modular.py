"""A POMDP modulo a prime.

A probability of the model is a rational, weight / row total. Modulo a prime p that divides no row
total it is a residue, and so are the entries of every outcome vector,

    u(aoq) = D[a,o] u(q),      D[a,o][s,s'] = T(s'|s,a) O(o|a,s'),

because they are sums and products of probabilities. Outcome vectors that are independent modulo p
are independent over the rationals: a relation between rationals, cleared of denominators and of
common factors, would be a relation modulo p. The converse fails for the finitely many primes that
divide certain minors; `rpsr.predictive.rank.certify` counts them.

Floats are dyadic rationals, so a model known only in floats is reduced exactly, too. That finds its
indistinguishable states without a tolerance; it certifies nothing about the model that the floats
approximate, and `certify` refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Ints, Rows
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.primes import (
    float_residues,
    fraction_residues,
    integer_residues,
    inverse_residues,
    random_prime,
)


@dataclass(frozen=True, eq=False)
class ModularPOMDP:
    """The residues of a POMDP's numbers, with the POMDP.

    probability (N,): Pr(s', o | s, a) modulo `prime`, in the order of `pomdp.outcomes`.
    rewards (S, A): expected rewards R(s, a) modulo `prime`.
    """

    pomdp: POMDP
    prime: int
    probability: Ints
    rewards: Ints


def reduce_pomdp(pomdp: POMDP, prime: int) -> ModularPOMDP | None:
    """The POMDP modulo a prime, or None if the prime divides one of its denominators."""
    record, outcomes = pomdp.record, pomdp.outcomes
    moves = _row_residues(record.transition, prime)
    emissions = _row_residues(record.emission, prime)
    if record.rewards.exact is None:
        earned = float_residues(record.rewards.values, prime)
    else:
        earned = fraction_residues(record.rewards.exact, prime)
    if moves is None or emissions is None or earned is None:
        return None
    edge, entry = record.outcome_entries()
    probability = moves[edge] * emissions[entry] % prime
    n_actions = len(pomdp.actions)
    rewards = np.zeros(len(pomdp.states) * n_actions, dtype=np.int64)
    terms = probability * earned[outcomes.reward_index] % prime
    np.add.at(rewards, outcomes.state * n_actions + outcomes.action, terms)
    return ModularPOMDP(pomdp, prime, probability, (rewards % prime).reshape(-1, n_actions))


def reductions(pomdp: POMDP, rng: np.random.Generator) -> Iterator[ModularPOMDP]:
    """The POMDP modulo one random prime after another, without end."""
    while True:
        reduced = reduce_pomdp(pomdp, random_prime(rng))
        if reduced is not None:
            yield reduced


def _row_residues(rows: Rows, prime: int) -> Ints | None:
    if rows.weights is None:
        return float_residues(rows.values, prime)
    totals = integer_residues(rows.totals(), prime)
    if not totals.all():
        return None
    inverses = inverse_residues(totals, prime)
    return integer_residues(rows.weights, prime) * inverses[rows.row_of_entry()] % prime
