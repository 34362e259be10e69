"""The verb: a policy that plans online, for a model or a simulator."""

from __future__ import annotations

from inspect import signature
from typing import Any

from rpsr.errors import InputError
from rpsr.models.as_model import wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.online.particles import ParticlePolicy
from rpsr.planning.online.policy import OnlinePolicy
from rpsr.planning.online.simulator import is_simulator


def plan_online(
    system: Any, *, seconds: float | None = None, trials: int | None = None, **options: Any
) -> OnlinePolicy | ParticlePolicy:
    """A policy that looks ahead from the current state at every step.

    system: a POMDP or a linear model (`OnlinePolicy`), or a simulator (`ParticlePolicy`).
    seconds, trials: the effort per step, by default one second. With trials, equal seeds and equal
    histories give equal actions.
    options: those of the policy, such as `seed`; `plan` for a model; `particles` and `scenarios`
    for a simulator.
    """
    modelled = isinstance(system, POMDP | LinearModel)
    if not (modelled or is_simulator(system)):
        kinds = (
            "a POMDP, a linear model or a simulator (an object with actions, discount, start and "
            "step)"
        )
        raise wrong_type(system, "system", kinds, "rpsr.load_pomdp opens files and names")
    policy = OnlinePolicy if modelled else ParticlePolicy
    try:
        return policy(system, seconds=seconds, trials=trials, **options)
    except TypeError as error:
        wrong = [name for name in options if f"'{name}'" in str(error)]
        if not wrong:
            raise
        known = ", ".join(list(signature(policy).parameters)[1:])
        raise InputError(
            f"{policy.__name__} has no option {wrong[0]!r}; choose from {known}"
        ) from None
