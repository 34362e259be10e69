"""Planner `reachable`: enumerate the states that can be reached, solve that finite problem.

On the graph of reachable states (`rpsr.planning.graph`) policy iteration is exact but for rounding.
The lower bound is the value of the controller it ends with, one node a state, evaluated on the
model by linear algebra and checked against its own backup (see `rounding`): a policy's value,
whatever was merged. The upper bound solves the graph again with every edge paid what merging and
rounding may have hidden behind it, and every action what it may have lost,

    discount * (P * (u - l) / 2 * |w|_1 + lost * max(|l|, |u|)),

so that it bounds the optimal value at the start even where states only *nearly* close, as they do
when beliefs converge without ever arriving (tiger, stand-tiger). Then merged edges lie far from
where an optimal policy goes, and the gap stays at rounding. The status says which it was.

For a horizon the graph is cut at that depth and backward induction solves it, discount 1 allowed.

Stopped by a limit (states, time, memory) or Ctrl-C, the states found but not explored are worth
at least the best single action for ever and at most what they would be if the corners were seen,
which bounds the value; of a horizon, the steps that were explored are planned and the rest is
bounded by rewards. Everything here is about states reachable from the start; of the rest of the
domain nothing is claimed, and `Solution.epsilon` is the error at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.domain import Corners, Simplex, Unknown
from rpsr.models.linear import LinearModel
from rpsr.planning.bounds import above_corners, blind_values, mdp_values, upper_at_start
from rpsr.planning.controllers import FiniteStateController
from rpsr.planning.finite import (
    ROUNDING,
    FiniteProblem,
    lowest_within,
    planning_discount,
)
from rpsr.planning.graph import LIMIT, TOLERANCE, ReachableGraph, explore, not_closed
from rpsr.planning.precision import MERGED, Epsilon, check_epsilon, goal_of
from rpsr.planning.process import CornerProcess, corner_process
from rpsr.planning.rounding import tree_at_start, worth_at_start
from rpsr.planning.solution import Progress, ProgressRow, Solution, Status
from rpsr.planning.trees import PolicyTree

SAME = 1e-13  # states that rounding keeps apart differ by less than this, others by more
_ULP = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Reachable:
    """Plan on the reachable states, where they are finitely many.

    horizon: plan this many steps; for ever by default. epsilon: the largest gap at the start that
    merging states may cause, in units of reward or a share of the value there (`Relative`); by
    default 1e-12 of the range of values (see `precision`). limit: how many states at most.
    time_limit: seconds of looking for states; solving what was found comes after. memory_limit:
    bytes, see `limits`. tolerance: states closer than this, relative to the start's size, are
    merged.
    """

    horizon: int | None = None
    epsilon: Epsilon = None
    limit: int = LIMIT
    time_limit: float | None = None
    memory_limit: int | None = None
    tolerance: float = TOLERANCE

    @property
    def name(self) -> str:
        """The planner's name on the command line."""
        return "reachable"

    def solve(self, model: LinearModel, progress: Progress) -> Solution:
        """Plan; a `ModelError` where merging states that differ costs more than epsilon."""
        began = perf_counter()
        discount = planning_discount(model, self.horizon)
        check_epsilon(self.epsilon)
        graph = explore(
            model,
            limit=self.limit,
            steps=self.horizon,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            tolerance=self.tolerance,
            partial=True,
        )
        steps, stopped = self.horizon, graph.stopped
        no_bounds = steps is not None and value_bounds(model, 1.0) is None
        if stopped and no_bounds:
            level = int(graph.depth.max())
            raise not_closed(model, stopped, level, self.limit, self.time_limit, self.memory_limit)
        found = ProgressRow(perf_counter() - began, 0, points=len(graph.states))
        progress(found)
        if steps is None:
            plan = _for_ever(graph, discount)
        else:
            # States that were found but not explored are good for one step, their last.
            steps = min(steps, int(graph.depth.max()) + 1) if stopped else steps
            plan = _for_a_horizon(graph, discount, steps, self.horizon or 0)
        close = bool(graph.edges.moved.max(initial=0.0) <= SAME)
        gap = None if plan.upper is None else plan.upper - plan.lower
        ahead = sum(discount**k for k in range(steps)) if steps else 1 / (1 - discount)
        goal = goal_of(self.epsilon, MERGED, model, ahead)
        allowed = goal.at(plan.lower, plan.upper)
        if not (stopped or close) and (gap is None or gap - plan.rounded > allowed):
            cost = "an unknown amount" if gap is None else f"up to {gap:.2g}"
            raise ModelError(
                f"the {len(graph.states)} states reachable in {model.name} close only by merging "
                f"states that differ, which may cost {cost} in value (epsilon is "
                f"{allowed:g}): use a larger epsilon, or planner vi"
            )
        seconds = perf_counter() - began
        last = ProgressRow(
            seconds, 1, plan.lower, plan.upper, gap, vectors=len(plan.vectors), points=found.points
        )
        progress(last)
        return Solution(
            planner=self.name,
            model=model,
            status=stopped or _status(close, self.horizon),
            value=plan.value,
            lower=plan.lower,
            upper=plan.upper,
            residual=None,
            epsilon=None if stopped else gap,
            vectors=plan.vectors,
            actions=plan.actions,
            successors=plan.successors,
            iterations=1,
            seconds=seconds,
            horizon=steps,
            trace=(found, last),
            stages=plan.stages,
            extras={"states": len(graph.states), "closed_exactly": close},
        )


