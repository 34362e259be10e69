"""Plans on a POMDP, its PSR and its R-PSR: values with bounds, and their values in the POMDP."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rpsr.errors import ModelError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.planners import solve
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.controllers import FiniteStateController, extract_controller
from rpsr.report.page import Block, Figure, Text
from rpsr.report.plots.planning import plot_convergence
from rpsr.report.plots.policy_graphs import plot_policy_graph, reachable_edges
from rpsr.report.plots.values import plot_value_function
from rpsr.report.prose import plain
from rpsr.report.tables import Cell, Table

MOST_STATES = 400
MOST_EQUATIONS = 6_000  # nodes times states, for a controller's exact value


def solutions_of(
    pomdp: POMDP,
    models: Mapping[str, LinearModel],
    time_limit: float,
    progress: Callable[[str], None],
) -> tuple[dict[str, Solution], str]:
    """Exact value iteration on every model, or the reason why it is left out."""
    if len(pomdp.states) > MOST_STATES:
        return {}, (
            f"Planning is left out: the POMDP has {len(pomdp.states)} states, and a report plans "
            f"on at most {MOST_STATES}. `rpsr solve` has no such limit."
        )
    solutions: dict[str, Solution] = {}
    # Vectors proven on faces only cannot be drawn over the domain.
    drawn = False if len(pomdp.states) <= 3 else None
    planner = ValueIteration(time_limit=time_limit, faces=drawn)
    for name, model in models.items():
        try:
            solutions[name] = solve(model, planner)
        except ModelError as error:
            return {}, f"Planning is left out: {plain(str(error))}"
        if solutions[name].status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        progress(name)
    return solutions, ""


def planning_blocks(
    pomdp: POMDP, solutions: Mapping[str, Solution], reason: str
) -> tuple[Block, ...]:
    """Text, table and figures on the solutions; reason: why there are none."""
    if reason:
        return (Text(reason),)
    belief = pomdp.belief_model()
    controllers = {name: _controller(solution, belief) for name, solution in solutions.items()}
    earned = {
        name: None if controller is None else controller.value(belief)
        for name, controller in controllers.items()
    }
    blocks: list[Block] = [
        Text(
            "Exact value iteration on each model. *Value* is the value at the start by the model's "
            "rewards; *lower* and *upper* are proven bounds. *earns* is the exact value, in the "
            "POMDP, of the policy found on that model, as a finite-state controller."
        ),
        _table(solutions, earned),
        *_stopped(solutions),
    ]
    if any(len(solution.trace) > 1 for solution in solutions.values()):
        blocks.append(
            Figure(
                plot_convergence(solutions),
                alt="The gap between upper and lower bound by iteration, for the three models.",
                caption="The gap between the bounds on the value at the start, by iteration.",
            )
        )
    return (*blocks, *_value_function(pomdp, solutions), *_graph(belief, controllers, earned))


def _controller(solution: Solution, belief: LinearModel) -> FiniteStateController | None:
    """The policy as a controller of its reachable nodes, if small enough for its exact value."""
    whole = extract_controller(solution)
    edges = reachable_edges(whole, belief)
    nodes = list(dict.fromkeys([whole.first, *(target for _, target, _ in edges)]))
    if len(nodes) * belief.dimension > MOST_EQUATIONS:
        return None
    successors = np.full((len(nodes), len(whole.observation_names)), -1)
    for source, target, seen in edges:
        successors[nodes.index(source), list(seen)] = nodes.index(target)
    names = (whole.action_names, whole.observation_names)
    return FiniteStateController(*names, whole.actions[nodes], successors)


def _table(solutions: Mapping[str, Solution], earned: Mapping[str, float | None]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            solution.value,
            solution.lower,
            solution.upper,
            earned[name],
            len(solution.vectors),
            solution.iterations,
            solution.status.name.lower(),
        )
        for name, solution in solutions.items()
    ]
    notes = [
        f"{status.name.lower()}: {status.value.partition(': ')[2]}."
        for status in _statuses(solutions)
    ]
    notes.append(
        "If several policies are optimal for a model, their values in the POMDP may differ; the "
        "table shows one of them."
    )
    if None in earned.values():
        notes.append(
            f"earns: left out where a policy has more than {MOST_EQUATIONS:,} nodes times states."
        )
    return Table(
        "Value at the start",
        ("model", "value", "lower", "upper", "earns", "vectors", "passes", "status"),
        tuple(rows),
        formats=("", ".6g", ".6g", ".6g", ".6g", "", "", ""),
        footnotes=tuple(notes),
    )


def _statuses(solutions: Mapping[str, Solution]) -> list[Status]:
    return list(dict.fromkeys(solution.status for solution in solutions.values()))


def _stopped(solutions: Mapping[str, Solution]) -> list[Block]:
    names = [name for name, each in solutions.items() if not each.status.reached_goal]
    if not names:
        return []
    return [
        Text(
            f"Planning on {', '.join(names)} stopped before its goal: values are known only "
            "between their bounds. A longer `--time-limit` narrows them."
        )
    ]


def _value_function(pomdp: POMDP, solutions: Mapping[str, Solution]) -> list[Block]:
    if len(pomdp.states) not in (2, 3):
        return []
    return [
        Figure(
            plot_value_function(solutions["POMDP"], pomdp.states),
            alt="The optimal value of every belief, and the first action of the best policy there.",
            caption="The optimal value over all beliefs; colours show the first action.",
        )
    ]


def _graph(
    belief: LinearModel,
    controllers: Mapping[str, FiniteStateController | None],
    earned: Mapping[str, float | None],
) -> list[Block]:
    blocks: list[Block] = []
    for name, worth in earned.items():
        controller = controllers[name]
        if controller is None or worth is None or (blocks and _same(worth, earned["POMDP"])):
            continue
        try:
            drawing = plot_policy_graph(controller, belief)
        except ModelError:
            continue  # too many nodes to read
        blocks.append(
            Figure(
                drawing,
                alt=f"The policy that planning on the {name} finds, as a graph.",
                caption=f"The policy found on the {name}, worth {worth:.4g} in the POMDP: "
                "nodes are actions, arrows observations, and dashed ones lead back. Choose a "
                "node to see where it leads.",
            )
        )
    return blocks


def _same(worth: float, other: float | None) -> bool:
    return other is not None and abs(worth - other) <= 1e-5 * max(1.0, abs(other))
