"""Bounds on the optimal value at the start, proven in integers.

The model has probabilities D[a,o][s,s'], expected rewards R(s,a), a discount g and a start b0.

**Lower bound.** Vectors alpha_k, each with an action a and a successor k(o) for every observation:

    alpha_k(s) <= R(s,a) + g sum_{o,s'} D[a,o][s,s'] alpha_k(o)(s')         at every state s.

A vector is then at most the value of the policy that takes its action and continues with its
successors: apply the inequality n times, and what is left after n steps has the factor g^n. So
b0 . alpha_k <= V*(b0). Without a discount the inequality must be strict wherever alpha_k(s) > 0.
There are finitely many numbers, so it is strict by some d > 0. Then d times the expected number of
steps at which the vector is positive is at most what the inequality has to spare, and unless
rewards add up without limit, what is left after n steps is in the limit not positive.

**Upper bound.** Numbers h(s), the floor, are at most what any policy earns:

    h(s) <= R(s,a) + g sum_{o,s'} D[a,o][s,s'] h(s')                for every state s and action a.

Rewards R'(s,a), the right side minus the left side, are then not negative. Over n steps, a policy
earns by them what it earns by R, minus b0 . h, plus g^n times the expected h after n steps, which
vanishes with a discount. Without one, the inequality must be strict wherever h(s) < 0. The points
below bound what a policy earns by R', so h is negative at finitely many steps, in expectation, and
the expected h after n steps is in the limit not negative.

Points are vectors y_i >= 0 over states, of any sum. The first S are the corners, one for each
state. Every point has numbers q_i(a) >= 0. Weights w >= 0 *cover* a vector x >= 0 by points: with
the remainder z = max(0, x - sum_j w_j y_j) at the corners,

    worth(x, a') = sum_j w_j q_j(a') + sum_s z(s) q_s(a').

For every point and action, one of two inequalities must hold, for some weights:

    ahead:    q_i(a) >= y_i . R'_a + g sum_o max_a' worth(y_i D[a,o], a')
    mixture:  q_i(a) >= worth(y_i, a), by points before i; not for corners.

Let Q_n(x,a) be the value of action a and n steps, with rewards R' and nothing afterwards. It is
the largest of finitely many linear functions with coefficients that are not negative. Hence, if the
points' numbers are at least their Q_n, then worth(x,a) >= Q_n(x,a): more mass is never worth less,
and a mixture is worth at most what its parts are. By induction over n, and over i for mixtures,
q_i(a) >= Q_n(y_i,a). So V*(b0) <= max_a worth(b0,a) + b0 . h.

Vectors, numbers and masses are integers, in units of 1/scale. The lower bound's inequality is
multiplied by its denominators, so that it is one of integers. In those of the upper bound,
probabilities and rewards are rounded up to integers, so that more is needed than must hold.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from fractions import Fraction
from math import ceil, prod
from typing import Any, NamedTuple

from rpsr.certificates.exact_model import ExactModel, Row
from rpsr.certificates.reading import (
    Fault,
    Pairs,
    compact,
    items,
    members,
    pairs,
    shown,
    whole,
    whole_list,
)
from rpsr.io.float_bounds import as_float


class Scales(NamedTuple):
    """The units of the integers in a certificate: 1/model for probabilities, and so on.

    model: of probabilities and weights. values: of vectors and of the numbers of points. beliefs:
    of the masses of points.
    """

    model: int
    values: int
    beliefs: int

    @staticmethod
    def read(value: Any) -> Scales:
        """From the header."""
        given = members(value, "scales", set(Scales._fields))
        return Scales(*(whole(given[name], "scales", least=1) for name in Scales._fields))


# ---- lower bound


class Vector(NamedTuple):
    """A vector's action, the vector that follows each observation (O,), and its values (S,)."""

    action: int
    successors: Sequence[int]
    values: Sequence[int]


def read_vector(value: Any, model: ExactModel, count: int, k: int) -> Vector:
    """A vector of a certificate with `count` of them."""
    what = f"vector {k}"
    of = "entries: an action, successors and values"
    action, successors, values = items(value, what, of, 3)
    return Vector(
        whole(action, f"{what}, action", below=len(model.actions)),
        compact(
            whole_list(successors, f"{what}, successors", len(model.observations), below=count)
        ),
        compact(whole_list(values, f"{what}, values", len(model.states), least=None)),
    )


class Backup(NamedTuple):
    """One step from a state, in integers: unit * alpha(s) <= reward + sum of row * alpha'(s')."""

    unit: int
    reward: int
    row: Row


