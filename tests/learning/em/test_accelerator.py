"""The expectation step on an accelerator, by the processor's build of its library."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.worlds import small_log

from rpsr.errors import DataError, InputError
from rpsr.learning import EMRPSR
from rpsr.learning.em import accelerator, devices
from rpsr.learning.em.starts import random_start
from rpsr.learning.em.steps import Encoded, Prior, counts_of, improve


@pytest.fixture
def gpu(monkeypatch):
    """The processor instead of a GPU."""
    monkeypatch.setattr(devices, "has_gpu", lambda: True)


def both(log, parameters):
    on_gpu = replace(log, device="gpu")
    assert on_gpu.resident is not None
    assert log.resident is None
    return counts_of(parameters, log), counts_of(parameters, on_gpu)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("size", [accelerator.BATCH, 64])
@pytest.mark.parametrize("rows", [accelerator.FEW_ROWS, 0])
def test_counts_are_those_of_the_compiled_pass(gpu, monkeypatch, ends, size, rows):
    monkeypatch.setattr(accelerator, "BATCH", size)  # of many batches, the last ones short
    monkeypatch.setattr(accelerator, "FEW_ROWS", rows)
    accelerator.expectation.clear_cache()  # the number of rows is compiled in
    log = Encoded.of(small_log(3, ends=ends))
    parameters = random_start(log, 5, np.random.default_rng(1))
    (counts, likelihood), (others, other) = both(log, parameters)
    assert other == pytest.approx(likelihood, rel=1e-12)
    for one, another in zip(counts, others, strict=True):
        np.testing.assert_allclose(another, one, rtol=1e-9, atol=1e-12 * np.abs(one).max())


def test_em_on_a_gpu_learns_what_em_on_the_processor_learns(gpu):
    log = small_log(5)
    settings = {"discount": 0.9, "states": 3, "seed": 2}
    here = EMRPSR(**settings, device="cpu").fit(log)
    there = EMRPSR(**settings, device="gpu").fit(log)
    moves = [model.candidates_[0].fitted.moves for model in (here, there)]
    np.testing.assert_allclose(moves[1], moves[0], atol=1e-6)
    assert there.candidates_[0].loglik == pytest.approx(here.candidates_[0].loglik, rel=1e-9)


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
