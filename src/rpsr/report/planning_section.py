"""Plans on a POMDP, its PSR and its R-PSR: values with bounds, and their values in the POMDP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rpsr.errors import ModelError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.convergence import undiscounted
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.planners import default_planner, planner_by_name, solve
from rpsr.planning.solution import Planner, Solution, Status
from rpsr.planning.value.controller_graphs import merged
from rpsr.planning.value.controllers import FiniteStateController, extract_controller
from rpsr.report.page import Block, Figure, Grid, Text
from rpsr.report.plots.planning import plot_convergence
from rpsr.report.plots.policy_graphs import plot_policy_graph
from rpsr.report.plots.style import COLUMN
from rpsr.report.plots.values import plot_value_function
from rpsr.report.prose import plain
from rpsr.report.tables import Cell, Table, Tone, show
from rpsr.showing import counted

MOST_STATES = 400
DRAWN = (2, 3)  # states of a POMDP whose value function is drawn
MOST_EQUATIONS = 6_000  # nodes times states, for a controller's exact value
_TONES: tuple[tuple[str, Tone], ...] = (
    ("solved", "good"),
    ("exact", "good"),
    ("rounding", "good"),
    ("horizon", "good"),
    *((status.name.lower(), "barely") for status in Status if not status.reached_goal),
)


@dataclass(frozen=True, eq=False)
class Plans:
    """Solutions by the names of their models, and reasons where there is none."""

    pomdp: POMDP
    solutions: Mapping[str, Solution]
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def belief(self) -> LinearModel:
        """The model in which all policies are valued."""
        return self.pomdp.belief_model()

    @cached_property
    def controllers(self) -> dict[str, FiniteStateController | None]:
        """The policies as controllers, by model; None where one is too large to be valued."""
        return {name: _controller(plan, self.belief) for name, plan in self.solutions.items()}

    @cached_property
    def earned(self) -> dict[str, float | None]:
        """The exact values of the policies in the POMDP, by model."""
        return {
            name: None if controller is None else controller.value(self.belief)
            for name, controller in self.controllers.items()
        }

    def tidy(self, number: float | None) -> float | None:
        """The number, or 0 where it is only the rounding of a plan's precision."""
        scale = max(1.0, float(np.abs(self.pomdp.R).max()))
        return 0.0 if number is not None and abs(number) < 1e-6 * scale else number

    def shown(self, number: float | None) -> str:
        """The number in a sentence."""
        return show(self.tidy(number), ".4g").replace("-", "\N{MINUS SIGN}")


def plans_of(
    pomdp: POMDP,
    models: Mapping[str, LinearModel],
    time_limit: float,
    progress: Callable[[str], None],
) -> Plans:
    """Plans on every model, by the planner that suits it, or the reasons why there are none."""
    if len(pomdp.states) > MOST_STATES:
        reason = (
            f"the POMDP has {len(pomdp.states)} states, and a report plans on at most "
            f"{MOST_STATES}. `rpsr solve` has no such limit"
        )
        return Plans(pomdp, {}, dict.fromkeys(models, reason))
    solutions: dict[str, Solution] = {}
    reasons: dict[str, str] = {}
    for name, model in models.items():
        try:
            solutions[name] = solve(model, _planner(model, time_limit))
        except ModelError as error:
            reasons[name] = plain(str(error))
            continue
        if solutions[name].status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        progress(name)
    if "POMDP" in reasons:  # a value of another model alone compares with nothing
        return Plans(pomdp, {}, reasons)
    return Plans(pomdp, solutions, reasons)


def _planner(model: LinearModel, time_limit: float) -> Planner:
    if len(model.domain.corners) in DRAWN and not undiscounted(model):
        # Vectors proven on faces only cannot be drawn over the domain.
        return ValueIteration(time_limit=time_limit, faces=False)
    return planner_by_name(default_planner(model), time_limit=time_limit)


def planning_blocks(plans: Plans, source: str) -> tuple[Block, ...]:
    """Text, table and figures on the plans; source: as the command line names the POMDP."""
    if not plans.solutions:
        reason = next(iter(plans.reasons.values()))
        return (Text(f"No plans were made: {reason}.{_remedy(plans.pomdp, source)}"),)
    blocks: list[Block] = [
        Text(
            "*Value* is the value at the start by the model's own rewards; *lower* and *upper* are "
            "proven bounds on the optimal value of the model. *Earns* is the exact value, in the "
            "POMDP, of the policy that was planned on the model, as a finite-state controller: "
            "compare it with the value of the POMDP."
        ),
        _table(plans),
        *(
            Text(f"No plan was made on the {name}: {reason}.{_remedy(plans.pomdp, source)}")
            for name, reason in plans.reasons.items()
        ),
        *_stopped(plans.solutions),
    ]
    graphs = _graphs(plans)
    figures = [*_convergence(plans.solutions), *_value_function(plans)]
    drawn = [graph for graph in graphs if isinstance(graph, Figure)]
    if all(map(_is_small, drawn)):  # otherwise they stay together, that of the POMDP first
        figures += drawn
    if figures:
        blocks.append(Grid(tuple(figures)))
    if len(plans.pomdp.states) not in DRAWN:
        blocks.append(
            Text(
                "The value function is not drawn: only beliefs over two or three states can be "
                f"drawn, and this POMDP has {len(plans.pomdp.states)} states."
            )
        )
    return (*blocks, *(graph for graph in graphs if graph not in figures))