class LowerCheck:
    """The inequality of vectors. backups (A, S)."""

    def __init__(self, model: ExactModel, scales: Scales) -> None:
        self.discount = model.discount
        above, below = model.discount.as_integer_ratio()
        self.backups: list[list[Backup]] = []
        for rewards, rows in zip(model.rewards, model.rows, strict=True):
            column: list[Backup] = []
            for reward, (total, row) in zip(rewards, rows, strict=True):
                earned, factor = (reward * scales.values * total).as_integer_ratio()
                later = [(o, s, weight * factor * above) for o, s, weight in row]
                column.append(Backup(total * factor * below, earned * below, later))
            self.backups.append(column)

    def slack(self, vectors: list[Vector], k: int) -> Iterator[int]:
        """For each state, by how much vector k is below its backup, times its unit."""
        vector = vectors[k]
        after = [vectors[j].values for j in vector.successors]
        for value, step in zip(vector.values, self.backups[vector.action], strict=True):
            later = sum([weight * after[o][s] for o, s, weight in step.row])
            yield step.reward + later - step.unit * value


def check_lower(model: ExactModel, scales: Scales, vectors: list[Vector]) -> Fraction:
    """The proven lower bound at the start."""
    if not vectors:
        raise Fault("lower bound: the certificate has no vectors")
    check, endless = LowerCheck(model, scales), model.discount == 1
    for k, vector in enumerate(vectors):
        for s, slack in enumerate(check.slack(vectors, k)):
            if slack < 0 or (endless and slack == 0 and vector.values[s] > 0):
                unit = check.backups[vector.action][s].unit * scales.values
                by = as_float(Fraction(-slack, unit))
                where = f"at state {model.states[s]!r}"
                if slack:
                    raise Fault(f"lower bound: vector {k} exceeds its backup by {by:.3g} {where}")
                raise Fault(
                    f"lower bound: vector {k} equals its backup {where}; without a discount, "
                    "expected less"
                )
    return max(model.at_start(vector.values) for vector in vectors) / scales.values


# ---- upper bound


class Point(NamedTuple):
    """A point's belief as [state, mass] and its numbers q (A,).

    moves (A,): how each is proven. A list of weights [point, weight] is a mixture; a dictionary has
    such a list for each observation whose successor is not covered by corners alone.
    """

    belief: Pairs
    values: MutableSequence[int]
    moves: list[Pairs | dict[int, Pairs]]


def read_point(value: Any, model: ExactModel, count: int, i: int) -> Point:
    """A point of a certificate with `count` of them; the first S are the corners."""
    n_states, what = len(model.states), f"point {i}"
    keys = {"values", "moves"} if i < n_states else {"belief", "values", "moves"}
    given = members(value, what, keys)
    belief: Pairs = [(i, -1)]  # a corner's: replaced by one unit
    if i >= n_states:
        belief = pairs(given["belief"], f"{what}, belief", n_states)
        if len({state for state, _ in belief}) != len(belief):
            raise Fault(f"{what}, belief: a state is named twice")
    of = "entries, one for each action"
    moves = items(given["moves"], f"{what}, moves", of, len(model.actions))
    indices = {str(o): o for o in range(len(model.observations))}
    return Point(
        belief,
        compact(whole_list(given["values"], f"{what}, values", len(model.actions))),
        [_read_move(move, f"{what}, moves", indices, count, i, n_states) for move in moves],
    )


def _read_move(
    value: Any, what: str, indices: dict[str, int], count: int, i: int, n_states: int
) -> Pairs | dict[int, Pairs]:
    """indices: of observations, as keys of JSON objects."""
    if isinstance(value, list):
        if i < n_states:
            raise Fault(
                f"{what}: read a list, a mixture of points; expected an object, because the first "
                f"{n_states} points are corners"
            )
        return pairs(value, what, i)
    if not isinstance(value, dict):
        raise Fault(f"{what}: read {shown(value)}, expected a list or an object")
    for key in value:
        if key not in indices:
            raise Fault(f"{what}: read {shown(key)}, expected the index of an observation")
    return {indices[key]: pairs(weights, what, count) for key, weights in value.items()}


class Cover(NamedTuple):
    """A vector covered by points: weights, and the remainder at the corners."""

    weights: Pairs
    remainder: Pairs


