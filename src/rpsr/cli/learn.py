"""`rpsr learn`: a model from logs, with its accuracy on held-out episodes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.objectives import GoalOptions
from rpsr.cli.shared.options import (
    ColumnNames,
    Jobs,
    Json,
    Scheduler,
    SchedulerFile,
    named_file,
    named_path,
    standard_streams,
)
from rpsr.cli.shared.output import (
    PAGES,
    check_policy_name,
    check_suffix,
    check_targets,
    note,
    print_facts,
    print_json,
    print_table,
    write_each,
)
from rpsr.live import live_line

if TYPE_CHECKING:
    from rpsr.learning.learned import Learned

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
        raise ValueError(f"read {word!r}, expected auto or a number from 1")
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
            validator=validators.Number(gte=0, lte=1),
            help="Discount of the model; necessary without an objective such as --goal.",
        ),
    ] = None,
    objective: GoalOptions | None = None,
    estimator: Annotated[
        str,
        Parameter(
            validator=_existing,
            help="How to learn: em, a POMDP fitted by EM, converted to an R-PSR; spectral, a "
            "spectral R-PSR; discovered, an R-PSR with core intents; psr, a PSR with rewards "
            "fitted afterwards; last-k, a table of the last k (action, observation) pairs; or an "
            "estimator of another package.",
        ),
    ] = "em",
    rank: Annotated[
        int | Literal["auto"],
        Parameter(
            converter=_rank,
            help="Rank of the model (em: number of states; last-k: number of pairs), or auto, "
            "which held-out episodes decide.",
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
            "about equally well gives a plan; the highest mean value over all models decides.",
        ),
    ] = None,
    ensemble: Annotated[
        int,
        Parameter(
            validator=validators.Number(gte=0),
            help="With --plan: the number of additional models, each fitted to a resampled log.",
        ),
    ] = 0,
    level: Annotated[
        float | None,
        Parameter(
            validator=validators.Number(gte=0.5, lt=1),
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
            validator=validators.Number(gte=0),
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
            validator=validators.Number(gt=0),
            help="Seconds after which em tries no larger number of states, in each of its fits. By "
            "default it tries more states as long as held-out episodes ask for them. With a limit, "
            "the result depends on the speed of the machine.",
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
    from rpsr.errors import InputError
    from rpsr.io.files import place_of
    from rpsr.parallel import one_thread_each, workers

    with one_thread_each():  # for the imports: one process must compute the same bits as several
        from rpsr.learning.estimator_names import configured
        from rpsr.learning.learn import learn as fit
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
        expected = "expected it, such as --discount 0.95, or an objective such as --goal"
        raise InputError(f"--discount: missing, {expected}")
    asked: dict[str, Any] = {
        "discount": discount if goal is None else 1.0,
        "plan": plan is not None,
        "seed": seed,
        "rank": None if rank == "auto" else rank,
        "behaviour": behaviour,
        "device": device,
        "time_limit": time_limit,
    }
    configured(estimator, **asked)  # a wrong option is refused before a large log is read
    with (
        workers(jobs, scheduler=scheduler, scheduler_file=scheduler_file) as executor,
        warnings.catch_warnings(record=True) as warned,
        live_line(f"learning from {source}") as progress,
    ):
        warnings.simplefilter("always", UserWarning)
        log = open_logs(logs, columns=None if columns is None else Columns(**columns))
        if isinstance(log, Trajectories) and log.episodes == 0:
            raise InputError("the log has no episodes", place=source)
        needed = goal is None or goal.measure != "probability"
        if isinstance(log, Trajectories) and log.rewards is None and needed:
            raise InputError(no_rewards("learning"), place=source)
        how: dict[str, Any] = {"progress": progress, "executor": executor, "objective": goal}
        asked["discount"] = discount
        learned = fit(estimator, log, ensemble=ensemble, level=level or 0.95, **how, **asked)
    said = [str(warning.message) for warning in warned]
    for message in dict.fromkeys([*said, *learned.warnings()]):
        note(message)
    try:  # an error in printing must not prevent writing, nor the other way round
        if json:
            print_json(
                "learn", logs, learned.document() | {"seed": seed, "output": output, "plan": plan}
            )
        else:
            _show(learned, plan or "", safe)
    finally:
        write_each(
            {
                output: lambda: learned.save(output),
                plan: lambda: _write_plan(learned, plan or "", safe),
                report: lambda: learned.report(report or Path(), source),
            },
            quiet=json,
        )


def _write_plan(learned: Learned, target: str, safe: bool) -> None:
    from rpsr.evaluation.stochastic_files import save_stochastic
    from rpsr.planning import save_policy

    assert learned.safe is not None, "a plan was asked for"
    if safe and not learned.safe.beats_behaviour:
        save_stochastic(learned.safe.behaviour, target)
    else:
        save_policy(learned.plan, target)


def _show(learned: Learned, plan: str, safe: bool) -> None:
    from rpsr.predictive.futures import NOTATION

    print_facts(_facts(learned))
    found = learned.findings
    if found.core is not None:
        print_table(
            ("core intent", "stability"),
            [(member.intent, member.stability) for member in found.core],
            "The state consists of the predictions of these intents; stability: the share of "
            f"resampled logs that chose the same intent. {NOTATION}",
        )
    if found.candidates:
        print_table(
            ("states", "log-likelihood", "behind the best by"),
            [(size.states, size.loglik, size.behind) for size in found.candidates],
            "Candidates, the chosen one first: held-out log-likelihood per episode, rewards "
            "included.",
        )
    if learned.choice is not None:
        choice, digits = learned.choice, learned.census.digits
        words = (
            choice.own_model,
            choice.agreement(digits),
            f"Best: the plan with {choice.rule}. Off-policy value: importance-sampled return, "
            "over the steps where some logged episode still agrees with the plan, with a 90 % "
            "interval. It is slightly optimistic, because the plan comes from the same log.",
        )
        print_table(choice.COLUMNS, choice.summary(), " ".join(filter(None, words)), digits)
    if learned.safe is not None:
        compared, level = learned.safe, learned.safe.chosen.promise.level
        print_table(
            compared.COLUMNS,
            compared.summary(bool(learned.continued)),
            f"Written to {plan}: {compared.written(safe)}. "
            "Promises: the discounted return on the true system, by the log. Each bound is meant "
            f"to hold with probability {level:.4g}, under the assumptions of its method; the "
            "documentation of learning says how often that was so. Chosen: the best plan, or the "
            "table if its lower bound is clearly higher.",
            learned.census.digits,
        )


def _facts(learned: Learned) -> list[tuple[str, Any]]:
    from rpsr.showing import counted

    found, heldout, ended = learned.findings, learned.heldout, learned.census.ended
    facts: list[tuple[str, Any]] = [
        ("estimator", learned.name),
        ("log", f"{counted(learned.episodes, 'episode')}, {counted(learned.steps, 'step')}"),
    ]
    if ended:
        facts.append(("task ended", f"in {counted(ended, 'episode')}"))
    facts.append(("rank", ": ".join(filter(None, (str(found.rank), found.origin)))))
    if found.spectrum is not None:
        facts.append(("because", found.spectrum.reason))
    facts.append(("held out", f"log-likelihood {heldout.loglik:.4g} per observation"))
    if heldout.reward_rmse is not None and heldout.reward_std is not None:
        mean = f"(predicting the mean reward: {heldout.reward_std:.4g})"
        words = f"RMSE {heldout.reward_rmse:.4g} {mean}"
        facts.append(("rewards", words))
    if learned.psr_enough is not None:
        enough = learned.psr_enough
        facts.append(("PSR enough", f"{enough.verdict}: {enough.words}"))
    words = f"negative probability {heldout.negative_mass:.4g} per step"
    facts.append(("inconsistency", words))
    if learned.promise is not None:
        facts.append(("promise", learned.promise_words))
    if learned.safe is not None and learned.safe.acts:
        facts.append(("policy", learned.safe.acts))
    return [*facts, ("seconds", learned.seconds)]
