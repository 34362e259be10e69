"""`rpsr solve`: plan, and say how good the plan is proven to be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rpsr.cli.convert import as_kind
from rpsr.cli.options import Discount, Json, Normalize, Source, standard_stream
from rpsr.cli.output import note, print_facts, print_json
from rpsr.cli.progress import planning_progress

if TYPE_CHECKING:
    from rpsr.models import LinearModel
    from rpsr.planning.solution import Solution

Kind = Literal["pomdp", "psr", "rpsr", "ra-psr"]
LIMIT_REACHED, INTERRUPTED = 3, 130


def _existing(_type: Any, name: str) -> None:
    from rpsr.planning.solve import PLANNER_NAMES

    if name not in PLANNER_NAMES:
        raise ValueError(f"no planner is called {name!r}; there is {', '.join(PLANNER_NAMES)}")


def _positive(_type: Any, value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"read {value}, expected a number above 0")


def solve(
    source: Source,
    /,
    *,
    model: Annotated[
        Kind | None,
        Parameter(
            help="What to plan on: the POMDP, its PSR, its R-PSR, or the PSR whose observations "
            "show rewards. By default the POMDP, or what a native file holds."
        ),
    ] = None,
    planner: Annotated[
        str, Parameter(validator=_existing, help="How to plan; a wrong name lists those there are.")
    ] = "vi",
    horizon: Annotated[
        int | None,
        Parameter(validator=_positive, help="Plan this many steps; for ever by default."),
    ] = None,
    epsilon: Annotated[
        float | None, Parameter(validator=_positive, help="How far the value may be off.")
    ] = None,
    time_limit: Annotated[
        float | None, Parameter(validator=_positive, help="Seconds after which to stop.")
    ] = None,
    memory_limit: Annotated[
        int | None, Parameter(validator=_positive, help="Bytes after which to stop.")
    ] = None,
    max_trials: Annotated[
        int | None,
        Parameter(validator=_positive, help="Trials after which to stop, of planners that try."),
    ] = None,
    seed: Annotated[int | None, Parameter(help="Seed of planners that use chance.")] = None,
    output: Annotated[
        str | None,
        Parameter(
            name=["--output", "-o"],
            converter=standard_stream,
            help="Write the policy here: .alpha or .pg of the classic solver, else a native JSON "
            "file; - is standard output.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        Parameter(help="Keep what was found here when planning stops; go on from it if it exists."),
    ] = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> int:
    """Plan on a model; show the value at the start, bounds that hold, and why planning stopped.

    Exit 0: the goal was reached; 3: a limit came first; 130: Ctrl-C. What was found by then is
    shown and written in every case.
    """
    from rpsr.errors import InputError
    from rpsr.planning.checkpoint import load_checkpoint, resume, save_checkpoint
    from rpsr.planning.solution import Status
    from rpsr.planning.solve import planner_by_name, planner_options
    from rpsr.planning.solve import solve as plan

    if json and output == "-":
        raise InputError("--json and -o - would both write to standard output")
    linear = _model(source, model, normalize, discount)
    options = {
        "horizon": horizon,
        "epsilon": epsilon,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "max_trials": max_trials,
        "seed": seed,
    }
    known = planner_options(planner)
    for option, value in options.items():
        if value is not None and option not in known and option != "seed":
            raise InputError(f"planner {planner} has no {option.replace('_', ' ')}")
    given: dict[str, Any] = {key: options[key] for key in options if key in known}
    if output is not None and output.endswith(".alpha") and "faces" in known:
        given["faces"] = False  # the file's vectors will be read without looking ahead
    chosen = planner_by_name(planner, **given)
    with planning_progress() as progress:
        if checkpoint is not None and checkpoint.exists():
            solution = resume(linear, chosen, load_checkpoint(checkpoint, linear), progress)
        else:
            solution = plan(linear, chosen, progress=progress)
    if checkpoint is not None:
        save_checkpoint(solution, checkpoint)
    if output is not None:
        write_policy(solution, output)
    if json:
        print_json("solve", source, solution_document(solution, model, seed))
    elif output != "-":
        print_facts(_for_people(solution, model))
    if solution.status is Status.INTERRUPTED:
        return INTERRUPTED
    return 0 if solution.status.reached_goal else LIMIT_REACHED


def _model(source: str, kind: Kind | None, normalize: bool, discount: str | None) -> LinearModel:
    from rpsr.errors import InputError
    from rpsr.models import POMDP
    from rpsr.sources import load

    loaded = load(source, normalize=normalize, discount=discount)
    if not isinstance(loaded, POMDP):
        if kind is not None and kind != loaded.kind:
            raise InputError(f"holds a {loaded.kind} model, expected a POMDP", place=source)
        return loaded
    for warning in loaded.warnings:
        note(f"{source}: {warning}")
    model = as_kind(loaded, "belief" if kind in (None, "pomdp") else kind)
    assert not isinstance(model, POMDP), "a POMDP is planned on through its beliefs"
    return model


def write_policy(solution: Solution, target: str | Path) -> None:
    """Write a solution's policy in the form its target's suffix names."""
    from rpsr.planning.classic_files import write_alpha, write_pg
    from rpsr.planning.controllers import extract_controller
    from rpsr.planning.policy_files import save_solution

    if str(target).endswith(".alpha"):
        write_alpha(solution.model, solution.vectors, solution.actions, target)
    elif str(target).endswith(".pg"):
        write_pg(extract_controller(solution), target)
    else:
        save_solution(solution, target)


def solution_document(solution: Solution, model: str | None, seed: int | None) -> dict[str, Any]:
    """A solution, by JSON key."""
    return {
        "model": model or _kind(solution.model),
        "name": solution.model.name,
        "dimension": solution.model.dimension,
        "planner": solution.planner,
        "discount": solution.model.discount,
        "horizon": solution.horizon,
        "status": solution.status.name.lower(),
        "message": solution.status.value,
        "value": solution.value,
        "lower": solution.lower,
        "upper": solution.upper,
        "gap": solution.gap,
        "residual": solution.residual,
        "epsilon": solution.epsilon,
        "vectors": len(solution.vectors),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "seed": seed if solution.seed is None else solution.seed,
    }


def _kind(model: LinearModel) -> str:
    return "pomdp" if model.kind == "belief" else model.kind


def _for_people(solution: Solution, model: str | None) -> list[tuple[str, Any]]:
    document = solution_document(solution, model, None)
    numbers = {
        "value": f"{solution.value:.12g}",
        "lower": f"{solution.lower:.12g}",
        "upper": "" if solution.upper is None else f"{solution.upper:.12g}",
        "gap": "" if solution.gap is None else f"{solution.gap:.3g}",
        "status": solution.status.value,
    }
    hidden = ("message",)
    return [
        (key, numbers.get(key, value))
        for key, value in document.items()
        if value is not None and key not in hidden
    ]
