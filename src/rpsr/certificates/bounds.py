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

All numbers are integers, in units of 1/scale. Probabilities and rewards are rounded to such units,
against the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

from rpsr.certificates.exact_model import ExactModel, Row
from rpsr.certificates.reading import (
    Fault,
    Pairs,
    as_float,
    compact,
    pairs,
    shown,
    whole,
    whole_list,
)


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
        if not isinstance(value, dict) or set(value) != set(Scales._fields):
            raise Fault(f"scales: expected an object with the keys {', '.join(Scales._fields)}")
        return Scales(*(whole(value[name], "scales", least=1) for name in Scales._fields))


class Vector(NamedTuple):
    """A vector's action, the vector that follows each observation (O,), and its values (S,)."""

    action: int
    successors: Sequence[int]
    values: Sequence[int]


class Point(NamedTuple):
    """A point's belief as [state, mass] and its numbers q (A,).

    moves (A,): how each is proven. A list of weights [point, weight] is a mixture; a dictionary has
    such a list for each observation whose successor is not covered by corners alone.
    """

    belief: Pairs
    values: MutableSequence[int]
    moves: list[Pairs | dict[int, Pairs]]


# ---- lower bound


def read_vector(value: Any, model: ExactModel, count: int, k: int) -> Vector:
    """A vector of a certificate with `count` of them."""
    what = f"vector {k}"
    if not isinstance(value, list) or len(value) != 3:
        raise Fault(f"{what}: expected a list of an action, successors and values")
    return Vector(
        whole(value[0], f"{what}, action", below=len(model.actions)),
        compact(whole_list(value[1], f"{what}, successors", len(model.observations), below=count)),
        compact(whole_list(value[2], f"{what}, values", len(model.states), least=None)),
    )


class LowerCheck:
    """The inequality of vectors, in units of 1 / (model * values * the discount's denominator)."""

    def __init__(self, model: ExactModel, scales: Scales) -> None:
        self.model, self.scales = model, scales
        self._rows: dict[int, list[tuple[int, Row, int]]] = {}

    def _outcomes(self, action: int) -> list[tuple[int, Row, int]]:
        """For each state: the reward and the outcomes, rounded down, and what these lack to 1."""
        if action not in self._rows:
            model, scales = self.model, self.scales
            unit, by_state = model.discount.denominator * scales.model * scales.values, []
            for s, reward in enumerate(model.rewards[action]):
                row = model.rounded(action, s, scales.model, up=False)
                lacking = scales.model - sum([chance for _, _, chance in row])
                by_state.append((_floor(reward * unit), row, lacking))
            self._rows[action] = by_state
        return self._rows[action]

    def slack(self, vectors: list[Vector], k: int, least: int) -> Iterator[int]:
        """For each state, by how much vector k is below its backup.

        least: the least value of all vectors, which is taken where rounded probabilities lack mass.
        """
        above, below = self.model.discount.as_integer_ratio()
        vector = vectors[k]
        after = [vectors[j].values for j in vector.successors]
        unit = below * self.scales.model
        rows = self._outcomes(vector.action)
        for (reward, row, lacking), value in zip(rows, vector.values, strict=True):
            total = sum([chance * after[o][s] for o, s, chance in row])
            yield reward + above * (total + lacking * least) - unit * value


def least_value(vectors: list[Vector]) -> int:
    """The least number in some vectors."""
    return min((min(vector.values) for vector in vectors), default=0)


def check_lower(model: ExactModel, scales: Scales, vectors: list[Vector]) -> Fraction:
    """The proven lower bound at the start."""
    least, check, endless = least_value(vectors), LowerCheck(model, scales), model.discount == 1
    unit = model.discount.denominator * scales.model * scales.values
    for k, vector in enumerate(vectors):
        for s, slack in enumerate(check.slack(vectors, k, least)):
            if slack < 0 or (endless and slack == 0 and vector.values[s] > 0):
                by = as_float(Fraction(-slack, unit))
                where = f"at state {model.states[s]!r}"
                if slack:
                    raise Fault(f"lower bound: vector {k} exceeds its backup by {by:.3g} {where}")
                raise Fault(
                    f"lower bound: vector {k} equals its backup {where}; without a discount, "
                    "expected less"
                )
    begin = [(s, chance) for s, chance in enumerate(model.start) if chance]
    at_start = [
        sum((chance * vector.values[s] for s, chance in begin), Fraction(0)) for vector in vectors
    ]
    return max(at_start, default=Fraction(0)) / scales.values


# ---- upper bound


