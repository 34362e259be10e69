"""Planner `reachable`: enumerates the reachable states and solves that finite problem.

On the graph of reachable states (see `reachable_graph`) policy iteration is exact up to rounding.
The lower bound is the value of its last controller, one node per state, evaluated on the model by
linear algebra and checked against its own backup (see `proven_worth`): a policy's value in spite of
merging. The upper bound solves the graph again with additional rewards, for every edge the possible
error of merging and rounding, and for every action that of lost probability,

    discount * (P * (u - l) / 2 * |w|_1 + lost * max(|l|, |u|)),

so that it bounds the optimal value at the start even if the states are finitely many only after
merging, for example where beliefs converge but never reach their limit (tiger, stand-tiger). Merged
edges are then far from the states of an optimal policy, and the gap is rounding. The status tells
the two cases apart.

For a finite horizon the graph ends at that depth, and backward induction solves it; discount 1 is
allowed.

If a limit (states, time, memory) or Ctrl-C stops the exploration, the value of an unexplored state
is at least that of the best blind policy, and at most the value with observed corners, which bounds
the value at the start. For a finite horizon, the steps that were explored, solved and evaluated in
time are planned, and the others take one action (see `unplanned`). All claims are about states
reachable from the start, and `Solution.epsilon` is the error at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.models.rounding import products
from rpsr.planning.corners.cheap_bounds import (
    above_corners,
    blind_values,
    blind_vectors,
    mdp_values,
    upper_at_start,
)
from rpsr.planning.corners.corner_model import CornerProcess, corner_process
from rpsr.planning.corners.proven_worth import tree_at_start, worth_at_start
from rpsr.planning.discounts import ROUNDING, planning_discount
from rpsr.planning.finite import lowest_within
from rpsr.planning.limits import Clock
from rpsr.planning.precision import MERGED, goal_of
from rpsr.planning.reachable.reachable_graph import (
    LIMIT,
    TOLERANCE,
    ReachableGraph,
    explore,
    not_closed,
)
from rpsr.planning.runner import BasePlanner, Run
from rpsr.planning.solution import Solution, Status
from rpsr.planning.unplanned import SEEING, completed, hold_shortest_plan, seen_over
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import ValueFunction

HURRY = 0.5  # seconds for a plan, after Ctrl-C
SAME = 1e-13  # states that differ by rounding only differ by less, others by more
EXPLORING = 0.5  # of the time limit, for exploring; the rest is for solving
SOLVING, VALUING = 0.3, 0.4  # of the time left then, for a finite horizon, one after the other
MOST_NUMBERS = 2**24  # of a controller's vectors and successors, if states are unexplored
MOST_CHOICES = 2**25  # numbers in the actions and successors of one step


@dataclass(frozen=True)
class Reachable(BasePlanner):
    """Plan on the reachable states, if they are finitely many.

    horizon: number of steps; default: infinite. epsilon: the largest gap at the start that merging
    states may cause, in units of reward or as a share of the value there (`Relative`); by default
    1e-12 of the range of values (see `precision`). max_states: the largest number of states.
    time_limit: seconds, half of them for exploring and half for solving.
    memory_limit: bytes, see `limits`. tolerance: states closer than this, relative to the start's
    size, are merged.
    """

    name = "reachable"

    horizon: int | None = None
    max_states: int = LIMIT
    tolerance: float = TOLERANCE

    def plan(self, run: Run) -> Solution:
        """Plan; a `ModelError` where merging states that differ costs more than epsilon."""
        model, clock, steps = run.model, run.clock, self.horizon
        discount = planning_discount(model, steps)
        if steps is not None:
            hold_shortest_plan(model, steps, clock)
        graph = explore(
            model,
            limit=self.max_states,
            steps=steps,
            time_limit=clock.share(EXPLORING).seconds_left,
            memory_limit=self.memory_limit,
            held=clock.held,
            tolerance=self.tolerance,
            partial=True,
        )
        stopped, size = graph.stopped, len(graph.states)
        run.report(0, None, None, points=size)

        def solved(clock: Clock) -> tuple[_Plan | None, Status | None]:
            if steps is None:
                return _infinite(graph, discount, clock), Status.TIME if clock.over else None
            plan = _for_a_horizon(graph, discount, steps, clock)
            return plan, Status.TIME if plan is None else plan.stopped

        try:
            plan, why = solved(clock)
        except KeyboardInterrupt:  # a plan on these states within HURRY seconds
            plan, _ = solved(replace(clock, time_limit=clock.seconds + HURRY))
            why = Status.INTERRUPTED
        stopped = stopped or why
        if plan is None:
            assert stopped is not None, "a plan that was not stopped is whole"
            level, limits = int(graph.depth.max()), (self.time_limit, self.memory_limit)
            raise not_closed(model, stopped, level, self.max_states, *limits)
        close = bool(graph.edges.moved.max(initial=0.0) <= SAME)
        gap = None if plan.upper is None else plan.upper - plan.lower
        ahead = sum(discount**k for k in range(steps)) if steps else 1 / (1 - discount)
        allowed = goal_of(self.epsilon, MERGED, model, ahead).at(plan.lower, plan.upper)
        if not (stopped or close) and (gap is None or gap - plan.rounded > allowed):
            cost = "an unknown amount" if gap is None else f"up to {gap:.2g}"
            raise ModelError(
                f"the {size} reachable states of {model.name} are finitely many only after merging "
                f"states that differ, which may change the value by {cost} (epsilon is "
                f"{allowed:g}): use a larger epsilon, or planner vi"
            )
        run.report(1, plan.lower, plan.upper, vectors=len(plan.found), points=size)
        return run.solution(
            stopped or _status(close, steps),
            plan.found,
            (plan.lower, plan.upper),
            value=plan.value,
            iterations=1,
            epsilon=None if stopped else gap,
            stages=plan.stages,
            states=size,
            closed_exactly=close,
        )


def _status(close: bool, horizon: int | None) -> Status:
    if not close:
        return Status.SOLVED
    return Status.EXACT if horizon is None else Status.HORIZON


def value_bounds(model: LinearModel, total: float) -> tuple[float, float] | None:
    """The least and greatest possible value; total: the sum of discounts."""
    if not model.domain.known:
        return None
    rewards = model.domain.at_corners(model.rewards)
    return total * float(rewards.min()), total * float(rewards.max())


def hidden(graph: ReachableGraph, bounds: tuple[float, float] | None) -> Floats | None:
    """The error of merging and rounding in one step, (N, A), undiscounted; None: unknown."""
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
    found: ValueFunction
    stages: tuple[ValueFunction, ...] = ()
    stopped: Status | None = None  # finite horizon: why not all steps were planned


def _infinite(graph: ReachableGraph, discount: float, clock: Clock) -> _Plan:
    model, ahead = graph.model, 1 / (1 - discount)
    rewards = graph.states @ model.rewards
    process = corner_process(model) if model.domain.known else None
    blind, single = 0, np.zeros(model.dimension)
    if graph.open.any() or clock.time_limit is not None:
        blind, single = _blind(model, clock.share(0.2))
    # Unexplored states have no edges: their rewards are their values.
    rewards[graph.open] = (graph.states[graph.open] @ single)[:, None]
    problem = graph.problem(rewards, discount)
    values, _ = problem.optimum(clock.share(0.3))
    scale = float(np.abs(values).max())
    actions = lowest_within(problem.action_values(values), 4 * ROUNDING * scale)
    actions[graph.open] = blind
    controller = _controller(graph, actions, blind)
    terms = 2 * products(model.dimension + len(model.observations))

    def valued(controller: FiniteStateController) -> tuple[Floats, float, float]:
        """The controller's vectors, its value at the start, and the proven part of it."""
        vectors = controller.vectors(model, clock.share(0.6))
        value = float(vectors[0] @ model.start)
        if process is None:
            below = terms * (scale * ahead + float(np.abs(vectors[0]) @ np.abs(model.start)))
            return vectors, value, value - below
        choices = np.column_stack([controller.actions, np.maximum(controller.successors, 0)])
        return vectors, value, worth_at_start(process, vectors, choices, 0)

    vectors, value, lower = valued(controller)
    if clock.time_limit is not None:
        # Time may be too short for all these nodes; a blind policy has only one.
        simple = _always(model, blind)
        plain = valued(simple)
        if plain[2] > lower:
            controller, (vectors, value, lower) = simple, plain
    # Impossible observations restart the controller.
    found = ValueFunction(vectors, controller.actions, np.maximum(controller.successors, 0))
    if process is None:
        return _Plan(value, lower, None, value - lower, found)
    seen = mdp_values(process, clock.share(0.3))
    least = float(blind_values(process, clock.share(0.2)).min(axis=1).max())
    paid = hidden(graph, (least, float(seen.max())))
    assert paid is not None, "the domain is known"
    rewards = rewards + discount * paid
    rewards[graph.open] = _seen_at(process, seen, graph.states[graph.open])[:, None]
    above = graph.problem(rewards, discount)
    most = float(rewards[~graph.open].max(initial=-np.inf)) * ahead
    most = max(most, float(rewards[graph.open].max(initial=-np.inf)))
    swept, best = above.from_above(np.full(len(rewards), most), clock)
    missed = max(0.0, float((above.action_values(best).max(axis=1) - best).max())) * ahead
    rounded = terms * float(np.abs(swept).max() + np.abs(rewards).max())
    rounded = (rounded + model.reward_error) * ahead
    upper = max(value, min(float(best[0]) + missed, float(swept[0]))) + rounded
    upper = max(lower, min(upper, upper_at_start(process, seen[None])))
    return _Plan(value, lower, upper, rounded + missed + value - lower, found)


