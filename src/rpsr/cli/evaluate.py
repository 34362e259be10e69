"""`rpsr evaluate`: the value of a policy, by simulation and exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.loading import load_system, looking_ahead, policy_of
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import (
    Discount,
    Json,
    LookAhead,
    Normalize,
    Seed,
    Source,
    Workers,
    at_least,
    positive,
    standard_streams,
    whole,
)
from rpsr.cli.shared.output import note, print_json, print_lines, print_table
from rpsr.live import live_line

if TYPE_CHECKING:
    from rpsr.evaluation import Estimate
    from rpsr.evaluation.simulation import AnyPolicy
    from rpsr.models import POMDP, LinearModel

_COLUMNS = ("policy", "model", "mean", "std", "stderr", "exact", "episodes", "steps", "cut_off")
_HEADERS = {"std": "std. dev.", "stderr": "std. error", "exact": "exact mean", "cut_off": "cut-off"}


# The arguments are the options of the verb, one each.
def evaluate(
    source: Source,
    /,
    *,
    policy: Annotated[
        list[str] | None,
        Parameter(
            converter=standard_streams,
            completer=any_file,
            negative="",
            help="A policy file: .json of `rpsr solve -o`, .alpha or .pg of pomdp-solve, .policy "
            "of SARSOP; repeat the option to compare policies; by default the uniformly random "
            "policy.",
        ),
    ] = None,
    model: Annotated[
        list[Literal["pomdp", "psr", "rpsr"]] | None,
        Parameter(
            negative="",
            help="The model whose expected rewards are added up: the POMDP, its PSR or its R-PSR; "
            "repeat the option for several. By default all three. Building the PSR and the R-PSR "
            "of a large POMDP takes long.",
        ),
    ] = None,
    look_ahead: LookAhead = False,
    online: Annotated[
        float | None,
        Parameter(
            validator=positive,
            help="Also evaluate the policy that plans online: at every step it searches from the "
            "current state for this many seconds. Without --policy, only this policy is evaluated. "
            "The default of 1000 episodes takes long: set --episodes and --steps.",
        ),
    ] = None,
    episodes: Annotated[
        int,
        Parameter(
            converter=whole,
            validator=at_least(1),
            help="Number of episodes to simulate.",
        ),
    ] = 1000,
    steps: Annotated[
        int | None,
        Parameter(
            converter=whole,
            validator=at_least(1),
            help="Steps per episode; by default enough that the value of later steps is below the "
            "standard error, at most 2000.",
        ),
    ] = None,
    seed: Seed = 0,
    workers: Workers = 1,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Estimate the discounted return of policies by simulation, with a bound on later rewards.

    Each row shows the returns by the rewards that one model expects: the POMDP, its PSR or its
    R-PSR. A native file holds one model only. If the exact mean can be computed, it is shown next
    to the estimate.

    On a terminal, each row is shown as soon as it is known. Ctrl-C and SIGTERM show the rows so
    far (exit 130 and 143).

    A policy file is followed as written. If it holds alpha vectors, and one-step look-ahead with
    them has a different return, that policy is shown too.
    """
    from rpsr.errors import InputError
    from rpsr.evaluation.estimates import estimates
    from rpsr.models import POMDP

    system = load_system(source, normalize, discount, objective)
    if model and not isinstance(system, POMDP):
        raise InputError(
            f"--model needs a POMDP, and the file holds a {system.kind} model: leave out --model",
            place=source,
        )
    paths = dict.fromkeys(policy or ([None] if online is None else []))
    policies = [_ways(path, policy_of(path, system), look_ahead) for path in paths]
    if online is not None:
        from rpsr.planning import OnlinePolicy

        policies.append({f"online {online:g} s": OnlinePolicy(system, seconds=online, seed=seed)})
    rows: list[Estimate] = []

    def show() -> None:
        named: dict[str, AnyPolicy] = {
            name: followed for ways in policies for name, followed in ways.items()
        }
        _report(_different(rows, policies), system, named, source, seed, json)

    try:
        with live_line("evaluating") as say:
            for row in estimates(
                system,
                {name: followed for ways in policies for name, followed in ways.items()},
                models=model or None,
                episodes=episodes,
                steps=steps,
                seed=seed,
                workers=workers,
                progress=_counting(say),
                say=say,
            ):
                rows.append(row)
                if say is not None:  # a person waits
                    note(row.title())
    except KeyboardInterrupt:
        if rows:
            show()
        raise
    show()


def _report(
    rows: list[Estimate],
    system: POMDP | LinearModel,
    policies: Mapping[str, AnyPolicy],
    source: str,
    seed: int,
    json: bool,
) -> None:
    """Show rows, and say of which policies later steps matter."""
    from rpsr.evaluation.estimates import missing

    for name in dict.fromkeys(row.policy for row in rows):
        warning = missing([row for row in rows if row.policy == name], system.discount)
        if warning is not None:
            note(f"{warning}; --steps sets their number")
    if json:
        head = {"name": system.name, "discount": system.discount, "seed": seed}
        print_json("evaluate", source, head | {"rows": [_row(row) for row in rows]})
    else:
        _show(rows, system, policies)


def _counting(say: Callable[[str], None] | None) -> Callable[[int, int], None] | None:
    """Progress of a simulation as words."""
    if say is None:
        return None
    return lambda done, total: say(f"simulated {done:,} of {total:,} episodes")


def _different(rows: list[Estimate], policies: list[dict[str, AnyPolicy]]) -> list[Estimate]:
    """The rows of each policy, without those of a way of following it that earns the same."""
    from rpsr.evaluation.estimates import differ

    kept: list[Estimate] = []
    for ways in policies:
        first, *others = [[row for row in rows if row.policy == name] for name in ways]
        kept += first
        kept += [row for other in others if differ(first, other) for row in other]
    return kept


def _ways(path: str | None, policy: AnyPolicy, look_ahead: bool) -> dict[str, AnyPolicy]:
    """A policy by name and, if it holds vectors with actions, its look-ahead variant.

    The variant that the user asked for comes first.
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


def _row(estimate: Estimate) -> dict[str, Any]:
    return {column: getattr(estimate, column) for column in _COLUMNS}


def _show(
    rows: list[Estimate], system: POMDP | LinearModel, policies: Mapping[str, AnyPolicy]
) -> None:
    from rpsr.evaluation.simulation import why_no_table

    undiscounted = system.discount is None or system.discount == 1
    sum_of = "undiscounted" if undiscounted else f"discounted by {system.discount:g}"
    columns = [_HEADERS.get(column, column) for column in _COLUMNS]
    print_table(columns, [list(_row(row).values()) for row in rows], missing="-")
    print_lines(
        [
            f"Returns {sum_of}, by each model's own expected rewards, over the steps shown. exact "
            "mean: computed without simulation. cut-off: a bound on the absolute return of all "
            "later steps."
        ]
    )
    without = dict.fromkeys(row.policy for row in rows if row.exact is None)
    reasons = dict.fromkeys(why_no_table(policies[name], system) for name in without)
    if reasons:
        print_lines([f"No exact mean (-): {'; '.join(reasons)}."])
