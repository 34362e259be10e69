"""Checks of a native file: laws of probability, names, sizes, indices in range.

Every array is checked before it is used: an offset beyond its array would otherwise request too
much memory, or read memory of other objects.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.io.records import Record, Rows
from rpsr.io.tokens import MOST_DIGITS
from rpsr.io.weights import UNREMARKED
from rpsr.models.domain import Corners
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators, SparseOperators
from rpsr.models.rounding import row_sum

LAW = 1e-9  # tolerance of the laws of a linear model, as in `rpsr.testing.check_model`
_FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")
_PROBES = 3  # random vectors that tell two linear maps apart
_LARGEST_HULL = 10**5  # coordinates of corners, for the check that they contain the start


def _require(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


# ---- the header


def text_of(value: Any) -> str:
    """A string that can be encoded."""
    _require(isinstance(value, str), f"read {_short(value)}, expected a string")
    value.encode()  # fails on half of a surrogate pair
    return value


def optional_text_of(value: Any) -> str | None:
    """A string, or None."""
    return None if value is None else text_of(value)


def flag_of(value: Any) -> bool:
    """True or false."""
    _require(isinstance(value, bool), f"read {_short(value)}, expected true or false")
    return value


def names_of(header: dict[str, Any], kind: str) -> tuple[str, ...]:
    """The names of one kind, without repetition; `core` and `final` may be empty."""
    names = header[kind]
    _require(isinstance(names, list), f"{kind}: read {_short(names)}, expected a list of names")
    texts = tuple(text_of(name) for name in names)
    _require(len(set(texts)) == len(texts), f"{kind}: a name occurs twice")
    _require(
        len(texts) > 0 or kind in ("core", "final"), f"{kind}: read no name, expected at least one"
    )
    return texts


def labels_of(header: dict[str, Any], n_states: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Names of sets of states, each a list of indices, ascending."""
    labels = header.get("labels", {})
    _require(isinstance(labels, dict), f"labels: read {_short(labels)}, expected names")
    for name, states in labels.items():
        text_of(name)
        good = isinstance(states, list) and all(type(s) is int for s in states)
        inside = good and all(0 <= s < n_states for s in states)
        rising = inside and all(one < two for one, two in pairwise(states))
        _require(rising, f"labels: read {_short(states)}, expected indices of states, ascending")
    return tuple((name, tuple(states)) for name, states in labels.items())


