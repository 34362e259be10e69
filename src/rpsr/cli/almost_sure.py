"""`rpsr almost-sure`: whether a goal can be reached with probability one."""

from __future__ import annotations

import time
from typing import Annotated

from cyclopts import Parameter

from rpsr.cli.shared.objectives import GOAL_HELP
from rpsr.cli.shared.options import Discount, Json, Normalize, Source, at_least, whole
from rpsr.cli.shared.output import print_facts, print_json, print_table

MOST = 12  # supports that are listed


def almost_sure(
    source: Source,
    /,
    *,
    goal: Annotated[
        str,
        Parameter(help=GOAL_HELP),
    ],
    avoid: Annotated[
        str | None, Parameter(help="What never to reach, given as for --goal.")
    ] = None,
    limit: Annotated[
        int,
        Parameter(
            converter=whole,
            validator=at_least(1),
            help="Give up beyond this number of supports (sets of possible states).",
        ),
    ] = 100_000,
    normalize: Normalize = False,
    discount: Discount = None,
    json: Json = False,
) -> None:
    """Decide whether a goal can be reached with probability one, and show how.

    The answer is exact. It depends on beliefs only by their supports: the sets of states that are
    possible after the actions and observations so far. The strategy that is shown draws at random
    one of the winning actions of the current support.
    """
    from rpsr.cli.shared.opening import load_pomdp
    from rpsr.evaluation import almost_sure as decide

    began = time.perf_counter()
    decision = decide(
        load_pomdp(source, normalize=normalize, discount=discount),
        goal,
        avoiding=avoid,
        limit=limit,
    )
    rows = [
        {"support": list(support), "actions": list(actions)}
        for support, actions in zip(decision.supports, decision.winning, strict=True)
    ]
    winning = sum(1 for row in rows if row["actions"])
    facts = {
        "goal": goal,
        "avoid": avoid,
        "possible": decision.possible,
        "supports": len(rows),
        "winning": winning,
        "seconds": time.perf_counter() - began,
    }
    if json:
        print_json("almost-sure", source, facts | {"rows": rows})
        return
    answer = "yes, with probability one" if decision.possible else "no, not with probability one"
    print_facts(
        [
            ("goal", goal),
            ("avoid", avoid or "nothing"),
            ("goal reached", answer),
            ("supports", len(rows)),
            ("winning supports", winning),
            ("seconds", facts["seconds"]),
        ]
    )
    shown = [
        (_some(row["support"]) or "(the goal is reached)", " or ".join(row["actions"]) or "none")
        for row in rows[:MOST]
    ]
    more = len(rows) - len(shown)
    caption = f"The first {MOST} supports; --json prints all {len(rows)}." if more > 0 else ""
    print_table(["possible states", "winning actions"], shown, caption)


def _some(names: list[str], most: int = 6) -> str:
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed}, ... ({len(names) - most} more)"
