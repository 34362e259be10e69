"""Residues: primes, reduction of a model, compiled kernels, and the merging of states."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predictive.rationals import pomdps, process, random_pomdp
from tests.strategies import few

from rpsr.domains.corridors import load_unload
from rpsr.domains.rules import tabulate
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank import residue_kernels as kernels
from rpsr.predictive.rank.modular import reduce_pomdp, reductions
from rpsr.predictive.rank.primes import float_residues, is_prime, random_prime
from rpsr.predictive.rank.quotient import Quotient, coarsest, constant_rewards, is_lumpable

PRIME = 2**31 - 1
SMALL_PRIME = 1_073_741_827  # the smallest that may be drawn


def residue(value: Fraction, prime: int = PRIME) -> int:
    return value.numerator * pow(value.denominator, -1, prime) % prime


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---- primes and residues


def test_primes_are_told_from_others_of_31_bits():
    def by_division(number: int) -> bool:
        return all(number % d for d in range(3, int(number**0.5) + 1, 2))

    numbers = [*range(2**30 + 1, 2**30 + 200, 2), *range(2**31 - 199, 2**31, 2)]
    assert [n for n in numbers if is_prime(n)] == [n for n in numbers if by_division(n)]


def test_random_primes_are_primes_of_31_bits_and_repeat_with_their_seed():
    drawn = [random_prime(generator(seed)) for seed in range(50)]
    assert all(2**30 <= p < 2**31 and is_prime(p) for p in drawn)
    assert len(set(drawn)) == 50
    assert random_prime(generator(7)) == drawn[7]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_reduced_as_the_rational_it_is(value):
    assert float_residues(np.array([value]), PRIME)[0] == residue(Fraction(value))


# ---- a model modulo a prime


def assert_reduced(pomdp: POMDP, prime: int) -> None:
    model = reduce_pomdp(pomdp, prime)
    assert model is not None
    D, o = process(pomdp), pomdp.outcomes
    where = zip(
        o.action.tolist(), o.observation.tolist(), o.state.tolist(), o.next_state.tolist(),
        strict=True,
    )  # fmt: skip
    assert model.probability.tolist() == [residue(D[a][x][s][t], prime) for a, x, s, t in where]
    rewards = pomdp.exact_rewards()
    assert model.rewards.tolist() == [[residue(r, prime) for r in row] for row in rewards]


@settings(max_examples=few(25))
@given(pomdps(), st.sampled_from([PRIME, SMALL_PRIME]))
def test_probabilities_and_rewards_are_reduced_exactly(pomdp, prime):
    assert_reduced(pomdp, prime)


def two_states(chance: Fraction, **changes: object) -> POMDP:
    """State 0 shines with a chance, state 1 never; nothing moves."""
    rules: dict[str, object] = {
        "name": "two",
        "states": [0, 1],
        "actions": ["look"],
        "observations": ["dark", "light"],
        "start": {0: 1},
        "transition": lambda s, _a: {s: 1},
        "emission": lambda _a, t: {"light": chance, "dark": 1 - chance} if t == 0 else {"dark": 1},
        "reward": lambda s, _a, _t, _o: s,
        "discount": None,
    }
    return tabulate(**(rules | changes))  # pyright: ignore[reportArgumentType]


def test_weights_beyond_64_bits_are_reduced_exactly():
    pomdp = two_states(Fraction(10**30 + 1, 3**70))
    assert pomdp.record.emission.weights is not None
    assert pomdp.record.emission.weights.dtype == object
    assert_reduced(pomdp, PRIME)


def test_observations_that_depend_on_the_state_left_are_reduced_exactly():
    def seen(s: int, _a: str, t: int) -> dict[str, Fraction]:
        return {"light": Fraction(1 + s, 3 + t), "dark": 1 - Fraction(1 + s, 3 + t)}

    half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    pomdp = two_states(
        Fraction(0), emission=None, edge_emission=seen, transition=lambda _s, _a: half
    )
    assert_reduced(pomdp, PRIME)


def test_a_prime_that_divides_a_denominator_is_skipped():
    assert reduce_pomdp(two_states(Fraction(1, PRIME)), PRIME) is None
    paid = two_states(Fraction(1, 2), reward=lambda *_: Fraction(1, PRIME))
    assert reduce_pomdp(paid, PRIME) is None
    assert next(reductions(paid, generator())).prime != PRIME


# ---- kernels


def residues(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Residues with many zeros and extremes, where carries and corrections go wrong."""
    values = rng.integers(PRIME, size=shape)
    values[rng.random(shape) < 0.3] = PRIME - 1
    values[rng.random(shape) < 0.3] = 0
    return values


