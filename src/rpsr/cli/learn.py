"""`rpsr learn`: a model from logs, with its accuracy on held-out episodes."""

from __future__ import annotations

import warnings
from math import nextafter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.learned_facts import show_learned
from rpsr.cli.shared.objectives import GoalOptions, LogGoalOptions
from rpsr.cli.shared.opening import refuse_domain
from rpsr.cli.shared.options import (
    ColumnNames,
    Jobs,
    Json,
    Scheduler,
    SchedulerFile,
    at_least,
    between,
    named_file,
    named_path,
    positive,
    standard_streams,
)
from rpsr.cli.shared.output import (
    PAGES,
    check_policy_name,
    check_suffix,
    check_targets,
    note,
    print_json,
    write_each,
)
from rpsr.live import live_line

if TYPE_CHECKING:
    from rpsr.learning.result import Learned

NATIVE = ".rpsr"


def _rank(_type: Any, tokens: Any) -> int | Literal["auto"]:
    word = tokens[0].value
    if word == "auto":
        return "auto"
    try:
        rank = int(word)
    except ValueError:
        rank = 0
    if rank < 1:
        raise ValueError(f"read {word!r}, expected auto or a whole number of at least 1")
    return rank


def _existing(_type: Any, name: str) -> None:
    from rpsr.learning.estimator_names import ESTIMATORS

    if name not in ESTIMATORS:
        raise ValueError(ESTIMATORS.unknown(name))


def _known_behaviour(_type: Any, name: str | None) -> None:
    from rpsr.learning.propensities import BEHAVIOURS

    if name is not None and name not in BEHAVIOURS:
        raise ValueError(f"read {name!r}, expected one of {', '.join(BEHAVIOURS)}")


