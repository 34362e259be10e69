"""A task that every policy ends, as a model with a discount: the same values in other units.

Corners from which no reward can be collected any more are *over*; their values are 0. If the other
corners contain no end component (`end_components`), every policy leaves them in the end, and their
largest expected numbers of remaining steps w are finite. Measure values in units of w:

    u'(s) = u(s) / w(s)     r'(s, a) = r(s, a) / w(s)     K'(s, s') = K(s, s') w(s') / w(s)

A backup of u becomes the same backup of u', and w >= 1 + K w for every action, so that rows of K'
sum to at most 1 - 1 / max w: a discount. What a row lacks leads to one more corner, where all is
over. A controller is worth the same on both; a belief b becomes the normalised b w, and values at
the start are those of the model times the start's w. So a planner for discounted sums plans here,
and its bounds, multiplied, hold for the task. w need not be exact: the discount is the largest sum
of a row that was computed.

Reference: D. P. Bertsekas and J. N. Tsitsiklis, An analysis of stochastic shortest path problems,
Mathematics of Operations Research 16 (1991), for the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.domain import Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import MOST_BLOCKS, Entries, SparseOperators, StackedProcess
from rpsr.models.rounding import products
from rpsr.planning.convergence import NEAR_ONE
from rpsr.planning.corners.cheap_bounds import transitions
from rpsr.planning.corners.corner_model import CornerProcess, summed
from rpsr.planning.corners.reward_signs import exact_rewards, with_exact_signs
from rpsr.planning.corners.undiscounted_bounds import (
    MergedComponents,
    named_corner,
    over_corners,
    refuse_lost_probabilities,
)
from rpsr.planning.end_components import end_components
from rpsr.planning.limits import Clock


class MayStay(ModelError):
    """A policy may never end: the task has no form with a discount."""


@dataclass(frozen=True, eq=False)
class DiscountedForm:
    """A task and its model with a discount.

    process: the task at its k corners. live (m,): those that are not over. weights (m,): their w.
    model: over the live corners and one more, of dimension m + 1. whole: the w of the start.
    margin: to be added to bounds at the start, for roundings of scaled numbers and of the start.
    """

    process: CornerProcess
    live: Ints
    weights: Floats
    model: LinearModel
    whole: float
    margin: float

    def back(self, vectors: Floats) -> Floats:
        """Vectors of the task's model, (K, m + 1) -> (K, n)."""
        values = np.zeros((len(vectors), self.process.k))
        values[:, self.live] = vectors[:, :-1] * self.weights
        return self.process.lift(values)

    def forth(self, vectors: Floats) -> Floats:
        """Vectors of the model with a discount, (K, n) -> (K, m + 1)."""
        values = self.process.at_corners(vectors)[:, self.live] / self.weights
        return np.hstack([values, np.zeros((len(values), 1))])


def discounted_form(process: CornerProcess, planner: str, clock: Clock) -> DiscountedForm:
    """The model with a discount; a `MayStay` if some policy never ends.

    planner: its name, for messages.
    """
    refuse_lost_probabilities(process)
    process = with_exact_signs(process, exact_rewards(process))
    moves = transitions(process)
    over = over_corners(process, moves)
    component, inside = end_components(moves, len(process.rewards))
    loops = np.flatnonzero(inside.any(axis=0) & ~over)
    if len(loops):
        raise MayStay(
            f"{process.model.name}: a policy may stay indefinitely in "
            f"{named_corner(process, int(loops[0]))}, and planner {planner} then needs a discount "
            "below 1 (--discount, in Python model.with_discount); without a discount, plan with "
            "sarsop, hsvi or reachable, or with vi for a horizon (--horizon)"
        )
    steps, _ = MergedComponents(process, moves, component, inside).steps(clock)
    live = np.flatnonzero(~over)
    return _scaled(process, live, np.maximum(steps[live], 1.0))


def _scaled(process: CornerProcess, live: Ints, weights: Floats) -> DiscountedForm:
    model, k, m = process.model, process.k, len(live)
    n_actions, size = len(process.rewards), m + 1
    place = np.full(k, m)
    place[live] = np.arange(m)
    row = np.repeat(np.arange(n_actions * k), np.diff(process.indptr))
    kept = (place[row % k] < m) & (place[process.target] < m)
    begin, end = place[row[kept] % k], place[process.target[kept]]
    action, seen = row[kept] // k, process.observation[kept]
    chance = process.chance[kept] * weights[end] / weights[begin]
    sums = summed(action * m + begin, chance, n_actions * m)
    widest = int(np.diff(process.indptr).max())
    discount = float(sums.max(initial=0.0)) * (1 + 2 * products(widest))
    if not discount < 1 - NEAR_ONE:
        raise ModelError(
            f"{model.name}: some policy takes too many steps to end the task, so no bound on the "
            "sum of rewards can be proven in floats; give a discount below 1 or a number of steps"
        )
    discount = max(discount, 0.5)  # a model of one step needs one, too
    # What a row lacks leads to the last corner, with an observation that is possible there.
    lacks = np.clip(1 - sums / discount, 0.0, 1.0)
    rows = np.arange(n_actions)[:, None] * k + live
    first = process.observation[process.indptr[rows]].ravel()
    actions = np.arange(n_actions)
    stays = process.observation[process.indptr[actions * k]]
    action = np.concatenate([action, np.repeat(actions, m), actions])
    seen = np.concatenate([seen, first, stays])
    begin = np.concatenate([begin, np.tile(np.arange(m), n_actions), np.full(n_actions, m)])
    end = np.concatenate([end, np.full(n_actions * size, m)])
    value = np.concatenate([chance / discount, lacks, np.ones(n_actions)])
    order = np.lexsort((end, begin, seen, action))
    entries = Entries(action[order], seen[order], begin[order], end[order], value[order])
    stacked = StackedProcess(entries, (n_actions, process.observations, size))
    few = n_actions * process.observations <= MOST_BLOCKS
    start = process.start[live] * weights
    whole = float(start.sum())
    start = np.append(start / whole, 0.0) if whole > 0 else np.eye(size)[m]
    rewards = np.vstack([(process.rewards[:, live] / weights).T, np.zeros((1, n_actions))])
    longest, scale = float(weights.max(initial=1.0)), float(np.abs(rewards).max()) / (1 - discount)
    scaled = LinearModel(
        kind="belief",
        name=model.name,
        actions=model.actions,
        observations=model.observations,
        start=start,
        operators=SparseOperators(tuple(map(tuple, stacked)) if few else stacked),
        normalizer=np.ones(size),
        rewards=rewards,
        discount=discount,
        domain=Simplex(size),
        reward_error=model.reward_error + process.merged * scale * longest,
    )
    # A scaled number has up to four factors more than planners allow for: of a product and of three
    # quotients, by a weight, by the discount and by `whole`. A sum of two products has as many.
    margin = whole * scale * products(2) / (1 - discount)
    margin += (process.displaced + products(m)) * scale * longest
    return DiscountedForm(process, live, weights, scaled, whole or 1.0, margin)
