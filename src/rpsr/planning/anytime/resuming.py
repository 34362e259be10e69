"""Vectors of a checkpoint, lowered so that none exceeds its own backup.

A planner whose lower bound relies on vectors that are at most their own backups must not trust a
file. Values of policies lie between -scale and scale, where scale is the return of the largest
absolute reward at every step; other values are clipped. A vector that then exceeds its own backup
is lowered by the accumulated excess (see `moves.shortfalls`), but not below -scale: clipped there,
a vector is still at most its backup. A correct vector is lowered by at most
`CornerProcess.rounding`, times 1 / (1 - discount).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpsr.io.records import Floats
from rpsr.planning.anytime.lower_bound import enter, scan
from rpsr.planning.anytime.search_arrays import SearchState
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.moves import settle_from_below, shortfalls
from rpsr.planning.value.value_function import ValueFunction

SWEEPS = 1000  # of a controller's value without a discount


def fit(
    process: CornerProcess, earlier: ValueFunction, scale: float, floor: Floats, shave: float
) -> ValueFunction:
    """The value function at the corners, with each vector at most its policy's value.

    floor, shave: as in `Beginning`. Without a discount, the controller is evaluated from below.
    """
    if len(floor):
        values = np.tile(floor, (len(earlier), 1))
        settle_from_below(process.moves, earlier.choices, values, SWEEPS, shave, shave)
        return replace(earlier, vectors=values)
    values = np.clip(process.at_corners(earlier.vectors), -scale, scale)
    less = shortfalls(process.moves, earlier.choices, values, process.discount)
    return replace(earlier, vectors=np.maximum(values - less[:, None], -scale))


def add_vectors(state: SearchState, earlier: ValueFunction) -> None:
    """Add vectors at the corners, (K, k), to those in use; all corners must be one part."""
    count, values = len(earlier), earlier.vectors
    state.make_room(count, values.size)
    vectors, counts = state.vectors, state.graph.counts
    first = int(counts["vectors"])
    rows, at = slice(first, first + count), int(counts["values"])
    vectors.values[at : at + values.size] = values.ravel()
    vectors.first[rows] = np.arange(at, at + values.size, values.shape[1])
    vectors.part[rows] = 0
    vectors.choice[rows, 0] = earlier.actions
    vectors.choice[rows, 1:] = earlier.successors + first
    counts["vectors"] += count
    counts["values"] += values.size
    for v in range(first, first + count):
        enter(state.graph, vectors, v)
    scan(state.graph, vectors, state.knobs.root)
