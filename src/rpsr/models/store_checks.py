"""What a native file must hold to be a model: laws of probability, names, sizes, indices in range.

Every check is made before anything is derived from what it is about: an offset that points beyond
its array would otherwise ask for memory that does not exist, or read foreign memory.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.io.records import Record, Rows
from rpsr.io.tokens import MOST_DIGITS
from rpsr.io.weights import UNREMARKED
from rpsr.models.domain import Corners, Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, SparseOperators
from rpsr.models.rounding import row_sum

LAW = 1e-9  # how far a linear model may be from its laws; as `rpsr.testing.check_model` has it
_FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")
_PROBES = 3  # random vectors that tell two linear maps apart
_LARGEST_HULL = 10**5  # coordinates of corners among which the start is looked for


def _require(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


# ---- the header


def text_of(value: Any) -> str:
    """A text, which can be written again."""
    _require(isinstance(value, str), f"read {_short(value)}, expected a text")
    value.encode()  # half of a surrogate pair cannot be
    return value


def optional_text_of(value: Any) -> str | None:
    """A text, or none."""
    return None if value is None else text_of(value)


def flag_of(value: Any) -> bool:
    """True or false."""
    _require(isinstance(value, bool), f"read {_short(value)}, expected true or false")
    return value


def names_of(header: dict[str, Any], kind: str) -> tuple[str, ...]:
    """The names of one kind, each once; at least one but for what a model may lack."""
    names = header[kind]
    _require(isinstance(names, list), f"{kind}: read {_short(names)}, expected a list of names")
    found = tuple(text_of(name) for name in names)
    _require(len(set(found)) == len(found), f"{kind}: a name was given twice")
    _require(
        len(found) > 0 or kind in ("core", "final"), f"{kind}: expected a name or more, read none"
    )
    return found


def fraction_of(value: Any) -> Fraction:
    """A fraction as it is written: a numerator, or two integers. A power of ten has no limit."""
    good = isinstance(value, str) and _FRACTION.fullmatch(value)
    _require(bool(good), f"read {_short(value)}, expected a fraction")
    return Fraction(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


# ---- POMDPs


def check_record(record: Record) -> None:
    """Refuse a record that is no POMDP, with a `ValueError` that says why."""
    A, S = len(record.actions), len(record.states)
    discount = record.discount
    _require(discount is None or 0 <= discount <= 1, f"a discount of {discount}")
    _check_rows(record.start, 1, "start")
    _check_rows(record.transition, A * S, "transition")
    edges = len(record.transition.indices)
    _check_rows(record.emission, edges if record.emission_by_edge else A * S, "emission")
    resets = record.resets
    _require(resets.dtype == np.bool_ and resets.shape == (A, S), f"resets: shape {resets.shape}")
    rewards = record.rewards
    _check_array(rewards.values, np.float64, (rewards.values.size,), "rewards")
    outcomes = int(record.outcomes_of_edge().sum())
    _check_array(rewards.index, np.int64, (outcomes,), "rewards of outcomes")
    inside = (rewards.index >= 0) & (rewards.index < len(rewards.values))
    _require(inside.all(), "an outcome has a reward that does not exist")
    if rewards.exact is not None:
        floats = np.array([float(value) for value in rewards.exact])
        same = np.array_equal(floats, rewards.values)
        _require(same, "rewards are not what their fractions are")


def _check_array(array: NDArray[Any], kind: Any, shape: tuple[int, ...], what: str) -> None:
    if array.dtype != kind or array.shape != shape:
        read = f"{array.shape} of {array.dtype}"
        raise ValueError(f"{what}: read {read}, expected {shape} of {np.dtype(kind)}")


def _check_rows(rows: Rows, height: int, what: str) -> None:
    """Offsets, then columns, then probabilities: each rests on those before it."""
    _check_array(rows.indptr, np.int64, (height + 1,), f"{what}.indptr")
    entries = rows.indices.size
    counts = np.diff(rows.indptr)
    # Differences may wrap around: ends and order together say that every offset is in range.
    ordered = (rows.indptr[1:] > rows.indptr[:-1]).all()
    _require(
        ordered and rows.indptr[0] == 0 and rows.indptr[-1] == entries,
        f"{what}: its rows are not where its offsets say",
    )
    _check_array(rows.indices, np.int64, (entries,), f"{what}.indices")
    inside = (rows.indices >= 0) & (rows.indices < rows.width)
    _require(inside.all(), f"{what}: an index that is out of range")
    rising = np.diff(rows.indices, prepend=-1) > 0
    rising[rows.indptr[:-1]] = True
    _require(rising.all(), f"{what}: the columns of a row do not ascend")
    _check_array(rows.values, np.float64, (entries,), f"{what}.values")
    possible = (rows.values > 0) & (rows.values <= 1)
    if not possible.all():
        read = rows.values[np.argmin(possible)]
        raise ValueError(f"{what}: read {read}, expected a probability above 0, at most 1")
    off = np.abs(np.add.reduceat(rows.values, rows.indptr[:-1]) - 1)
    _require((off <= float(UNREMARKED) + row_sum(counts)).all(), f"{what}: a row does not sum to 1")
    if rows.weights is not None:
        _check_weights(rows, entries, what)
    if rows.digits is not None:
        _check_array(rows.digits, np.int64, (height,), f"{what}.digits")
        read = (rows.digits >= -1) & (rows.digits <= MOST_DIGITS)
        _require(read.all(), f"{what}: digits that no number has")


def _check_weights(rows: Rows, entries: int, what: str) -> None:
    """Weights over their sums are the probabilities, as closely as readers leave rows alone."""
    weights = rows.weights
    assert weights is not None
    exact = weights.dtype == object
    _check_array(weights, object if exact else np.int64, (entries,), f"{what}.weights")
    _require(all(w > 0 for w in weights.tolist()), f"{what}: a weight that is not above 0")
    if not exact and int(weights.max()) * int(np.diff(rows.indptr).max()) >= 2**62:
        raise ValueError(f"{what}: weights whose sums do not fit")
    totals = rows.totals()[rows.row_of_entry()]
    ratio = np.array(
        [int(w) / int(t) for w, t in zip(weights.tolist(), totals.tolist(), strict=True)]
    )
    same = np.abs(rows.values - ratio) <= 2 * float(UNREMARKED) * ratio
    _require(same.all(), f"{what}: probabilities are not what their weights say")


# ---- linear models


def check_process(parts: dict[str, NDArray[Any]], size: tuple[int, int, int], what: str) -> None:
    """Refuse flat sparse matrices, A times O of (n, n), whose parts do not fit together."""
    actions, observations, n = size
    _require(min(size) > 0, f"{what}: read sizes {size}")
    _check_array(parts["indptr"], np.int64, (actions * observations, n + 1), f"{what}.indptr")
    indptr, entries = parts["indptr"], parts["indices"].size
    _check_array(parts["indices"], np.int64, (entries,), f"{what}.indices")
    _check_array(parts["values"], np.float64, (entries,), f"{what}.values")
    ordered = (indptr[:, 1:] >= indptr[:, :-1]).all() and (indptr[:, 0] == 0).all()
    inside = (indptr[:, -1] <= entries).all() and int(indptr[:, -1].sum()) == entries
    _require(ordered and inside, f"{what}: its rows are not where its offsets say")
    columns = (parts["indices"] >= 0) & (parts["indices"] < n)
    _require(columns.all(), f"{what}: an index that is out of range")


def check_linear(model: LinearModel) -> None:
    """Refuse a linear model that breaks its laws, with a `ValueError` that says which.

    A model whose domain is unknown was estimated, and its laws hold as well as they were learned.
    """
    n, e = model.dimension, model.normalizer
    _require(len(model.core) in (0, n), f"core: read {len(model.core)} names, expected {n}")
    _require(not model.core or model.coordinates is not None, "a core without its coordinates")
    if model.coordinates is not None:
        shape = model.coordinates.shape
        _require(shape == (n, n), f"coordinates: read shape {shape}, expected {(n, n)}")
    if not model.domain.known:
        return
    off = np.abs(model.emissions.sum(axis=2) - e).max()
    _require(off <= LAW, f"its probabilities sum to 1 but for {off:.3g}")
    _require(abs(float(model.start @ e) - 1) <= LAW, "its start is not normalized")
    if isinstance(model.domain, Simplex):
        _check_simplex(model, model.domain)
    if isinstance(model.domain, Corners):
        _check_corners(model, model.domain)


def _check_simplex(model: LinearModel, domain: Simplex) -> None:
    _require(domain.n == model.dimension, f"a simplex of {domain.n} for {model.dimension} states")
    _require(
        bool((np.abs(model.normalizer - 1) <= LAW).all()), "beliefs are not normalized by ones"
    )
    _require(domain.distance(model.start) <= LAW, "its start is no belief")
    match model.operators:
        case DenseOperators(matrices=matrices):
            least = float(matrices.min())
        case SparseOperators(process=process):
            least = min(float(m.data.min(initial=0.0)) for row in process for m in row)
        case _:
            raise ValueError("beliefs that are seen through a basis")
    _require(least >= 0, f"a probability of {least}")


def _check_corners(model: LinearModel, domain: Corners) -> None:
    points, kernel = domain.points, domain.kernel
    A, O, n = model.operators.shape
    _require(points.shape[1] == n, f"corners of dimension {points.shape[1]}, expected {n}")
    _require((len(kernel), len(kernel[0])) == (A, O), "a kernel of other actions or observations")
    totals = points @ model.normalizer
    _require(bool((np.abs(totals - 1) <= LAW).all()), "a corner is not normalized")
    if points.size <= _LARGEST_HULL:  # a linear program
        _require(domain.distance(model.start) <= LAW, "its start lies outside its corners")
    probes = np.random.default_rng(0).standard_normal((_PROBES, n))
    for a in range(A):
        for o in range(O):
            _require(kernel[a][o].data.min(initial=0.0) >= 0, "a kernel with a negative entry")
            moved = points @ model.operators.right(probes, a, o).T
            off = np.abs(moved - kernel[a][o] @ (points @ probes.T)).max()
            _require(off <= LAW, f"its corners move as its kernel says but for {off:.3g}")
