"""`rpsr solve`: plan, and show proven bounds on the plan's value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from rpsr.cli.shared.autosave import with_autosave
from rpsr.cli.shared.certificates import check_certifiable, write_certificate
from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import (
    Discount,
    Json,
    Normalize,
    Source,
    at_least,
    named_path,
    positive,
    precision,
    size,
    standard_stream,
    whole,
)
from rpsr.cli.shared.output import (
    check_policy_name,
    check_targets,
    note,
    print_facts,
    print_json,
    write_each,
)
from rpsr.cli.shared.planned_models import Kind, Wanted, compressed_model, planned_model
from rpsr.cli.shared.progress import planning_progress
from rpsr.cli.shared.signals import INTERRUPTED
from rpsr.cli.shared.solutions import as_costs, facts_of, solution_document

if TYPE_CHECKING:
    from rpsr.learning.plan_choice.plausibility import PlayedOut
    from rpsr.models import LinearModel
    from rpsr.planning.solution import Planner, Progress, Solution

LIMIT_REACHED = 3


def _compiling() -> None:
    note("compiling kernels (first run only)")


def _existing(_type: Any, name: str | None) -> None:
    from rpsr.planning.planners import PLANNERS

    if name is not None and name not in PLANNERS:
        raise ValueError(PLANNERS.unknown(name))


# The arguments are the options of the verb, one each.
def solve(
    source: Source,
    /,
    *,
    model: Annotated[
        Kind | None,
        Parameter(
            help="The model to plan on: the POMDP, its PSR, its R-PSR, or the PSR of the POMDP "
            "whose observations include the reward (ra-psr). By default the source's own model."
        ),
    ] = None,
    planner: Annotated[
        str | None,
        Parameter(
            validator=_existing,
            help="The planner: auto, vi, enumeration, reachable, hsvi, sarsop, pbvi, perseus, "
            "qmdp, fib, policy-iteration or q-learning. auto runs several of them. By default "
            "auto; vi with a horizon, and pbvi on a learned model.",
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        Parameter(
            converter=whole,
            validator=at_least(1),
            help="Number of steps to plan; by default the horizon is infinite.",
        ),
    ] = None,
    epsilon: Annotated[
        Any,
        Parameter(
            converter=precision,
            allow_leading_hyphen=True,  # `precision` refuses a negative number
            help="Largest error of the value, in units of reward, or relative to the value at the "
            "start, such as 1%; by default a small share of the range of values.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, Parameter(validator=positive, help="Time limit of planning, in seconds.")
    ] = None,
    memory_limit: Annotated[
        int | None,
        Parameter(
            converter=size,
            allow_leading_hyphen=True,
            help="Memory limit of planning, the model included: bytes, or a size such as 2GB.",
        ),
    ] = None,
    max_iterations: Annotated[
        int | None,
        Parameter(
            converter=whole,
            validator=at_least(1),
            help="Largest number of iterations: backups, rounds or trials, depending on the "
            "planner.",
        ),
    ] = None,
    seed: Annotated[
        int | None, Parameter(converter=whole, help="Random seed, for randomised planners.")
    ] = None,
    output: Annotated[
        str | None,
        Parameter(
            name=["--output", "-o"],
            converter=standard_stream,
            completer=any_file,
            help="The policy file to write: native .json, or .npz for large ones; .alpha or .pg in "
            "the format of pomdp-solve, .policy in that of SARSOP (also .gz); - is native, on "
            "standard output.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        Parameter(
            converter=named_path,
            help="Save the state of planning in this file, every minute and at the end; resume "
            "from it if it exists. Not available with --horizon, nor for the planners enumeration, "
            "reachable, qmdp, fib and q-learning.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        Parameter(
            converter=named_path,
            help="Write a proof of both bounds to this file (also .gz), which 'rpsr verify' checks "
            "in exact arithmetic. For plans on the POMDP or its R-PSR.",
        ),
    ] = None,
    compress: Annotated[
        bool,
        Parameter(
            negative="",
            help="Plan on a smaller model: without unreachable states, and with states merged that "
            "no observation or reward distinguishes. The result holds for the POMDP. This is "
            "faster if the model becomes much smaller.",
        ),
    ] = False,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> int:
    """Plan on a model; show the value at the start, proven bounds, and why planning stopped.

    Exit 0: planning was completed; 3: a limit stopped it earlier; 130: Ctrl-C; 143: SIGTERM. In
    every case, the best solution so far is shown and written. Files are also written every minute.
    """
    from rpsr.errors import InputError
    from rpsr.kernels import announced
    from rpsr.planning.convergence import undiscounted
    from rpsr.planning.files import policies
    from rpsr.planning.files.checkpoint import save_checkpoint
    from rpsr.planning.solution import Status

    if json and output == "-":
        raise InputError(
            "--json and -o - would both write to standard output: write the policy to a file"
        )
    wanted, timed = objective or ObjectiveOptions(), False
    stated = wanted.objective
    wanted.check(discount)
    if stated is not None and stated.within is not None:
        if horizon is not None:
            raise InputError("--horizon and --within: expected only one of the two")
        # A planner without a horizon gets a task that ends after that number of steps.
        timed = not _plans_horizons(planner)
        horizon = None if timed else stated.within
    if horizon is not None:
        policies.check_holds_trees(output or "")
    # Checked before planning, which may take hours.
    check_targets(output, checkpoint, certificate, sources=[source])
    check_policy_name(output)
    read = Wanted(source, normalize, discount, wanted, timed)
    smaller = compressed_model(read, model) if compress else None
    linear = planned_model(read, model) if smaller is None else smaller.model
    options = {
        "horizon": horizon,
        "epsilon": epsilon,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "max_iterations": max_iterations,
        "seed": seed,
    }
    form = policies.classic_form(output or "")
    if horizon is None and form in ("alpha", "policy") and undiscounted(linear):
        raise InputError(
            f"a .{form} file cannot store a plan without a discount; use a .json or a .pg file",
            place=output,
        )
    if certificate is not None:
        check_certifiable(linear, read)
    everywhere = form == "alpha"
    chosen = _planner(linear, planner, options, everywhere=everywhere)
    if certificate is not None and hasattr(chosen, "keep_points"):
        chosen = replace(cast("Any", chosen), keep_points=True)
    if checkpoint is not None:
        stated_by = "--horizon" if stated is None else "--within"
        _check_resumable(chosen, None if horizon is None else stated_by)

    def lift(solution: Solution) -> Solution:
        return solution if smaller is None else smaller.lift(solution)

    with announced(_compiling), planning_progress() as rows:
        progress = with_autosave(
            rows,
            {
                output: lambda solution: policies.save_policy(lift(solution), output or ""),
                checkpoint: lambda solution: save_checkpoint(solution, checkpoint or ""),
            },
        )
        planned = _planned(linear, chosen, checkpoint, progress)
    solution, played, document = lift(planned), None, None

    def certified() -> None:
        proven = write_certificate(solution, read, certificate or "", json)
        if document is not None:
            document["certificate"] = proven

    try:  # if simulating or showing the solution fails, the files are still written
        played = _played(solution)
        document = solution_document(solution, model, seed, played)
        if certificate is not None:
            document["certificate"] = None
        if stated is not None:
            document["objective"] = str(stated)
            document["horizon"] = stated.within
            if stated.measure == "cost":
                document |= as_costs(document)
        if not json and output != "-":
            print_facts(facts_of(solution, document))
    finally:
        try:
            write_each(
                {
                    output: lambda: policies.save_policy(solution, output or ""),
                    checkpoint: lambda: save_checkpoint(planned, checkpoint or ""),
                    certificate: certified,
                },
                quiet=json,
            )
        finally:  # what a certificate proves is part of the document
            if json and document is not None:
                print_json("solve", source, document)
    if played is not None and played.doubt:
        note(f"{played.doubt}; rpsr learn --plan --ensemble compares several models")
    if epsilon is not None and solution.status is Status.ROUNDING:
        proven_to = solution.gap if solution.epsilon is None else solution.epsilon
        note(
            f"the value is proven to {proven_to:.2g} only, not to the given epsilon: rounding "
            "errors of floats are too large"
        )
    at_start_only = solution.epsilon is None or solution.status is Status.EXACT
    if everywhere and solution.proven and solution.status.reached_goal and at_start_only:
        note(
            "the value is proven at the start only; at other beliefs, the values in the policy "
            "file are lower bounds"
        )
    if json and solution.status is Status.STALLED:  # else the facts say so
        note(
            "the gap between the bounds hardly narrowed within a minute; set --time-limit to plan "
            "for longer"
        )
    if not solution.compiled:
        note(
            f"compiling kernels took {solution.compile_seconds:.1f} s of the time and is not "
            "finished: run again to continue"
        )
    if solution.status is Status.INTERRUPTED:
        return INTERRUPTED
    return 0 if solution.status.reached_goal else LIMIT_REACHED


def _planner(
    model: LinearModel, name: str | None, options: dict[str, Any], *, everywhere: bool
) -> Planner:
    """The planner of a name, or the default one, with the options that were given.

    everywhere: whether the value function must hold at every belief, not only at reachable ones.
    """
    from rpsr.errors import InputError
    from rpsr.planning.planners import (
        DEFAULT,
        default_planner,
        planner_by_name,
        planner_options,
    )

    if name is None or name == DEFAULT:
        name = default_planner(model, horizon=options["horizon"])
    known = planner_options(name)
    for option, value in options.items():
        if value is not None and option not in known and option != "seed":
            stated = "--horizon or --within" if option == "horizon" else f"--{option}"
            flag = stated.replace("_", "-")
            raise InputError(
                f"planner {name} has no option {flag}: leave it out, or choose another --planner"
            )
    given: dict[str, Any] = {key: options[key] for key in options if key in known}
    if everywhere and "faces" in known:
        given["faces"] = False
    if everywhere and "everywhere" in known:
        given["everywhere"] = True
    return planner_by_name(name, **given)


def _plans_horizons(planner: str | None) -> bool:
    from rpsr.planning.planners import DEFAULT, planner_options

    return planner not in (None, DEFAULT) and "horizon" in planner_options(planner or "")


def _check_resumable(planner: Planner, horizon: str | None) -> None:
    """Refuse a checkpoint where planning has none; horizon: the option that gave one, or None."""
    from rpsr.errors import InputError
    from rpsr.planning.files.checkpoint import Resumable

    if horizon is not None or not isinstance(planner, Resumable):
        what = horizon or f"planner {planner.name}"
        raise InputError(
            f"--checkpoint does not work with {what}, which cannot resume planning: leave out "
            "--checkpoint"
        )


def _planned(
    model: LinearModel, planner: Planner, checkpoint: Path | None, progress: Progress
) -> Solution:
    """The solution, from a checkpoint if there is one."""
    from rpsr.planning.files.checkpoint import load_checkpoint, resume
    from rpsr.planning.planners import solve

    if checkpoint is not None and checkpoint.is_file():
        return resume(model, planner, load_checkpoint(checkpoint, model), progress)
    return solve(model, planner, progress=progress)


def _played(solution: Solution) -> PlayedOut | None:
    """The simulated return of a plan on a learned model; None if there was no time for it."""
    from rpsr.planning.solution import Status

    if solution.proven or solution.status is Status.INTERRUPTED:
        return None
    from rpsr.learning.plan_choice.plausibility import play_out

    return play_out(solution)
