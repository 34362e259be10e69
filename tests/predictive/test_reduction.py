"""Smaller models with the same rewards and observations: nothing is lost on the way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from tests.predictive.exact_accuracy import pomdps, reachable_beliefs
from tests.predictive.histories import (
    alpha_of,
    belief_after,
    random_history,
    random_tree,
    value_of,
)
from tests.predictive.rationals import LiteralSearch, rank
from tests.predictive.small_models import balanced_walk, blind, with_a_cellar
from tests.strategies import few

from rpsr.domains import build
from rpsr.errors import ModelError
from rpsr.models.domain import Corners, Unknown
from rpsr.models.operators import DenseOperators, FactoredOperators
from rpsr.models.pomdp import POMDP
from rpsr.predictive import (
    constructors,
    find_core,
    observable_quotient,
    reachable_rank,
    reachable_restriction,
    rpsr,
)
from rpsr.testing import check_model

FEW = settings(max_examples=few(25))
SEEDS = st.integers(0, 2**32 - 1)


def size(pomdp: POMDP) -> float:
    return 1.0 + float(np.abs(pomdp.R).max())


# ---- the observable quotient


@FEW
@given(pomdp=pomdps(), seed=SEEDS, horizon=st.integers(1, 3))
def test_a_policy_is_worth_the_same_from_every_belief(pomdp, seed, horizon):
    rng = np.random.default_rng(seed)
    tree, quotient = random_tree(pomdp, rng, horizon), observable_quotient(pomdp)
    alpha = alpha_of(quotient.model, tree, 0.9)
    (lifted,) = quotient.lift(alpha[None])
    for belief in (*np.eye(len(pomdp.states)), rng.dirichlet(np.ones(len(pomdp.states)))):
        value = value_of(pomdp, belief, tree, 0.9)
        assert belief @ lifted == pytest.approx(value, abs=1e-9 * size(pomdp))
        assert quotient.reduce(belief[None])[0] @ alpha == pytest.approx(
            value, abs=1e-9 * size(pomdp)
        )


@FEW
@given(pomdp=pomdps())
def test_the_quotient_is_the_rpsr_with_its_corners(pomdp):
    quotient = observable_quotient(pomdp)
    assert quotient.model.dimension == find_core(pomdp, "rpsr").rank
    assert isinstance(quotient.model.domain, Corners)
    corners = quotient.reduce(np.eye(len(pomdp.states)))
    assert np.array_equal(corners, quotient.model.domain.points)
    assert quotient.basis.T @ quotient.basis == pytest.approx(
        np.eye(quotient.model.dimension), abs=1e-12
    )


def test_states_that_earn_and_look_alike_share_a_corner():
    quotient = observable_quotient(build("hallway"))
    corners = quotient.reduce(np.eye(60))
    assert len(np.unique(corners.round(12), axis=0)) == quotient.model.dimension == 57


# ---- the reachable restriction


@FEW
@given(pomdp=pomdps(), seed=SEEDS, steps=st.integers(0, 4), belief=st.booleans())
def test_nothing_is_lost_from_the_start(pomdp, seed, steps, belief):
    larger = pomdp.belief_model() if belief else rpsr(pomdp)
    try:
        smaller = reachable_restriction(larger)
    except ModelError:
        reject()  # not clear in floats
    tree = random_tree(pomdp, np.random.default_rng(seed), 2)
    history = random_history(pomdp, seed, steps)
    value = value_of(pomdp, belief_after(pomdp, history), tree, 0.9)
    x, y = larger.start, smaller.model.start
    for a, o in history:
        x, y = larger.update(x, a, o), smaller.model.update(y, a, o)
    alpha = alpha_of(smaller.model, tree, 0.9)
    tolerance = 1e-8 * size(pomdp)
    assert smaller.reduce(x[None])[0] == pytest.approx(y, abs=1e-8)
    assert y @ alpha == pytest.approx(value, abs=tolerance)
    assert x @ smaller.lift(alpha[None])[0] == pytest.approx(value, abs=tolerance)


@FEW
@given(pomdp=pomdps())
def test_its_dimension_is_the_rank_in_fractions(pomdp):
    intents = find_core(pomdp, "rpsr")
    search = LiteralSearch(pomdp, rewards=True)
    search.breadth_first()
    beliefs = reachable_beliefs(pomdp)
    truth = rank([[sum(map(_times, b, u)) for b in beliefs] for u in search.vectors])
    dimension, error = reachable_rank(pomdp, intents)
    assert (dimension, error <= 1e-9) == (truth, True)
    rewards, chances = np.abs(pomdp.R[pomdp.R != 0]), pomdp.outcomes.probability
    assume(rewards.size == 0 or rewards.max() < 1e6 * rewards.min())
    assume(chances.min() > 1e-12)  # what is smaller than that is rounding to floats
    try:
        restriction = reachable_restriction(rpsr(pomdp, core=intents))
    except ModelError:
        reject()  # not clear in floats
    assert restriction.model.dimension == truth


def _times(x, y):
    return x * y


def test_what_floats_cannot_tell_is_refused():
    rare = Fraction(1, 10**10)
    pomdp = blind(2, move=lambda s, _: {0: rare, 1: 1 - rare}, reward=lambda s, _: s, start={1: 1})
    assert reachable_rank(pomdp, find_core(pomdp, "rpsr"))[0] == 2
    with pytest.raises(ModelError, match="dimension of the reachable .*; use the whole model"):
        reachable_restriction(rpsr(pomdp))


def test_a_hidden_coin_is_restricted_away():
    model = rpsr(balanced_walk())
    smaller = reachable_restriction(model)
    assert (model.dimension, smaller.model.dimension) == (6, 3)
    assert smaller.margin is not None
    assert smaller.margin[0] > 0.1
    assert smaller.margin[1] < 1e-12


def test_its_domain_is_unknown_and_it_has_no_core():
    smaller = reachable_restriction(rpsr(balanced_walk())).model
    assert isinstance(smaller.domain, Unknown)
    assert (smaller.kind, smaller.core, smaller.coordinates) == ("rpsr, reachable", (), None)
    check_model(smaller, histories=3)


def test_it_is_lossless_from_the_start_only():
    pomdp = with_a_cellar()
    larger = rpsr(pomdp)
    smaller = reachable_restriction(larger)
    tree = random_tree(pomdp, np.random.default_rng(0), 1)
    (lifted,) = smaller.lift(alpha_of(smaller.model, tree, 0.9)[None])
    corners = observable_quotient(pomdp).basis
    assert corners @ lifted == pytest.approx([0, 1, 0])  # in the cellar, 5 would be right


def test_what_is_not_dense_does_not_become_dense(monkeypatch):
    pomdp = build("loadunload")
    dense = reachable_restriction(rpsr(pomdp)).model
    monkeypatch.setattr(constructors, "LARGEST_DENSE", 1)
    factored = reachable_restriction(rpsr(pomdp)).model
    assert isinstance(dense.operators, DenseOperators)
    assert isinstance(factored.operators, FactoredOperators)
    assert isinstance(
        reachable_restriction(pomdp.belief_model()).model.operators, FactoredOperators
    )
    for model in (dense, factored):
        check_model(model, histories=2)
    # Bases may differ; what they predict may not.
    for a in pomdp.actions:
        assert factored.predict(factored.start, a) == pytest.approx(dense.predict(dense.start, a))


def test_beliefs_that_never_spread_need_few_dimensions():
    pomdp = balanced_walk()
    smaller = reachable_restriction(pomdp.belief_model())
    assert smaller.model.dimension == rank(reachable_beliefs(pomdp)) < len(pomdp.states)
