"""Vectors of a checkpoint, lowered so that none exceeds its own backup.

A planner whose lower bound relies on vectors that are at most their own backups must not trust a
file. Values of policies lie between -scale and scale, where scale is the return of the largest
absolute reward at every step; other values are clipped. A vector that then exceeds its own backup
is lowered by the accumulated excess (see `moves.shortfalls`), but not below -scale: clipped there,
a vector is still at most its backup. A correct vector is lowered by at most
`CornerProcess.rounding`, times 1 / (1 - discount).
"""

from __future__ import annotations

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
        return ValueFunction.of(values, earlier.choices)
    values = np.clip(process.at_corners(earlier.vectors), -scale, scale)
    less = shortfalls(process.moves, earlier.choices, values, process.discount)
    return ValueFunction.of(np.maximum(values - less[:, None], -scale), earlier.choices)


def add_vectors(state: SearchState, earlier: ValueFunction) -> None:
    """Add vectors at the corners, (K, k), to those in use, one for every part each."""
    vectors, counts, parts = state.vectors, state.graph.counts, state.vectors.parts
    count, pieces = len(earlier), len(earlier) * len(parts.part)
    state.make_room(pieces, count * len(parts.member))
    vectors, base = state.vectors, int(counts["vectors"])
    for c, (begin, end, *_) in enumerate(parts.part.tolist()):
        rows, at = base + c * count + np.arange(count), int(counts["values"])
        size = count * (end - begin)
        vectors.values[at : at + size] = earlier.vectors[:, parts.member[begin:end]].ravel()
        vectors.first[rows] = at + (end - begin) * np.arange(count)
        vectors.part[rows] = c
        vectors.choice[rows, 0] = earlier.actions
        then = parts.after[c, earlier.actions]
        following = base + then * count + earlier.successors
        vectors.choice[rows, 1:] = np.where(then < 0, rows[:, None], following)
        counts["values"] += size
    counts["vectors"] += pieces
    for v in range(base, base + pieces):
        enter(state.graph, vectors, v)
    scan(state.graph, vectors, state.knobs.root)
