"""The core search: against the paper's algorithms in fractions, in both arithmetics."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predictive.rationals import LiteralSearch, outcome, pomdps, random_pomdp, rank
from tests.predictive.small_models import fair_bets, fuse
from tests.strategies import few

from rpsr.domains.corridors import load_unload
from rpsr.domains.rules import tabulate
from rpsr.errors import ModelError
from rpsr.io.pomdp.reader import read_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.predictive.rank import modular, search
from rpsr.predictive.rank.certify import certified_core, check_members
from rpsr.predictive.rank.estimate import float_arithmetic, float_members
from rpsr.predictive.rank.search import Member, breadth_first, completing, depth_first
from rpsr.predictive.rank.span import rewards_in_span

ORDERS = {"breadth-first": breadth_first, "depth-first": depth_first}


def literal(pomdp: POMDP, order: str, *, rewards: bool) -> tuple[Member, ...]:
    oracle = LiteralSearch(pomdp, rewards=rewards)
    return oracle.breadth_first() if order == "breadth-first" else oracle.depth_first()


# ---- the exact search


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rewards", [False, True])
@settings(max_examples=few(25))
@given(pomdp=pomdps())
def test_the_core_is_the_one_of_the_papers_algorithm(pomdp, order, rewards):
    core = certified_core(pomdp, rewards=rewards, search=ORDERS[order])
    assert core.members == literal(pomdp, order, rewards=rewards)
    assert core.error_probability <= 1e-9


@pytest.mark.parametrize("rewards", [False, True])
@settings(max_examples=few(25))
@given(pomdp=pomdps(), seed=st.integers(0, 10))
def test_the_core_is_independent_and_closed(pomdp, rewards, seed):
    core = certified_core(pomdp, rewards=rewards, search=depth_first, seed=seed)
    vectors = [outcome(pomdp, member) for member in core.members]
    assert rank(vectors) == core.rank
    for a in range(2):
        for o in range(2):
            for member in (*core.members, Member((), None)):
                longer = Member(((a, o), *member.interactions), member.action)
                assert rank([*vectors, outcome(pomdp, longer)]) == core.rank
    columns = [outcome(pomdp, Member((), a)) for a in range(2)]
    inside = [rank([*vectors, column]) == core.rank for column in columns]
    assert core.rewards_inside.tolist() == inside
    for label in set(core.labels.tolist()):
        alike = np.flatnonzero(core.labels == label)
        assert all(len({vector[s] for s in alike}) == 1 for vector in vectors)


@pytest.mark.parametrize("rewards", [False, True])
@settings(max_examples=few(25))
@given(pomdp=pomdps())
def test_both_orders_and_all_seeds_agree(pomdp, rewards):
    cores = [certified_core(pomdp, rewards=rewards, seed=seed) for seed in (0, 1)]
    assert cores[0].members == cores[1].members
    deep = certified_core(pomdp, rewards=rewards, search=depth_first)
    assert deep.rank == cores[0].rank
    assert deep.accurate == cores[0].accurate


@settings(max_examples=few(25))
@given(pomdp=pomdps())
def test_ranks_are_equal_if_and_only_if_rewards_are_inside(pomdp):
    tests, intents = (certified_core(pomdp, rewards=rewards) for rewards in (False, True))
    assert tests.rank <= intents.rank <= len(pomdp.states)
    assert (tests.rank == intents.rank) == tests.accurate
    assert intents.accurate


def test_block_size_does_not_matter(monkeypatch):
    expected = certified_core(load_unload(), rewards=True).members
    monkeypatch.setattr(search, "_BLOCK_ENTRIES", 1)
    assert certified_core(load_unload(), rewards=True).members == expected


def test_a_rank_that_merging_proves_is_certain():
    core = certified_core(random_pomdp(5, "merged", 6, rewarding=False), rewards=True)
    assert core.rank == len(set(core.labels.tolist())) < 6
    assert core.error_probability == 0


# ---- load/unload


def test_load_unload_has_ranks_five_and_nine():
    tests, intents = (certified_core(load_unload(), rewards=rewards) for rewards in (False, True))
    assert (tests.rank, intents.rank) == (5, 9)
    assert tests.error_probability == 0
    assert 0 < intents.error_probability < 1e-9
    assert tests.rewards_inside.tolist() == [False, False]
    assert [tests.labels.tolist().count(block) for block in range(5)] == [2] * 5


def named(text: str) -> Member:
    model = load_unload()
    pairs = [part.split() for part in text.split(", ")]
    return Member(
        tuple((model.actions.index(a), model.observations.index(o)) for a, o in pairs), None
    )


PAPERS_TESTS = [
    "left loading",
    "right travel",
    "right unloading",
    "right travel, left loading",
    "left travel, right travel",
]


def test_the_papers_core_tests_are_a_core_set():
    check = check_members(load_unload(), [named(t) for t in PAPERS_TESTS], rewards=False)
    assert (check.dependent, check.missing) == (None, None)
    assert not check.rewards_inside.any()


def test_what_a_given_set_lacks_is_named():
    check = check_members(load_unload(), [named(t) for t in PAPERS_TESTS[:4]], rewards=False)
    assert check.dependent is None
    assert check.missing is not None
    vectors = [outcome(load_unload(), named(t)) for t in PAPERS_TESTS[:4]]
    assert rank([*vectors, outcome(load_unload(), check.missing)]) == 5


def test_a_given_member_that_depends_on_others_is_named():
    given_tests = [*PAPERS_TESTS[:3], "left travel", *PAPERS_TESTS[3:]]
    check = check_members(load_unload(), [named(t) for t in given_tests], rewards=False)
    assert (check.dependent, check.missing) == (3, None)


def test_completing_keeps_what_is_given_first():
    wanted = named(PAPERS_TESTS[4])
    core = certified_core(load_unload(), rewards=False, search=completing([wanted]))
    assert core.members[0] == wanted
    assert core.rank == 5


# ---- unlucky primes


def look_and_stop(chances: dict[str, list[Fraction]]) -> POMDP:
    """One look from some state, by an action with its own chances of light, then darkness."""
    n = len(next(iter(chances.values())))

    def seen(s: int, a: str, _t: int) -> dict[str, Fraction]:
        light = chances[a][s] if s < n else Fraction(0)
        return {"light": light, "dark": 1 - light}

    return tabulate(
        name="look",
        states=range(n + 1),
        actions=list(chances),
        observations=["light", "dark"],
        start={0: 1},
        transition=lambda _s, _a: {n: 1},
        edge_emission=seen,
        reward=lambda *_: 0,
        discount=None,
    )


UNLUCKY = 2**31 - 1
LARGE = 2**61 - 1
ALIKE_MODULO = {
    "a": [Fraction(1, LARGE), Fraction(2, LARGE), Fraction(5, LARGE)],
    "b": [Fraction(1 + UNLUCKY, LARGE), Fraction(2, LARGE), Fraction(5, LARGE)],
}  # modulo the unlucky prime, both actions see alike


@pytest.mark.parametrize(
    ("chances", "expected"),
    [
        # Modulo the unlucky prime, the first two states look alike: the merging is wrong.
        ({"a": [Fraction(1, LARGE), Fraction(1 + UNLUCKY, LARGE)]}, 2),
        # The agreement fails.
        (ALIKE_MODULO, 3),
    ],
)
def test_an_unlucky_prime_is_found_out(monkeypatch, chances, expected):
    pomdp = look_and_stop(chances)
    primes = iter([UNLUCKY])
    draw = modular.random_prime
    monkeypatch.setattr(modular, "random_prime", lambda rng: next(primes, None) or draw(rng))
    core = certified_core(pomdp, rewards=False)
    assert core.rank == expected == rank([outcome(pomdp, m) for m in core.members])
    assert UNLUCKY not in core.primes


def test_every_start_after_an_unlucky_prime_may_err(monkeypatch):
    """The first prime is unlucky: the bound is twice that of the start that succeeded."""
    pomdp = look_and_stop(ALIKE_MODULO)
    once = certified_core(pomdp, rewards=False)
    primes = iter([UNLUCKY, once.primes[0], *once.primes])  # the second disagrees with the first
    draw = modular.random_prime
    monkeypatch.setattr(modular, "random_prime", lambda rng: next(primes, None) or draw(rng))
    core = certified_core(pomdp, rewards=False)
    assert (core.rank, core.primes) == (once.rank, once.primes)
    assert core.error_probability == 2 * once.error_probability > 0


# ---- the search in floats


def float_rank(pomdp, *, rewards):
    return len(float_members(pomdp, rewards=rewards, search=breadth_first))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rewards", [False, True])
@settings(max_examples=few(25))
@given(pomdp=pomdps())
def test_floats_agree_where_their_margin_is_clear(pomdp, order, rewards):
    arithmetic = float_arithmetic(pomdp, rewards=rewards)
    members, basis = ORDERS[order](arithmetic, rewards), arithmetic.basis
    assert members == float_members(pomdp, rewards=rewards, search=ORDERS[order])
    if arithmetic.accepted > 1e-4 and arithmetic.rejected < 1e-10:  # else one may be wrong
        exact = certified_core(pomdp, rewards=rewards, search=ORDERS[order])
        assert members == exact.members
        assert rewards_in_span(pomdp, basis).tolist() == exact.rewards_inside.tolist()
    assert len(members) == basis.shape[1]
    assert np.allclose(basis.T @ basis, np.eye(len(members)), atol=1e-13)
    for member in members:
        vector = np.array([float(x) for x in outcome(pomdp, member)])
        left = vector - basis @ (basis.T @ vector)
        assert np.linalg.norm(left) <= 1e-12 * max(1, np.linalg.norm(vector))


def test_rare_observations_count_like_any_other():
    rare = Fraction(1, 10**12)
    pomdp = look_and_stop({"a": [rare, 3 * rare, 4 * rare], "b": [rare, rare, 2 * rare]})
    arithmetic = float_arithmetic(pomdp, rewards=False)
    assert len(breadth_first(arithmetic, False)) == certified_core(pomdp, rewards=False).rank == 3
    assert arithmetic.accepted > 0.01


def test_long_rare_tests_do_not_underflow():
    pomdp = fuse(40)
    assert certified_core(pomdp, rewards=False).rank == 40
    assert float_rank(pomdp, rewards=False) == 40


def test_a_reward_that_cancels_is_no_direction():
    pomdp = fair_bets()
    assert not pomdp.R.any()  # summed exactly
    assert certified_core(pomdp, rewards=True).rank == 1
    assert float_rank(pomdp, rewards=True) == 1


def test_a_model_known_only_in_floats_has_no_certificate():
    third = np.array([[[1 / 3, 2 / 3], [0.5, 0.5]]])
    pomdp = POMDP.from_arrays(third, third, np.array([[0.0], [1.0]]), start=[0.5, 0.5])
    assert not pomdp.exact
    with pytest.raises(ModelError, match="known only in floats"):
        certified_core(pomdp, rewards=False)
    assert float_rank(pomdp, rewards=False) == 2


# ---- the corpus

CORPUS_RANKS = {
    "4x3.95.POMDP": (10, 11),
    "aloha.30.POMDP.gz": (30, 30),
    "hallway2.POMDP": (89, 89),
    "heavenhell.pomdp": (17, 18),
    "iff.POMDP": (19, 57),
    "line4-2goals.POMDP": (1, 3),
    "loadunload.pomdp": (5, 9),
    "paint.95.POMDP": (2, 4),
    "parr95.95.POMDP": (6, 7),
    "saci-s100-a10-z31.POMDP": (100, 100),
    "stand-tiger.95.POMDP": (3, 4),
}


@pytest.mark.parametrize("file", CORPUS_RANKS)
def test_ranks_of_the_corpus_are_certified(corpus, file):
    pomdp = POMDP(read_pomdp(corpus / file))
    tests, intents = (certified_core(pomdp, rewards=rewards) for rewards in (False, True))
    assert (tests.rank, intents.rank) == CORPUS_RANKS[file]
    assert tests.accurate == (tests.rank == intents.rank)
    assert max(tests.error_probability, intents.error_probability) <= 1e-9