class UpperCheck:
    """The inequalities of points. Vectors over states are in units of 1/(model * beliefs).

    unit: both sides of an inequality are compared in units of 1/(unit * values).
    """

    def __init__(
        self, model: ExactModel, scales: Scales, floor: list[int], points: list[Point]
    ) -> None:
        self.model, self.scales, self.points = model, scales, points
        self.unit = model.discount.denominator * scales.model * scales.beliefs
        self._rewards = rewards_above(model, scales, floor)
        self._rows: dict[tuple[int, int], Row] = {}
        for s in range(len(model.states)):
            points[s] = points[s]._replace(belief=[(s, scales.beliefs)])

    def cover(self, x: dict[int, int], weights: Pairs) -> Cover:
        """A vector over states, covered by weighted points."""
        left = dict(x)
        for j, weight in weights:
            for s, mass in self.points[j].belief:
                if s in left:
                    left[s] -= weight * mass
        return Cover(weights, [(s, rest) for s, rest in left.items() if rest > 0])

    def worth(self, cover: Cover, action: int) -> int:
        """The value of the covered mass, in units of 1/(model * beliefs * values)."""
        points = self.points
        total = sum([weight * points[j].values[action] for j, weight in cover.weights])
        left = sum([rest * points[s].values[action] for s, rest in cover.remainder])
        return total * self.scales.beliefs + left

    def most(self, cover: Cover) -> int:
        """The largest worth of any action."""
        return max([self.worth(cover, action) for action in range(len(self.model.actions))])

    def successors(self, belief: Pairs, action: int) -> dict[int, dict[int, int]]:
        """For each observation, the vector y D[a,o], with probabilities rounded up."""
        after: dict[int, dict[int, int]] = {}
        for s, mass in belief:
            key = (action, s)
            if key not in self._rows:
                total, row = self.model.rows[action][s]
                scale = self.scales.model
                self._rows[key] = [(o, t, -(-weight * scale // total)) for o, t, weight in row]
            for o, target, chance in self._rows[key]:
                x = after.get(o)
                if x is None:
                    x = after[o] = {}
                x[target] = x.get(target, 0) + mass * chance
        return after

    def covers(self, i: int, action: int) -> list[Cover]:
        """The covers that prove a point's number: those of its successors, or its own."""
        belief, move = self.points[i].belief, self.points[i].moves[action]
        if not isinstance(move, dict):
            return [self.cover({s: mass * self.scales.model for s, mass in belief}, move)]
        after = self.successors(belief, action)
        return [self.cover(x, move.get(o, [])) for o, x in after.items()]

    def needed(self, i: int, action: int, covers: list[Cover]) -> int:
        """The right side of the inequality."""
        discount = self.model.discount
        if not isinstance(self.points[i].moves[action], dict):
            return discount.denominator * self.worth(covers[0], action)
        earned = sum([mass * self._rewards[action][s] for s, mass in self.points[i].belief])
        return earned + discount.numerator * sum([self.most(cover) for cover in covers])

    def start(self) -> dict[int, int]:
        """The start, rounded up."""
        unit = self.scales.model * self.scales.beliefs
        return {s: ceil(chance * unit) for s, chance in enumerate(self.model.start) if chance}

    def at_start(self, weights: Pairs) -> Fraction:
        """The worth of the start, without the floor."""
        return Fraction(self.most(self.cover(self.start(), weights)), prod(self.scales))


def read_floor(value: Any, model: ExactModel) -> list[int]:
    """The floor of a header: a number for each state, or one for all."""
    size = len(model.states)
    listed = value if isinstance(value, list) else [value] * size
    return whole_list(listed, "floor", size, least=None)


def rewards_above(model: ExactModel, scales: Scales, floor: list[int]) -> list[list[int]]:
    """The rewards R' (A, S), rounded up; a `Fault` if the floor is none."""
    unit, endless = model.discount.denominator * scales.model * scales.values, model.discount == 1
    columns: list[list[int]] = []
    for a, (rewards, rows) in enumerate(zip(model.rewards, model.rows, strict=True)):
        column: list[int] = []
        for s, (reward, (total, row)) in enumerate(zip(rewards, rows, strict=True)):
            later = Fraction(sum([weight * floor[target] for _, target, weight in row]), total)
            above = reward + (model.discount * later - floor[s]) / scales.values
            if above < 0 or (endless and above == 0 and floor[s] < 0):
                where = f"at state {model.states[s]!r} for action {model.actions[a]!r}"
                if above < 0:
                    raise Fault(f"upper bound: the floor exceeds its backup {where}")
                raise Fault(
                    f"upper bound: the floor equals its backup {where}; without a discount, "
                    "expected less"
                )
            column.append(ceil(above * unit))
        columns.append(column)
    return columns


def floor_at_start(model: ExactModel, scales: Scales, floor: list[int]) -> Fraction:
    """The floor's value at the start, b0 . h."""
    return model.at_start(floor) / scales.values


def check_upper(
    model: ExactModel, scales: Scales, floor: list[int], points: list[Point], start: Pairs
) -> Fraction:
    """The proven upper bound at the start."""
    if len(points) < len(model.states):
        raise Fault("upper bound: the certificate has fewer points than the model has states")
    check = UpperCheck(model, scales, floor, points)
    for i, point in enumerate(points):
        for action, value in enumerate(point.values):
            lacking = check.needed(i, action, check.covers(i, action)) - value * check.unit
            if lacking > 0:
                by = as_float(Fraction(lacking, check.unit * scales.values))
                where = f"point {i}, action {model.actions[action]!r}"
                raise Fault(f"upper bound: {where}: the value is too low by {by:.3g}")
    return check.at_start(start) + floor_at_start(model, scales, floor)
