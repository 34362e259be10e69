"""Certificates of third-party files: every small one's ranks, and plans of the smallest."""

import pytest
from tests.conftest import corpus_files

from rpsr import certify, load_pomdp, solve, verify
from rpsr.predictive import find_core, save_rank_certificate

# One worker runs them all: another would compile the same kernels at the same time.
pytestmark = pytest.mark.xdist_group("certificates of the corpus")
SMALL = 20_000  # bytes of a file; larger ones are for benchmarks/certificates.py
FEW = 1_500


def small(most):
    files = [path for path in corpus_files() if path.stat().st_size <= most]
    return [pytest.param(path, id=path.name) for path in files if not path.name.endswith(".gz")]


@pytest.mark.parametrize("path", small(SMALL))
def test_ranks_and_accuracy_are_proven(path, tmp_path):
    pomdp = load_pomdp(path, normalize=True)
    save_rank_certificate(pomdp, tmp_path / "c.json")
    verified = verify(pomdp, tmp_path / "c.json")
    tests = find_core(pomdp, "psr")
    assert (verified.psr_rank, verified.accurate) == (tests.rank, tests.accurate)
    assert verified.accurate == (verified.psr_rank == verified.rpsr_rank)  # the paper's theorem


@pytest.mark.parametrize("path", small(FEW))
def test_bounds_are_proven_as_tightly_as_planned(path, tmp_path):
    """Files without a discount have none of the sums that planning needs."""
    pomdp = load_pomdp(path, normalize=True)
    if pomdp.discount is None or pomdp.discount >= 1:
        pomdp = pomdp.with_discount("0.9")
    plan = solve(pomdp, "sarsop", max_iterations=50, keep_points=True)
    certify(plan).save(tmp_path / "c.json")
    verified = verify(pomdp, tmp_path / "c.json")
    allowed = max(1e-9, 0.01 * plan.gap)
    assert verified.lower >= plan.lower - allowed
    assert verified.upper <= plan.upper + allowed
