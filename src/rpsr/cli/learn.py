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
        raise ValueError(f"read {name!r}, expected {', '.join(BEHAVIOURS)}")


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
            help="Discount of the model; necessary without an objective such as --goal.",
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
            help="Propensities of the logged actions: logged, taken from the log; estimated, by "
            "counts (the default); blind, all actions equally likely. Not for em and last-k, which "
            "need none.",
        ),
    ] = None,
    columns: ColumnNames = None,
    report: Annotated[
        Path | None,
        Parameter(converter=named_path, help="Write a page of diagnostics here, .html."),
    ] = None,
    plan: Annotated[
        str | None,
        Parameter(
            converter=named_file,
            completer=any_file,
            help="Also plan, and write the policy here, .json. Each model that explains the log "
            "about equally well gives a plan; the highest mean value over all models decides. "
            "If the lower bound of a table's policy on the true system is clearly higher, that "
            "policy is written instead.",
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
            help="With --plan: the level of the promise, the probability with which each of its "
            "bounds is meant to hold; by default 0.95.",
        ),
    ] = None,
    safe: Annotated[
        bool,
        Parameter(
            negative=(),
            help="With --plan: if the lower bound of no policy exceeds the return of the behaviour "
            "policy of the log, write a stochastic policy like that one.",
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
            "for each fit separately: two (the log, and its part without held-out episodes), two "
            "more with --plan (the halves of the log), and one per model of --ensemble. By default "
            "em tries more states as long as held-out episodes ask for them. With a limit, the "
            "result depends on the speed of the machine.",
        ),
    ] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    scheduler_file: SchedulerFile = None,
    json: Json = False,
) -> None:
    """Learn a model from logs of actions, observations and rewards.

    Learning needs rewards; the learned model filters on actions and observations alone. `rpsr
    solve` plans on it, and the policy runs on any system with the same names.

    With an objective, such as --goal, episodes end at the observations of the goal and of --avoid,
    rewards are those of the objective, and the model has discount 1.
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
        raise InputError("--ensemble is for choosing a plan: add --plan FILE")
    if level is not None and plan is None:
        raise InputError("--level is for the promise of a plan: add --plan FILE")
    if safe and plan is None:
        raise InputError("--safe is for choosing a plan: add --plan FILE")
    if plan is not None and classic_form(plan) is not None:
        expected = "expected a native policy file, .json: only this format holds a learned filter"
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
        give = "give one, such as --discount 0.95, or an objective, such as --goal"
        raise InputError(f"--discount: missing; {give}")
    if plan is not None and (goal is not None or discount == 1):
        what = "a discount of 1" if goal is None else "an objective such as --goal"
        raise InputError(
            f"--plan: plans of a log are compared by discounted returns, and {what} has none: "
            "leave out --plan, and plan on the learned model with 'rpsr solve'"
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
            _check_exists(path)
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


def _check_exists(path: str) -> None:
    """Refuse the name of a built-in domain, which is no log, in its own words."""
    from rpsr.domains.catalogue import NAMES
    from rpsr.errors import InputError

    if path.partition(":")[0] in NAMES and not Path(path).exists():
        raise InputError(
            f"no such file or folder; {path} is a built-in domain: 'rpsr simulate {path} -o "
            "log.csv' writes a log",
            place=path,
        )


def _write_plan(learned: Learned, target: str, safe: bool) -> None:
    from rpsr.evaluation.stochastic_files import save_stochastic
    from rpsr.planning import save_policy

    assert learned.safe is not None, "a plan was asked for"
    if safe and not learned.safe.beats_behaviour:
        save_stochastic(learned.safe.behaviour, target)
    else:
        save_policy(learned.plan, target)
