"""`POMDP.from_arrays`: what does not fit is named, with its place and what was expected."""

import re
from math import fsum

import numpy as np
import pytest
import scipy.sparse as sp
from tests.models.builders import Sizes, random_arrays

from rpsr import POMDP, InputError

SIZES = Sizes(2, 3, 4)
A, S = SIZES.A, SIZES.S


def transition_of(pomdp):
    return np.array([pomdp.transition(a).toarray() for a in range(len(pomdp.actions))])


# ---- rows that do not quite sum to one


def with_sum(off: float):
    T, seen, R = random_arrays(6, SIZES)
    s, t = np.argwhere(T[1] > 0.2)[0]
    T[1, s, t] += off
    return T, seen, R, s


def test_a_row_off_by_rounding_is_left_alone():
    T, seen, R, _ = with_sum(2.0**-53)
    pomdp = POMDP.from_arrays(T, seen, R)
    assert np.array_equal(transition_of(pomdp), T)
    assert pomdp.warnings == ()


def test_a_row_off_by_more_than_rounding_is_divided_by_its_sum():
    T, seen, R, s = with_sum(1e-13)
    pomdp = POMDP.from_arrays(T, seen, R)
    assert abs(fsum(transition_of(pomdp)[1, s]) - 1) <= (len(T[1, s]) + 1) * 2.0**-53
    assert pomdp.warnings == ()


def test_a_row_off_by_printing_is_rescaled_and_said():
    T, seen, R, s = with_sum(5e-6)
    pomdp = POMDP.from_arrays(T, seen, R)
    assert pomdp.warnings == ("1 row was rescaled to sum to 1 (largest deviation 5e-06)",)
    np.testing.assert_allclose(transition_of(pomdp)[1, s], T[1, s] / T[1, s].sum(), rtol=1e-15)


def test_rescaled_rows_are_counted_over_all_arrays():
    T, seen, R, _ = with_sum(5e-6)
    start = [0.3, 0.3, 0.4 - 2e-6]
    pomdp = POMDP.from_arrays(T, seen * (1 + 1e-6), R, start)
    rows = 1 + A * S + 1
    assert pomdp.warnings == (f"{rows} rows were rescaled to sum to 1 (largest deviation 5e-06)",)


def test_a_row_off_by_more_is_refused():
    T, seen, R, s = with_sum(1e-4)
    with pytest.raises(InputError, match=rf"T\[a=1, s={s}\]: the row sums to 1.0001, expected 1$"):
        POMDP.from_arrays(T, seen, R)


# ---- what does not fit


def changed(what, at=None, value=None, *, by_edge=False):
    """Arguments of which one is replaced, or has one entry replaced."""
    T, seen, R = random_arrays(7, SIZES, by_edge=by_edge)
    given = {"T": T, "O": seen, "R": R, "start": np.full(S, 1 / S), "discount": 0.9, "names": None}
    if at is None:
        given[what] = value
    else:
        given[what][at] = value
    return given


