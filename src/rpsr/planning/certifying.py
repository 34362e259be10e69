"""Write certificates of plans: files that `rpsr verify` checks without knowing of planners.

The lower half has the vectors of the plan that its best vector at the start leads to, lowered until
each is at most its own backup in integers: if one exceeds it by v, all are lowered by
v / (1 - discount). The upper half has the points of an anytime search (see `point_certificates`).
A plan without points is completed by `sarsop`, beginning with the plan's vectors. A plan for a
number of steps becomes one for the POMDP with a clock, which ends after that number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rpsr._version import __version__
from rpsr.certificates.bounds import LowerCheck, Scales, Vector, floor_at_start
from rpsr.certificates.exact_model import ExactModel
from rpsr.certificates.reading import SCHEMA, Line
from rpsr.errors import ModelError
from rpsr.io.float_bounds import float_above, float_below
from rpsr.io.json_lines import write_json_lines
from rpsr.io.records import Floats
from rpsr.models.as_model import as_pomdp, wrong_type
from rpsr.models.pomdp import POMDP
from rpsr.planning.certificate_forms import floor_values, losing_steps, with_clock
from rpsr.planning.files.checkpoint import Checkpoint, Resumable
from rpsr.planning.planners import planner_by_name
from rpsr.planning.point_certificates import upper_lines
from rpsr.planning.solution import Solution, silent
from rpsr.planning.value.coordinates import to_beliefs
from rpsr.planning.value.value_function import ValueFunction

DIGITS = 59  # bits of a probability, of a mass, and of the largest value
TWICE, MUCH = 2.0, 1e-6  # of the plan's gap and of the value: a larger gap is much looser,
ROUNDED = 2.0**-50  # and larger than rounding errors of the largest value
SWEEPS = 100  # of lowering vectors without a discount
SMALLEST = 1e-11  # of the largest value: a smaller gap is not sought


@dataclass(frozen=True, eq=False)
class Certificate:
    """A header and lines that prove `lower` and `upper`, bounds on the value at the start.

    upper: None for some plans without a discount: if rewards may be negative and some policy never
    ends, or if points form a loop in which rounding errors cannot be paid for.
    """

    lower: float
    upper: float | None
    header: dict[str, Any]
    lines: list[Line]

    def looser(self, plan: Solution) -> bool:
        """Whether its bounds are much further apart than those of the plan."""
        if self.upper is None or plan.gap is None:
            return False
        allowed = MUCH * max(abs(self.lower), abs(self.upper)) + ROUNDED * _largest(plan)
        return self.upper - self.lower > TWICE * plan.gap + allowed

    def save(self, path: str | Path) -> int:
        """Write it, compressed if the name ends in `.gz`; returns the bytes of its text."""
        lines = ({kind: line} for kind, line in self.lines)
        return write_json_lines(path, chain([self.header], lines))


def certify(
    solution: Solution, pomdp: POMDP | None = None, *, time_limit: float | None = None
) -> Certificate:
    """A certificate of a plan on a POMDP's beliefs or on its R-PSR.

    pomdp: needed for a plan on an R-PSR. time_limit: seconds of the search for the upper bound, if
    the planner kept no points; by default ten times those of the planner, and at least ten.
    A `ModelError` if the plan is of another kind, or if its bounds cannot be proven in integers.
    """
    given: Any = solution
    if not isinstance(given, Solution):
        raise wrong_type(given, "solution", "a plan, as `solve` returns it")
    pomdp = None if pomdp is None else as_pomdp(pomdp)
    pomdp = _pomdp(solution, pomdp)
    plan = _on_beliefs(solution, pomdp)
    if plan.horizon is not None:
        pomdp, plan = with_clock(plan, pomdp)
    model = ExactModel(pomdp.record)
    steps = losing_steps(model)
    if steps is None:
        return _certificate(plan, pomdp, model, None)
    if plan.points is None:
        search = _search(plan, time_limit)
        if int(plan.successors.min(initial=0)) < 0:
            plan = replace(plan, value_function=search.value_function)
        plan = replace(plan, points=search.points)
    return _certificate(plan, pomdp, model, steps)


def _pomdp(solution: Solution, pomdp: POMDP | None) -> POMDP:
    """The POMDP that the plan is for."""
    record = solution.model.record
    if pomdp is None and record is None:
        raise ModelError(
            f"no certificate: a plan on a {solution.model.kind} model does not contain the POMDP; "
            "pass it to certify(plan, pomdp)"
        )
    if solution.model.kind not in ("belief", "rpsr"):
        raise ModelError(
            f"no certificate: a plan on a {solution.model.kind} model bounds the value of that "
            "model, not of the POMDP; plan on the POMDP or on its R-PSR"
        )
    if pomdp is not None and record is not None and record.digest() != pomdp.digest:
        raise _of_another(pomdp)
    if pomdp is not None:
        return pomdp
    assert record is not None, "one of them is given"
    return POMDP(record)


def _of_another(pomdp: POMDP) -> ModelError:
    return ModelError(
        f"no certificate: the plan was made for another POMDP than {pomdp.name} (was the file "
        "changed since planning?)"
    )


def _on_beliefs(solution: Solution, pomdp: POMDP) -> Solution:
    """The plan with vectors over the POMDP's states."""
    if solution.model.record is not None:
        return solution
    if solution.model.domain.size != len(pomdp.states):
        raise _of_another(pomdp)

    def over_states(value_function: ValueFunction) -> ValueFunction:
        return replace(value_function, vectors=to_beliefs(solution.model, value_function.vectors))

    return replace(
        solution,
        model=pomdp.belief_model(),
        value_function=over_states(solution.value_function),
        stages=tuple(map(over_states, solution.stages)),
    )


