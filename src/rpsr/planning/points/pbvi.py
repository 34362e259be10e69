"""Planner `pbvi`: point-based value iteration on the states that planning itself visits.

Rounds of backups at all points alternate with growing the set of points, up to twofold each time.
A point's farthest successor joins, as in the paper: one observation is drawn for every action, and
of the states so reached the one that is farthest from all points is taken. The other half are
states met when the plans so far are followed from the start, a tenth of the actions being random:
without them a set that doubles reaches states only as deep as it has doubled often.

A round backs the value function up at every point and evaluates the controller so made (see
`backups`), which is policy iteration restricted to points. There are a few rounds before the points
grow again, and, once they cannot, as many as it takes until no point gains.

Reference: J. Pineau, G. Gordon, S. Thrun, "Point-based value iteration: an anytime algorithm for
POMDPs", IJCAI 2003. For PSRs: M. T. Izadi and D. Precup, "Point-based planning for predictive state
representations", Canadian AI 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from rpsr.io.records import Bools, Floats, Ints
from rpsr.planning.points.backups import step
from rpsr.planning.points.point_search import SLACK, PointPlanner, PointSearch

ROUNDS = 3  # before the points grow again, at most
LAST_ROUNDS = 50  # with all points there are, at most
WALKERS, STEPS, RANDOM = 32, 40, 0.1


@dataclass(frozen=True)
class PBVI(PointPlanner):
    """Plan at points; on any linear model, one that was learned too.

    epsilon: the gap at the start that is good enough, in units of reward or a share of the value
    there (`Relative`), and the precision of values at the points; by default 1e-6 of the range of
    values (see `precision`). time_limit in seconds; memory_limit in bytes.
    max_points: how many at most. max_iterations: rounds. seed: of the points.
    """

    name = "pbvi"

    def rounds(self, search: PointSearch) -> None:
        """Improve plans at the points."""

        def best_of_each(before: Floats, after: Floats, _which: Ints) -> Bools:
            return _cover(np.hstack([after, before]), SLACK * search.settled)

        growing = True
        while growing:
            size = len(search.points)
            self._grow(search)
            growing = len(search.points) > size
            for _ in range(ROUNDS if growing else LAST_ROUNDS):
                if not search.may_go_on():
                    return
                if search.renew(best_of_each) <= search.settled:
                    break
            search.report()

    def _grow(self, search: PointSearch) -> None:
        """Up to twice as many points, half of what is new by each of the two ways."""
        room = min(len(search.points), self.max_points - len(search.points))
        more = _successors(search, (room + 1) // 2)
        search.points = np.vstack([search.points, more])
        met = search.walk(search.greedy(RANDOM), WALKERS, STEPS, room - len(more))
        search.points = np.vstack([search.points, met])


def _cover(worth: Floats, slack: float) -> Bools:
    """Vectors (K,) such that every point has one within `slack` of its best, worth (P, K)."""
    wanted = np.zeros(worth.shape[1], dtype=np.bool_)
    for row in worth:
        top = int(row.argmax())
        if not (row[wanted] >= row[top] - slack).any():
            wanted[top] = True
    return wanted


def _successors(search: PointSearch, limit: int) -> Floats:
    """The farthest successor of each point, farthest first, up to a limit."""
    if limit <= 0:
        return search.points[:0]
    n_points, n_actions = len(search.points), len(search.model.actions)
    actions = np.tile(np.arange(n_actions), n_points)
    seen, states = step(search.model, np.repeat(search.points, n_actions, 0), actions, search.rng)
    away = cdist(states, search.points, "cityblock").min(axis=1)
    away[seen < 0] = 0.0
    away = away.reshape(n_points, n_actions)
    farthest = away.argmax(axis=1)
    order = np.argsort(-away.max(axis=1), kind="stable")
    chosen = states.reshape(n_points, n_actions, -1)[order, farthest[order]]
    return search.apart(chosen, limit)
