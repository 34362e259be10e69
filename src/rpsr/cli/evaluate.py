"""`rpsr evaluate`: what a policy is worth, by simulation and exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from rpsr.cli.options import Discount, Json, Normalize, Source, standard_streams
from rpsr.cli.output import note, print_json, print_lines, print_table
from rpsr.cli.progress import measured_progress
from rpsr.cli.simulate import Seed, Workers, load_system, policy_of

if TYPE_CHECKING:
    from rpsr.evaluation import Estimate
    from rpsr.models import POMDP, LinearModel

_COLUMNS = ("policy", "model", "mean", "std", "stderr", "exact", "episodes", "steps", "cut_off")


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
    episodes: Annotated[
        int,
        Parameter(validator=validators.Number(gte=1), help="How many episodes to simulate."),
    ] = 1000,
    steps: Annotated[
        int | None,
        Parameter(
            validator=validators.Number(gte=1),
            help="Steps of an episode; by default, so many that what is cut off counts for less "
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
    """
    from rpsr.evaluation import evaluate as estimate

    system = load_system(source, normalize, discount)
    policies = {path: policy_of(path, system) for path in policy or [None]}
    models = _models(system)
    with measured_progress("simulating episodes") as progress:
        rows = [
            row
            for path, followed in policies.items()
            for row in estimate(
                system,
                followed,
                models=models,
                episodes=episodes,
                steps=steps,
                seed=seed,
                workers=workers,
                name=path or "uniform",
                progress=progress,
            )
        ]
    for name in dict.fromkeys(row.policy for row in rows):
        _mention([row for row in rows if row.policy == name], system.discount)
    if json:
        head = {"name": system.name, "discount": system.discount, "seed": seed}
        print_json("evaluate", source, head | {"rows": [_row(row) for row in rows]})
    else:
        _show(rows, system)


def _models(system: POMDP | LinearModel) -> dict[str, LinearModel]:
    from rpsr.models import POMDP
    from rpsr.predictive import psr, rpsr

    if not isinstance(system, POMDP):
        return {system.kind: system}
    return {"pomdp": system.belief_model(), "psr": psr(system), "rpsr": rpsr(system)}


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
