"""Core sets, ranks and the accuracy condition, certified on the model's rationals.

One prime p yields a core set C modulo p with r members (`rpsr.predictive.rank.search`). They are
independent over the rationals: rank >= r is certain. That the rank is not higher is shown in one of
two ways.

*Merging.* If r is the number of blocks of a lumpable partition (`quotient`), then
rank <= r. The partition was found modulo p; it is checked modulo more primes, until their product
exceeds every integer that all of them could divide by accident (`integer_sizes`). The rank is then
certain, with error probability 0. If that would take too many, k primes beyond the first give the
error probability (b / 30 / K)^k. The span is all vectors constant on blocks, and R[:,a] is in it if
and only if it is constant on blocks: rationals again, compared in the same way.

*Agreement.* Otherwise, C is searched for again modulo k more primes, drawn independently. If C were
no core set, some extension x of a member, or some initial vector, would be independent of C. A
prime misses that if it divides a certain integer, with probability b / 30 / K at most, or if x is
wrongly rejected, with probability n / p^2 at most for n candidates tried. All k err together with
probability

    at most (b / 30 / K + n / p^2)^k.

The same holds for x = R[:,a], the accuracy condition; a reward found outside the span modulo p is
outside the span of C with certainty.

If the primes disagree, or the partition is wrong, one of them was unlucky: the search starts again
with new ones, and the bound is multiplied by the number of starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rpsr import deadline
from rpsr.errors import ModelError
from rpsr.io.records import Bools, Ints
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank.echelon import block_rewards
from rpsr.predictive.rank.integer_sizes import chance_of_dividing, comparison_bits, minor_bits
from rpsr.predictive.rank.modular import ModularPOMDP, reductions
from rpsr.predictive.rank.modular_search import Searched, Spans, search_modulo
from rpsr.predictive.rank.primes import PRIME_BITS
from rpsr.predictive.rank.quotient import Quotient, constant_rewards, is_lumpable
from rpsr.predictive.rank.search import Member, Search, breadth_first, completing

KEPT = 3  # searches whose spans are kept, for the first try at a basis of rationals
_MOST_PRIMES = 64  # if too few, a rank by blocks gets an error probability, others no certificate


@dataclass(frozen=True, eq=False)
class CertifiedCore:
    """A core set of the exact model, with its error probability.

    members: the core set, in order of acceptance; independent with certainty.
    error_probability: a bound on the probability, over the random primes, that the true rank is
    higher or that a true entry of `rewards_inside` is wrong. Zero means certainty.
    rewards_inside (A,): whether R[:,a] lies in the span of the core's outcome vectors.
    labels (S,): blocks of states that no outcome vector distinguishes, numbered by first state; if
    there are as many blocks as members, the span is all vectors constant on blocks.
    primes: those of the certificate; the first one found the core set.
    spans: of all outcome vectors modulo primes, starting with the searches already made.
    """

    members: tuple[Member, ...]
    error_probability: float
    rewards_inside: Bools
    labels: Ints
    primes: tuple[int, ...]
    seed: int
    spans: Spans

    @property
    def rank(self) -> int:
        """The number of members."""
        return len(self.members)

    @property
    def accurate(self) -> bool:
        """The accuracy condition: whether every column of R lies in the span."""
        return bool(self.rewards_inside.all())


def certified_core(
    pomdp: POMDP,
    *,
    rewards: bool,
    search: Search = breadth_first,
    seed: int = 0,
    error: float = 1e-9,
) -> CertifiedCore:
    """A core set of tests, or with `rewards` of intents, in exact arithmetic.

    Primes are added until the error probability is zero or at most `error`. A `ModelError` if the
    model is known only in floats.
    """
    if not pomdp.exact:
        raise pomdp.inexact("its rank cannot be certified")
    rng = np.random.default_rng(seed)
    models = reductions(pomdp, rng)
    starts = 0
    while True:
        starts += 1
        attempt = _attempt(next(models), rng, search, rewards=rewards)
        proof = (
            _prove_by_merging(attempt, models, error, rewards=rewards)
            if attempt.searched.arithmetic.full
            else _prove_by_agreement(attempt, models, error, rng, search, rewards=rewards)
        )
        if proof is not None:
            return CertifiedCore(
                members=attempt.members,
                error_probability=min(1.0, starts * proof.error),
                rewards_inside=proof.rewards_inside,
                labels=attempt.quotient.labels,
                primes=proof.primes,
                seed=seed,
                spans=Spans(models, rng, rewards=rewards, searched=proof.searched),
            )


@dataclass(frozen=True, eq=False)
class MembersCheck:
    """Whether candidates given by a user are a core set, and the reason if not.

    dependent: the position of the first that depends on those before it, or None.
    missing: the first candidate that is independent of all of them, or None.
    The other fields are as in `CertifiedCore`.
    """

    dependent: int | None
    missing: Member | None
    error_probability: float
    rewards_inside: Bools
    labels: Ints
    spans: Spans


def check_members(
    pomdp: POMDP, members: Sequence[Member], *, rewards: bool, seed: int = 0, error: float = 1e-9
) -> MembersCheck:
    """Check candidates for independence and closure, in exact arithmetic."""
    core = certified_core(
        pomdp, rewards=rewards, search=completing(members), seed=seed, error=error
    )
    kept = set(core.members)
    return MembersCheck(
        dependent=next((i for i, m in enumerate(members) if m not in kept), None),
        missing=next((m for m in core.members if m not in members), None),
        error_probability=core.error_probability,
        rewards_inside=core.rewards_inside,
        labels=core.labels,
        spans=core.spans,
    )


@dataclass(frozen=True, eq=False)
class _Attempt:
    """The result modulo one prime. `bad_luck` bounds the probability of a wrong rejection."""

    searched: Searched
    rewards_inside: Bools
    bad_luck: float

    @property
    def model(self) -> ModularPOMDP:
        return self.searched.model

    @property
    def quotient(self) -> Quotient:
        return self.searched.quotient

    @property
    def members(self) -> tuple[Member, ...]:
        return self.searched.members

    def agrees_with(self, other: _Attempt) -> bool:
        same_rewards = np.array_equal(self.rewards_inside, other.rewards_inside)
        same_blocks = np.array_equal(self.quotient.labels, other.quotient.labels)
        return self.members == other.members and same_rewards and same_blocks


@dataclass(frozen=True, eq=False)
class _Proof:
    """searched: the first searches of a proof by agreement, at most `KEPT`."""

    error: float
    rewards_inside: Bools
    primes: tuple[int, ...]
    searched: tuple[Searched, ...] = ()


def _attempt(
    model: ModularPOMDP, rng: np.random.Generator, search: Search, *, rewards: bool
) -> _Attempt:
    phase = f"searching for core {'intents' if rewards else 'tests'}"
    searched = search_modulo(model, rng, search, rewards=rewards, phase=phase)
    outside = searched.arithmetic.outside(block_rewards(model, searched.quotient))
    return _Attempt(
        searched=searched,
        rewards_inside=constant_rewards(model, searched.quotient) & ~outside,
        bad_luck=searched.arithmetic.tried / model.prime**2,
    )


def _prove_by_merging(
    attempt: _Attempt, models: Iterator[ModularPOMDP], error: float, *, rewards: bool
) -> _Proof | None:
    inside, quotient = attempt.rewards_inside, attempt.quotient
    if quotient.trivial:  # every vector is constant on single states
        return _Proof(0.0, inside, (attempt.model.prime,))
    deadline.begin("certifying the rank")
    bits = comparison_bits(attempt.model.pomdp)
    out_of_reach = bits >= PRIME_BITS * _MOST_PRIMES
    primes = [attempt.model.prime]
    while True:
        exhausted = PRIME_BITS * len(primes) > bits
        left = 0.0 if exhausted else chance_of_dividing(bits) ** (len(primes) - 1)
        if exhausted or (out_of_reach and left <= error) or len(primes) == _MOST_PRIMES:
            return _Proof(left, inside, tuple(primes))
        deadline.check()
        model = next(models)
        if model.prime in primes:  # the product needs distinct primes
            continue
        primes.append(model.prime)
        inside = inside & constant_rewards(model, quotient)
        if not is_lumpable(model, quotient) or (rewards and not inside.all()):
            return None


def _prove_by_agreement(
    attempt: _Attempt,
    models: Iterator[ModularPOMDP],
    error: float,
    rng: np.random.Generator,
    search: Search,
    *,
    rewards: bool,
) -> _Proof | None:
    divisible = chance_of_dividing(minor_bits(attempt.model.pomdp, attempt.members))
    primes, left = [attempt.model.prime], 1.0
    searched = [attempt.searched]
    while left > error:
        if len(primes) == _MOST_PRIMES:
            name = attempt.model.pomdp.name
            raise ModelError(
                f"{name}: the denominators of probabilities and rewards are too large to certify "
                "the rank; decide it in floats (--float; exact=False in Python)"
            )
        deadline.begin("certifying the rank")
        other = _attempt(next(models), rng, search, rewards=rewards)
        if not attempt.agrees_with(other):
            return None
        primes.append(other.model.prime)
        left *= divisible + other.bad_luck
        if len(searched) < KEPT:
            searched.append(other.searched)
    return _Proof(left, attempt.rewards_inside, tuple(primes), tuple(searched))
