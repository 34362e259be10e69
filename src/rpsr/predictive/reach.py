"""What can be visited from the start: states, and the beliefs that span what can be believed.

Let B be a basis of the span of reachable beliefs b(h). A PSR carries the rewards of every history
if and only if some W has b(h) U W = b(h) R for all h, that is, if and only if the columns of B R
lie in the span of the columns of B U. This is the exact form of the accuracy theorem's "only if":
if reachable beliefs span R^S it is the condition U W = R; reachable *states* are not enough, since
beliefs may visit every state and still never leave a hyperplane.

B is found like a core set, forwards: b(hao) is proportional to b(h) D[a,o], so B is the closure of
the start under the transposed operators. In exact arithmetic the ranks are taken modulo random
primes; an answer that k primes agree on is wrong only if each of them divides one of three fixed
non-zero minors, of order at most r + 1 in products b(h) u(q), which `_bits` bounds as in
`rpsr.predictive.certify`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Bools, Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.bounds import chance_of_dividing, reward_bits, step_bits
from rpsr.predictive.core import Core
from rpsr.predictive.echelon import ModularArithmetic, outcome_arithmetic
from rpsr.predictive.modular import ModularPOMDP, reductions
from rpsr.predictive.primes import integer_residues, inverse_residues
from rpsr.predictive.quotient import Quotient
from rpsr.predictive.reduction import reachable_restriction
from rpsr.predictive.search import breadth_first

ERROR = 1e-9  # primes are added until the error probability is below this
FLOAT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ReachableAnswer:
    """Whether a PSR carries the rewards of every history, and how sure that is."""

    accurate: bool
    error_probability: float | None


def reachable_states(pomdp: POMDP) -> Bools:
    """(S,): the states that some history visits with positive probability."""
    n, outcomes = len(pomdp.states), pomdp.outcomes
    ones = np.ones(len(outcomes.state))
    graph = sp.coo_array((ones, (outcomes.state, outcomes.next_state)), shape=(n, n)).tocsr()
    visited = pomdp.start > 0
    while True:
        following = visited | (np.asarray(visited.astype(np.float64) @ graph) > 0)
        if np.array_equal(following, visited):
            return visited
        visited = following


def accurate_on_reachable(
    pomdp: POMDP, tests: Core, intents: Core, *, seed: int = 0
) -> ReachableAnswer:
    """Whether the PSR of `tests` carries the rewards of every reachable history."""
    if tests.accurate:
        return ReachableAnswer(True, tests.error_probability)
    if not (tests.certified and intents.certified):
        return ReachableAnswer(_float_answer(pomdp, tests), None)
    rng = np.random.default_rng(seed)
    models = reductions(pomdp, rng)
    first = np.unique(intents.labels, return_index=True)[1]
    quotient = Quotient(intents.labels, first)  # rewards and tests are constant on its blocks
    answers: list[bool] = []
    error = 1.0
    while error > ERROR:
        answer, chance = _modular_answer(next(models), quotient, rng, tests)
        if answers and answer != answers[0]:  # an unlucky prime: forget what came before
            answers, error = [], 1.0
            continue
        answers.append(answer)
        error *= chance
    return ReachableAnswer(answers[0], error)


def _modular_answer(
    model: ModularPOMDP, quotient: Quotient, rng: np.random.Generator, tests: Core
) -> tuple[bool, float]:
    """One prime's answer, and the chance that it is wrong."""
    pomdp, prime = model.pomdp, model.prime
    forward = ModularArithmetic(
        _transposed(quotient.operators(pomdp, model.probability), quotient.size),
        _start(pomdp, quotient, prime)[None],
        (len(pomdp.actions), len(pomdp.observations), quotient.size),
        prime,
        rng,
    )
    histories = breadth_first(forward, True)
    beliefs, _ = forward.reduced_basis()
    outcomes = outcome_arithmetic(model, quotient, rng, rewards=False)
    breadth_first(outcomes, False)
    vectors, _ = outcomes.reduced_basis()
    predicted = _product(beliefs, vectors.T, prime)  # (k, r): B U
    earned = _product(beliefs, model.rewards[quotient.first], prime)  # (k, A): B R
    columns = ModularArithmetic(
        sp.csr_array((0, len(beliefs)), dtype=np.int64), earned.T, (0, 0, len(beliefs)), prime, rng
    )
    columns.absorb(np.ascontiguousarray(predicted.T))
    inside = not columns.outside(np.ascontiguousarray(earned.T)).any()
    tried = forward.tried + outcomes.tried + columns.tried
    longest = max(len(member.interactions) for member in histories)
    chance = 3 * chance_of_dividing(_bits(pomdp, tests, longest)) + tried / prime**2
    return inside, chance


def _bits(pomdp: POMDP, tests: Core, history: int) -> float:
    """log2 of a bound on minors of products b(h) u(q), cleared of denominators."""
    start = pomdp.record.start
    order = tests.rank + 1
    longest = history + 1 + max(len(test) for test in tests.members) + 1
    entry = longest * step_bits(pomdp) + reward_bits(pomdp) + log2(int(start.totals()[0]))
    return order * (entry + log2(order) / 2)


def _start(pomdp: POMDP, quotient: Quotient, prime: int) -> Ints:
    row = pomdp.record.start
    assert row.weights is not None
    total = inverse_residues(integer_residues(row.totals(), prime), prime)
    residues = integer_residues(row.weights, prime) * total[0] % prime
    start = np.zeros(quotient.size, dtype=np.int64)
    np.add.at(start, quotient.labels[row.indices], residues)
    return start % prime


def _transposed(operators: Any, n: int) -> Any:
    """Stacked operators (A*O*n, n), each transposed."""
    coo = operators.tocoo()
    block, row = np.divmod(coo.row.astype(np.int64), n)
    parts = (coo.data, (block * n + coo.col, row))
    return sp.coo_array(parts, shape=operators.shape).tocsr()


def _product(left: Ints, right: Ints, prime: int) -> Ints:
    """A matrix product of residues, in halves of 16 bits so that sums fit."""
    high, low = left >> 16, left & 0xFFFF
    return ((high @ right % prime << 16) + low @ right % prime) % prime


def _float_answer(pomdp: POMDP, tests: Core) -> bool:
    beliefs = reachable_restriction(pomdp.belief_model()).basis.T
    predicted, earned = beliefs @ tests.basis, beliefs @ pomdp.R
    fitted = predicted @ np.linalg.lstsq(predicted, earned, rcond=None)[0]
    return bool(np.linalg.norm(earned - fitted) <= FLOAT_TOLERANCE * np.linalg.norm(earned))
