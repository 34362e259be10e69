"""Pruning: the vectors of a set that are needed over mixtures of corners.

Lark's filter grows the kept set from below: a vector is dropped when a program proves that it
exceeds the kept ones by no more than the tolerance, and otherwise the best vector at the program's
witness point is kept. Kept vectors stay, so the total loss is at most the tolerance, for any number
of dropped vectors. A program whose bounds do not decide is counted, and its vector is kept.

Incremental pruning filters a cross-sum observation by observation, smallest sets first:
prune(... prune(prune(G_1 + G_2) + G_3) ...) has the maximum of the whole cross-sum.

References: White, A survey of solution techniques for the POMDP, Annals of OR 32 (1991), for Lark's
filter; Cassandra, Littman, Zhang, Incremental pruning, UAI (1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit
from rpsr.planning.corners.simplex_method import best_gain, evaluate, workspace, worst_excess
from rpsr.planning.limits import Clock

FEW_PIVOTS = 1e-3  # of a program's largest number of pivots: it rarely needs more
SOLVED = 1e-12  # of the largest value: a program with bounds closer than this is solved


@dataclass
class Effort:
    """Counts of linear programs, and of those whose bounds did not decide."""

    programs: int = 0
    undecided: int = 0


class Sieve(NamedTuple):
    """Which of N vectors are kept so far: alive (N,), neither kept nor dropped; kept (N,), indices,
    the first `size` of which count; columns (k, N) holds those, column by column.
    """

    alive: Bools
    kept: Ints
    columns: Floats


@njit(cache=True)
def whole(k: int, count: int) -> Sieve:
    """A sieve with all vectors over k corners alive and none kept."""
    alive, kept = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
    return Sieve(alive, kept, np.empty((k, count)))


@njit(cache=True)
def best_at(c: Floats, alive: Bools, x: Floats, totals: Floats, tie: float, scores: Floats) -> int:
    """The best vector at x among those alive; among ties, the one with the largest sum."""
    count = len(alive)
    evaluate(c, count, x, scores)
    best = -1
    for i in range(count):
        if alive[i] and (
            best < 0
            or scores[i] > scores[best] + tie
            or (scores[i] >= scores[best] - tie and totals[i] > totals[best])
        ):
            best = i
    return best


@njit(cache=True)
def lark(
    c: Floats,
    sieve: Sieve,
    size: int,
    cursor: int,
    tolerance: float,
    solved: float,
    budget: int,
) -> tuple[int, int, int, int]:
    """Part of Lark's filter of c (k, N): (size, cursor, programs, undecided).

    size: the number of kept vectors. cursor: the first vector that may be alive. Returns after
    `budget` programs or when no vector is left alive (cursor = N).
    """
    k, count = c.shape
    alive, kept, u = sieve.alive, sieve.kept, sieve.columns
    space = workspace(k, count)
    point, scores, w, totals = space.point, space.scores, np.zeros(k), np.zeros(count)
    for s in range(k):
        for i in range(count):
            totals[i] += c[s, i]
    programs = 0
    undecided = 0
    while cursor < count and programs < budget:
        if not alive[cursor]:
            cursor += 1
            continue
        upper, lower = np.inf, np.inf
        if size > 0:
            for s in range(k):
                w[s] = c[s, cursor]
            programs += 1
            near = worst_excess(u, size, w, scores)
            upper = scores[near]
            if upper > tolerance:
                upper, lower, _ = best_gain(u, size, w, near, tolerance, solved, space)
        else:
            for s in range(k):
                point[s] = 1.0 / k
        if upper <= tolerance:
            alive[cursor] = False
            continue
        new = cursor
        if lower > tolerance:
            new = best_at(c, alive, point, totals, solved * 1e-2, scores)
        else:
            undecided += 1
        alive[new] = False
        kept[size] = new
        for s in range(k):
            u[s, size] = c[s, new]
        size += 1
    return size, cursor, programs, undecided


def filtered(values: Floats, tolerance: float, clock: Clock, effort: Effort) -> Ints:
    """Indices, ascending, of vectors (N, k) whose maximum is within the tolerance of all's."""
    count, k = values.shape
    foresee_program(clock, k, count)
    c = np.ascontiguousarray(values.T)
    solved = SOLVED * float(np.abs(c).max(initial=0.0))
    sieve, size, cursor = whole(k, count), 0, 0
    for part in clock.parts(count, program_operations(k, count)):  # at most one program per vector
        size, cursor, programs, undecided = lark(
            c, sieve, size, cursor, tolerance, solved, part.stop - part.start
        )
        effort.programs += programs
        effort.undecided += undecided
        if cursor == count:
            break
    return np.sort(sieve.kept[:size])


def foresee_program(clock: Clock, k: int, vectors: int) -> None:
    """`LimitReached` if one program, which cannot be divided, would last beyond the deadline."""
    clock.foresee(FEW_PIVOTS * program_operations(k, vectors), "one linear program")


def program_operations(k: int, vectors: int) -> float:
    """Estimated operations of a program: about k pivots, each over a basis and all vectors."""
    return 2.0 * (k + 1) ** 2 * (k + 1 + vectors)
