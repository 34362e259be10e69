"""Bounds on sums of rewards without a discount, for tasks that end.

Two facts replace the contraction of a discount. Let k corners move with probabilities P and let
T be the backup of the decision problem whose corners are observed, T v = max_a (r_a + P_a v).

**Above.** Merge every maximal end component (`end_components`) into one corner and drop the actions
inside. No end component is left, so the largest expected number of remaining steps

    w = 1 + max_a P_a w            over the remaining actions, 0 where there is none

is finite. If rewards inside end components are at most 0, a policy that stays in one gains nothing,
and moving inside for free is a relaxation; so the optimal v >= 0 of the merged problem is an upper
bound. If T v <= v + d, then v + d w is an upper bound as well: T (v + d w) <= v + d + d (w - 1).
A positive reward inside an end component can be collected infinitely often: its sum is infinite.

**Below.** If all rewards are at least 0, every policy's value is at least 0. If end components are
ends, which no action leaves and where all rewards are 0, every policy's value is at least
-c w, where -c is the least reward: r_a - c P_a w >= -c - c (w - 1).

**Costs.** If all rewards are at most 0, every value is, and T v is an upper bound for every upper
bound v, in loops as well: sweeps from 0 need no merging. A policy that stays where it pays loses
without limit, so there is no lower bound on every policy's value. Corners from which no policy
comes to rest where nothing is paid, with probability one, have infinite costs.

So the value of a controller is at least every iterate v <- r + P v that begins with such a floor,
and the value of following it for some steps and another policy afterwards at least the value of
that policy, backed up. Neither statement needs a policy that ends.

Reference: S. Haddad and B. Monmege, Interval iteration algorithm for MDPs and IMDPs, TCS 735
(2018), for the merged problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.operators import Sparse
from rpsr.planning.corners.cheap_bounds import transitions
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.corners.reward_signs import Exact, exact_rewards, with_exact_signs
from rpsr.planning.end_components import end_components, leading_to, surely_reaching
from rpsr.planning.limits import Clock
from rpsr.planning.linear_systems import solve_discounted

IMPROVEMENT = 1e-12  # of the scale of values: policy iteration ends at smaller gains
IMPROVEMENTS = 100
SWEEPS = 1000
COST_SWEEPS = 5000  # of an upper bound from 0, if policies may pay indefinitely
ENDLESS = 1e9  # steps, where their number cannot be computed
SMALLEST = 1e-100  # a smaller probability might be lost, and with it the way out of a loop


@dataclass(frozen=True, eq=False)
class UndiscountedBounds:
    """Bounds on sums of rewards at the corners.

    most (A, k): upper bounds on the optimal Q. floor (k,): a lower bound on every policy's value,
    -inf where there is none. steps (k,): the largest expected number of steps outside end
    components.
    """

    most: Floats
    floor: Floats
    steps: Floats


def undiscounted_bounds(process: CornerProcess, clock: Clock) -> UndiscountedBounds:
    """Bounds for a process without a discount; a `ModelError` where sums are not well defined."""
    refuse_lost_probabilities(process)
    exact = exact_rewards(process)
    process = with_exact_signs(process, exact)
    moves = transitions(process)
    component, inside = end_components(moves, len(process.rewards))
    _refuse_endless_gain(process, inside)
    merged = MergedComponents(process, moves, component, inside)
    ends = inside.all(axis=0) & (process.rewards == 0).all(axis=0) & merged.closed
    loops = inside.any(axis=0) & ~ends
    if process.rewards.min() < 0 and loops.any():
        return _costs(process, moves, loops, clock)
    steps, slack = merged.steps(clock)
    values = np.full(process.k, np.inf)
    if slack > 0:
        values = merged.optimum(process.rewards.ravel(), clock)
        values = np.where(merged.can_stay, np.maximum(values, 0.0), values)
        missed = merged.excess(process.rewards.ravel(), values) + process.rounding(_size(values))
        values = values + missed / slack * steps
    capped = None if exact is None else reward_cap(process, ends, exact)
    if capped is not None:
        values = merged.swept(process, np.minimum(values, np.where(ends, 0.0, capped)), clock)
    if not np.isfinite(values).all():
        raise ModelError(
            f"{process.model.name}: some policy takes too many steps to end the task, so no bound "
            "on the sum of rewards can be proven in floats; give a discount below 1 or a number "
            "of steps"
        )
    scale = _size(values) + _size(process.rewards)
    after = (moves @ values).reshape(process.rewards.shape)
    bound = process.rewards + np.where(inside, values, after + process.rounding(scale))
    return UndiscountedBounds(np.minimum(bound, values), _floor(process, steps, slack), steps)


def _costs(process: CornerProcess, moves: Sparse, loops: Bools, clock: Clock) -> UndiscountedBounds:
    """Bounds if rewards are negative and a policy may stay at corners (k,) indefinitely."""
    shape = process.rewards.shape
    if process.rewards.max() > 0:
        where = named_corner(process, int(np.flatnonzero(loops)[0]))
        raise ModelError(
            f"{process.model.name}: some rewards are negative and some positive, and a policy may "
            f"stay indefinitely in {where}, so sums of rewards need not converge; give a discount "
            "below 1, a number of steps, or a goal whose probability is to be maximised"
        )
    free = process.rewards == 0
    rests: Bools = np.asarray(end_components(moves, len(free), free)[1].any(axis=0))
    hopeless = ~surely_reaching(moves, len(free), rests) & (process.start > 0)
    if hopeless.any():
        where = named_corner(process, int(np.flatnonzero(hopeless)[0]))
        raise ModelError(
            f"{process.model.name}: every policy has an infinite expected cost from {where}; give "
            "a discount below 1 or a number of steps"
        )
    values, bound = np.zeros(process.k), process.rewards
    for _ in range(COST_SWEEPS):
        error = process.rounding(_size(values) + _size(process.rewards))
        bound = process.rewards + (moves @ values).reshape(shape) + error
        lower = np.minimum(values, bound.max(axis=0))
        gain, values = float((values - lower).max()), lower
        if clock.over or gain <= error:
            break
    floor = np.where(over_corners(process, moves), 0.0, -np.inf)
    return UndiscountedBounds(np.minimum(bound, values), floor, np.full(process.k, ENDLESS))


def over_corners(process: CornerProcess, moves: Sparse) -> Bools:
    """The corners from which no reward other than 0 can be collected, (k,)."""
    return ~leading_to(moves, (process.rewards != 0).any(axis=0))


def reward_cap(process: CornerProcess, ends: Bools, exact: Exact) -> float | None:
    """A number c that no sum of rewards exceeds, or None: r(s, a) <= c P(end | s, a) everywhere.

    Then c, or 0 at the ends (k,), is at least its own backup. This is decided in fractions, because
    it often holds with equality, as for the probability of reaching a goal, where c is 1; at every
    state of the POMDP, of which exact has the rewards.
    """
    record, largest = process.record, Fraction(0)
    assert record is not None, "its rewards are known"
    moves, over = record.transition, ends[process.corner_of]
    assert moves.weights is not None
    numerators, denominators = (part.ravel() for part in exact)
    leaves = over[moves.row_of_entry() % moves.width] & ~over[moves.indices] & (moves.weights != 0)
    if (numerators < 0).any() or leaves.any():
        return None
    for row in np.flatnonzero(numerators != 0).tolist():
        if over[row % moves.width]:
            continue
        span = slice(int(moves.indptr[row]), int(moves.indptr[row + 1]))
        weights = [int(w) for w in moves.weights[span]]
        ending = sum(w for w, s in zip(weights, moves.indices[span], strict=True) if over[s])
        if ending == 0:
            return None
        reward = Fraction(int(numerators[row]), int(denominators[row]))
        largest = max(largest, reward * sum(weights) / ending)
    rounded = float(largest)
    return rounded if Fraction(rounded) >= largest else float(np.nextafter(rounded, np.inf))


def refuse_lost_probabilities(process: CornerProcess) -> None:
    """Refuse probabilities so small that products of them might underflow."""
    record = process.record
    least = float(process.chance.min(initial=1.0))
    if record is not None:
        known = (record.start, record.transition, record.emission)
        least = min(least, *(float(rows.values.min()) for rows in known))
    if least < SMALLEST:
        raise ModelError(
            f"{process.model.name}: without a discount, a probability of {least:.2g} is too small "
            "for floats; give a discount below 1 or a number of steps"
        )


def _refuse_endless_gain(process: CornerProcess, inside: Bools) -> None:
    gains = np.argwhere(inside & (process.rewards > 0))
    if len(gains):
        a, s = gains[0].tolist()
        raise ModelError(
            f"{process.model.name}: the sum of rewards is infinite: {named_corner(process, s)} is "
            "in a cycle that can be repeated indefinitely, and action "
            f"{process.model.actions[a]!r} has reward {process.rewards[a, s]:g} in this state; "
            "give a discount below 1 or a number of steps"
        )


def _floor(process: CornerProcess, steps: Floats, slack: float) -> Floats:
    least = float(process.rewards.min())
    if least >= 0:
        return np.zeros(process.k)
    if not slack > 0:
        raise ModelError(
            f"{process.model.name}: some policy takes too many steps to end the task, so no bound "
            "on the sum of rewards can be proven in floats; give a discount below 1 or a number "
            "of steps"
        )
    floor = least * steps / slack
    return floor - process.rounding(_size(floor))


def _size(values: Floats) -> float:
    """The largest absolute value."""
    return float(np.abs(values).max())


def named_corner(process: CornerProcess, s: int) -> str:
    """A corner, for messages: a state that it stands for, by name if that is known."""
    state, record = int(np.flatnonzero(process.corner_of == s)[0]), process.record
    return f"state {state}" if record is None else f"state {record.states[state]!r}"


class MergedComponents:
    """The decision problem with merged end components; values are given at the k corners.

    can_stay (k,): whether a corner is in an end component. closed (k,): whether no action leaves
    that component.
    """

    def __init__(
        self, process: CornerProcess, moves: Sparse, component: Ints, inside: Bools
    ) -> None:
        self.rounding = process.rounding(1.0)
        self.can_stay: Bools = np.asarray(inside.any(axis=0))
        self.first = np.unique(component, return_index=True)[1]  # a corner of each component
        self.component = component
        self.rows = np.flatnonzero(~inside.ravel())  # the choices, rows of `moves`
        self.moves = moves[self.rows]
        self.owner = component[self.rows % process.k]
        order = np.argsort(self.owner, kind="stable")
        self.rows, self.moves = self.rows[order], self.moves[order]
        self.owner = self.owner[order]
        self.begins = np.flatnonzero(np.diff(self.owner, prepend=-1))
        self.choosers = self.owner[self.begins]  # components with a choice
        chooses = np.zeros(len(self.first), dtype=np.bool_)
        chooses[self.choosers] = True
        self.closed = ~chooses[component]

    def excess(self, rewards: Floats, values: Floats) -> float:
        """The largest amount, at least 0, by which leaving a component exceeds its value."""
        ahead = rewards[self.rows] + self.moves @ values
        return float((ahead - values[self.first[self.owner]]).max(initial=0.0))

    def optimum(self, rewards: Floats, clock: Clock, *, stay: bool = True) -> Floats:
        """The optimal values (k,), up to rounding or as the time limit allows.

        rewards (A * k,). stay: whether staying in an end component, for 0, is a choice.
        """
        values = np.zeros(len(self.first))
        if not len(self.rows):
            return values[self.component]
        shrink = _columns(self.moves, self.component, len(self.first))
        row_rewards = rewards[self.rows]
        may_stay: Bools = self.can_stay[self.first] if stay else np.zeros(len(self.first), np.bool_)
        for _ in range(IMPROVEMENTS):
            ahead = row_rewards + shrink @ values
            best = np.maximum.reduceat(ahead, self.begins)
            pick = _argmax(ahead, best, self.begins)
            leaves = np.ones(len(self.choosers), dtype=np.bool_)
            leaves[may_stay[self.choosers] & (best <= 0)] = False
            policy, earned = self.choosers[leaves], row_rewards[pick[leaves]]
            system = _square(shrink[pick[leaves]], policy, len(self.first))
            given = np.zeros(len(self.first))
            given[policy] = earned
            try:
                better = solve_discounted(system, given, clock, values)
            except RuntimeError:  # the probability of leaving is lost in rounding
                return np.full(len(self.component), np.inf)
            gain = float(np.abs(better - values).max())
            values = better
            if clock.over or gain <= IMPROVEMENT * float(np.abs(values).max(initial=1e-300)):
                break
        return values[self.component]

    def steps(self, clock: Clock) -> tuple[Floats, float]:
        """The expected steps w (k,), and the largest f with w >= f + P w for every choice.

        f is at most 0 where w is too large for floats.
        """
        ones = np.ones(int(self.rows.max(initial=-1)) + 1)
        steps = self.optimum(ones, clock, stay=False)
        if not len(self.rows):
            return steps, 1.0
        if not np.isfinite(steps).all():
            return np.full(len(self.component), ENDLESS), -1.0
        slack = float((steps[self.first[self.owner]] - self.moves @ steps).min())
        slack -= self.rounding * _size(steps)
        return (steps if slack > 0 else np.full(len(self.component), ENDLESS)), slack

    def swept(self, process: CornerProcess, values: Floats, clock: Clock) -> Floats:
        """Upper bounds (k,), lowered by sweeps while they improve and time is left.

        values (k,): at least their own backups.
        """
        rewards = process.rewards.ravel()
        error = process.rounding(_size(values) + _size(rewards))
        for _ in range(SWEEPS):
            if clock.over or not len(self.rows):
                break
            best = np.full(len(self.first), -np.inf)
            ahead = rewards[self.rows] + self.moves @ values
            best[self.choosers] = np.maximum.reduceat(ahead, self.begins) + error
            best[self.can_stay[self.first]] = np.maximum(best[self.can_stay[self.first]], 0.0)
            lower = np.minimum(values, best[self.component])
            gain, values = float((values - lower).max()), lower
            if gain <= error:
                break
        return values


def _columns(moves: Sparse, component: Ints, size: int) -> Sparse:
    """Moves (C, k) with the columns of a component summed, (C, size)."""
    parts = (np.ones(len(component)), (np.arange(len(component)), component))
    return sp.csr_array(moves @ sp.csr_array(sp.coo_array(parts, shape=(len(component), size))))


def _square(rows: Sparse, where: Ints, size: int) -> Sparse:
    """A sparse (size, size) matrix with the given rows at the given places."""
    entries = sp.coo_array(rows)
    parts = (entries.data, (where[entries.row], entries.col))
    return sp.csr_array(sp.coo_array(parts, shape=(size, size)))


def _argmax(ahead: Floats, best: Floats, begins: Ints) -> Ints:
    """The first choice of each component that has its best value."""
    group = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(ahead))))
    winners = np.flatnonzero(ahead == best[group])
    first = np.unique(group[winners], return_index=True)[1]
    return winners[first]