def _is_small(figure: Figure) -> bool:
    return figure.drawing.get_figwidth() <= COLUMN


def _remedy(pomdp: POMDP, source: str) -> str:
    """Advice for rewards without a discount; empty if there is one."""
    if not undiscounted(pomdp):
        return ""
    return (
        f" To see plans here, give a discount: `rpsr report {source} --discount 0.95 -o page.html`."
        f" To plan for a number of steps: `rpsr solve {source} --horizon 20`."
    )


def _controller(solution: Solution, belief: LinearModel) -> FiniteStateController | None:
    """The policy as a controller with few nodes, if small enough for its exact value."""
    return merged(extract_controller(solution), belief, most=MOST_EQUATIONS // belief.dimension)


def _table(plans: Plans) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            plan.status.name.lower(),
            *map(plans.tidy, (plan.value, plan.lower, plan.upper, plans.earned[name])),
            plan.planner,
            len(plan.vectors),
        )
        for name, plan in plans.solutions.items()
    ]
    statuses = dict.fromkeys(plan.status for plan in plans.solutions.values())
    notes = [
        f"{status.name.lower()}: {status.value.partition(': ')[2] or status.value}."
        for status in statuses
    ]
    notes.append(
        "If several policies are optimal for a model, their values in the POMDP may differ; the "
        "table shows one of them."
    )
    if None in plans.earned.values():
        notes.append(
            "Earns: empty if the policy has too many nodes for its exact value (nodes times states "
            f"exceed {MOST_EQUATIONS:,}). The policy of the POMDP or the R-PSR earns at least its "
            "lower bound."
        )
    return Table(
        "Value at the start",
        ("model", "status", "value", "lower", "upper", "earns", "planner", "vectors"),
        tuple(rows),
        align="llrrrrlr",
        formats=("", "", ".6g", ".6g", ".6g", ".6g", "", ""),
        footnotes=tuple(notes),
        badges=_TONES,
    )


def _stopped(solutions: Mapping[str, Solution]) -> list[Block]:
    names = [name for name, plan in solutions.items() if not plan.status.reached_goal]
    if not names:
        return []
    return [
        Text(
            f"Planning on {', '.join(names)} was stopped early: the optimal values are only known "
            "to be between the bounds. A longer `--time-limit` narrows the bounds."
        )
    ]


def _convergence(solutions: Mapping[str, Solution]) -> list[Figure]:
    if not any(len(solution.trace) > 1 for solution in solutions.values()):
        return []
    ends = "; ".join(
        f"{name}: {_end(solution)}" for name, solution in solutions.items() if solution.trace
    )
    return [
        Figure(
            plot_convergence(solutions),
            alt="The gap between upper and lower bound by iteration, for the three models.",
            caption="The gap between the bounds on the value at the start: the lower a curve, the "
            f"better the value is known. Why the curves end: {ends}.",
        )
    ]


def _end(solution: Solution) -> str:
    gap = "" if solution.gap is None else f", {show(solution.gap, '.2g')} apart"
    reason = {
        Status.SOLVED: "the precision of epsilon is proven",
        Status.EXACT: "the finitely many reachable states are solved",
        Status.ROUNDING: "only rounding error is left",
    }.get(solution.status, solution.status.value.partition(":")[0])
    return f"{reason} after {counted(solution.iterations, 'iteration')}{gap}"


def _value_function(plans: Plans) -> list[Figure]:
    if len(plans.pomdp.states) not in DRAWN:
        return []
    return [
        Figure(
            plot_value_function(plans.solutions["POMDP"], plans.pomdp.states),
            alt="The optimal value of every belief, and the first action of the best policy there.",
            caption="The optimal value over all beliefs. Where the colour changes, the best first "
            "action changes.",
        )
    ]


def _graphs(plans: Plans) -> list[Figure | Text]:
    """The policies as graphs; a sentence where one equals the POMDP's, or is not drawn."""
    blocks: list[Figure | Text] = []
    for name, worth in plans.earned.items():
        controller = plans.controllers[name]
        if controller is None or worth is None:
            size = counted(len(plans.solutions[name].vectors), "vector")
            blocks.append(_not_drawn(name, f"the policy is too large (a plan of {size})"))
            continue
        if name != "POMDP" and _same(worth, plans.earned["POMDP"]):
            blocks.append(
                Text(
                    f"The policy found on the {name} earns the same as the POMDP's, "
                    f"{plans.shown(worth)}; its graph is not repeated."
                )
            )
            continue
        try:
            drawing = plot_policy_graph(controller, plans.belief)
        except ModelError as error:
            blocks.append(_not_drawn(name, plain(str(error))))
            continue
        blocks.append(
            Figure(
                drawing,
                alt=f"The policy that planning on the {name} finds, as a graph.",
                caption=f"The policy found on the {name}, worth {plans.shown(worth)} in the POMDP: "
                "nodes are actions, arrows observations, and dashed ones lead back. Choose a "
                "node to see where it leads.",
            )
        )
    return blocks


def _not_drawn(name: str, reason: str) -> Text:
    return Text(f"The graph of the policy found on the {name} is not drawn: {reason}.")


def _same(worth: float, other: float | None) -> bool:
    return other is not None and abs(worth - other) <= 1e-5 * max(1.0, abs(other))
