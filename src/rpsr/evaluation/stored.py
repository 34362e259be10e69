"""Policies from files, made to run on a system.

A controller or a tree knows only names. A value function is greedy by looking one step ahead
through a model, and it must be the kind of model it was planned on: the PSR's value function looks
ahead with the PSR's rewards, not with the POMDP's. The file holds the vectors and not the model, so
that model is made anew from the system.
"""

from __future__ import annotations

from pathlib import Path

from rpsr.errors import InputError
from rpsr.evaluation.simulation import AnyPolicy
from rpsr.io.files import place_of
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.classic_files import read_alpha, read_pg
from rpsr.planning.coordinates import from_beliefs
from rpsr.planning.policies import AlphaPolicy
from rpsr.planning.policy_files import StoredVectors, load_policy
from rpsr.predictive.constructors import psr, rpsr


def open_policy(path: str | Path, system: POMDP | LinearModel) -> AnyPolicy:
    """The policy of a native file, or of an `.alpha` or `.pg` file, for a system.

    Its actions and observations must be the system's. The classic forms hold no names and say
    nothing of a model: `.alpha` vectors are followed through the POMDP's beliefs.
    """
    linear = system.belief_model() if isinstance(system, POMDP) else system
    name = str(path).lower()
    if name.endswith(".pg"):
        return read_pg(path, linear)
    if name.endswith(".alpha"):
        return AlphaPolicy(linear, read_alpha(path, linear)[0])
    stored = load_policy(path, linear)
    if not isinstance(stored, StoredVectors):
        return stored
    made_for = str(stored.made_for.get("kind"))
    if made_for == linear.kind:
        return stored.policy()
    if isinstance(system, POMDP) and made_for in ("psr", "rpsr"):
        model = psr(system) if made_for == "psr" else rpsr(system)
        return AlphaPolicy(model, from_beliefs(model, stored.vectors), stored.epsilon)
    if {made_for, linear.kind} <= {"belief", "rpsr"}:  # two forms of one task, rewards included
        return stored.policy()
    raise InputError(
        f"was planned on a {made_for} model and looks ahead with its rewards, which this "
        f"{linear.kind} model does not have",
        place=place_of(path),
    )
