"""The expectation step on an accelerator, by the processor's build of its library."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import small_log

from rpsr.errors import DataError, InputError
from rpsr.learning import EMRPSR
from rpsr.learning.em import devices, jax_kernels
from rpsr.learning.em.fitted_pomdp import Encoded, Prior, counts_of, improve, iterate
from rpsr.learning.em.kernels import expect
from rpsr.learning.em.settings import Fitting, Search
from rpsr.learning.em.starts import random_start


@pytest.fixture
def gpu(monkeypatch):
    """The processor instead of a GPU."""
    monkeypatch.setattr(devices, "has_gpu", lambda: True)


def both(log, parameters):
    on_gpu = replace(log, device="gpu")
    assert on_gpu.resident is not None
    assert log.resident is None
    return counts_of(parameters, log), counts_of(parameters, on_gpu)


def with_empty_episodes(log):
    places = [0, 3, 3, len(log.terminated)]
    return replace(
        log,
        offsets=np.insert(log.offsets, places, log.offsets[places]),
        terminated=np.insert(log.terminated, places, False),
    )


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("size", [jax_kernels.BATCH, 64])
@pytest.mark.parametrize("rows", [jax_kernels.FEW_ROWS, 0])
def test_counts_are_those_of_the_compiled_pass(gpu, monkeypatch, ends, size, rows):
    monkeypatch.setattr(jax_kernels, "BATCH", size)  # of many batches, the last ones short
    monkeypatch.setattr(jax_kernels, "FEW_ROWS", rows)
    jax_kernels.expectation.clear_cache()  # the number of rows is compiled in
    log = with_empty_episodes(Encoded.of(small_log(3, ends=ends)))
    parameters = random_start(log, 5, np.random.default_rng(1))
    (counts, likelihood), (others, other) = both(log, parameters)
    assert other == pytest.approx(likelihood, rel=1e-12)
    for one, another in zip(counts, others, strict=True):
        np.testing.assert_allclose(another, one, rtol=1e-9, atol=1e-12 * np.abs(one).max())


def test_iterations_on_a_gpu_are_those_on_the_processor(gpu):
    log = Encoded.of(small_log(5))
    begin = random_start(log, 4, np.random.default_rng(2))
    here, there = (
        iterate(begin, replace(log, device=device), Prior(0.02), 10) for device in ("cpu", "gpu")
    )
    for name in ("start", "moves", "emissions", "payoffs"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), atol=1e-10)


def test_an_estimator_may_run_on_a_gpu(gpu, monkeypatch):
    moved = []
    monkeypatch.setattr(
        jax_kernels.Resident,
        "expect",
        lambda self, *model: moved.append(1) or _expected(self, *model),
    )
    settings = {"discount": 0.9, "states": 2, "seed": 2}
    settings["search"] = Search(sizes=(3,), starts=1, descents=1, memories=0, probing=1)
    settings["fitting"] = Fitting(iterations=2, refitting=2, polishing=2)
    assert EMRPSR(**settings, device="gpu").fit(small_log(5)).model_.dimension > 0
    assert moved


def _expected(resident, start, T, O, W, end):
    """The compiled pass, which is quick on a small log."""
    counts = [np.zeros_like(array) for array in (start, T, O, W)]
    return counts, expect(start, T, O, W, *resident._log, end, *counts)


def test_a_large_log_goes_to_a_gpu_by_itself_if_there_is_one(monkeypatch):
    log = replace(Encoded.of(small_log(5)), device="auto")
    assert replace(log).resident is None
    monkeypatch.setattr(devices, "LARGE", 10)
    assert replace(log).resident is None
    monkeypatch.setattr(devices, "_plugged", lambda: True)
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    assert replace(log).resident is not None


def test_a_gpu_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setattr(devices, "has_gpu", lambda: False)
    with pytest.raises(InputError, match="device: a GPU was asked for, but JAX sees none"):
        EMRPSR(discount=0.9, device="gpu").fit(small_log(5))
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"JAX is not installed: pip install 'rpsr\[gpu\]'"):
        EMRPSR(discount=0.9, device="gpu").fit(small_log(5))
    with pytest.raises(DataError, match="device: read 'tpu', expected"):
        EMRPSR(discount=0.9, device="tpu").fit(small_log(5))


def test_an_iteration_on_the_device_raises_the_likelihood(gpu):
    log = replace(Encoded.of(small_log(7)), device="gpu")
    parameters = random_start(log, 4, np.random.default_rng(0))
    likelihoods = []
    for _ in range(5):
        parameters, likelihood = improve(parameters, log, Prior(1e-6))
        likelihoods.append(likelihood)
    assert (np.diff(likelihoods) > -1e-9).all()
