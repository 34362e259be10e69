"""Factors: conditional distributions of variables given others, and their product.

A factored model is a product of such factors,

    Pr(s' | s, a) = prod_i Pr(s'_i | parents_i),    parents_i among a, s and other s'_j,

and `join` multiplies them out sparsely: it holds all possible (row, joint value) so far, looks up
each factor's row by its parents, and repeats what the factor splits. Weights stay exact integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from rpsr.io.cells import expanded_size, latest_entry, written_cells
from rpsr.io.pomdpx.entries import Numbers
from rpsr.io.pomdpx.parameters import Table
from rpsr.io.pomdpx.scope import Axis
from rpsr.io.records import Integers, Ints, Rows, ratios
from rpsr.io.statements import Entries
from rpsr.io.variables import Space
from rpsr.io.weights import Sums, weigh
from rpsr.io.xml_tree import Document, Element

CELL_BYTES = 176  # of memory per cell of a function, wildcards expanded
FITS = 2**62


@dataclass(frozen=True, eq=False)
class Factor:
    """Pr(targets | parents): row r of `rows` is for the r-th joint value of the parents.

    weights (nnz,), totals (rows,): the probabilities exactly, in lowest terms row by row.
    """

    table: Table
    rows: Rows
    sums: Sums

    @property
    def parents(self) -> tuple[Axis, ...]:
        """The variables it depends on."""
        return self.table.parents

    @property
    def targets(self) -> tuple[Axis, ...]:
        """The variables it is a distribution of."""
        return self.table.axes[len(self.parents) :]

    @cached_property
    def weights(self) -> Integers:
        """(nnz,), without a common divisor in any row."""
        assert self.rows.weights is not None
        divisors = np.gcd.reduceat(self.rows.weights, self.rows.indptr[:-1])
        return self.rows.weights // np.repeat(divisors, np.diff(self.rows.indptr))

    @cached_property
    def totals(self) -> Integers:
        """(rows,): the sums of the weights."""
        return np.add.reduceat(self.weights, self.rows.indptr[:-1])

    def places(self, space: Space) -> Ints:
        """(width,): what each joint value of the targets adds to a flat joint value of a space."""
        own = Space(tuple(axis.variable for axis in self.targets))
        values = np.arange(own.size, dtype=np.int64)
        parts = [
            own.digit(values, i) * space.stride(axis.number) for i, axis in enumerate(self.targets)
        ]
        return np.sum(parts, axis=0)

    def row_name(self, row: int) -> str:
        """A row in words: `rock_1 given rover_0=s1`."""
        own = Space(tuple(axis.variable for axis in self.parents))
        at = np.array([row])
        given = list(self.table.given) + [
            f"{axis.identifier}={axis.variable.values[int(own.digit(at, i)[0])]}"
            for i, axis in enumerate(self.parents)
        ]
        names = " ".join(axis.identifier for axis in self.targets)
        return f"{names} given {', '.join(given)}" if given else names


def read_factor(document: Document, table: Table, numbers: Numbers, normalize: bool) -> Factor:
    """The factor of a table; refuses rows without entries or, unless `normalize`, of wrong sum."""
    sizes, split = table.sizes, len(table.parents)
    height, width = prod(sizes[:split]), prod(sizes[split:])
    cells = max(expanded_size(table.values, sizes), height)
    document.allow(CELL_BYTES * cells, f"a function has {cells:,} cells", table.function)
    keys, words = written_cells(table.values, table.clears, sizes)
    indptr = np.searchsorted(keys, np.arange(height + 1) * width)
    rows, sums = weigh(width, indptr, keys % width, numbers.weighed(words), numbers.values)
    factor = Factor(table, rows, sums)
    refused = sums.empty if normalize else sums.refused | sums.empty
    if refused.any():
        row = int(np.argmax(refused))
        hint = "" if sums.empty[row] else " (--normalize rescales it)"
        total = "sums to 0" if sums.empty[row] else f"sums to {float(sums.total(row)):.12g}"
        message = f"the distribution of {factor.row_name(row)} {total}, expected 1{hint}"
        raise document.error(_last_entry(table, row), message)
    return factor


def _last_entry(table: Table, row: int) -> Element:
    """The last element that wrote to a row; the function itself if none did."""
    split = len(table.parents)
    writes = table.all()
    if split == 0 or not len(writes.order):
        return table.elements[-1] if table.elements else table.function
    cell = np.stack(np.unravel_index([row], table.sizes[:split]), axis=1)
    heads = Entries(writes.index[:, :split], writes.word, writes.order)
    entry = int(latest_entry(heads, cell, table.sizes[:split])[0])
    return table.function if entry < 0 else table.elements[int(writes.order[entry]) // 2]


@dataclass(frozen=True, eq=False)
class Product:
    """Joint values by row, ascending, with exact weights: columns (nnz,), weights (nnz,)."""

    indptr: Ints
    columns: Ints
    weights: Integers


ParentValues = Callable[[Axis, Ints, Ints], Ints]


def join(
    factors: Sequence[Factor],
    space: Space,
    first: Ints,
    values: ParentValues,
    allow: Callable[[int], None],
) -> Product:
    """The product of factors over the joint values of a space.

    first (rows,): the joint value of each row before any factor, from variables that are known and
    vary more slowly than those of the space.
    values(axis, row, column): the values of a parent for pairs of a row and a joint value so far.
    allow(entries): raises an error if there are too many.
    """
    row, column = np.arange(len(first), dtype=np.int64), first
    bound = prod(int(factor.totals.max()) for factor in factors)
    kind = np.int64 if bound < FITS // max(space.size, 1) else object
    weight: Integers = np.ones(len(row), dtype=kind)
    below: Integers = np.ones(len(row), dtype=kind)
    for factor in factors:
        key = np.zeros(len(row), dtype=np.int64)
        own = Space(tuple(axis.variable for axis in factor.parents))
        for i, axis in enumerate(factor.parents):
            key += values(axis, row, column) * own.stride(i)
        counts = np.diff(factor.rows.indptr)[key]
        entry = factor.rows.indptr[key]
        if (counts > 1).any():
            allow(int(counts.sum()))
            begins = np.cumsum(counts) - counts
            source = np.repeat(np.arange(len(row)), counts)
            entry = entry[source] + np.arange(len(source)) - begins[source]
            row, column, key = row[source], column[source], key[source]
            weight, below = weight[source], below[source]
        column = column + factor.places(space)[factor.rows.indices[entry]]
        weight = weight * factor.weights[entry].astype(kind)
        below = below * factor.totals[key].astype(kind)
    if ((row[1:] == row[:-1]) & (column[1:] < column[:-1])).any():
        order = np.lexsort((column, row))
        row, column, weight, below = row[order], column[order], weight[order], below[order]
    indptr = np.searchsorted(row, np.arange(len(first) + 1))
    return Product(indptr, column, _common(weight, below, indptr))


def _common(weight: Integers, below: Integers, indptr: Ints) -> Integers:
    """Weights over one denominator in each row, where the denominators of a row may differ."""
    begins = indptr[:-1]
    least, most = np.minimum.reduceat(below, begins), np.maximum.reduceat(below, begins)
    if (least == most).all():
        return weight
    below, weight = below.astype(object), weight.astype(object)
    one = np.repeat(np.lcm.reduceat(below, begins), np.diff(indptr))
    weight = weight * (one // below)
    return weight.astype(np.int64) if max(weight.tolist()) * len(weight) < FITS else weight


def rows_of(products: Sequence[Product], width: int) -> Rows:
    """Products one below another, as rows of probabilities."""
    wide = any(product.weights.dtype == object for product in products)
    weights = np.concatenate([p.weights.astype(object if wide else np.int64) for p in products])
    counts = np.concatenate([np.diff(p.indptr) for p in products])
    indptr = np.append(0, np.cumsum(counts)).astype(np.int64)
    totals = np.add.reduceat(weights, indptr[:-1])
    return Rows(
        width,
        indptr,
        np.concatenate([p.columns for p in products]),
        ratios(weights, np.repeat(totals, counts)),
        weights,
        np.full(len(counts), -1, dtype=np.int64),
    )
