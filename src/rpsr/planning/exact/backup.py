"""One exact backup: from the vectors of V to those of HV, over mixtures of corners.

For an action a, the vectors of HV are r_a + the cross-sum over observations o of the projected sets
{discount K[a,o] u : u in V}. Incremental pruning prunes the cross-sum as it grows.
Enumeration forms it in full first, |V|^O vectors per action: an oracle for small cases.
Vectors are values at the corners, (K, k).
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.pruning import Effort, filtered, foresee_program
from rpsr.planning.limits import Clock, LimitReached
from rpsr.planning.solution import Status
from rpsr.planning.value.value_function import ValueFunction

LARGEST_CROSS_SUM = 500_000  # vectors; filtering more takes minutes


def project(process: CornerProcess, values: Floats, action: int) -> Floats:
    """Discounted values of continuing with each vector after each observation, (O, K, k)."""
    k = process.k
    out = np.zeros((process.observations, k, len(values)))
    first, last = process.indptr[action * k], process.indptr[(action + 1) * k]
    span = slice(first, last)
    source = np.repeat(np.arange(k), np.diff(process.indptr[action * k : (action + 1) * k + 1]))
    terms = process.chance[span, None] * values.T[process.target[span]]
    np.add.at(out, (process.observation[span], source), terms)
    return np.ascontiguousarray(out.transpose(0, 2, 1))


def incremental(
    process: CornerProcess, before: ValueFunction, tolerance: float, clock: Clock, effort: Effort
) -> ValueFunction:
    """HV by incremental pruning. Loses at most `loss_of(process, tolerance)`."""

    def pruned(values: Floats, successors: Ints) -> tuple[Floats, Ints]:
        keep = filtered(values, tolerance, clock, effort)
        return values[keep], successors[keep]

    parts: list[ValueFunction] = []
    foresee_program(clock, process.k, len(before))
    for action in range(len(process.rewards)):
        clock.claim(3 * before.vectors.nbytes * process.observations)
        projected = project(process, before.vectors, action)
        sets = [(o, *pruned(g, np.arange(len(g))[:, None])) for o, g in enumerate(projected)]
        sets.sort(key=lambda projection: len(projection[1]))
        order = [o for o, _, _ in sets]
        _, values, successors = sets[0]
        for _, more, indices in sets[1:]:
            values, successors = cross_sum(values, successors, more, indices, clock)
            if len(more) > 1:
                values, successors = pruned(values, successors)
        parts.append(_stage(process, action, values, successors[:, np.argsort(order)]))
    return _union(parts, tolerance, clock, effort)


def loss_of(process: CornerProcess, tolerance: float) -> float:
    """The largest loss of one backup by incremental pruning: one filter per set and per sum.

    A filter loses at most the tolerance, plus rounding errors in its proofs. These are weighted
    means of differences of values, so a tolerance of `CornerProcess.rounding` is not smaller.
    """
    return (2 * process.observations + 1) * 2 * tolerance


def enumerated(
    process: CornerProcess, before: ValueFunction, tolerance: float, clock: Clock, effort: Effort
) -> ValueFunction:
    """HV by full cross-sums, pruned once at the end. Loses at most twice the tolerance."""
    parts: list[ValueFunction] = []
    foresee_program(clock, process.k, len(before))
    for action in range(len(process.rewards)):
        clock.claim(3 * before.vectors.nbytes * process.observations)
        projected = project(process, before.vectors, action)
        values, successors = np.zeros((1, process.k)), np.zeros((1, 0), dtype=np.int64)
        for g in projected:
            values, successors = cross_sum(values, successors, g, np.arange(len(g))[:, None], clock)
            clock.check()
        parts.append(_stage(process, action, values, successors))
    return _union(parts, tolerance, clock, effort)


def cross_sum(
    values: Floats, successors: Ints, more: Floats, indices: Ints, clock: Clock
) -> tuple[Floats, Ints]:
    """All sums of one vector of each set, with the successors of both."""
    size = len(values) * len(more)
    if size > LARGEST_CROSS_SUM:
        raise LimitReached(Status.SIZE)
    clock.claim(8 * size * (3 * values.shape[1] + successors.shape[1] + 1))
    summed = np.empty((len(values), *more.shape))
    for part in clock.parts(len(values), 4.0 * more.size):
        summed[part] = values[part, None] + more[None]
    summed = summed.reshape(size, -1)
    left = np.repeat(successors, len(more), axis=0)
    return summed, np.hstack([left, np.tile(indices, (len(values), 1))])


def _stage(process: CornerProcess, action: int, values: Floats, successors: Ints) -> ValueFunction:
    actions = np.full(len(values), action, dtype=np.int64)
    return ValueFunction(process.rewards[action] + values, actions, successors)


def _union(
    parts: list[ValueFunction], tolerance: float, clock: Clock, effort: Effort
) -> ValueFunction:
    values = np.concatenate([part.vectors for part in parts])
    keep = filtered(values, tolerance, clock, effort)
    actions = np.concatenate([part.actions for part in parts])
    successors = np.concatenate([part.successors for part in parts])
    return ValueFunction(values[keep], actions[keep], successors[keep])
