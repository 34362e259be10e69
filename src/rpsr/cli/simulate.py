"""`rpsr simulate`: episodes of a policy, written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

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
        help="The policy to follow, as `rpsr solve -o` writes it, or an .alpha or .pg file of the "
        "classic solver; without one, every action is equally likely.",
    ),
]
LookAhead = Annotated[
    bool,
    Parameter(
        negative="",
        help="Look one step ahead with the vectors of a policy file, instead of taking the action "
        "that is written beside the best vector.",
    ),
]
Steps = Annotated[
    int, Parameter(converter=whole, validator=AtLeastOne, help="Steps of an episode.")
]
Seed = Annotated[
    int,
    Parameter(
        converter=whole,
        validator=validators.Number(gte=0),
        help="The seed; the same gives the same.",
    ),
]
Workers = Annotated[
    int, Parameter(converter=whole, validator=AtLeastOne, help="How many threads to use.")
]


# One option of the verb is one of its arguments: there are as many as the command has.
def simulate(
    source: Source,
    /,
    *,
    output: Annotated[
        str,
        Parameter(
            name=["--output", "-o"],
            converter=standard_stream,
            help="The file to write: .jsonl or .ndjson (also .gz) has one episode a line, .parquet "
            "one row a step; - is JSON lines on standard output.",
        ),
    ],
    episodes: Annotated[
        int, Parameter(converter=whole, validator=AtLeastOne, help="How many episodes to simulate.")
    ] = 1000,
    steps: Steps = 100,
    seed: Seed = 0,
    policy: PolicyFile = None,
    look_ahead: LookAhead = False,
    states: Annotated[
        bool, Parameter(negative="", help="Record the hidden states, by number.")
    ] = False,
    rewards: Annotated[bool, Parameter(help="Record the rewards, or not.")] = True,
    propensities: Annotated[
        bool, Parameter(negative="", help="Record how probable each action was.")
    ] = False,
    workers: Workers = 1,
    normalize: Normalize = False,
    discount: Discount = None,
) -> None:
    """Simulate a policy on a model and write the episodes.

    An episode ends before its last step only where an observation says that the task is over. The
    file is written completely or, after an error or Ctrl-C, not at all.
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
    """What is simulated; warnings about it go to standard error."""
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
        raise InputError("has no vectors to look ahead with", place=path or "the uniform policy")
    return policy.looking_ahead()
