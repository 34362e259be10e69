"""Load the system and the policy that a verb simulates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpsr.cli.shared.objectives import ObjectiveOptions
from rpsr.cli.shared.output import note

if TYPE_CHECKING:
    from rpsr.evaluation.simulation import AnyPolicy
    from rpsr.models import POMDP, LinearModel
    from rpsr.planning import AlphaPolicy


def load_system(
    source: str,
    normalize: bool,
    discount: str | None,
    objective: ObjectiveOptions | None = None,
) -> POMDP | LinearModel:
    """The model to simulate, or the task of an objective on it; warnings go to standard error."""
    from rpsr.cli.shared.opening import load
    from rpsr.models import POMDP

    stated = objective or ObjectiveOptions()
    stated.check(discount)
    loaded = load(source, normalize=normalize, discount=discount)
    system = stated.task(loaded, source, timed=True)
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
        needs = "has no alpha vectors, which --look-ahead needs: leave out --look-ahead"
        raise InputError(needs, place=path or "the uniform policy")
    return policy.looking_ahead()