def _status(close: bool, horizon: int | None) -> Status:
    if not close:
        return Status.SOLVED
    return Status.EXACT if horizon is None else Status.HORIZON


def value_bounds(model: LinearModel, total: float) -> tuple[float, float] | None:
    """The least and greatest value that rewards allow, `total` being the sum of discounts."""
    match model.domain:
        case Simplex():
            rewards = model.rewards
        case Corners(points=points):
            rewards = points @ model.rewards
        case _:
            return None
    return total * float(rewards.min()), total * float(rewards.max())


def hidden(graph: ReachableGraph, bounds: tuple[float, float] | None) -> Floats | None:
    """What merging and rounding may hide in one step, (N, A), undiscounted; None: unknown."""
    if bounds is None or graph.edges.shift is None:
        return None
    merged = graph.per_choice(graph.edges.shift) * (bounds[1] - bounds[0]) / 2
    return merged + graph.lost * max(map(abs, bounds))


@dataclass(frozen=True, eq=False)
class _Plan:
    value: float
    lower: float
    upper: float | None
    rounded: float  # the part of the gap that is rounding
    vectors: Floats
    actions: Ints
    successors: Ints
    stages: tuple[tuple[Floats, Ints, Ints], ...] = ()


def _problem(graph: ReachableGraph, discount: float, rewards: Floats) -> FiniteProblem:
    return FiniteProblem(graph.transitions(), rewards, np.ones(rewards.shape, np.bool_), discount)


def _for_ever(graph: ReachableGraph, discount: float) -> _Plan:
    model, ahead = graph.model, 1 / (1 - discount)
    rewards = graph.states @ model.rewards
    process = None if isinstance(model.domain, Unknown) else corner_process(model)
    blind, single = _blind(model) if graph.open.any() else (0, np.zeros(model.dimension))
    # Unexplored states have no edges: what they pay is all that they are worth.
    rewards[graph.open] = (graph.states[graph.open] @ single)[:, None]
    problem = _problem(graph, discount, rewards)
    values, _ = problem.optimum()
    scale = float(np.abs(values).max())
    actions = lowest_within(problem.action_values(values), 4 * ROUNDING * scale)
    successors = np.maximum(graph.successors(actions), 0)  # at what cannot happen, begin again
    actions[graph.open] = blind
    successors[graph.open] = np.flatnonzero(graph.open)[:, None]
    controller = FiniteStateController(model.actions, model.observations, actions, successors)
    vectors = controller.vectors(model)
    value = float(vectors[0] @ model.start)
    terms = 2 * (model.dimension + len(model.observations) + 2) * _ULP
    if process is None:
        below = terms * (scale * ahead + float(np.abs(vectors[0]) @ np.abs(model.start)))
        return _Plan(value, value - below, None, below, vectors, actions, successors)
    choices = np.column_stack([actions, np.where(successors < 0, 0, successors)])
    lower = worth_at_start(process, vectors, choices, 0)
    seen = mdp_values(process)
    paid = hidden(graph, (float(blind_values(process).min(axis=1).max()), float(seen.max())))
    assert paid is not None, "the domain is known"
    rewards = rewards + discount * paid
    rewards[graph.open] = _seen_at(process, seen, graph.states[graph.open])[:, None]
    above = _problem(graph, discount, rewards)
    best, _ = above.optimum()
    missed = max(0.0, float((above.action_values(best).max(axis=1) - best).max()))
    rounded = missed + terms * float(np.abs(best).max() + np.abs(rewards).max())
    rounded = (rounded + model.reward_error) * ahead
    upper = min(max(value, float(best[0])) + rounded, upper_at_start(process, seen[None]))
    rounded += value - lower
    return _Plan(value, lower, max(lower, upper), rounded, vectors, actions, successors)