def _search(plan: Solution, time_limit: float | None) -> Solution:
    """A search for points that prove an upper bound, beginning with the plan's vectors."""
    limit = max(10.0, 10 * plan.seconds) if time_limit is None else time_limit
    epsilon = None if not plan.gap else max(plan.gap, SMALLEST * _largest(plan))
    sarsop = planner_by_name("sarsop", epsilon=epsilon, time_limit=limit, keep_points=True)
    if int(plan.successors.min(initial=0)) < 0 or not isinstance(sarsop, Resumable):
        return sarsop.solve(plan.model, silent)
    begun = Checkpoint(
        plan.planner, plan.value_function, plan.lower, plan.upper, plan.iterations, plan.seconds
    )
    return sarsop.resume(plan.model, silent, begun)


def _certificate(
    plan: Solution, pomdp: POMDP, model: ExactModel, steps: Floats | None
) -> Certificate:
    """steps: of `losing_steps`; None if there is no floor, and so no upper half."""
    bits = max(DIGITS - math.ceil(math.log2(_largest(plan))), 0)
    scales = Scales(_model_scale(model), 1 << bits, 1 << DIGITS)
    proven, lines = lower_lines(model, scales, plan)
    lower, upper = float_below(proven), None
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "model": {
            "name": pomdp.name,
            "digest": pomdp.digest,
            "discount": str(model.discount),
            "horizon": plan.horizon,
        },
        "planner": {"name": plan.planner, "lower": plan.lower, "upper": plan.upper},
        "lower": lower.hex(),
        "scales": scales._asdict(),
        "lines": {"vector": len(lines)},
    }
    floor, half = list[int](), None
    if steps is not None and plan.points is not None:
        floor = floor_values(model, steps, scales.values)
        half = upper_lines(model, scales, floor, plan.points)
    if half is not None:
        worth, start, more = half
        upper = float_above(worth + floor_at_start(model, scales, floor))
        same = floor[0] if len(set(floor)) == 1 else floor
        header |= {"upper": upper.hex(), "floor": same, "start": start}
        header["lines"]["point"] = len(more)
        lines += more
    return Certificate(lower, upper, header, lines)


