"""Planner `perseus`: randomised point-based value iteration.

The points are states on random walks from the start; the set is fixed. A round samples points among
those whose value has not improved yet, keeps the backup of the sampled point (or, if that is worse,
its old vector), and removes every point whose value that vector raises or keeps. So no point ever
loses value, and few vectors serve many points. Backups of all points are computed as one batch, but
only the sampled ones are kept. Between rounds the controller is evaluated (see `backups`), which
the paper does not do: values then rise by whole policies, not by one step.

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
    """Plan at random points; on any linear model, also a learned one.

    epsilon: the gap at the start to reach, in units of reward or as a share of the value there
    (`Relative`), and the precision of values at the points; by default 1e-6 of the range of
    values (see `precision`). time_limit: in seconds. memory_limit: in bytes.
    max_points: the largest number of points. max_iterations: rounds. seed: random seed.
    """

    name = "perseus"

    max_points: int = 1000

    def rounds(self, search: PointSearch) -> None:
        """Improve the plans at the points."""
        steps = 5 * (1 + self.max_points // WALKERS)
        met = search.walk(search.anything, WALKERS, steps, self.max_points - 1)
        search.points = np.vstack([search.points, met])

        def drawn(before: Floats, after: Floats, which: Ints) -> Bools:
            return _sweep(before, after, which, search.rng)

        while search.may_continue():
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
