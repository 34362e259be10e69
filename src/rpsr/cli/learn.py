"""`rpsr learn`: a model from logs, and how good it is."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from rpsr.cli.options import Json
from rpsr.cli.output import note, print_facts, print_json, print_table
from rpsr.cli.progress import spinning_progress

if TYPE_CHECKING:
    from rpsr.learning.learn import Learned

NATIVE = ".rpsr"


def _rank(_type: Any, tokens: Any) -> int | None:
    word = tokens[0].value
    if word == "auto":
        return None
    try:
        rank = int(word)
    except ValueError:
        rank = 0
    if rank < 1:
        raise ValueError(f"read {word!r}, expected auto or a number from 1")
    return rank


def learn(
    logs: Annotated[
        list[str],
        Parameter(help="Logs: .jsonl or .parquet files, or folders of them, as one log."),
    ],
    /,
    *,
    output: Annotated[
        str, Parameter(name=["--output", "-o"], help="The model file to write, .rpsr.")
    ],
    discount: Annotated[
        float,
        Parameter(validator=validators.Number(gte=0, lte=1), help="The discount of the model."),
    ],
    estimator: Annotated[
        Literal["em", "spectral", "discovered", "psr", "last-k"],
        Parameter(
            help="How to learn: EM of a POMDP read as an R-PSR; spectral R-PSR; R-PSR with core "
            "intents; PSR with rewards fitted afterwards; table of the last k pairs."
        ),
    ] = "em",
    rank: Annotated[
        int | None,
        Parameter(
            converter=_rank,
            help="The model's rank (em: states; last-k: pairs), or auto: what held-out episodes "
            "say.",
        ),
    ] = None,
    policy: Annotated[
        Literal["logged", "estimated", "blind"] | None,
        Parameter(
            help="How likely logged actions were: as logged, counted, or all alike. EM and last-k "
            "need not know."
        ),
    ] = None,
    report: Annotated[
        Path | None, Parameter(help="Write a page of diagnostics here, .html.")
    ] = None,
    seed: Annotated[
        int, Parameter(validator=validators.Number(gte=0), help="Seed of all that is drawn.")
    ] = 0,
    json: Json = False,
) -> None:
    """Learn a model from logs of actions, observations and rewards.

    Rewards are needed for learning and not afterwards: the model filters on actions and
    observations. `rpsr solve` plans on it, and its policy runs on any system with the same names.
    """
    from rpsr.errors import InputError
    from rpsr.learning.learn import learn as fit
    from rpsr.logs import read_logs
    from rpsr.models.store import save_native

    if not output.endswith(NATIVE):
        raise InputError(f"expected a name ending in {NATIVE}", place=output)
    log = read_logs(logs)
    if log.episodes == 0:
        raise InputError("the log has no episodes", place=logs[0])
    if log.rewards is None:
        raise InputError("the log has no rewards, expected them for learning", place=logs[0])
    if policy is not None and estimator in ("em", "last-k"):
        note(
            f"{estimator} need not know how actions were chosen: --policy {policy} changes nothing"
        )
    with (
        warnings.catch_warnings(record=True) as warned,
        spinning_progress(f"learning from {log.episodes} episodes") as progress,
    ):
        warnings.simplefilter("always", UserWarning)
        learned = fit(
            estimator,
            log,
            discount=discount,
            rank=rank,
            policy=policy,
            seed=seed,
            progress=progress,
        )
    for each in dict.fromkeys(str(warning.message) for warning in warned):
        note(each)
    if learned.psr_enough is None:
        note("the log is too short to ask whether a PSR is enough")
    save_native(learned.model, output)
    if report is not None:
        from rpsr.report.learning_page import learning_page
        from rpsr.report.page import write_page

        write_page(learning_page(learned, ", ".join(logs)), report)
    if learned.heldout.resets:
        note(f"the filter lost its way {learned.heldout.resets} times on held-out episodes")
    if json:
        print_json("learn", logs, learned.document() | {"seed": seed, "output": output})
    else:
        _show(learned)


def _show(learned: Learned) -> None:
    document, heldout = learned.document(), learned.heldout
    facts: list[tuple[str, Any]] = [
        ("estimator", learned.name),
        ("log", f"{learned.log.episodes} episodes, {learned.log.steps} steps"),
        ("rank", document["rank"]),
        ("held out", f"log-likelihood {heldout.loglik:.4g} an observation"),
    ]
    if heldout.reward_rmse is not None and heldout.reward_std is not None:
        words = f"error {heldout.reward_rmse:.4g}; {heldout.reward_std:.4g} without a model"
        facts.append(("rewards", words))
    if learned.psr_enough is not None:
        enough = learned.psr_enough
        low, high = enough.interval
        facts.append(
            (
                "PSR enough",
                f"{enough.verdict}: it forgets {enough.statistic:.2g} of what the past says about "
                f"rewards ({low:.2g} to {high:.2g})",
            )
        )
    facts += [("negative mass", heldout.negative_mass), ("seconds", learned.seconds)]
    print_facts(facts)
    rows = [tuple(each.values()) for each in document["candidates"]]
    if rows:
        print_table(
            ("states", "log-likelihood", "behind"),
            rows,
            "Candidates, the chosen one first: held-out log-likelihood of an episode with its "
            "rewards.",
        )