T7 = random_arrays(7, SIZES)[0]
WRONG = {
    "T of rank 2": (changed("T", value=np.eye(3)), "T: read shape (3, 3), expected (A, S, S)"),
    "T empty": (changed("T", value=[]), "T: read shape (0,), expected (A, S, S)"),
    "T not square": (changed("T", value=np.ones((2, 3, 4))), "T: read shape (2, 3, 4)"),
    "T without states": (changed("T", value=np.ones((2, 0, 0))), "T: read shape (2, 0, 0)"),
    "T ragged": (changed("T", value=[[[1.0]], [[1.0, 0.0]]]), "T: expected an array of numbers"),
    "T of words": (changed("T", value=[[["one"]]]), "T: expected an array of numbers"),
    "T of numerals": (changed("T", value=[[["1"]]]), "T: expected an array of numbers"),
    "T complex": (changed("T", value=T7 + 1j), "T: expected an array of numbers"),
    "T one sparse matrix": (changed("T", value=sp.eye_array(3)), "T: expected an array of numbers"),
    "T transposed": (
        changed("T", value=T7.transpose(0, 2, 1)),
        "expected 1; the columns sum to 1: is T transposed?",
    ),
    "T sparse and transposed": (
        changed("T", value=[sp.csr_array(block.T) for block in T7]),
        "expected 1; the columns sum to 1: is T transposed?",
    ),
    "T of two sizes": (
        changed("T", value=[sp.eye_array(2), sp.eye_array(3)]),
        "T: read matrices of shape [(2, 2), (3, 3)], expected A matrices (S, S)",
    ),
    "T sparse, no states": (
        changed("T", value=[sp.csr_array((0, 0))]),
        "T: read matrices of shape [(0, 0)]",
    ),
    "T sparse and complex": (
        changed("T", value=[sp.csr_array(T7[0]), sp.csr_array(T7[1] + 1j)]),
        "T[a=1]: expected a matrix of numbers",
    ),
    "T sparse and odd": (
        changed("T", value=[sp.csr_array(T7[0]), np.ones(3)]),
        "T[a=1]: read shape (3,), expected (S, S)",
    ),
    "T negative": (changed("T", (1, 2, 0), -0.25), "T[a=1, s=2]: read -0.25, expected a prob"),
    "T NaN": (changed("T", (1, 2, 0), np.nan), "T: entry (1, 2, 0) is nan, expected a finite"),
    "T sparse and NaN": (
        changed("T", value=[sp.eye_array(3), sp.diags_array([1.0, np.nan, 1.0])]),
        "T[a=1, s=1]: read nan, expected a probability",
    ),
    "T row empty": (changed("T", (0, 1), 0.0), "T[a=0, s=1]: the row sums to 0, expected 1"),
    "O of rank 2": (changed("O", value=np.eye(3)), "O: read shape (3, 3), expected (2, 3, O) or"),
    "O by state first": (changed("O", value=np.ones((3, 2, 1))), "O: read shape (3, 2, 1), exp"),
    "O without any": (changed("O", value=np.ones((2, 3, 0))), "O: read shape (2, 3, 0), expected"),
    "O negative": (changed("O", (1, 2, 0), -1.0), "O[a=1, s'=2]: read -1.0, expected a probab"),
    "O off": (changed("O", (1, 2), 0.5), "O[a=1, s'=2]: the row sums to 2, expected 1"),
    "O infinite": (changed("O", (1, 2, 0), np.inf), "O: entry (1, 2, 0) is inf, expected a fin"),
    "R of rank 0": (changed("R", value=0.0), "R: read shape (), expected one of (3,), (3, 2), (2"),
    "R by observation": (changed("R", value=np.ones(4)), "R: read shape (4,), expected one of"),
    "R NaN": (changed("R", (0, 1, 2, 3), np.nan), "R: entry (0, 1, 2, 3) is nan, expected a fin"),
    "R of words": (changed("R", value=["a", "b", "c"]), "R: expected an array of numbers"),
    "start too long": (changed("start", value=np.ones(4) / 4), "start: read shape (4,), expected"),
    "start a name": (changed("start", value="here"), "start: expected an array of numbers"),
    "start negative": (changed("start", value=[-0.5, 1.0, 0.5]), "start: read -0.5, expected a p"),
    "start off": (changed("start", value=[0.5, 0.0, 0.0]), "start: the row sums to 0.5, expected"),
    "discount": (changed("discount", value=1.5), "discount: read 1.5, expected a number in [0, 1]"),
    "names a list": (changed("names", value=["a", "b"]), "names: expected a mapping"),
    "names too few": (
        changed("names", value={"states": ["x"]}),
        "names: read 1 states, expec",
    ),
    "names twice": (
        changed("names", value={"actions": ["go", "go"]}),
        "names: the action name 'go' was given twice",
    ),
    "names a number": (changed("names", value={"states": 3}), "names: states: read 3, expected a"),
    "names unknown": (
        changed("names", value={"state": ["x"]}),
        "names: read the key 'state', expected 'states'",
    ),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named(given, message):
    with pytest.raises(InputError, match=re.escape(message)):
        POMDP.from_arrays(**given)


def test_what_is_wrong_with_an_edge_is_named():
    T, seen, R = random_arrays(2, SIZES, by_edge=True)
    a, s, t = np.argwhere(T > 0)[-1].tolist()
    seen[s, a, t] = 0.5
    with pytest.raises(InputError, match=re.escape(f"O[s={s}, a={a}, s'={t}]: the row sums to 2")):
        POMDP.from_arrays(T, seen, R)
