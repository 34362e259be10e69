"""Policies from files, made to run on a system.

A controller or a tree knows only names. A value function is followed at the filtered states of a
model, and it must be the kind of model it was planned on: the PSR's value function is one of PSR
states, and looks ahead, where it does, with the PSR's rewards, not with the POMDP's. The file holds
the vectors and not the model, so that model is made anew from the system.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rpsr.errors import InputError
from rpsr.evaluation.simulation import AnyPolicy
from rpsr.io.files import place_of
from rpsr.models.given import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.files.native import StoredVectors
from rpsr.planning.files.policies import load_policy
from rpsr.planning.value.coordinates import from_beliefs
from rpsr.predictive.constructors import psr, rpsr


def open_policy(path: str | Path, system: POMDP | LinearModel) -> AnyPolicy:
    """The policy of a file of any form (see `load_policy`), for a system, as it is written.

    Its actions and observations must be the system's. The classic forms hold no names and say
    nothing of a model: `.alpha` vectors are followed through the POMDP's beliefs.
    """
    linear = as_linear(system, "system")
    stored = load_policy(path, linear)
    if not isinstance(stored, StoredVectors):
        return stored
    if stored.model is not linear:  # the file carries the model it was planned on
        return stored.policy()
    made_for = str(stored.made_for.get("kind"))
    if made_for == linear.kind:
        return stored.policy()
    if isinstance(system, POMDP) and made_for in ("psr", "rpsr"):
        model = psr(system) if made_for == "psr" else rpsr(system)
        found = stored.value_function
        found = replace(found, vectors=from_beliefs(model, found.vectors))
        return replace(stored, model=model, value_function=found).policy()
    if {made_for, linear.kind} <= {"belief", "rpsr"}:  # two forms of one task, rewards included
        return stored.policy()
    raise InputError(
        f"was planned on a {made_for} model and acts by its states and rewards, which this "
        f"{linear.kind} model does not have",
        place=place_of(path),
    )
