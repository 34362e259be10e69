"""`rpsr simulate`: episodes of a policy, written to a file."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from rpsr.cli.shared.completion import any_file
from rpsr.cli.shared.loading import load_system, looking_ahead, policy_of
from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.options import (
    Discount,
    LookAhead,
    Normalize,
    Seed,
    Source,
    Workers,
    at_least,
    standard_stream,
    whole,
)
from rpsr.cli.shared.output import check_targets, wrote
from rpsr.cli.shared.progress import measured_progress

PolicyFile = Annotated[
    str | None,
    Parameter(
        converter=standard_stream,
        completer=any_file,
        help="A policy file: .json of `rpsr solve -o`, .alpha or .pg of pomdp-solve, .policy of "
        "SARSOP; by default the uniformly random policy.",
    ),
]
Steps = Annotated[int, Parameter(converter=whole, validator=at_least(1), help="Steps per episode.")]


# The arguments are the options of the verb, one each.
def simulate(
    source: Source,
    /,
    *,
    output: Annotated[
        str,
        Parameter(
            name=["--output", "-o"],
            converter=standard_stream,
            completer=any_file,
            help="The file to write: .jsonl or .ndjson (also .gz) has one episode per line, .csv "
            "(also .gz) or .parquet one row per step; - is JSON lines on standard output.",
        ),
    ],
    episodes: Annotated[
        int,
        Parameter(converter=whole, validator=at_least(1), help="Number of episodes to simulate."),
    ] = 1000,
    steps: Steps = 100,
    seed: Seed = 0,
    policy: PolicyFile = None,
    look_ahead: LookAhead = False,
    states: Annotated[
        bool, Parameter(negative="", help="Record the hidden states, as indices.")
    ] = False,
    rewards: Annotated[bool, Parameter(help="Record the rewards.")] = True,
    propensities: Annotated[
        bool, Parameter(negative="", help="Record the probability of each action.")
    ] = False,
    workers: Workers = 1,
    objective: ObjectiveOptions | None = None,
    normalize: Normalize = False,
    discount: Discount = None,
) -> None:
    """Simulate a policy on a model and write the episodes.

    An episode ends early only at an observation that marks the end of the task. The file is
    written completely or, after an error or Ctrl-C, not at all.
    """
    from rpsr.evaluation import simulate_blocks
    from rpsr.logs.writers import check_target, write_logs

    check_target(output)
    check_targets(output, sources=filter(None, (source, policy)))
    system = load_system(source, normalize, discount, objective)
    followed = policy_of(policy, system)
    with measured_progress("simulating episodes") as progress:
        blocks = simulate_blocks(
            system,
            looking_ahead(policy, followed) if look_ahead else followed,
            episodes=episodes,
            steps=steps,
            seed=seed,
            rewards=rewards,
            states=states,
            propensities=propensities,
            workers=workers,
            progress=progress,
        )
        write_logs(blocks, output)
    wrote(output)