# One option of the verb is one of its arguments: there are as many as the command has.
def learn(
    logs: Annotated[
        list[str],
        Parameter(
            converter=standard_streams,
            completer=any_file,
            help="Logs: .jsonl, .csv or .parquet files, or folders of them, read as one log; - "
            "reads JSON lines from standard input.",
        ),
    ],
    /,
    *,
    output: Annotated[
        str,
        Parameter(
            name=["--output", "-o"],
            converter=named_file,
            completer=any_file,
            help="The model file to write, .rpsr.",
        ),
    ],
    discount: Annotated[
        float | None,
        Parameter(
            validator=between("a discount from 0 to 1", 0, 1),
            help="Discount of the model; required without --goal, --maximise or --minimise.",
        ),
    ] = None,
    objective: LogGoalOptions | None = None,
    estimator: Annotated[
        str,
        Parameter(
            validator=_existing,
            help="How to learn: em, a POMDP fitted by EM, converted to an R-PSR; spectral, a "
            "spectral R-PSR; discovered, an R-PSR with core intents; psr, a PSR with rewards "
            "fitted afterwards; last-k, a table of the last k interactions; or an "
            "estimator of another package.",
        ),
    ] = "em",
    rank: Annotated[
        int | Literal["auto"],
        Parameter(
            converter=_rank,
            help="Rank of the model (em: number of states; last-k: number of interactions), or "
            "auto: held-out episodes choose it.",
        ),
    ] = "auto",
    behaviour: Annotated[
        str | None,
        Parameter(
            validator=_known_behaviour,
            help="Where the propensities (probabilities) of the logged actions come from: logged, "
            "from the log; estimated, from counts in the log (the default); blind, all actions are "
            "equally likely. em and last-k need no propensities.",
        ),
    ] = None,
    columns: ColumnNames = None,
    report: Annotated[
        Path | None,
        Parameter(converter=named_path, help="Write a page of diagnostics to this file, .html."),
    ] = None,
    plan: Annotated[
        str | None,
        Parameter(
            converter=named_file,
            completer=any_file,
            help="Also plan, and write the policy to this file, .json. A plan is made on each "
            "model that explains the log about equally well; the best has the highest mean value "
            "over all these models. A policy of a table of the last interactions is written "
            "instead if its lower bound on the true system is clearly higher.",
        ),
    ] = None,
    ensemble: Annotated[
        int,
        Parameter(
            validator=at_least(0),
            help="With --plan: the number of additional models, each fitted to a resampled log.",
        ),
    ] = 0,
    level: Annotated[
        float | None,
        Parameter(
            validator=between("a number from 0.5 to below 1", 0.5, nextafter(1, 0)),
            help="With --plan: the probability with which each bound on the policy's return on the "
            "true system (its promise) is meant to hold; by default 0.95.",
        ),
    ] = None,
    safe: Annotated[
        bool,
        Parameter(
            negative=(),
            help="With --plan: if no policy has a lower bound above the return of the behaviour "
            "policy (which recorded the log), write a stochastic policy like the behaviour policy.",
        ),
    ] = False,
    seed: Annotated[
        int,
        Parameter(
            validator=at_least(0),
            help="Random seed; equal seeds give equal output.",
        ),
    ] = 0,
    device: Annotated[
        Literal["auto", "cpu", "gpu"] | None,
        Parameter(
            help="Where em runs: cpu, gpu (pip install 'rpsr[gpu]'), or auto (the default), a GPU "
            "for a large log if there is one. For em only."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        Parameter(
            validator=positive,
            help="Seconds after which em stops trying larger numbers of states. The limit holds "
            "for each fit: one to the log, one without its held-out episodes, with --plan one to "
            "each half of the log, and one per model of --ensemble. By default em tries more "
            "states as long as they predict held-out episodes better. With a limit, the result "
            "depends on the speed of the machine.",
        ),
    ] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    scheduler_file: SchedulerFile = None,
    json: Json = False,
) -> None:
    """Learn a model from logs of actions, observations and rewards.

    Learning needs rewards, except for the probability of a goal. The state of the learned model
    depends on actions and observations only. `rpsr solve` plans on the model, and the policy runs
    on any system whose actions and observations have the same names.

    With --goal, --maximise or --minimise, episodes end at the observations of --goal and of
    --avoid, the rewards are those of this objective, and the model has discount 1.
    """
    from rpsr.errors import DataError, InputError
    from rpsr.io.files import place_of
    from rpsr.parallel import one_thread_each, workers

    with one_thread_each():  # for the imports: one process must compute the same bits as several
        from rpsr.learning import learn as fit
        from rpsr.learning.estimator_names import configured
        from rpsr.logs import Columns, Trajectories, open_logs
        from rpsr.logs.trajectories import no_rewards
        from rpsr.planning.files.policies import classic_form

    check_suffix(output, NATIVE)
    if ensemble and plan is None:
        raise InputError("--ensemble has an effect only with a plan: add --plan FILE")
    if level is not None and plan is None:
        raise InputError("--level has an effect only with a plan: add --plan FILE")
    if safe and plan is None:
        raise InputError("--safe has an effect only with a plan: add --plan FILE")
    if plan is not None and classic_form(plan) is not None:
        expected = "expected a name ending in .json: other formats cannot store the learned model"
        raise InputError(expected, place=plan)
    if report is not None:
        check_suffix(report, *PAGES)
    check_targets(output, plan, report, sources=logs)
    check_policy_name(plan)
    source = ", ".join(map(place_of, logs))
    stated = objective or GoalOptions()
    stated.check(discount)
    goal = stated.objective
    if goal is None and discount is None:
        give = "give one, such as --discount 0.95, or give --goal, --maximise or --minimise"
        raise InputError(f"--discount: missing; {give}")
    if plan is not None and (goal is not None or discount == 1):
        without = "--goal, --maximise and --minimise do not discount"
        what = "--discount is 1" if goal is None else without
        raise InputError(
            f"--plan compares plans by discounted returns, and {what}: leave out --plan, and plan "
            "on the learned model with 'rpsr solve'"
        )
    asked: dict[str, Any] = {
        "discount": discount if goal is None else 1.0,
        "plan": plan is not None,
        "seed": seed,
        "rank": None if rank == "auto" else rank,
        "behaviour": behaviour,
        "device": device,
        "time_limit": time_limit,
    }
    _check_options(estimator, asked)
    configured(estimator, **asked)  # a wrong option is refused before a large log is read
    with (
        workers(jobs, scheduler=scheduler, scheduler_file=scheduler_file) as executor,
        warnings.catch_warnings(record=True) as warned,
        live_line(f"learning from {source}") as progress,
    ):
        warnings.simplefilter("always", UserWarning)
        for path in logs:
            refuse_domain(path, "log.csv")
        log = open_logs(logs, columns=None if columns is None else Columns(**columns))
        if isinstance(log, Trajectories) and log.episodes == 0:
            raise InputError("the log has no episodes", place=source)
        needed = goal is None or goal.measure != "probability"
        if isinstance(log, Trajectories) and log.rewards is None and needed:
            raise InputError(no_rewards("learning"), place=source)
        how: dict[str, Any] = {"progress": progress, "executor": executor, "objective": goal}
        asked["discount"] = discount
        try:
            learned = fit(estimator, log, ensemble=ensemble, level=level or 0.95, **how, **asked)
        except DataError as error:  # of the log: the options were checked before
            raise error if error.place else DataError(error.message, place=source) from None
    said = [str(warning.message) for warning in warned]
    for message in dict.fromkeys([*said, *learned.warnings()]):
        note(message)
    try:  # an error in printing must not prevent writing, nor the other way round
        if json:
            print_json(
                "learn", logs, learned.document() | {"seed": seed, "output": output, "plan": plan}
            )
        else:
            show_learned(learned, plan or "", safe)
    finally:
        write_each(
            {
                output: lambda: learned.save(output),
                plan: lambda: _write_plan(learned, plan or "", safe),
                report: lambda: learned.report(report or Path(), source),
            },
            quiet=json,
        )


def _check_options(estimator: str, asked: dict[str, Any]) -> None:
    """Refuse an option that the estimator does not have, by its name on the command line."""
    from rpsr.errors import InputError
    from rpsr.learning.estimator_names import ESTIMATORS, estimator_options

    for option in ("behaviour", "device", "time_limit"):
        if asked[option] is not None and option not in estimator_options(estimator):
            owners = [name for name in ESTIMATORS.own if option in estimator_options(name)]
            flag = f"--{option.replace('_', '-')}"
            raise InputError(f"{flag} does not apply to {estimator}, only to {', '.join(owners)}")


def _write_plan(learned: Learned, target: str, safe: bool) -> None:
    from rpsr.evaluation.stochastic_files import save_stochastic
    from rpsr.planning import save_policy

    assert learned.safe is not None, "a plan was asked for"
    if safe and not learned.safe.beats_behaviour:
        save_stochastic(learned.safe.behaviour, target)
    else:
        save_policy(learned.plan, target)
