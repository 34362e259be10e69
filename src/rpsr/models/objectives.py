"""Objectives: what a policy is to achieve, as a transformation of a POMDP into a task that ends.

    probability   of reaching a goal, while avoiding other states
    reward        the expected sum of rewards, until the goal or over an infinite horizon
    cost          the expected sum of costs, to be made small
    discounted    the expected discounted sum of rewards, the objective of a plain POMDP

each over an infinite horizon or within a number of steps. Without a discount, states of the goal
and those to avoid become absorbing, and the discount becomes 1. For a probability, entering the
goal earns 1 and nothing else earns anything, so that the value of a policy is the probability that
it reaches the goal. The observations stay as they are: the PSR of the task is enough exactly if
tests predict whether the goal will be reached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints, Record, Rewards, Rows
from rpsr.models.as_model import as_pomdp
from rpsr.models.numbers import parse_discount
from rpsr.models.observed_sets import by_state
from rpsr.models.pomdp import POMDP
from rpsr.models.row_edits import certain_row, join_rows, split_rows
from rpsr.models.state_sets import Chosen, SetLike, chosen, described
from rpsr.models.timed import timed

Measure = Literal["probability", "reward", "cost", "discounted"]
REACHED = "reached-at-start"  # a name without blanks, which every format can store


@dataclass(frozen=True)
class Objective:
    """A goal of planning. Make one by `reach`, `total_reward`, `total_cost` or
    `discounted_reward`.

    measure: what counts. goal, avoid: sets of states, labels or observations (see `state_sets`).
    within: the number of steps, or None. discount: of a discounted reward, or None for the
    POMDP's own.
    """

    measure: Measure
    goal: SetLike | None = None
    avoid: SetLike | None = None
    within: int | None = None
    discount: float | str | Fraction | None = None

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            expected = f"expected one of {', '.join(get_args(Measure))}"
            raise InputError(f"measure: read {self.measure!r}, {expected}")
        if self.measure == "probability" and self.goal is None:
            raise InputError("goal: missing, expected the states, labels or observations to reach")
        within: Any = self.within
        whole = isinstance(within, int | np.integer) and not isinstance(within, bool)
        if within is not None and not (whole and within >= 1):
            raise InputError(f"within: read {within!r}, expected a number of steps of at least 1")

    def __str__(self) -> str:
        texts = {
            "probability": f"largest probability of reaching {described(self.goal or ())}",
            "reward": "largest expected sum of rewards",
            "cost": "least expected sum of costs",
            "discounted": "largest expected discounted sum of rewards",
        }
        text = texts[self.measure]
        if self.measure != "probability" and self.goal is not None:
            text += f" until {described(self.goal)}"
        if self.avoid is not None:
            text += f" while avoiding {described(self.avoid)}"
        return text if self.within is None else f"{text} within {self.within} steps"

    def task(self, pomdp: POMDP) -> POMDP:
        """The POMDP whose optimal value is that of the objective; costs are negative rewards."""
        pomdp = as_pomdp(pomdp)
        if self.measure == "discounted":
            given = self.discount is not None
            return pomdp.with_discount(parse_discount(self.discount)) if given else pomdp
        empty = Chosen(
            np.zeros(len(pomdp.states), np.bool_), np.zeros(len(pomdp.observations), np.bool_)
        )
        goal = empty if self.goal is None else chosen(pomdp, self.goal, "goal")
        avoid = empty if self.avoid is None else chosen(pomdp, self.avoid, "avoid")
        split, ends, bad = by_state(pomdp, goal, avoid)
        bad &= ~ends  # a state of both is the goal
        if self.measure == "probability":
            return POMDP(_reaching(split, ends, bad))
        return POMDP(_summed(split, ends | bad, costs=self.measure == "cost"))

    def timed_task(self, pomdp: POMDP) -> POMDP:
        """The task as a POMDP that ends after `within` steps, for planners without a horizon."""
        task = self.task(pomdp)
        return task if self.within is None else timed(task, self.within)


def reach(
    goal: SetLike, *, avoiding: SetLike | None = None, within: int | None = None
) -> Objective:
    """The largest probability of reaching a goal, without entering `avoiding` before.

    goal, avoiding: names or indices of states, labels of a PRISM or DRN file, or observations.
    within: the number of steps, by default any number.
    """
    return Objective("probability", goal, avoiding, within)


def total_reward(goal: SetLike | None = None, *, within: int | None = None) -> Objective:
    """The largest expected sum of rewards without a discount, until the goal, if there is one."""
    return Objective("reward", goal, None, within)


def total_cost(goal: SetLike | None = None, *, within: int | None = None) -> Objective:
    """The least expected sum of costs without a discount, until the goal, if there is one.

    Costs are the absolute values of the rewards, which must have one sign.
    """
    return Objective("cost", goal, None, within)


def discounted_reward(
    discount: float | str | None = None, *, within: int | None = None
) -> Objective:
    """The largest expected discounted sum of rewards."""
    return Objective("discounted", None, None, within, discount)


def mixed_signs(low: float, high: float) -> str:
    """The error for rewards that are to be costs."""
    instead = "maximise the reward instead (--maximise reward, in Python total_reward)"
    return f"cost: expected rewards of one sign, read {low:g} and {high:g}; {instead}"


def _reaching(pomdp: POMDP, goal: Bools, avoid: Bools) -> Record:
    """The task of reaching a goal: 1 on entering it."""
    starts = pomdp.start > 0
    if not (starts & ~avoid).any():
        raise ModelError(
            f"{pomdp.name}: avoid: the states to avoid contain the start, so the goal is reached "
            "with probability 0"
        )
    record = _absorbing(pomdp.record, goal | avoid)
    entering = np.append(goal, False)
    if (starts & goal).any():
        record = _with_reached(record, goal)
    cells = record.outcome_cells(*record.outcome_entries())
    ended = np.append(goal | avoid, False)
    earns = entering[cells.next_state] & ~ended[cells.state]
    warnings = record.warnings
    if (starts & avoid).any():
        warnings += ("the start may be a state to avoid: the goal is then never reached",)
    exact = (Fraction(0), Fraction(1)) if pomdp.exact else None
    rewards = Rewards(np.array([0.0, 1.0]), earns.astype(np.int64), exact)
    return replace(record, rewards=rewards, discount=Fraction(1), warnings=warnings)


def _with_reached(record: Record, goal: Bools) -> Record:
    """One more state, for a start in the goal: every action enters the goal.

    It is never entered; its observations and actions are those of a state of the goal.
    """
    n, start, like = len(record.states), record.start, int(np.flatnonzero(goal)[0])
    inside = goal[start.indices]
    keep = np.flatnonzero(~inside)

    def part(rows: Rows, kept: Ints) -> tuple[Ints, Floats, Ints | None, int]:
        weights = None if rows.weights is None else rows.weights[kept]
        values = rows.values[kept] / rows.values[kept].sum()
        return rows.indices[kept], values, weights, -1

    entry = part(start, np.flatnonzero(inside))
    mass = start.values[inside].sum()
    begin = (
        np.append(start.indices[keep], n),
        np.append(start.values[keep], mass),
        None
        if start.weights is None
        else np.append(start.weights[keep], start.weights[inside].sum()),
        -1,
    )
    moves, emissions = split_rows(record.transition), split_rows(record.emission)
    transition, emission = [], []
    for a in range(len(record.actions)):
        transition += [*moves[a * n : (a + 1) * n], entry]
        emission += [*emissions[a * n : (a + 1) * n], emissions[a * n + like]]
    return replace(
        record,
        states=(*record.states, REACHED),
        start=join_rows([begin], n + 1),
        transition=join_rows(transition, n + 1),
        emission=join_rows(emission, len(record.observations)),
        resets=np.pad(record.resets, ((0, 0), (0, 1))),
        state_variables=(),
        unavailable=None
        if record.unavailable is None
        else np.hstack([record.unavailable, record.unavailable[:, [like]]]),
    )


def _summed(pomdp: POMDP, ends: Bools, *, costs: bool) -> Record:
    """The task of summing rewards, or costs as negative rewards, until an end."""
    old = pomdp.record.rewards
    if costs and len(old.values) and old.values.min() < 0 < old.values.max():
        raise ModelError(f"{pomdp.name}: {mixed_signs(old.values.min(), old.values.max())}")
    record = _absorbing(pomdp.record, ends)
    table = [Fraction(0), *(old.exact or map(Fraction, old.values.tolist()))]
    values = [-abs(value) for value in table] if costs else table
    was, now = pomdp.outcomes, record.outcome_cells(*record.outcome_entries())
    index = np.zeros(len(now.state), dtype=np.int64)
    index[~ends[now.state]] = 1 + was.reward_index[~ends[was.state]]
    distinct = sorted(set(values))
    place = np.array([distinct.index(value) for value in values], dtype=np.int64)
    rewards = Rewards(
        np.array([float(value) for value in distinct]),
        place[index],
        None if old.exact is None else tuple(distinct),
    )
    return replace(record, rewards=rewards, discount=Fraction(1))


def _absorbing(record: Record, ends: Bools) -> Record:
    """Every action stays in an end; observations there are emitted as on entering."""
    if not ends.any():
        return record
    if record.emission_by_edge:
        raise ModelError(
            f"{record.name}: a goal or states to avoid need observations that depend on (a, s') "
            "alone, but the observations of this POMDP depend on (s, a, s')"
        )
    n = len(record.states)
    stay = [certain_row(s, record) for s in range(n)]
    rows = split_rows(record.transition)
    changed = [stay[r % n] if ends[r % n] else row for r, row in enumerate(rows)]
    return replace(
        record,
        transition=join_rows(changed, n),
        resets=record.resets & ~ends,
    )
