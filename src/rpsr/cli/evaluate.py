"""`rpsr evaluate`: what a policy is worth, by simulation and exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from rpsr.cli.options import Discount, Json, Normalize, Source, standard_streams, whole
from rpsr.cli.output import note, print_json, print_lines, print_table
from rpsr.cli.progress import measured_progress
from rpsr.cli.simulate import LookAhead, Seed, Workers, load_system, looking_ahead, policy_of

if TYPE_CHECKING:
    from rpsr.evaluation import Estimate
    from rpsr.evaluation.simulation import AnyPolicy
    from rpsr.models import POMDP, LinearModel

DIFFERENT = 1e-6  # of a return: what differs by less is shown once
_COLUMNS = ("policy", "model", "mean", "std", "stderr", "exact", "episodes", "steps", "cut_off")


# One option of the verb is one of its arguments: there are as many as the command has.
def evaluate(
    source: Source,
    /,
    *,
    policy: Annotated[
        list[str] | None,
        Parameter(
            converter=standard_streams,
            help="The policy to follow, as `rpsr solve -o` writes it, or an .alpha or .pg file of "
            "the classic solver; several times, to compare; without one, every action is equally "
            "likely.",
        ),
    ] = None,
    look_ahead: LookAhead = False,
    episodes: Annotated[
        int,
        Parameter(
            converter=whole,
            validator=validators.Number(gte=1),
            help="How many episodes to simulate.",
        ),
    ] = 1000,
    steps: Annotated[
        int | None,
        Parameter(
            converter=whole,
            validator=validators.Number(gte=1),
            help="Steps of an episode; by default, enough that what is cut off counts for less "
            "than the standard error, but no more than 2000.",
        ),
    ] = None,
    seed: Seed = 0,
    workers: Workers = 1,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Say what policies earn on a model, discounted, and how much the steps cut off may count for.

    Every episode is valued by the rewards that the POMDP, its PSR and its R-PSR expect along it; a
    native file holds one model, and that one values. Beside the estimate stands the exact value,
    where it can be computed.

    A policy file is followed as it is written. Where it holds vectors, and looking one step ahead
    with them earns something else, that is shown too.
    """
    from rpsr.evaluation import evaluate as estimate

    system = load_system(source, normalize, discount)
    paths = dict.fromkeys(policy or [None])
    policies = [_ways(path, policy_of(path, system), look_ahead) for path in paths]
    with measured_progress("simulating episodes") as progress:
        found = estimate(
            system,
            {name: followed for ways in policies for name, followed in ways.items()},
            episodes=episodes,
            steps=steps,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    rows: list[Estimate] = []
    for ways in policies:
        first, *others = [[row for row in found if row.policy == name] for name in ways]
        rows += first
        rows += [row for other in others if _differ(first, other) for row in other]
    for name in dict.fromkeys(row.policy for row in rows):
        _mention([row for row in rows if row.policy == name], system.discount)
    if json:
        head = {"name": system.name, "discount": system.discount, "seed": seed}
        print_json("evaluate", source, head | {"rows": [_row(row) for row in rows]})
    else:
        _show(rows, system)


def _ways(path: str | None, policy: AnyPolicy, look_ahead: bool) -> dict[str, AnyPolicy]:
    """A policy under its name and, where it holds vectors with actions, the other way to follow it.

    The way that was asked for comes first.
    """
    from rpsr.planning import AlphaPolicy

    name = path or "uniform"
    if isinstance(policy, AlphaPolicy) and policy.actions is not None:
        ways: dict[str, AnyPolicy] = {
            name: policy,
            f"{name}, looking ahead": policy.looking_ahead(),
        }
        return dict(reversed(ways.items())) if look_ahead else ways
    return {name: looking_ahead(path, policy) if look_ahead else policy}


def _differ(first: list[Estimate], second: list[Estimate]) -> bool:
    """Whether two policies earn different amounts, exactly or, where that is unknown, simulated."""

    def apart(a: Estimate, b: Estimate) -> bool:
        known = a.exact is not None and b.exact is not None
        x, y = (a.exact, b.exact) if known else (a.mean, b.mean)
        return not math.isclose(x or 0.0, y or 0.0, rel_tol=DIFFERENT, abs_tol=DIFFERENT)

    return any(map(apart, first, second))


def _row(estimate: Estimate) -> dict[str, Any]:
    return {column: getattr(estimate, column) for column in _COLUMNS}


def _mention(rows: list[Estimate], discount: float | None) -> None:
    """Say of a policy, on standard error, if what is cut off may exceed the standard error."""
    from rpsr.evaluation.truncation import NEGLIGIBLE

    policy, steps = rows[0].policy, rows[0].steps
    said = f"{policy}: what is earned after {steps} steps is cut off"
    if any(row.cut_off is None for row in rows):
        note(f"{said}, and nothing bounds it")
    elif (discount or 1.0) ** steps > NEGLIGIBLE:
        most = max((c for r in rows if (c := r.cut_off or 0.0) > (r.stderr or 0.0)), default=0.0)
        if most > 0:
            note(f"{said}, up to {most:.3g} more or less; --steps sets their number")


def _show(rows: list[Estimate], system: POMDP | LinearModel) -> None:
    sum_of = "undiscounted" if system.discount is None else f"discounted by {system.discount:g}"
    print_table(_COLUMNS, [list(_row(row).values()) for row in rows])
    print_lines(
        [
            f"Returns {sum_of}, by each model's own expected rewards, of as many steps as shown; "
            "cut_off: what later steps may add or take at most."
        ]
    )
