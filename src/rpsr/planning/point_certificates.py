"""The upper half of a certificate, from the points of an anytime search.

`rpsr.certificates.bounds` has the inequalities. The search satisfies them in floats, up to rounding
and the merging of close beliefs. Here the points that the start needs are taken, with the weights
that the search found, and their numbers are raised until the inequalities hold in integers:

1. numbers q of the fixed point of these inequalities, by sweeps in floats;
2. weights that cover each successor exactly, where a tiny change of scale suffices, so that no
   remainder is left at the corners;
3. mixtures are computed anew in integers, in the order of the points. If some look ahead then needs
   a number larger by v per unit of mass, all numbers rise by v / (1 - discount) per unit of mass.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from rpsr.certificates.bounds import Cover, Point, Scales, UpperCheck, rewards_above
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import Line, Pairs
from rpsr.io.records import Floats
from rpsr.planning.value.point_bounds import PointBounds

SWEEPS, SETTLED = 2000, 1e-15  # of the fixed point; the largest change at its end, per value
STRETCH = 40  # weights may be scaled by 1 + 2^-40 to cover a successor exactly
ROUNDS, SWEEPS_APART = 8, 100  # of raising numbers, with and without a discount


def upper_lines(
    model: ExactModel, scales: Scales, floor: list[int], points: PointBounds
) -> tuple[Fraction, Pairs, list[Line]] | None:
    """The upper bound without the floor, the cover of the start, and the lines.

    floor: of the values, in their scale. None if rounding errors cannot be paid for: without a
    discount.
    """
    unit = model.discount.denominator * scales.model * scales.values
    above = [[value / unit for value in row] for row in rewards_above(model, scales, floor)]
    rewards, lowest = np.array(above).T, np.array([value / scales.values for value in floor])
    # Without a discount, rounding errors in a loop of points cannot be paid for; the corners have
    # none if their probabilities are whole numbers.
    for graph in (_Graph(model, points), _Graph(model, points, corners=True)):
        made = graph.exact_points(scales, graph.fixed_point(rewards, lowest))
        check = UpperCheck(model, scales, floor, made)
        _stretch(check, made)
        if _raised(check):
            break
    else:
        return None
    start = _stretched(check, check.start(), graph.scaled(graph.root, 1.0, scales))
    lines = [("point", _written(point, i < len(model.states))) for i, point in enumerate(made)]
    return check.at_start(start), start, lines


class _Graph:
    """The points that the start and the corners need, renumbered; corners are the first.

    corners: use no other points.
    """

    def __init__(self, model: ExactModel, points: PointBounds, *, corners: bool = False) -> None:
        self.model, self.points = model, points
        self.discount = float(model.discount)
        n_states = len(model.states)
        self.root = [] if corners else self.cover_of(points.root)
        reached = set(range(n_states)) | {j for j, _ in self.root}
        waiting = [] if corners else sorted(reached)
        self.first = np.full_like(points.first, -1) if corners else points.first
        while waiting:
            p = waiting.pop()
            used = {j for j, _ in self._mixture(p)} if p >= n_states else set[int]()
            for m in self._edges(p):
                used.update(j for j, _ in self.cover_of(int(points.child[m])))
            waiting += sorted(used - reached)
            reached |= used
        self.kept = sorted(reached)
        self.place = {p: i for i, p in enumerate(self.kept)}

    def _edges(self, p: int) -> range:
        """The edges of a point; none if it was not expanded."""
        first = int(self.first[p])
        return range(first, int(self.points.last[p])) if first >= 0 else range(0)

    def cover_of(self, node: int) -> list[tuple[int, float]]:
        """A node as a mixture of points: itself, if it is one."""
        p = int(self.points.point_of[node])
        return [(p, 1.0)] if p >= 0 else self.points.weights.row(node)

    def _mixture(self, p: int) -> list[tuple[int, float]]:
        """A point as the mixture of older points that it was before it became one."""
        return self.points.weights.row(int(self.points.node_of[p]))

    def fixed_point(self, rewards: Floats, floor: Floats) -> Floats:
        """Numbers (P, A), above the floor, that are equal to what the inequalities need.

        rewards (S, A): those above the floor (S,).

        `mixed` (P, A): those for which the mixture needs less than the look ahead.
        """
        points, n_states, size = self.points, len(self.model.states), len(self.kept)
        n_actions = points.values.shape[1]
        cells: list[tuple[int, int, float]] = []  # successor, point, weight
        owner: list[int] = []  # of each successor: point * A + action
        mixing: list[tuple[int, int, float]] = []
        earned = np.zeros((size, n_actions))
        self.expanded = np.zeros(size, dtype=np.bool_)
        lowest = np.zeros(size)
        for i, p in enumerate(self.kept):
            for s, share in points.beliefs.row(int(points.node_of[p])):
                earned[i] += share * rewards[s]
                lowest[i] += share * floor[s]
            if i >= n_states:
                mixing += [(i, self.place[j], share) for j, share in self._mixture(p)]
            self.expanded[i] = self.first[p] >= 0
            if not self.expanded[i] and i < n_states:
                self._corner_cells(i, cells, owner)
            for m in self._edges(p):
                for j, share in self.cover_of(int(points.child[m])):
                    cells.append((len(owner), self.place[j], share * float(points.chance[m])))
                owner.append(i * n_actions + int(points.action[m]))
        after = _sparse(cells, len(owner), size)
        mixture, owners = _sparse(mixing, size, size), np.array(owner, dtype=np.int64)
        q = np.maximum(points.values[self.kept] - lowest[:, None], 0.0)
        looking = self.expanded | (np.arange(size) < n_states)
        for _ in range(SWEEPS):
            best = np.asarray(after @ q).max(axis=1, initial=0.0)
            ahead = earned + np.bincount(owners, best, size * n_actions).reshape(q.shape)
            ahead[~looking] = np.inf
            mixed = np.asarray(mixture @ q)
            mixed[:n_states] = np.inf
            fresh = np.minimum(ahead, mixed)
            change = float(np.abs(fresh - q).max())
            q, self.mixed = fresh, mixed <= ahead
            if change <= SETTLED * float(np.abs(q).max()):
                break
        return q

    def _corner_cells(self, s: int, cells: list[tuple[int, int, float]], owner: list[int]) -> None:
        """The successors of a corner that the search did not expand, by corners alone."""
        n_actions = len(self.model.actions)
        for a in range(n_actions):
            total, row = self.model.rows[a][s]
            places: dict[int, int] = {}
            for o, target, weight in row:
                if o not in places:
                    places[o] = len(owner)
                    owner.append(s * n_actions + a)
                cells.append((places[o], target, self.discount * (weight / total)))

    def scaled(self, cover: list[tuple[int, float]], by: float, scales: Scales) -> Pairs:
        """Weights in integers; none if they are those of corners alone, which remain exactly."""
        if all(j < len(self.model.states) for j, _ in cover):
            return []
        pairs = [(self.place[j], _integer(share * by, scales.model)) for j, share in cover]
        return [(j, weight) for j, weight in pairs if weight > 0]

    def exact_points(self, scales: Scales, q: Floats) -> list[Point]:
        """The points in integers, with weights for every action."""
        points, made = self.points, list[Point]()
        n_actions = q.shape[1]
        for i, p in enumerate(self.kept):
            moves: list[Any] = [{} for _ in range(n_actions)]
            if self.expanded[i]:
                for m in self._edges(p):
                    # With discount 0, successors are worth nothing, and need no weights.
                    chance = float(points.chance[m]) / self.discount if self.discount else 0.0
                    weights = self.scaled(self.cover_of(int(points.child[m])), chance, scales)
                    if weights:
                        moves[int(points.action[m])][int(points.observation[m])] = weights
            for a in np.flatnonzero(self.mixed[i]).tolist():
                moves[a] = self.scaled(self._mixture(p), 1.0, scales)
            belief = points.beliefs.row(int(points.node_of[p]))
            exact = [(s, _integer(share, scales.beliefs)) for s, share in belief]
            values = [_integer(value, scales.values) + 1 for value in q[i].tolist()]
            made.append(Point([(s, mass) for s, mass in exact if mass], values, moves))
        return made


def _sparse(cells: list[tuple[int, int, float]], height: int, width: int) -> Any:
    rows, columns, shares = zip(*cells, strict=True) if cells else ((), (), ())
    return sp.coo_array((shares, (rows, columns)), shape=(height, width)).tocsr()


def _integer(value: float, scale: int) -> int:
    return math.floor(Fraction(value) * scale)


def _stretch(check: UpperCheck, points: list[Point]) -> None:
    """Scale all weights by tiny amounts so that they cover what they should."""
    for i, point in enumerate(points):
        for action, move in enumerate(point.moves):
            if not isinstance(move, dict):
                mine = {s: mass * check.scales.model for s, mass in point.belief}
                point.moves[action] = _stretched(check, mine, move)
            elif move:
                after = check.successors(point.belief, action)
                point.moves[action] = {
                    o: _stretched(check, after[o], weights)
                    for o, weights in move.items()
                    if o in after
                }
        points[i] = point


def _stretched(check: UpperCheck, x: dict[int, int], weights: Pairs) -> Pairs:
    held = dict.fromkeys(x, 0)
    for j, weight in weights:
        for s, mass in check.points[j].belief:
            if s in held:
                held[s] += weight * mass
    above, below = 0, 1
    for s, amount in x.items():
        if amount * below > above * held[s]:
            above, below = amount, held[s]
    if below == 0 or (above << STRETCH) > below * ((1 << STRETCH) + 1):
        return weights
    return [(j, -(-weight * above // below)) for j, weight in weights]


Covers = dict[tuple[int, int], list[Cover]]  # by point and action


def _raised(check: UpperCheck) -> bool:
    """Raise the numbers of the points until every inequality holds; whether that succeeded."""
    actions, size = range(len(check.model.actions)), len(check.points)
    covers = {(i, a): check.covers(i, a) for i in range(size) for a in actions}
    return (_raised_together if check.model.discount < 1 else _raised_apart)(check, covers)


def _raised_together(check: UpperCheck, covers: Covers) -> bool:
    """All looks ahead rise by one number per unit of mass."""
    points, left = check.points, 1 - check.model.discount
    mass = [sum(amount for _, amount in point.belief) for point in points]
    ahead = [key for key in covers if isinstance(points[key[0]].moves[key[1]], dict)]
    mixed = [key for key in covers if not isinstance(points[key[0]].moves[key[1]], dict)]
    for _ in range(ROUNDS):
        for i, a in mixed:
            points[i].values[a] += _lacking(check, i, a, covers)
        short = Fraction(0)
        for i, a in ahead:
            lacking = check.needed(i, a, covers[i, a]) - points[i].values[a] * check.unit
            if lacking > 0:
                short = max(short, Fraction(lacking, check.unit * mass[i]))
        if short == 0:
            return True
        # Remainders and stretched weights need a little more.
        more = short / left * Fraction(101, 100)
        for i, a in ahead:
            points[i].values[a] += math.ceil(more * mass[i]) + 1
    return False


def _raised_apart(check: UpperCheck, covers: Covers) -> bool:
    """Without a discount each number rises alone; errors die out unless points form a loop.

    With a clock, states are in the order of time, and the last ones come first: one sweep suffices.
    """
    order = sorted(covers, key=lambda key: (-_first_state(check.points[key[0]]), key))
    for _ in range(SWEEPS_APART):
        settled = True
        for i, a in order:
            lacking = _lacking(check, i, a, covers)
            check.points[i].values[a] += lacking
            settled = settled and lacking == 0
        if settled:
            return True
    return False


def _lacking(check: UpperCheck, i: int, action: int, covers: Covers) -> int:
    """By how much a point's number is too low."""
    needed = -(-check.needed(i, action, covers[i, action]) // check.unit)
    return max(0, needed - check.points[i].values[action])


def _first_state(point: Point) -> int:
    return min((s for s, _ in point.belief), default=0)


def _written(point: Point, corner: bool) -> dict[str, Any]:
    moves = [
        move if not isinstance(move, dict) else {str(o): weights for o, weights in move.items()}
        for move in point.moves
    ]
    written: dict[str, Any] = {"values": point.values, "moves": moves}
    return written if corner else {"belief": point.belief, **written}
