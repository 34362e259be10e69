"""Planner `pbvi`: point-based value iteration at states that planning itself visits.

Rounds of backups at all points alternate with expansions of the set of points, up to twofold each
time. Half of the new points are farthest successors, as in the paper: for every point and action
one observation is sampled, and of the states reached the one farthest from all points is added. The
other half are states on trajectories of the current plan, with a tenth of the actions random.
Without them the depth of the points grows by only one step per expansion.

A round backs up the value function at every point and evaluates the resulting controller (see
`backups`), which is policy iteration restricted to points. There are a few rounds between
expansions, and after the last one as many as needed until no point gains.

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

ROUNDS = 3  # between two expansions, at most
LAST_ROUNDS = 50  # after the last expansion, at most
WALKERS, STEPS, RANDOM = 32, 40, 0.1


@dataclass(frozen=True)
class PBVI(PointPlanner):
    """Plan at points; on any linear model, also a learned one.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`), and the precision of values at the points; by default 1e-6 of the range of
    values (see `precision`). time_limit: in seconds. memory_limit: in bytes.
    max_points: the largest number of points. max_iterations: rounds. seed: random seed.
    """

    name = "pbvi"

    def rounds(self, search: PointSearch) -> None:
        """Improve the plans at the points."""

        def best_of_each(before: Floats, after: Floats, _which: Ints) -> Bools:
            return _cover(np.hstack([after, before]), SLACK * search.settled)

        growing = True
        while growing:
            size = len(search.points)
            self._grow(search)
            growing = len(search.points) > size
            for _ in range(ROUNDS if growing else LAST_ROUNDS):
                if not search.may_continue():
                    return
                if search.renew(best_of_each) <= search.settled:
                    break
            search.report()

    def _grow(self, search: PointSearch) -> None:
        """Add up to as many points as there are, half of them in each of the two ways."""
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
