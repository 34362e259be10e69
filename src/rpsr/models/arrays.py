"""Build a POMDP from arrays; errors say which array does not fit and how.

T is (A, S, S) with T[a, s, s'], or (S, A, S) with T[s, a, s'], or a sequence of A matrices (S, S),
dense or sparse. O is (A, S, O) with O[a, s', o], or (S, A, S, O) with O[s, a, s', o]. R is (S,),
(S, A), (A, S), (A, S, S), (S, A, S), (A, S, S, O) or (S, A, S, O). If A = S allows two readings,
the first in each list is used. Rows are divided by their sums, as in files: a sum within 1e-12 of
one passes silently, one within 1e-5 gives a warning, any other is an error. A row whose sum is off
by rounding alone keeps its floats.

A model built from arrays holds floats. With `exact`, each float is read as the decimal that it
prints as: 0.1 as 1/10, not as the float next to it; 0.3333333333333333 and 0.6666666666666666,
divided by their sum, as 1/3 and 2/3. The model is then exact, as if it had been written to a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from rpsr.errors import InputError
from rpsr.io.decimals import shortest
from rpsr.io.records import IN_RANGE, LARGEST_REWARD, Dynamics, Floats, Ints, Record, Rewards, Rows
from rpsr.io.tokens import Tokens
from rpsr.io.weights import (
    PRINTED_ROUNDING,
    UNREMARKED,
    Values,
    rescaling_warning,
    weigh,
)
from rpsr.models.numbers import parse_discount
from rpsr.models.rounding import row_sum


def record_from_arrays(
    T: Any,
    O: Any,
    R: Any,
    start: Any = None,
    discount: Fraction | float | str | None = None,
    names: Any = None,
    *,
    name: str = "arrays",
    exact: bool = False,
) -> Record:
    """The record of a POMDP given as arrays; an `InputError` names what is wrong with them.

    start (S,), or None for uniform. names: may give 'states', 'actions' and 'observations'. name:
    the model's name. exact: read each float as its shortest decimal (in single precision, as it
    prints), so that the model is known in rationals; a number that is not a float, such as 1/3, is
    then refused.
    """
    blocks = _transition_blocks(T, exact)
    n_actions, n_states = len(blocks), int(blocks[0].shape[0])
    worst: list[float] = []
    transition = _rows(
        sp.vstack(blocks, format="csr"), "T", n_states, worst, exact, transposed=blocks
    )
    emission_array, by_edge = _emission_array(_numbers(O, "O", exact), n_actions, n_states)
    n_observations = emission_array.shape[-1]
    row = transition.row_of_entry()
    action, state, target = row // n_states, row % n_states, transition.indices
    if by_edge:
        table = sp.csr_array(emission_array[state, action, target])
    else:
        table = sp.csr_array(emission_array.reshape(-1, n_observations))
    emission = _rows(
        table, "O", n_states, worst, exact, edges=(state, action, target) if by_edge else None
    )
    start_rows = _uniform(n_states, exact)
    if start is not None:
        initial = _numbers(start, "start", exact)
        if initial.shape != (n_states,):
            raise InputError(f"start: read shape {initial.shape}, expected ({n_states},)")
        start_rows = _rows(sp.csr_array(initial[None]), "start", n_states, worst, exact)
    if not isinstance(names, Mapping | None):
        raise InputError("names: expected a mapping such as {'actions': ['left', 'right']}")
    given = dict(names or {})
    labels = {
        kind: _labels(given.pop(kind, None), kind, count)
        for kind, count in (
            ("states", n_states),
            ("actions", n_actions),
            ("observations", n_observations),
        )
    }
    if given:
        expected = "expected 'states', 'actions' or 'observations'"
        raise InputError(f"names: read the key {next(iter(given))!r}, {expected}")
    dynamics = Dynamics(transition, emission, by_edge)
    return Record(
        name=str(name),
        states=labels["states"],
        actions=labels["actions"],
        observations=labels["observations"],
        discount=parse_discount(discount),
        start=start_rows,
        transition=transition,
        emission=emission,
        emission_by_edge=by_edge,
        rewards=_rewards(dynamics, _numbers(R, "R", exact), n_actions, exact),
        resets=np.zeros((n_actions, n_states), dtype=np.bool_),
        warnings=rescaling_warning(worst),
    )


def _rewards(dynamics: Dynamics, R: Floats, A: int, exact: bool) -> Rewards:
    """The rewards of possible outcomes; R in any of the shapes below, A actions."""
    a, s, t, o = dynamics.outcome_cells(*dynamics.outcome_entries())
    S, O = dynamics.transition.width, dynamics.emission.width
    readings: dict[tuple[int, ...], tuple[Ints, ...]] = {
        (S, A, S, O): (s, a, t, o),
        (A, S, S, O): (a, s, t, o),
        (S, A, S): (s, a, t),
        (A, S, S): (a, s, t),
        (A, S): (a, s),
        (S, A): (s, a),
        (S,): (s,),
    }
    if R.shape not in readings:
        shapes = ", ".join(str(shape) for shape in reversed(readings))
        raise InputError(f"R: read shape {R.shape}, expected one of {shapes}")
    large = np.abs(R) > LARGEST_REWARD
    if large.any():
        at = tuple(int(i) for i in np.argwhere(large)[0])
        raise InputError(f"R: entry {at} is {R[at]}, expected {IN_RANGE}")
    earned = R[readings[R.shape]]
    values, index = np.unique(earned + 0.0, return_inverse=True)  # + 0.0: no negative zero
    meant = tuple(Fraction(shortest(value)) for value in values.tolist()) if exact else None
    return Rewards(values, index.astype(np.int64), meant)


def _numbers(array: Any, what: str, exact: bool) -> Floats:
    try:
        numbers = np.asarray(array)
        if numbers.dtype.kind not in "biufO":  # numpy would silently cast complex numbers and text
            raise TypeError
        if exact:
            numbers = _as_printed(numbers, what)
        numbers = numbers.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected an array of numbers") from None
    if not np.isfinite(numbers).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise InputError(f"{what}: entry {at} is {numbers[at]}, expected a finite number")
    return numbers


def _as_printed(numbers: Any, what: str) -> Any:
    """Numbers as floats: single precision as it prints; a number that is no float is refused."""
    if numbers.dtype.kind == "f":
        single = numbers.dtype.itemsize < np.dtype(np.float64).itemsize
        return numbers.astype("U32").astype(np.float64) if single else numbers
    for number in numbers.astype(object).ravel().tolist():
        if float(number) != number:
            expected = "a number that is exact as a float; for others, use rpsr.domains.tabulate"
            raise InputError(f"{what}: read {number!r}, expected {expected}")
    return numbers


def _transition_blocks(T: Any, exact: bool) -> list[Any]:
    if isinstance(T, Sequence) and any(sp.issparse(block) for block in T):
        blocks: list[Any] = [_sparse(block, f"T[a={a}]", exact) for a, block in enumerate(T)]
    else:
        array = _numbers(T, "T", exact)
        if array.ndim == 3 and array.shape[0] == array.shape[2] != array.shape[1]:
            array = array.transpose(1, 0, 2)  # given as T[s, a, s']
        if array.ndim != 3 or array.shape[1] != array.shape[2] or 0 in array.shape:
            raise InputError(f"T: read shape {array.shape}, expected (A, S, S) or (S, A, S)")
        blocks = [sp.csr_array(block) for block in array]
    shapes = sorted({block.shape for block in blocks})
    if len(shapes) != 1 or shapes[0][0] != shapes[0][1] or 0 in shapes[0]:
        raise InputError(f"T: read matrices of shape {shapes}, expected A matrices (S, S)")
    return blocks


def _sparse(block: Any, what: str, exact: bool) -> Any:
    matrix: Any = block if sp.issparse(block) else _numbers(block, what, exact)
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{what}: expected a matrix of numbers")
    if matrix.ndim != 2:
        raise InputError(f"{what}: read shape {matrix.shape}, expected (S, S)")
    rows: Any = sp.csr_array(matrix)
    data = _as_printed(rows.data, what) if exact else rows.data
    return sp.csr_array((data.astype(np.float64), rows.indices, rows.indptr), shape=rows.shape)


def _emission_array(array: Floats, n_actions: int, n_states: int) -> tuple[Floats, bool]:
    if array.ndim == 3 and array.shape[:2] == (n_actions, n_states) and array.shape[2]:
        return array, False
    if array.ndim == 4 and array.shape[:3] == (n_states, n_actions, n_states) and array.shape[3]:
        return array, True
    expected = f"({n_actions}, {n_states}, O) or ({n_states}, {n_actions}, {n_states}, O)"
    raise InputError(f"O: read shape {array.shape}, expected {expected}")


def _rows(
    matrix: Any,
    what: str,
    n_states: int,
    worst: list[float],
    exact: bool,
    *,
    transposed: list[Any] | None = None,
    edges: tuple[Ints, Ints, Ints] | None = None,
) -> Rows:
    matrix.sum_duplicates()
    matrix.eliminate_zeros()

    def place(row: int) -> str:
        if edges is not None:
            return f"{what}[s={edges[0][row]}, a={edges[1][row]}, s'={edges[2][row]}]"
        prime = "'" if what == "O" else ""
        return (
            "start"
            if what == "start"
            else f"{what}[a={row // n_states}, s{prime}={row % n_states}]"
        )

    row_of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    wrong = np.flatnonzero((matrix.data < 0) | ~np.isfinite(matrix.data))
    if len(wrong):
        value = matrix.data[wrong[0]]
        raise InputError(f"{place(int(row_of[wrong[0]]))}: read {value}, expected a probability")
    sums = np.bincount(row_of, matrix.data, minlength=matrix.shape[0])
    deviation = np.abs(sums - 1)
    if deviation.max() > float(PRINTED_ROUNDING):
        row = int(deviation.argmax())
        hint = ""
        if transposed is not None and all(
            np.allclose(block.sum(axis=0), 1) for block in transposed
        ):
            hint = "; the columns sum to 1: is T transposed?"
        raise InputError(f"{place(row)}: the row sums to {sums[row]:.9g}, expected 1{hint}")
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    if exact:
        rows, off_by = _decimal_rows(int(matrix.shape[1]), indptr, indices, matrix.data)
        worst += off_by
        return rows
    worst += deviation[deviation > float(UNREMARKED)].tolist()
    # Rows whose sum is off by rounding alone stay unchanged: planners allow for it.
    off = deviation > row_sum(np.diff(matrix.indptr))
    data = np.where(off[row_of], matrix.data / sums[row_of], matrix.data)
    return Rows(int(matrix.shape[1]), indptr, indices, data)


def _decimal_rows(
    width: int, indptr: Ints, indices: Ints, data: Floats
) -> tuple[Rows, list[float]]:
    """Rows of the shortest decimals of floats (nnz,), and the deviations of rescaled rows."""
    distinct, words = np.unique(data, return_inverse=True)
    texts = [shortest(value).encode() for value in distinct.tolist()]
    ids = words.astype(np.int64)
    rows, sums = weigh(width, indptr, indices, ids, Values(Tokens(b"", "arrays", texts, ids)))
    return rows, sums.deviations()


def _uniform(n_states: int, exact: bool) -> Rows:
    """The uniform distribution over states, as one row."""
    weights = np.ones(n_states, dtype=np.int64) if exact else None
    digits = np.array([-1], dtype=np.int64) if exact else None
    everywhere = np.arange(n_states, dtype=np.int64)
    chances = np.full(n_states, 1 / n_states)
    return Rows(n_states, np.array([0, n_states]), everywhere, chances, weights, digits)


def _labels(names: Any, kind: str, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(i) for i in range(count))
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names: {kind}: read {names!r}, expected a list of {count} names")
    labels = tuple(str(name) for name in names)
    if len(labels) != count:
        raise InputError(f"names: read {len(labels)} {kind}, expected {count}")
    if len(set(labels)) != count:
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InputError(f"names: the {kind[:-1]} name {twice!r} was given twice")
    return labels