def read_point(value: Any, model: ExactModel, count: int, i: int) -> Point:
    """A point of a certificate with `count` of them; the first S are the corners."""
    n_states, what = len(model.states), f"point {i}"
    keys = {"values", "moves"} if i < n_states else {"belief", "values", "moves"}
    if not isinstance(value, dict) or set(value) != keys:
        raise Fault(f"{what}: expected an object with the keys {', '.join(sorted(keys))}")
    moves = value["moves"]
    if not isinstance(moves, list) or len(moves) != len(model.actions):
        raise Fault(
            f"{what}, moves: expected a list with one entry for each of {len(model.actions)} "
            "actions"
        )
    belief: Pairs = [(i, -1)]  # a corner's: replaced by one unit
    if i >= n_states:
        belief = pairs(value["belief"], f"{what}, belief", n_states)
        if len({state for state, _ in belief}) != len(belief):
            raise Fault(f"{what}, belief: a state is named twice")
    return Point(
        belief,
        compact(whole_list(value["values"], f"{what}, values", len(model.actions))),
        [_read_move(move, model, count, i) for move in moves],
    )


def _read_move(value: Any, model: ExactModel, count: int, i: int) -> Pairs | dict[int, Pairs]:
    what = f"point {i}, moves"
    if isinstance(value, list):
        if i < len(model.states):
            raise Fault(
                f"{what}: read a list, a mixture of points; expected an object, because the first "
                f"{len(model.states)} points are corners"
            )
        return pairs(value, what, i)
    if not isinstance(value, dict):
        raise Fault(f"{what}: read {shown(value)}, expected a list or an object")
    moves: dict[int, Pairs] = {}
    for key, weights in value.items():
        if not key.isascii() or not key.isdigit() or len(key) > 9:
            raise Fault(f"{what}: read {key[:20]!r}, expected the index of an observation")
        moves[whole(int(key), what, below=len(model.observations))] = pairs(weights, what, count)
    return moves


@dataclass(frozen=True)
class Cover:
    """A vector covered by points: weights, and the remainder at the corners."""

    weights: Pairs
    remainder: Pairs


class UpperCheck:
    """The inequalities of points. Vectors over states are in units of 1/(model * beliefs)."""

    def __init__(
        self, model: ExactModel, scales: Scales, floor: list[int], points: list[Point]
    ) -> None:
        self.model, self.scales, self.points = model, scales, points
        self._rewards = rewards_above(model, scales, floor)
        self._rows: dict[tuple[int, int], Row] = {}
        corner = scales.beliefs
        for s in range(len(model.states)):
            points[s] = points[s]._replace(belief=[(s, corner)])

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

    def successors(self, belief: Pairs, action: int) -> dict[int, dict[int, int]]:
        """For each observation, the vector y D[a,o], rounded up."""
        after: dict[int, dict[int, int]] = {}
        for s, mass in belief:
            key = (action, s)
            if key not in self._rows:
                self._rows[key] = self.model.rounded(action, s, self.scales.model, up=True)
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
        """The right side of the inequality, in units of 1/(model * beliefs * values).

        Of a look ahead, also over the discount's denominator (see `slack`).
        """
        if not isinstance(self.points[i].moves[action], dict):
            return self.worth(covers[0], action)
        earned = sum([mass * self._rewards[action][s] for s, mass in self.points[i].belief])
        actions = range(len(self.model.actions))
        later = sum([max([self.worth(cover, a) for a in actions]) for cover in covers])
        return earned + self.model.discount.numerator * later

    def unit(self, i: int, action: int) -> int:
        """The factor by which a point's number is compared with `needed`."""
        mixture = not isinstance(self.points[i].moves[action], dict)
        below = 1 if mixture else self.model.discount.denominator
        return below * self.scales.model * self.scales.beliefs

    def start(self) -> dict[int, int]:
        """The start, rounded up."""
        unit = self.scales.model * self.scales.beliefs
        return {s: _ceiling(chance * unit) for s, chance in enumerate(self.model.start) if chance}

    def at_start(self, weights: Pairs) -> Fraction:
        """The worth of the start, without the floor."""
        cover = self.cover(self.start(), weights)
        most = max(self.worth(cover, action) for action in range(len(self.model.actions)))
        return Fraction(most, prod(self.scales))


def read_floor(value: Any, model: ExactModel) -> list[int]:
    """The floor of a header: a number for each state, or one for all."""
    size = len(model.states)
    if isinstance(value, list):
        return whole_list(value, "floor", size, least=None)
    return [whole(value, "floor", least=None)] * size


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
            column.append(_ceiling(above * unit))
        columns.append(column)
    return columns


def floor_at_start(model: ExactModel, scales: Scales, floor: list[int]) -> Fraction:
    """The floor's value at the start, b0 . h."""
    return (
        sum((x * h for x, h in zip(model.start, floor, strict=True)), Fraction(0)) / scales.values
    )


def check_upper(
    model: ExactModel, scales: Scales, floor: list[int], points: list[Point], start: Pairs
) -> Fraction:
    """The proven upper bound at the start."""
    check = UpperCheck(model, scales, floor, points)
    for i, point in enumerate(points):
        for action, value in enumerate(point.values):
            needed, unit = check.needed(i, action, check.covers(i, action)), check.unit(i, action)
            if value * unit < needed:
                by = as_float(Fraction(needed - value * unit, unit * scales.values))
                where = f"point {i}, action {model.actions[action]!r}"
                raise Fault(f"upper bound: {where}: the value is too low by {by:.3g}")
    return check.at_start(start) + floor_at_start(model, scales, floor)


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
