"""Reachable states, and the span of reachable beliefs.

Let B be a basis of the span of reachable beliefs b(h). A PSR represents the rewards of every
history if and only if some W has b(h) U W = b(h) R for all h, that is, if and only if the columns
of B R lie in the span of the columns of B U. This is the exact form of the accuracy theorem's "only
if": if reachable beliefs span R^S it is the condition U W = R; reachable *states* are not enough,
since beliefs may visit every state and still never leave a hyperplane.

B is found like a core set, forwards: b(hao) is proportional to b(h) D[a,o], so B is the closure of
the start under the transposed operators. In exact arithmetic the ranks are computed modulo random
primes; if k primes agree on an answer, it is wrong only if each of them divides one of three fixed
non-zero minors, of order at most r + 1 in products b(h) u(q), which `_bits` bounds as in
`rpsr.predictive.rank.certify`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from rpsr import deadline
from rpsr.errors import ModelError
from rpsr.io.records import Bools, Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.constructors import predictive_model
from rpsr.predictive.core import Core, exact_instead
from rpsr.predictive.rank.echelon import ModularArithmetic, outcome_arithmetic
from rpsr.predictive.rank.integer_sizes import chance_of_dividing, reward_bits, step_bits
from rpsr.predictive.rank.modular import ModularPOMDP, reductions
from rpsr.predictive.rank.primes import integer_residues, inverse_residues
from rpsr.predictive.rank.quotient import Quotient, constant_rewards, is_lumpable
from rpsr.predictive.rank.search import breadth_first
from rpsr.predictive.reduction import reachable_basis

ERROR = 1e-9  # primes are added until the error probability is below this
MOST_PRIMES = 64  # if these do not suffice, the answer is not certified
FLOAT_TOLERANCE = 1e-9

Answer = TypeVar("Answer", bool, int)


@dataclass(frozen=True)
class ReachableAnswer:
    """Whether a PSR represents the rewards of every history, and the error probability."""

    accurate: bool
    error_probability: float | None


def reachable_states(pomdp: POMDP) -> Bools:
    """(S,): the states that some history visits with positive probability."""
    n, outcomes = len(pomdp.states), pomdp.outcomes
    ones = np.ones(len(outcomes.state))
    graph = sp.coo_array((ones, (outcomes.state, outcomes.next_state)), shape=(n, n)).tocsr()
    visited = pomdp.start > 0
    while True:
        deadline.check()
        following = visited | (np.asarray(visited.astype(np.float64) @ graph) > 0)
        if np.array_equal(following, visited):
            return visited
        visited = following


def accurate_on_reachable(
    pomdp: POMDP, tests: Core, intents: Core, *, seed: int = 0
) -> ReachableAnswer:
    """Whether the PSR of `tests` represents the rewards of every reachable history."""
    if tests.accurate:
        return ReachableAnswer(True, tests.error_probability)
    if not (tests.certified and intents.certified):
        return ReachableAnswer(_float_answer(pomdp, tests, intents), None)
    asked = _Question(pomdp, tests, intents)
    accurate, error = _agreed(asked, _modular_answer, seed)
    return ReachableAnswer(accurate, error)


def reachable_rank(pomdp: POMDP, intents: Core, *, seed: int = 0) -> tuple[int, float]:
    """The dimension of the span of reachable R-PSR states, that of B U; and the error probability.

    It is certainly a lower bound. The model must be exact.
    """
    return _agreed(_Question(pomdp, intents, intents), _modular_rank, seed)


@dataclass(frozen=True, eq=False)
class _Question:
    """A question about B U, with U the outcomes of a core, by blocks of the intents."""

    pomdp: POMDP
    core: Core
    intents: Core

    @cached_property
    def quotient(self) -> Quotient:
        labels = self.intents.blocks
        return Quotient(labels, np.unique(labels, return_index=True)[1])

    def sound(self, model: ModularPOMDP) -> bool:
        """Whether the blocks are lumpable modulo this prime, as they are over the rationals."""
        quotient = self.quotient
        return is_lumpable(model, quotient) and bool(constant_rewards(model, quotient).all())


@dataclass(frozen=True, eq=False)
class _Reduced:
    """The POMDP modulo a prime, with its start (n,), by block."""

    model: ModularPOMDP
    start: Ints


def _agreed(
    asked: _Question,
    answer: Callable[[_Question, _Reduced, np.random.Generator], tuple[Answer, float]],
    seed: int,
) -> tuple[Answer, float]:
    """The answer on which enough primes agree, and the probability that all of them err."""
    rng = np.random.default_rng(seed)
    answers: list[Answer] = []
    error, starts = 1.0, 1
    for model in reductions(asked.pomdp, rng):
        deadline.check()
        start = _start(asked.pomdp, asked.quotient, model.prime)
        if start is None:
            continue
        if not asked.sound(model):
            raise ModelError(f"{asked.pomdp.name}: read a core of intents of another model")
        proposed, chance = answer(asked, _Reduced(model, start), rng)
        if answers and proposed != answers[0]:  # a prime was unlucky: start again
            answers, error, starts = [], 1.0, starts + 1
            continue
        answers.append(proposed)
        error *= min(1.0, chance)
        if error <= ERROR:
            break
        if len(answers) == MOST_PRIMES:
            raise ModelError(
                f"{asked.pomdp.name}: the denominators of probabilities and rewards are too large "
                "to certify the answer; decide it in floats (--float; exact=False in Python)"
            )
    return answers[0], min(1.0, starts * error)


def _modular_answer(
    asked: _Question, reduced: _Reduced, rng: np.random.Generator
) -> tuple[bool, float]:
    model = reduced.model
    beliefs, predicted, chance = _predicted(asked, reduced, rng)
    earned = _product(beliefs, model.rewards[asked.quotient.first], model.prime)  # (k, A): B R
    span = _span_of(predicted.T, model.prime, rng)
    inside = not span.outside(np.ascontiguousarray(earned.T)).any()
    return inside, chance + span.tried / model.prime**2


def _modular_rank(
    asked: _Question, reduced: _Reduced, rng: np.random.Generator
) -> tuple[int, float]:
    _, predicted, chance = _predicted(asked, reduced, rng)
    prime = reduced.model.prime
    span = _span_of(predicted.T, prime, rng)
    return span.rank, chance + span.tried / prime**2


def _predicted(
    asked: _Question, reduced: _Reduced, rng: np.random.Generator
) -> tuple[Ints, Ints, float]:
    """B (k, n) and B U (k, r) modulo a prime, and the probability that the prime is unlucky."""
    pomdp, quotient, model = asked.pomdp, asked.quotient, reduced.model
    prime = model.prime
    forward = ModularArithmetic(
        _transposed(quotient.operators(pomdp, model.probability), quotient.size),
        reduced.start[None],
        (len(pomdp.actions), len(pomdp.observations), quotient.size),
        prime,
        rng,
    )
    breadth_first(forward, True)
    beliefs, _ = forward.reduced_basis()
    rewards = asked.core.kind == "rpsr"
    outcomes = outcome_arithmetic(model, quotient, rng, rewards=rewards)
    breadth_first(outcomes, rewards)
    vectors, _ = outcomes.reduced_basis()
    # The span of beliefs grows with every step until it is closed: that bounds the length of
    # histories independently of the prime.
    divisible = chance_of_dividing(_bits(pomdp, asked.core, quotient.size - 1))
    tried = forward.tried + outcomes.tried
    return beliefs, _product(beliefs, vectors.T, prime), 3 * divisible + tried / prime**2


def _span_of(rows: Ints, prime: int, rng: np.random.Generator) -> ModularArithmetic:
    """The span of some vectors."""
    width = rows.shape[1]
    nowhere = sp.csr_array((0, width), dtype=np.int64)
    span = ModularArithmetic(nowhere, rows[:0], (0, 0, width), prime, rng)
    span.absorb(np.ascontiguousarray(rows))
    return span


def _bits(pomdp: POMDP, core: Core, history: int) -> float:
    """log2 of a bound on minors of products b(h) u(q), cleared of denominators."""
    start = pomdp.record.start
    order = core.rank + 1
    longest = history + 1 + max(len(member) for member in core.members) + 1
    entry = longest * step_bits(pomdp) + reward_bits(pomdp) + log2(int(start.totals()[0]))
    return order * (entry + log2(order) / 2)


def _start(pomdp: POMDP, quotient: Quotient, prime: int) -> Ints | None:
    """The start modulo a prime, by block; None if the prime divides its denominator."""
    row = pomdp.record.start
    assert row.weights is not None
    total = integer_residues(row.totals(), prime)
    if total[0] == 0:
        return None
    inverse = inverse_residues(total, prime)
    residues = integer_residues(row.weights, prime) * inverse[0] % prime
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
    rows = max(1, deadline.PIECE // max(1, right.size))
    parts = [np.zeros((0, right.shape[1]), dtype=np.int64)]
    for first in range(0, len(left), rows):
        deadline.check()
        high, low = left[first : first + rows] >> 16, left[first : first + rows] & 0xFFFF
        parts.append(((high @ right % prime << 16) + low @ right % prime) % prime)
    return np.concatenate(parts)


def _float_answer(pomdp: POMDP, tests: Core, intents: Core) -> bool:
    """The answer in floats, in the R-PSR's space, which may be far smaller than that of beliefs."""
    reachable, _ = reachable_basis(predictive_model(pomdp, intents), instead=exact_instead(pomdp))
    beliefs = reachable.T @ intents.basis.T
    predicted, earned = beliefs @ tests.basis, beliefs @ pomdp.R
    deadline.check(10 * predicted.size * min(predicted.shape))
    fitted = predicted @ np.linalg.lstsq(predicted, earned, rcond=FLOAT_TOLERANCE)[0]
    return bool(np.linalg.norm(earned - fitted) <= FLOAT_TOLERANCE * np.linalg.norm(earned))
