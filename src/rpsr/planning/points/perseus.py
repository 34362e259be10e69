"""Planner `perseus`: randomised point-based value iteration.

The points are states met by walking at random from the start, and they stay. A round need not back
up all of them: points are drawn at random from those whose value has not risen yet, a drawn point's
backup is kept (or, should it be worse, the vector it had), and every point whose value that vector
raises or keeps is done with. So no point ever loses, and few vectors do for many points. Backups
of all points are computed at once, which batches well; only those that are drawn are kept. Between
rounds the controller is evaluated, see `backups`, which the paper does not do: values then rise by
whole policies and not by a step at a time.

Reference: M. T. J. Spaan and N. Vlassis, "Perseus: randomized point-based value iteration for
POMDPs", Journal of Artificial Intelligence Research 24 (2005). For PSRs: M. R. James, T. Wessling,
N. Vlassis, "Improving approximate value iteration using memories and predictive state
representations", AAAI 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.planning.points.point_search import PointPlanner, PointSearch

WALKERS = 50


@dataclass(frozen=True)
class Perseus(PointPlanner):
    """Plan at random points; on any linear model, one that was learned too.

    epsilon: the gap at the start that is good enough, in units of reward or a share of the value
    there (`Relative`), and the precision of values at the points; by default 1e-6 of the range of
    values (see `precision`). time_limit in seconds; memory_limit in bytes.
    max_points: how many at most. max_iterations: rounds. seed: of the points, and of the order in
    which they are drawn.
    """

    name = "perseus"

    max_points: int = 1000

    def rounds(self, search: PointSearch) -> None:
        """Improve plans at the points."""
        steps = 5 * (1 + self.max_points // WALKERS)
        met = search.walk(search.anything, WALKERS, steps, self.max_points - 1)
        search.points = np.vstack([search.points, met])

        def drawn(before: Floats, after: Floats, which: Ints) -> Bools:
            return _sweep(before, after, which, search.rng)

        while search.may_go_on():
            gain = search.renew(drawn)
            search.report()
            if gain <= search.settled:
                return


def _sweep(before: Floats, after: Floats, which: Ints, rng: np.random.Generator) -> Bools:
    """The vectors of a random sweep, (M + K,): see `PointSearch.renew`."""
    n_points, n_new = after.shape
    wanted = np.zeros(n_new + before.shape[1], dtype=np.bool_)
    old = before.max(axis=1, initial=-np.inf)
    waiting = np.ones(n_points, dtype=np.bool_)
    for p in rng.permutation(n_points).tolist():
        if not waiting[p]:
            continue
        if after[p, which[p]] >= old[p]:
            wanted[which[p]] = True
            waiting &= after[:, which[p]] < old
        else:
            kept = int(before[p].argmax())
            wanted[n_new + kept] = True
            waiting &= before[:, kept] < old
        waiting[p] = False
    return wanted
