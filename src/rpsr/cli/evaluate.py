"""`rpsr evaluate`: what a policy is worth, by simulation and exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from rpsr.cli.options import Discount, Json, Normalize, Source, standard_streams
from rpsr.cli.output import print_json, print_lines, print_table
from rpsr.cli.progress import measured_progress
from rpsr.cli.simulate import Seed, Steps, Workers, load_system, policy_of

if TYPE_CHECKING:
    from rpsr.evaluation import Estimate
    from rpsr.models import POMDP, LinearModel

_COLUMNS = ("policy", "model", "mean", "std", "stderr", "exact", "episodes", "steps")


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
    steps: Steps = 100,
    seed: Seed = 0,
    workers: Workers = 1,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Say what policies earn on a model, discounted, in so many steps.

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


def _show(rows: list[Estimate], system: POMDP | LinearModel) -> None:
    sum_of = "undiscounted" if system.discount is None else f"discounted by {system.discount:g}"
    print_table(_COLUMNS, [list(_row(row).values()) for row in rows])
    print_lines([f"Returns {sum_of}, by each model's own expected rewards."])