def _largest(plan: Solution) -> float:
    """The largest value of a plan, whatever its sign; 1 if all values are 0."""
    return max(float(np.abs(plan.vectors).max()), abs(plan.upper or 0.0)) or 1.0


def lower_lines(
    model: ExactModel, scales: Scales, solution: Solution
) -> tuple[Fraction, list[Line]]:
    """The proven lower bound, and the lines that prove it."""
    vectors = _family(model, solution, scales)
    lowered = _lowered_together if model.discount < 1 else _lowered_apart
    vectors = lowered(LowerCheck(model, scales), vectors)
    at_start = model.at_start(vectors[0].values)
    return at_start / scales.values, [("vector", list(v)) for v in vectors]


def _excesses(check: LowerCheck, vectors: list[Vector]) -> Iterator[list[Fraction]]:
    """For each vector and state, by how much it exceeds its backup, in the units of values."""
    for k, vector in enumerate(vectors):
        steps = zip(check.slack(vectors, k), check.backups[vector.action], strict=True)
        yield [Fraction(-slack, step.unit) for slack, step in steps]


def _lowered_together(check: LowerCheck, vectors: list[Vector]) -> list[Vector]:
    """All vectors, lowered by one number: a fall by c gains (1 - discount) c everywhere."""
    worst = max(max(excesses) for excesses in _excesses(check, vectors))
    fall = max(0, math.ceil(worst / (1 - check.discount)))
    return [v._replace(values=[value - fall for value in v.values]) for v in vectors]


def _lowered_apart(check: LowerCheck, vectors: list[Vector]) -> list[Vector]:
    """Without a discount: each number is lowered below its backup, until all are."""
    for _ in range(SWEEPS):
        settled, fresh = True, list[Vector]()
        for vector, excesses in zip(vectors, _excesses(check, vectors), strict=True):
            values = list(vector.values)
            for s, excess in enumerate(excesses):
                if excess > 0 or (excess == 0 and values[s] > 0):
                    values[s] -= math.floor(excess) + 1
                    settled = False
            fresh.append(vector._replace(values=values))
        if settled:
            return vectors
        vectors = fresh
    raise ModelError(
        "no certificate: without a discount, the lower bound of this plan could not be corrected "
        "for rounding errors; give a discount below 1 or a number of steps"
    )


def _family(model: ExactModel, solution: Solution, scales: Scales) -> list[Vector]:
    """The best vector at the start and all that it leads to, rounded down."""
    possible = [sorted({o for _, row in rows for o, _, _ in row}) for rows in model.rows]
    best = int((solution.vectors @ solution.model.start).argmax())
    kept, waiting = {best: 0}, [best]
    while waiting:
        k = waiting.pop()
        for o in possible[int(solution.actions[k])]:
            j = int(solution.successors[k, o])
            if j < 0:
                raise ModelError(
                    f"no certificate: planner {solution.planner} does not store which vector "
                    "follows each observation; plan with another planner, such as sarsop"
                )
            if j not in kept:
                kept[j] = len(kept)
                waiting.append(j)
    unit = scales.values
    return [
        Vector(
            int(solution.actions[k]),
            [kept.get(int(j), 0) for j in solution.successors[k]],
            [math.floor(Fraction(value) * unit) for value in solution.vectors[k].tolist()],
        )
        for k in kept
    ]


def _model_scale(model: ExactModel) -> int:
    """A scale in which all probabilities are whole, if a short one is; else a power of 2."""
    whole = 1
    for rows in model.rows:
        for total, row in rows:
            whole = math.lcm(whole, total // math.gcd(total, *(weight for _, _, weight in row)))
            if whole.bit_length() > DIGITS:
                return 1 << DIGITS
    return whole << (DIGITS - whole.bit_length())
