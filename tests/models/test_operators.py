"""Operators: dense, sparse and factored ones agree wherever they mean the same."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.models.builders import dense_process, pomdps

from rpsr import InputError
from rpsr.domains import build
from rpsr.models import DenseOperators, FactoredOperators, SparseOperators
from rpsr.models.operators import StackedProcess

ONE = ((sp.eye_array(2),),)


@given(pomdps(), st.integers(0, 2**32 - 1))
def test_all_forms_of_one_process_agree(pomdp, seed):
    n = len(pomdp.states)
    D = dense_process(pomdp)
    forms = [
        DenseOperators(D),
        SparseOperators(pomdp.D),
        FactoredOperators(np.eye(n), pomdp.D),
    ]
    batch = np.random.default_rng(seed).normal(size=(3, n))
    assert {form.shape for form in forms} == {(*D.shape[:2], n)}
    for a, o in np.ndindex(*D.shape[:2]):
        for form in forms:
            assert_close(form.left(batch, a, o), batch @ D[a, o])
            assert_close(form.right(batch, a, o), batch @ D[a, o].T)
            assert_close(form.matrix(a, o), D[a, o])
            assert form.right(batch, a, o).flags.c_contiguous
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(D)))
    for form in forms:
        assert_close(form.mixed(weights), np.einsum("a,aoij->ij", weights, D))


def assert_close(given, expected):
    assert isinstance(given, np.ndarray)
    assert given.shape == expected.shape
    np.testing.assert_allclose(given, expected, atol=1e-14)


def test_a_basis_is_multiplied_in():
    rng = np.random.default_rng(0)
    process = tuple(tuple(sp.random_array((6, 6), density=0.4, rng=rng) for _ in "ab") for _ in "c")
    basis = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    factored = FactoredOperators(basis, process)
    assert factored.shape == (1, 2, 3)
    batch = rng.normal(size=(4, 3))
    for o in range(2):
        M = basis.T @ process[0][o].toarray() @ basis
        assert_close(factored.matrix(0, o), M)
        assert_close(factored.left(batch, 0, o), batch @ M)
        assert_close(factored.right(batch, 0, o), batch @ M.T)


@pytest.mark.parametrize("form", [sp.csc_array, sp.coo_array, sp.csr_matrix, np.asarray])
def test_matrices_of_any_format_become_csr(form):
    M = np.array([[0.0, 1.0], [0.0, 0.5]])
    operators = SparseOperators(((form(M),),))
    assert operators.process[0][0].format == "csr"
    assert np.array_equal(operators.matrix(0, 0), M)


def test_arrays_are_owned_and_read_only():
    matrices, basis = np.zeros((1, 1, 2, 2)), np.eye(2)
    dense, factored = DenseOperators(matrices), FactoredOperators(basis, ONE)
    matrices[:], basis[:] = 7, 7
    assert not dense.matrices.any()
    assert np.array_equal(factored.basis, np.eye(2))
    assert not dense.matrices.flags.writeable
    assert not factored.basis.flags.writeable


def test_read_only_arrays_are_shared_not_copied():
    matrices = np.zeros((1, 1, 2, 2))
    matrices.setflags(write=False)
    assert DenseOperators(matrices).matrices is matrices


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DenseOperators(np.eye(2)), r"operators: read shape \(2, 2\)"),
        (lambda: DenseOperators(np.ones((1, 1, 2, 3))), r"expected \(A, O, n, n\)"),
        (lambda: SparseOperators(()), "expected a matrix for every action"),
        (lambda: SparseOperators(((),)), "expected a matrix for every action"),
        (lambda: SparseOperators((ONE[0], ONE[0] * 2)), "for every action and observation"),
        (lambda: SparseOperators(((sp.eye_array(2), sp.eye_array(3)),)), "expected one shape"),
        (lambda: SparseOperators(((sp.csr_array((2, 3)),),)), r"shape \[\(2, 3\)\]"),
        (lambda: FactoredOperators(np.eye(3), ONE), r"basis: read shape \(3, 3\), exp.* \(2, n\)"),
        (lambda: FactoredOperators(np.ones(2), ONE), r"basis: read shape \(2,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_successors_of_sparse_states_are_those_of_each_observation():
    model = build("hallway").belief_model()
    rng = np.random.default_rng(0)
    states = rng.random((5, model.dimension)) * (rng.random((5, model.dimension)) < 0.1)
    states[3] = 0.0
    n_observations = len(model.observations)
    for a in range(len(model.actions)):
        outcomes, after = model.operators.successors(states, a)
        table = np.zeros((5 * n_observations, model.dimension))
        table[outcomes] = after.toarray()
        for o in range(n_observations):
            expected = model.operators.left(states, a, o)
            np.testing.assert_allclose(table[o::n_observations], expected, rtol=0, atol=1e-15)
        possible = (states @ model.emissions[a] > 0).sum()
        assert len(outcomes) == possible  # no work for impossible observations


def test_matrices_whose_row_pointers_outnumber_the_nonzeros_are_built_on_request(monkeypatch):
    plain = build("4x3").D
    monkeypatch.setattr("rpsr.models.pomdp.MOST_POINTERS", 0)
    stacked = build("4x3").D  # 24 matrices of 11 rows, 179 nonzeros
    assert isinstance(stacked, StackedProcess)
    for rows, others in zip(plain, stacked, strict=True):
        for matrix, other in zip(rows, others, strict=True):
            assert (matrix.toarray() == other.toarray()).all()