def _seen_at(process: CornerProcess, values: Floats, states: Floats) -> Floats:
    """At least what states (B, n) are worth if the corners, worth values (k,), are seen, (B,).

    Where values are not linear in the model's states, by a linear function above them.
    """
    vector = above_corners(process, values[None])[0]
    off = 2 * (len(vector) + 2) * _ULP * (np.abs(states) @ np.abs(vector))
    return states @ vector + off + process.displaced * float(np.abs(values).max())


def _blind(model: LinearModel) -> tuple[int, Floats]:
    """The action that is best at the start if it is all one ever does, and its value (n,)."""
    n_actions, n_observations = len(model.actions), len(model.observations)
    every = np.arange(n_actions)
    controller = FiniteStateController(
        model.actions, model.observations, every, np.repeat(every[:, None], n_observations, axis=1)
    )
    vectors = controller.vectors(model)
    best = int((vectors @ model.start).argmax())
    return best, vectors[best]


def _for_a_horizon(graph: ReachableGraph, discount: float, horizon: int, wanted: int) -> _Plan:
    """Plan a horizon; bounds are those of the `wanted` steps, of which it may be a part."""
    model = graph.model
    rewards = graph.states @ model.rewards
    problem = _problem(graph, discount, rewards)
    total = sum(discount**k for k in range(horizon))
    later = sum(discount**k for k in range(horizon, wanted))
    rest = value_bounds(model, later) or (0.0, 0.0)
    paid = hidden(graph, value_bounds(model, total))
    above = None if paid is None else _problem(graph, discount, rewards + discount * paid)
    values = best = np.zeros(len(rewards))
    layers: list[tuple[Ints, Ints]] = []
    nothing = np.full((len(rewards), len(model.observations)), -1, dtype=np.int64)
    for k in range(1, horizon + 1):
        choices = problem.action_values(values)
        scale = float(np.abs(choices).max())
        actions = lowest_within(choices, 4 * ROUNDING * scale)
        values = choices.max(axis=1)
        best = best if above is None else above.action_values(best).max(axis=1)
        # With k steps to go, only states within horizon - k steps of the start can be met; they
        # come first, since the graph was explored in order of depth.
        met = int((graph.depth <= horizon - k).sum())
        following = graph.successors(actions)[:met] if k > 1 else nothing[:met]
        layers.append((actions[:met], following))
    tree = PolicyTree(model.actions, model.observations, tuple(layers))
    stages = tree.stages(model)
    value = float(stages[-1][0] @ model.start)
    # Each step's rounding, for values up to total * the largest reward, adds up like rewards do.
    terms = 2 * (model.dimension + len(model.observations) + 2) * _ULP
    rounding = terms * total**2 * float(np.abs(rewards).max()) + total * model.reward_error
    joined = tuple((v, *layer) for v, layer in zip(stages, layers, strict=True))
    if above is None:
        return _Plan(value, value - rounding + rest[0], None, 2 * rounding, *joined[-1], joined)
    choices = [np.column_stack([chosen, np.maximum(after, 0)]) for chosen, after in layers]
    lower = tree_at_start(corner_process(model), stages, choices)
    upper = max(value, float(best[0])) + rounding
    rounded = rounding + value - lower
    return _Plan(value, lower + rest[0], upper + rest[1], rounded, *joined[-1], joined)
