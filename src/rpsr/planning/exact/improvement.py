"""Policy-iteration steps on witness points, which approximate V* before proofs begin.

V is stored as a finite-state controller: each vector has an action and, for every observation, a
successor. A step backs V up at every witness point, keeps the action of each new vector but
continues it with the best new vectors from its point, and evaluates this controller by a number of
sweeps. After any number, each vector is the value of an action followed by vectors that are values
themselves, so it is never above V*. The controller may be worse than V, so the backups and the old
vectors are candidates too: the best vector at every point is kept, with its successors, and the
controller they form is swept once more.

Reference: Hansen, Solving POMDPs by searching in policy space, UAI (1998), for the controllers.
"""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.planning.corners.covering import close, cover, distinct
from rpsr.planning.corners.moves import Moves, backups, sweep
from rpsr.planning.corners.point_backups import backup_points
from rpsr.planning.limits import Clock
from rpsr.planning.value.value_function import ValueFunction

STAND_IN = 1e-2  # of a point's slack: the largest loss by a stand-in


def evaluate_controller(
    moves: Moves, choices: Ints, values: Floats, sweeps: int, settled: float, clock: Clock
) -> None:
    """`sweep` with checks of the clock."""
    entries = len(moves.chance) / len(moves.rewards)  # of each vector's action
    work = 2.0 * len(choices) * entries
    for part in clock.parts(sweeps, work):
        if sweep(moves, choices, values, part.stop - part.start, settled) <= settled:
            break


def plan_at(
    moves: Moves,
    values: Floats,
    points: Floats,
    given: Ints,
    width: int,
    tie: float,
    clock: Clock,
) -> Ints:
    """`backup_points` with checks of the clock."""
    choices = np.empty((len(points), width), dtype=np.int64)
    work = 2.0 * (values.size * width * len(moves.rewards) + len(moves.chance))
    for part in clock.parts(len(points), work):
        choices[part] = backup_points(moves, values, points[part], given[part], width, tie)
    return choices


def improve(
    moves: Moves,
    controller: ValueFunction,
    points: Floats,
    sweeps: int,
    settled: float,
    slack: float,
    tie: float,
    clock: Clock,
) -> tuple[ValueFunction, float]:
    """One step: the controller, its vectors at the corners, and the largest gain of V at a point.

    sweeps and settled: see `sweep`. slack: the loss allowed at a point to save vectors.
    """
    values, choices = controller.vectors, controller.choices
    width = choices.shape[1]
    plans = plan_at(moves, values, points, np.full(len(points), -1), width, tie, clock)
    first = distinct(plans)
    fresh = backups(moves, plans[first], values)
    # The same actions, continued with the new vectors: a closed controller.
    links = plan_at(moves, fresh, points[first], plans[first, 0], width, tie, clock)
    closed = fresh.copy()
    evaluate_controller(moves, links, closed, sweeps, settled, clock)
    new = len(fresh)
    vectors = np.vstack([closed, fresh, values])
    every = np.vstack([links, plans[first], choices])
    every[new:, 1:] += 2 * new
    wanted = np.zeros(len(vectors), dtype=np.bool_)
    gain = -np.inf
    for part in clock.parts(len(points), 2.0 * vectors.size):
        gain = max(gain, cover(vectors, len(values), points[part], slack, wanted))
    deputy = close(vectors, every, STAND_IN * slack, wanted)
    place = np.cumsum(wanted) - 1
    vectors, every = vectors[wanted], every[wanted]
    every[:, 1:] = place[deputy[every[:, 1:]]]
    evaluate_controller(moves, every, vectors, sweeps, settled, clock)
    return ValueFunction.of(vectors, every), gain
