"""Parts of the corners that every belief lies in: mixed observability.

A partition of the corners such that, whatever happens, the belief lies in one part: after a belief
in part C, action a and observation o, the belief lies in part `after(C, a, o)`. Then the values of
a vector matter at the corners of one part only, and a backup computes no others. Where a state has
variables that are always known, from the observations or because they change without chance, the
parts are their values; the hidden variables differ within a part.

The finest such partition is found by merging corners: those that may follow one part by the same
action and observation are in one part, until nothing changes. The first belief need not lie in a
part. If it does not, its support is one more part, which no belief returns to.

Reference: S. C. W. Ong, S. W. Png, D. Hsu and W. S. Lee, Planning under uncertainty for robotic
tasks with mixed observability, IJRR 29 (2010).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Ints
from rpsr.kernels import njit
from rpsr.planning.anytime.belief_graph import Array
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.moves import Moves
from rpsr.planning.limits import Clock

FEWEST_CORNERS = 200  # with fewer, vectors that are valid everywhere cost little
WORTHWHILE = 0.25  # a share of the corners: the mean size of a corner's part, at most
MOST_PARTS = 20_000  # the first policies are entered for each at the beginning of a search
TABLE = 1 << 22  # the largest size of the table `after`
BEGIN, END, NEWEST, CENTRE = range(4)  # the columns of `Parts.part`


class Parts(NamedTuple):
    """n parts of k corners, and perhaps one more: the support of the first belief.

    part (n or n + 1, 4): where its corners begin and end in `member`; its newest vector in use, or
    -1; the node of its uniform belief. of (k,), slot (k,): the part of a corner, and its place
    there. member: corners, part by part. goes (entries,): the places of the targets of moves.
    after (n or n + 1, A, O): the part that follows, or -1.
    """

    part: Array
    of: Array
    slot: Array
    member: Array
    goes: Ints
    after: Array


def whole(process: CornerProcess) -> Parts:
    """All corners as one part."""
    corners = np.arange(process.k)
    after = np.zeros((1, len(process.rewards), process.observations), np.int32)
    part = np.array([[0, process.k, -1, -1]])
    return Parts(part, np.zeros(process.k, np.int64), corners, corners, process.target, after)


def find_parts(process: CornerProcess, clock: Clock) -> Parts:
    """The finest parts, if they are worth while; else all corners as one.

    Only for beliefs: vectors that have values on one part cannot be written in the coordinates of
    other models.
    """
    (n_actions, k), n_observations = process.rewards.shape, process.observations
    if k < FEWEST_CORNERS or process.discount >= 1 or not process.model.domain.beliefs:
        return whole(process)
    support = np.flatnonzero(process.start)
    parent = np.arange(k)
    size = 1 << (2 * len(process.chance)).bit_length()
    if 2 * 8 * size > clock.bytes_left:
        return whole(process)
    key, target = np.empty(size, np.int64), np.empty(size, np.int64)
    merge_after(process.moves, support, parent, np.full(n_observations, -1))
    while True:
        key[:] = -1
        if clock.over:
            return whole(process)
        if merge_round(process.moves, parent, n_observations, key, target) == 0:
            break
    roots, of = np.unique(parent, return_inverse=True)
    of, sizes = of.reshape(-1), np.bincount(of.reshape(-1))
    n = len(roots)
    if (
        float((sizes.astype(np.float64) ** 2).sum()) > WORTHWHILE * k * k
        or n > MOST_PARTS
        or n * n_actions * n_observations > TABLE
    ):
        return whole(process)
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(sizes)
    slot = np.empty(k, np.int64)
    slot[order] = np.arange(k) - np.repeat(ends - sizes, sizes)
    part = np.column_stack([ends - sizes, ends, np.full(n, -1), np.full(n, -1)])
    if len(np.unique(of[support])) > 1:
        part = np.vstack([part, [k, k + len(support), -1, -1]])
        order = np.concatenate([order, support])
    after = np.full((len(part), n_actions, n_observations), -1, np.int32)
    fill_after(process.moves, part, order, of, after)
    return Parts(part, of, slot, order, slot[process.target], after)


@njit(cache=True)
def root_of(parent: Array, s: int) -> int:
    """The representative of a corner's part; paths to it become shorter."""
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@njit(cache=True)
def merge_after(moves: Moves, support: Ints, parent: Array, seen: Array) -> None:
    """Merge the corners that may follow the first belief by the same action and observation.

    seen (O,): -1.
    """
    n_actions, k = moves.rewards.shape
    for a in range(n_actions):
        seen[:] = -1
        for s in support:
            for m in range(moves.indptr[a * k + s], moves.indptr[a * k + s + 1]):
                o, end = moves.observation[m], root_of(parent, int(np.int64(moves.target[m])))
                if seen[o] < 0:
                    seen[o] = end
                else:
                    parent[end] = root_of(parent, int(np.int64(seen[o])))


@njit(cache=True)
def merge_round(moves: Moves, parent: Array, n_observations: int, key: Array, target: Array) -> int:
    """Merge corners that may follow one part by the same action and observation; how many.

    key, target: a hash table, empty (keys of -1). It has a target for each part, action and
    observation. After a round without a merge, parent[s] is the representative of s.
    """
    n_actions, k = moves.rewards.shape
    merged, mask = 0, len(key) - 1
    for a in range(n_actions):
        for s in range(k):
            part, last, end = root_of(parent, s), -1, -1
            for m in range(moves.indptr[a * k + s], moves.indptr[a * k + s + 1]):
                o, follower = moves.observation[m], root_of(parent, int(np.int64(moves.target[m])))
                if o != last:
                    wanted = (part * n_actions + a) * n_observations + o
                    slot = (wanted * 0x9E3779B1 >> 7) & mask
                    while key[slot] != -1 and key[slot] != wanted:
                        slot = (slot + 1) & mask
                    if key[slot] == -1:
                        key[slot], target[slot] = wanted, follower
                    last, end = o, slot
                first = root_of(parent, int(np.int64(target[end])))
                if first != follower:
                    parent[max(first, follower)] = min(first, follower)
                    merged += 1
    for s in range(k):
        parent[s] = root_of(parent, s)
    return merged


@njit(cache=True)
def fill_after(moves: Moves, part: Ints, member: Ints, of: Array, after: Array) -> None:
    """Enter the part that follows each part, action and observation."""
    n_actions, k = moves.rewards.shape
    for c in range(len(part)):
        for u in range(part[c, BEGIN], part[c, END]):
            for a in range(n_actions):
                row = a * k + member[u]
                for m in range(moves.indptr[row], moves.indptr[row + 1]):
                    after[c, a, moves.observation[m]] = of[moves.target[m]]


def members(parts: Parts, part: int) -> Ints:
    """The corners of a part."""
    return parts.member[parts.part[part, BEGIN] : parts.part[part, END]]
