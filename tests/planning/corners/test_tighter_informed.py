"""The tighter informed bound: above exact optimal values, below the fast-informed bound."""

from fractions import Fraction

import numpy as np
import pytest
from tests.differential.models import draw
from tests.differential.oracle import Oracle
from tests.models.builders import Sizes, random_exact, rotated

from rpsr import POMDP
from rpsr.domains import build
from rpsr.planning.corners import tighter_informed as module
from rpsr.planning.corners.cheap_bounds import fast_informed_values, upper_at_start
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.tighter_informed import tighter_informed
from rpsr.planning.limits import Clock, no_limits
from rpsr.planning.solution import silent
from rpsr.predictive.constructors import rpsr

BELIEFS = 60  # of an exact bracket


def bounds_of(model):
    """The process, the fast-informed bound and the tighter one."""
    process = corner_process(model)
    informed = fast_informed_values(process)
    return process, informed, tighter_informed(process, informed, no_limits())


@pytest.mark.parametrize("sweeps", [1, module.SWEEPS])
@pytest.mark.parametrize("index", range(60))
def test_no_bound_is_below_an_exact_value(index, sweeps, monkeypatch):
    """On models that strain floats; brackets are rationals, compared without a tolerance."""
    monkeypatch.setattr(module, "SWEEPS", sweeps)
    written = draw(11, index)
    oracle = Oracle(written.exact)
    _, informed, tighter = bounds_of(written.pomdp().belief_model())
    if tighter is None:  # only corners follow corners, so this is the fast-informed bound
        return
    states = len(written.start)
    assert oracle.optimal(BELIEFS)[0] <= Fraction(tighter.start)
    for s in range(states):
        corner = [Fraction(int(s == t)) for t in range(states)]
        assert oracle.optimal(BELIEFS, corner)[0] <= Fraction(float(tighter.corners[:, s].max()))
    assert (tighter.corners <= informed).all()


def test_most_of_these_models_have_a_tighter_bound():
    bounds = [bounds_of(draw(11, i).pomdp().belief_model())[2] for i in range(60)]
    assert sum(tighter is not None for tighter in bounds) >= 30


def naive(pomdp: POMDP, steps: int) -> float:
    """The bound at the start, written as its definition says, from the largest possible value."""
    R, start, discount = pomdp.R, pomdp.start, float(pomdp.discount)
    n_actions, n_observations = len(pomdp.actions), len(pomdp.observations)
    D = np.array([[matrix.toarray() for matrix in row] for row in pomdp.D])
    triples = [
        (s, a, o)
        for s in range(len(start))
        for a in range(n_actions)
        for o in range(n_observations)
        if D[a, o][s].sum() > 0
    ]
    belief = {t: D[t[1], t[2]][t[0]] / D[t[1], t[2]][t[0]].sum() for t in triples}
    q = {t: np.full(n_actions, R.max() / (1 - discount)) for t in triples}

    def ahead(b, a, q):
        total = b @ R[:, a]
        for o in range(n_observations):
            terms = [
                b[s] * D[a, o][s].sum() * q[s, a, o] for s in np.flatnonzero(b) if (s, a, o) in q
            ]
            total += discount * np.sum(terms, axis=0).max() if terms else 0.0
        return total

    for _ in range(steps):
        q = {t: np.array([ahead(belief[t], a, q) for a in range(n_actions)]) for t in triples}
    return max(ahead(start, a, q) for a in range(n_actions))


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_its_definition_says(seed):
    pomdp = random_exact(seed, Sizes(2, 4, 3)).with_discount(Fraction(7, 10))
    for model in (pomdp.belief_model(), rotated(pomdp)):
        tighter = bounds_of(model)[2]
        assert tighter.start == pytest.approx(naive(pomdp, 60), rel=1e-6)


def test_published_values_of_the_hallway():
    """The paper has 1.188 for this bound and 1.290 for the fast-informed one."""
    process, informed, tighter = bounds_of(build("hallway").belief_model())
    assert upper_at_start(process, informed) == pytest.approx(1.290, abs=1e-3)
    assert tighter.start == pytest.approx(1.188, abs=1e-3)


def test_policy_iteration_gains_where_many_steps_are_ahead(monkeypatch):
    model = random_exact(3, Sizes(3, 6, 3)).with_discount(Fraction(999, 1000)).belief_model()
    whole = bounds_of(model)[2]
    monkeypatch.setattr(module, "STEPS", 0)
    swept = bounds_of(model)[2]
    assert whole.start < swept.start - 1e-3 * abs(swept.start)


def test_models_of_one_pomdp_have_one_bound():
    pomdp = build("hallway")
    one, other = bounds_of(pomdp.belief_model())[2], bounds_of(rpsr(pomdp))[2]
    assert one.start == pytest.approx(other.start, rel=1e-6)


def test_observed_states_leave_nothing_to_gain():
    moves = np.array([[[0.5, 0.5], [0.2, 0.8]]])
    pomdp = POMDP.from_arrays(moves, np.eye(2)[None], np.array([[0.0], [1.0]]), discount=0.9)
    assert bounds_of(pomdp.belief_model())[2] is None


def test_there_may_be_no_time_or_memory_for_it(monkeypatch):
    process = corner_process(build("hallway").belief_model())
    informed = fast_informed_values(process)
    assert tighter_informed(process, informed, Clock(silent, 1e-9)) is None
    assert tighter_informed(process, informed, Clock(silent, memory_limit=1000)) is None
    monkeypatch.setattr(module, "OPERATIONS", 1e6)
    assert tighter_informed(process, informed, no_limits()) is None