def fraction_of(value: Any) -> Fraction:
    """A fraction from its text: an integer, or two. No exponents, whose size has no limit."""
    good = isinstance(value, str) and _FRACTION.fullmatch(value)
    _require(bool(good), f"read {_short(value)}, expected a fraction")
    return Fraction(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


# ---- POMDPs


def check_record(record: Record) -> None:
    """Refuse a record that is no POMDP, with a `ValueError` that gives the reason."""
    A, S = len(record.actions), len(record.states)
    discount = record.discount
    _require(
        discount is None or 0 <= discount <= 1,
        f"discount: read {discount}, expected a number in [0, 1]",
    )
    _check_rows(record.start, 1, "start")
    _check_rows(record.transition, A * S, "transition")
    edges = len(record.transition.indices)
    _check_rows(record.emission, edges if record.emission_by_edge else A * S, "emission")
    resets = record.resets
    _require(
        resets.dtype == np.bool_ and resets.shape == (A, S),
        f"resets: read shape {resets.shape}, expected {(A, S)}",
    )
    rewards = record.rewards
    _check_array(rewards.values, np.float64, (rewards.values.size,), "rewards")
    outcomes = int(record.outcomes_of_edge().sum())
    _check_array(rewards.index, np.int64, (outcomes,), "rewards of outcomes")
    inside = (rewards.index >= 0) & (rewards.index < len(rewards.values))
    _require(inside.all(), "rewards of outcomes: an index is out of range")
    if rewards.exact is not None:
        floats = np.array([float(value) for value in rewards.exact])
        same = np.array_equal(floats, rewards.values)
        _require(same, "the rewards differ from their fractions")
    if record.unavailable is not None:
        _check_array(record.unavailable, np.bool_, (A, S), "unavailable")
        _require(not record.unavailable.all(axis=0).any(), "unavailable: a state has no action")
        _check_unavailable(record, record.unavailable)


def _check_unavailable(record: Record, unavailable: NDArray[np.bool_]) -> None:
    """Observations tell what is available, and other actions act as the first available one."""
    edge, entry = record.outcome_entries()
    cells, n = record.outcome_cells(edge, entry), len(record.states)
    speaker = np.zeros(len(record.observations), dtype=np.int64)
    speaker[cells.observation] = cells.next_state
    pairs = np.unique(np.stack([cells.next_state, speaker[cells.observation]]), axis=1)
    _require(
        np.array_equal(unavailable[:, pairs[0]], unavailable[:, pairs[1]]),
        "unavailable: an observation does not tell which actions are available",
    )
    action, state = np.nonzero(unavailable)
    first = np.argmin(unavailable, axis=0)[state]
    rows, others = action * n + state, first * n + state
    ends = np.searchsorted(cells.action * n + cells.state, np.arange(len(record.actions) * n + 1))
    counts = np.diff(ends)
    same = np.array_equal(counts[rows], counts[others])
    if same:
        within = np.arange(int(counts[rows].sum()))
        within -= np.repeat(np.cumsum(counts[rows]) - counts[rows], counts[rows])
        one, other = (np.repeat(ends[r], counts[rows]) + within for r in (rows, others))
        probability = record.transition.values[edge] * record.emission.values[entry]
        same = all(
            np.array_equal(part[one], part[other])
            for part in (cells.next_state, cells.observation, probability, record.rewards.index)
        )
    _require(same, "unavailable: an action does not act as the first available one")


def _check_array(array: NDArray[Any], kind: Any, shape: tuple[int, ...], what: str) -> None:
    if array.dtype != kind or array.shape != shape:
        read = f"{array.shape} of {array.dtype}"
        raise ValueError(f"{what}: read {read}, expected {shape} of {np.dtype(kind)}")


def _check_rows(rows: Rows, height: int, what: str) -> None:
    """Check offsets, then columns, then probabilities: each check relies on those before it."""
    _check_array(rows.indptr, np.int64, (height + 1,), f"{what}.indptr")
    entries = rows.indices.size
    counts = np.diff(rows.indptr)
    # Differences may overflow; the order and both ends together bound every offset.
    ordered = (rows.indptr[1:] > rows.indptr[:-1]).all()
    _require(
        ordered and rows.indptr[0] == 0 and rows.indptr[-1] == entries,
        f"{what}: the offsets do not fit the rows",
    )
    _check_array(rows.indices, np.int64, (entries,), f"{what}.indices")
    inside = (rows.indices >= 0) & (rows.indices < rows.width)
    _require(inside.all(), f"{what}: an index is out of range")
    rising = np.diff(rows.indices, prepend=-1) > 0
    rising[rows.indptr[:-1]] = True
    _require(rising.all(), f"{what}: the columns of a row are not ascending")
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
        _require(read.all(), f"{what}: a count of decimal digits is out of range")


def _check_weights(rows: Rows, entries: int, what: str) -> None:
    """Check that weights over their sums are the probabilities, up to a reader's tolerance."""
    weights = rows.weights
    assert weights is not None
    exact = weights.dtype == object
    _check_array(weights, object if exact else np.int64, (entries,), f"{what}.weights")
    _require(all(w > 0 for w in weights.tolist()), f"{what}: a weight is 0 or negative")
    if not exact and int(weights.max()) * int(np.diff(rows.indptr).max()) >= 2**62:
        raise ValueError(f"{what}: a sum of weights exceeds 64 bits")
    totals = rows.totals()[rows.row_of_entry()]
    ratio = np.array(
        [int(w) / int(t) for w, t in zip(weights.tolist(), totals.tolist(), strict=True)]
    )
    same = np.abs(rows.values - ratio) <= 2 * float(UNREMARKED) * ratio
    _require(same.all(), f"{what}: the probabilities differ from their weights")


# ---- linear models


def check_process(parts: dict[str, NDArray[Any]], size: tuple[int, int, int], what: str) -> None:
    """Refuse flat sparse matrices, A times O of (n, n), whose parts do not fit together."""
    actions, observations, n = size
    _require(min(size) > 0, f"{what}: read sizes {size}, expected numbers above 0")
    _check_array(parts["indptr"], np.int64, (actions * observations, n + 1), f"{what}.indptr")
    indptr, entries = parts["indptr"], parts["indices"].size
    _check_array(parts["indices"], np.int64, (entries,), f"{what}.indices")
    _check_array(parts["values"], np.float64, (entries,), f"{what}.values")
    ordered = (indptr[:, 1:] >= indptr[:, :-1]).all() and (indptr[:, 0] == 0).all()
    inside = (indptr[:, -1] <= entries).all() and int(indptr[:, -1].sum()) == entries
    _require(ordered and inside, f"{what}: the offsets do not fit the rows")
    columns = (parts["indices"] >= 0) & (parts["indices"] < n)
    _require(columns.all(), f"{what}: an index is out of range")


def check_linear(model: LinearModel) -> None:
    """Refuse a linear model that breaks a law, with a `ValueError` that names the law.

    A model of unknown domain was estimated and obeys its laws only approximately: these are not
    checked.
    """
    n, e = model.dimension, model.normalizer
    _require(len(model.core) in (0, n), f"core: read {len(model.core)} names, expected {n}")
    _require(not model.core or model.coordinates is not None, "core: names without coordinates")
    if model.coordinates is not None:
        shape = model.coordinates.shape
        _require(shape == (n, n), f"coordinates: read shape {shape}, expected {(n, n)}")
    if not model.domain.known:
        return
    off = np.abs(model.emissions.sum(axis=2) - e).max()
    _require(off <= LAW, f"the probabilities of observations do not sum to 1: off by {off:.3g}")
    _require(abs(float(model.start @ e) - 1) <= LAW, "the start is not normalized: x e is not 1")
    domain = model.domain
    if domain.points is None:
        _require(domain.size == n, f"domain: read n = {domain.size}, expected {n}")
        _check_beliefs(model)
    else:
        _check_corners(model, domain)


def _check_beliefs(model: LinearModel) -> None:
    _require(
        bool((np.abs(model.normalizer - 1) <= LAW).all()),
        "the normalizer of a belief model is not all ones",
    )
    _require(
        model.domain.distance(model.start) <= LAW, "the start is not a probability distribution"
    )
    match model.operators:
        case DenseOperators(matrices=matrices):
            least = float(matrices.min())
        case SparseOperators(process=process):
            least = min(float(m.data.min(initial=0.0)) for row in process for m in row)
        case _:
            raise ValueError("the operators of a belief model are neither dense nor sparse")
    _require(least >= 0, f"operators: a probability is {least}, expected at least 0")


def _check_corners(model: LinearModel, domain: Corners) -> None:
    points, kernel = domain.points, domain.kernel
    A, O, n = model.operators.shape
    _require(points.shape[1] == n, f"corners: read dimension {points.shape[1]}, expected {n}")
    _require(
        (len(kernel), len(kernel[0])) == (A, O), "the kernel has other actions or observations"
    )
    totals = points @ model.normalizer
    _require(bool((np.abs(totals - 1) <= LAW).all()), "a corner is not normalized: x e is not 1")
    if points.size <= _LARGEST_HULL:  # a linear program
        _require(
            domain.distance(model.start) <= LAW, "the start lies outside the hull of the corners"
        )
    probes = np.random.default_rng(0).standard_normal((_PROBES, n))
    for a in range(A):
        for o in range(O):
            _require(
                kernel[a][o].data.min(initial=0.0) >= 0,
                "a transition probability between corners is negative",
            )
            moved = points @ model.operators.right(probes, a, o).T
            off = np.abs(moved - kernel[a][o] @ (points @ probes.T)).max()
            _require(
                off <= LAW, f"the operators and the kernel move corners differently: by {off:.3g}"
            )
