"""`rpsr simulate`: episodes of a policy, written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from rpsr.cli.completion import any_file
from rpsr.cli.options import Discount, Normalize, Source, standard_stream, whole
from rpsr.cli.output import check_targets, note, wrote
from rpsr.cli.progress import measured_progress

if TYPE_CHECKING:
    from rpsr.evaluation.simulation import AnyPolicy
    from rpsr.models import POMDP, LinearModel
    from rpsr.planning import AlphaPolicy

AtLeastOne = validators.Number(gte=1)
PolicyFile = Annotated[
    str | None,
    Parameter(
        converter=standard_stream,
        completer=any_file,
        help="A policy file of `rpsr solve -o`, or an .alpha or .pg file of pomdp-solve; by "
        "default the uniformly random policy.",
    ),
]
LookAhead = Annotated[
    bool,
    Parameter(
        negative="",
        help="Choose actions by one-step look-ahead with the policy file's alpha vectors, not by "
        "the action stored with the best vector.",
    ),
]
Steps = Annotated[int, Parameter(converter=whole, validator=AtLeastOne, help="Steps per episode.")]
Seed = Annotated[
    int,
    Parameter(
        converter=whole,
        validator=validators.Number(gte=0),
        help="Random seed; equal seeds give equal output.",
    ),
]
Workers = Annotated[
    int, Parameter(converter=whole, validator=AtLeastOne, help="Number of threads.")
]


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
        Parameter(converter=whole, validator=AtLeastOne, help="Number of episodes to simulate."),
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
    system = load_system(source, normalize, discount)
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


def load_system(source: str, normalize: bool, discount: str | None) -> POMDP | LinearModel:
    """The model to simulate; its warnings go to standard error."""
    from rpsr.models import POMDP
    from rpsr.sources import load

    system = load(source, normalize=normalize, discount=discount)
    if isinstance(system, POMDP):
        for warning in system.warnings:
            note(f"{source}: {warning}")
    return system


def policy_of(path: str | None, system: POMDP | LinearModel) -> AnyPolicy:
    """The policy of a file, or the uniform one."""
    from rpsr.evaluation import StochasticController, open_policy

    return StochasticController.stationary(system) if path is None else open_policy(path, system)


def looking_ahead(path: str | None, policy: AnyPolicy) -> AlphaPolicy:
    """The policy that looks one step ahead with the vectors of a file."""
    from rpsr.errors import InputError
    from rpsr.planning import AlphaPolicy

    if not isinstance(policy, AlphaPolicy):
        raise InputError("has no vectors for --look-ahead", place=path or "the uniform policy")
    return policy.looking_ahead()