@pytest.mark.parametrize(
    "version", [lambda k: k, lambda k: getattr(k, "py_func", k)], ids=["compiled", "plain"]
)
class TestKernels:
    """Compiled or not, a kernel does what Python's integers do."""

    @pytest.mark.parametrize("seed", range(5))
    def test_vectors(self, version, seed):
        rng = generator(seed)
        x, y = residues(rng, 2, 40)
        exact = sum(int(a) * int(b) for a, b in zip(x, y, strict=True)) % PRIME
        assert version(kernels.dot)(x, y, PRIME) == exact
        for factor in (0, 1, PRIME - 1, int(rng.integers(PRIME))):
            z = x.copy()
            version(kernels.subtract_multiple)(z, factor, y, PRIME)
            pairs = zip(x.tolist(), y.tolist(), strict=True)
            assert z.tolist() == [(a - factor * b) % PRIME for a, b in pairs]
        for value in (1, 2, PRIME - 1, int(rng.integers(1, PRIME))):
            assert version(kernels.inverse_of)(value, PRIME) * value % PRIME == 1

    @pytest.mark.parametrize("seed", range(5))
    def test_products(self, version, seed):
        rng, n, n_operators = generator(seed), 6, 3
        dense = residues(rng, n_operators * n, n)
        rows, columns = np.nonzero(dense)
        indptr = np.searchsorted(rows, np.arange(n_operators * n + 1))
        vectors = residues(rng, 4, n)
        operators = indptr, columns, dense[rows, columns]
        got = version(kernels.products)(*operators, vectors, 1, 3, PRIME)
        exact = dense.astype(object).reshape(n_operators, n, n)[1:] @ vectors.astype(object).T
        assert (got == (exact % PRIME).transpose(0, 2, 1).reshape(-1, n)).all()

    @pytest.mark.parametrize("seed", range(5))
    def test_elimination(self, version, seed):
        rng, n = generator(seed), 8
        block = residues(rng, 5, n)
        block = np.concatenate([block[:2], np.zeros((1, n), int), block[:1], block])
        block[4] = (block[0] * 3 + block[1]) % PRIME
        rows, pivots = np.zeros((n, n), dtype=np.int64), np.zeros(n, dtype=np.int64)
        tests = rng.integers(PRIME, size=(2, n))
        taken = version(kernels.absorb)(block, rows, pivots, 0, tests, PRIME)
        assert taken.tolist() == [True, True, *[False] * 4, True, True, True]
        basis = rows[: taken.sum()].astype(object)
        assert not (basis @ tests.astype(object).T % PRIME).any()
        for j, pivot in enumerate(pivots[: taken.sum()]):
            assert rows[j, pivot] == 1
            assert not rows[j + 1 : taken.sum(), pivot].any()
        assert not version(kernels.outside)(block, tests, PRIME).any()
        assert version(kernels.outside)(residues(rng, 3, n), tests, PRIME).all()


# ---- merging


def coarsest_by_fractions(pomdp: POMDP, *, rewards: bool) -> list[int]:
    D, earned = process(pomdp), pomdp.exact_rewards()
    labels = _numbered([row if rewards else () for row in earned])
    while True:
        keys = []
        for s in range(len(labels)):
            sums: dict[tuple[int, int, int], Fraction] = {}
            for a, by_observation in enumerate(D):
                for o, by_state in enumerate(by_observation):
                    for t, p in by_state[s].items():
                        sums[a, o, labels[t]] = sums.get((a, o, labels[t]), Fraction(0)) + p
            keys.append((labels[s], frozenset(sums.items())))
        refined = _numbered(keys)
        if refined == labels:
            return labels
        labels = refined


def _numbered(keys: list) -> list[int]:
    numbers: dict = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


@settings(max_examples=few(40))
@given(pomdps(), st.booleans(), st.integers(0, 100))
def test_the_coarsest_partition_is_found(pomdp, rewards, seed):
    model = reduce_pomdp(pomdp, PRIME)
    quotient = coarsest(model, generator(seed), rewards=rewards)
    assert quotient.labels.tolist() == coarsest_by_fractions(pomdp, rewards=rewards)
    assert quotient.first.tolist() == [
        quotient.labels.tolist().index(block) for block in range(quotient.size)
    ]
    assert is_lumpable(model, quotient)
    assert constant_rewards(model, quotient).all() or not rewards


def test_blind_merging_is_noticed():
    model = reduce_pomdp(load_unload(), PRIME)
    n = len(load_unload().states)
    everything = Quotient(np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64))
    assert not is_lumpable(model, everything)
    assert not constant_rewards(model, everything).any()


@settings(max_examples=few(20))
@given(pomdps())
def test_operators_between_blocks_do_what_those_between_states_do(pomdp):
    model = reduce_pomdp(pomdp, PRIME)
    quotient = coarsest(model, generator(), rewards=True)
    stacked = quotient.operators(pomdp, pomdp.outcomes.probability).toarray()
    values = generator(1).random(quotient.size)
    small = (stacked @ values).reshape(-1, quotient.size)
    large = [block @ values[quotient.labels] for row in pomdp.D for block in row]
    assert np.allclose(small[:, quotient.labels], np.stack(large))


def test_states_that_behave_alike_are_merged():
    pomdp = random_pomdp(4, "merged", 6)
    model = reduce_pomdp(pomdp, PRIME)
    assert coarsest(model, generator(), rewards=False).size == 2
    assert coarsest(model, generator(), rewards=True).size == 6
