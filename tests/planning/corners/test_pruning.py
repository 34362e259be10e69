"""The filter keeps the maximum, drops what is proven superfluous, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.plans import ignore
from tests.strategies import few

from rpsr.planning.corners import pruning
from rpsr.planning.corners.linear_programs import careful_gain
from rpsr.planning.corners.pruning import Effort, filtered
from rpsr.planning.limits import Clock, LimitReached


def random_set(seed, kind):
    rng = np.random.default_rng(seed)
    k, count = int(rng.integers(2, 6)), int(rng.integers(1, 40))
    if kind == "curved":
        x = rng.dirichlet(np.ones(k), size=count)
        return 10 - ((np.eye(k)[None] - x[:, None]) ** 2).sum(axis=2)
    if kind == "integer":
        return rng.integers(-2, 3, size=(count, k)).astype(float)
    return rng.normal(size=(count, k))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["curved", "integer", "random"]))
@settings(max_examples=few(60))
def test_the_maximum_is_kept_and_every_vector_is_needed(seed, kind):
    values = random_set(seed, kind)
    keep = filtered(values, 1e-12, Clock(ignore), Effort())
    points = np.random.default_rng(seed).dirichlet(np.ones(values.shape[1]), size=300)
    points = np.vstack([points, np.eye(values.shape[1])])
    every, kept = (points @ values.T).max(axis=1), (points @ values[keep].T).max(axis=1)
    assert np.abs(every - kept).max() <= 1e-11
    for i in range(len(keep)) if len(keep) > 1 else []:
        others = np.delete(values[keep], i, axis=0)
        assert careful_gain(others, values[keep[i]]).upper >= -1e-9
    left_out = np.setdiff1d(np.arange(len(values)), keep)
    for i in left_out:
        assert careful_gain(values[keep], values[i]).lower <= 1e-9


def test_duplicates_and_dominated_vectors_go():
    values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.4, 0.4], [-1.0, 0.5]])
    keep = filtered(values, 1e-12, Clock(ignore), Effort())
    assert values[keep].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_program_that_does_not_decide_is_counted_and_drops_nothing(monkeypatch):
    def vague(u, count, w, ref, cutoff, tolerance, space):
        return cutoff + 1.0, cutoff - 1.0, 1

    monkeypatch.setattr(pruning, "best_gain", vague)
    monkeypatch.setattr(pruning, "lark", pruning.lark.py_func)
    values, effort = np.array([[1.0, 0.0], [0.4, 0.4], [0.0, 1.0]]), Effort()
    assert filtered(values, 1e-12, Clock(ignore), effort).tolist() == [0, 1, 2]
    assert effort.undecided == 2


def test_the_clock_is_looked_at():
    clock = Clock(ignore, time_limit=1e-9)
    with pytest.raises(LimitReached):
        filtered(random_set(0, "curved"), 1e-12, clock, Effort())