def _seen_at(process: CornerProcess, values: Floats, states: Floats) -> Floats:
    """Upper bounds on values of states (B, n) if corners, with values (k,), are observed, (B,).

    If values are not linear in the model's states, a linear function above them is used.
    """
    vector = above_corners(process, values[None])[0]
    off = 2 * products(len(vector)) * (np.abs(states) @ np.abs(vector))
    return states @ vector + off + process.displaced * float(np.abs(values).max())


def _controller(graph: ReachableGraph, actions: Ints, blind: int) -> FiniteStateController:
    """One node per state, and one that repeats the blind action, for unexplored states.

    In an unfinished graph, only the states that the actions (N,) reach have nodes.
    """
    model, n_observations = graph.model, len(graph.model.observations)
    if not graph.open.any():
        return FiniteStateController(
            model.actions, model.observations, actions, graph.successors(actions)
        )
    most = max(1, MOST_NUMBERS // (n_observations + model.dimension))
    met = graph.met(actions, most)
    place = np.full(len(graph.states) + 1, len(met))
    place[met] = np.arange(len(met))
    place[-1] = -1  # impossible
    successors = place[graph.successors(actions, met)]
    return FiniteStateController(
        model.actions,
        model.observations,
        np.append(actions[met], blind),
        np.vstack([successors, np.full((1, n_observations), len(met))]),
    )


def _always(model: LinearModel, action: int) -> FiniteStateController:
    """One action at every step."""
    successors = np.zeros((1, len(model.observations)), dtype=np.int64)
    return FiniteStateController(model.actions, model.observations, np.array([action]), successors)


def _blind(model: LinearModel, clock: Clock) -> tuple[int, Floats]:
    """The action of the best blind policy at the start, and its value (n,)."""
    if not model.domain.known:  # `blind_vectors` omits divergent actions
        each = [
            _always(model, a).vectors(model, clock.share(1 / (len(model.actions) - a)))[0]
            for a in range(len(model.actions))
        ]
        vectors = np.array(each)
    else:
        vectors, _ = blind_vectors(model, clock=clock)
    best = int((vectors @ model.start).argmax())
    return best, vectors[best]


def _for_a_horizon(
    graph: ReachableGraph, discount: float, horizon: int, clock: Clock
) -> _Plan | None:
    """Plan a finite horizon; None if a limit came first and the domain is unknown."""
    model = graph.model
    rewards = graph.states @ model.rewards
    problem = graph.problem(rewards, discount)
    # Unexplored states can be used for one step, the last.
    steps = min(horizon, int(graph.depth.max()) + 1) if graph.stopped else horizon
    total = sum(discount**k for k in range(steps))
    paid = hidden(graph, value_bounds(model, total))
    above = None if paid is None else graph.problem(rewards + discount * paid, discount)
    values = best = np.zeros(len(rewards))
    tops: list[float] = []  # at the start, an upper bound on the optimal value of this many steps
    chosen: list[Ints] = []
    solving = clock.share(SOLVING)
    while len(chosen) < steps and not (chosen and solving.over):
        choices = problem.action_values(values)
        scale = float(np.abs(choices).max())
        chosen.append(lowest_within(choices, 4 * ROUNDING * scale))
        values = choices.max(axis=1)
        best = best if above is None else above.action_values(best).max(axis=1)
        tops.append(float(best[0]))
    stopped = Status.TIME if len(chosen) < steps else None
    width = 1 + len(model.observations)
    fit = [int((graph.depth <= d).sum()) * width <= MOST_CHOICES for d in range(len(chosen) - 1)]
    if above is not None and not all(fit):
        chosen, stopped = chosen[: 1 + sum(fit)], Status.SIZE
    layers = _layers(graph, chosen)
    tree = PolicyTree(model.actions, model.observations, tuple(layers))
    stages = tree.stages(model, clock.share(VALUING))
    steps = len(stages)
    if steps < len(layers):
        stopped, layers = Status.TIME, _layers(graph, chosen[:steps])
        stages = PolicyTree(model.actions, model.observations, tuple(layers)).stages(model)
    value = float(stages[-1][0] @ model.start)
    # The rounding of each step, for values up to total * the largest reward, adds up.
    terms = 2 * products(model.dimension + len(model.observations))
    rounding = terms * total**2 * float(np.abs(rewards).max()) + total * model.reward_error
    joined = tuple(ValueFunction(v, *layer) for v, layer in zip(stages, layers, strict=True))
    if above is None:
        if steps < horizon:
            return None
        return _Plan(value, value - rounding, None, 2 * rounding, joined[-1], joined, stopped)
    process = corner_process(model)
    following = [np.column_stack([chosen, np.maximum(after, 0)]) for chosen, after in layers]
    lower = tree_at_start(process, stages, following)
    upper = max(value, tops[steps - 1]) + rounding
    rounded = rounding + value - lower
    if steps < horizon:
        later = sum(discount**k for k in range(steps, horizon))
        upper += later * float(process.rewards.max()) + horizon * rounding
        planned = [replace(stage, vectors=process.at_corners(stage.vectors)) for stage in joined]
        joined, value, lower = completed(process, planned, horizon, value - lower, clock)
        upper = min(upper, seen_over(process, horizon, clock.share(SEEING)))
    return _Plan(value, lower, upper, rounded, joined[-1], joined, stopped)


def _layers(graph: ReachableGraph, chosen: list[Ints]) -> list[tuple[Ints, Ints]]:
    """The layers of a tree; chosen[k - 1] (N,): actions with k steps to go.

    With k steps to go, only states within steps - k of the start can be reached; they come first,
    since exploration is in order of depth. States with equal action and successors share a node.
    """
    first, node = np.unique(chosen[0][graph.depth < len(chosen)], return_inverse=True)
    never = np.full((len(first), len(graph.model.observations)), -1, dtype=np.int64)
    layers: list[tuple[Ints, Ints]] = [(first, never)]
    for k, actions in enumerate(chosen[1:], 2):
        met = np.arange(int((graph.depth <= len(chosen) - k).sum()))
        after = graph.successors(actions, met)
        choices = np.column_stack([actions[met], np.where(after < 0, -1, node[after])])
        whole_rows = np.ascontiguousarray(choices).view(np.dtype((np.void, choices[0].nbytes)))
        _, kept, node = np.unique(whole_rows.ravel(), return_index=True, return_inverse=True)
        layers.append((choices[kept, 0], choices[kept, 1:]))
    return layers
