"""Policies from files, made to run on a system.

A controller or a tree contains only names. A value function needs the filtered states of a model of
the kind that it was planned on: a PSR's value function needs PSR states, and its look-ahead uses
the PSR's rewards, not the POMDP's. The file contains the vectors but not the model, so the model is
computed again from the system.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rpsr.errors import InputError
from rpsr.evaluation.simulation import AnyPolicy
from rpsr.evaluation.stochastic_files import stochastic_file
from rpsr.io.files import place_of
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.files.native import StoredVectors
from rpsr.planning.files.policies import load_policy
from rpsr.planning.value.coordinates import from_beliefs
from rpsr.predictive.constructors import psr, rpsr


def open_policy(path: str | Path, system: POMDP | LinearModel) -> AnyPolicy:
    """Load a policy file of any format (see `load_policy`) for a system.

    Its actions and observations must be the system's. The classic formats contain neither names nor
    a model: `.alpha` vectors act on the POMDP's beliefs.
    """
    linear = as_linear(system, "system")
    drawn = stochastic_file(path, linear)
    if drawn is not None:
        return drawn
    stored = load_policy(path, linear)
    if not isinstance(stored, StoredVectors):
        return stored
    if stored.model is not linear:  # the file contains the model it was planned on
        return stored.policy()
    kind = linear.kind if stored.planned_on is None else stored.planned_on
    if kind == linear.kind:
        return stored.policy()
    if isinstance(system, POMDP) and kind in ("psr", "rpsr"):
        model = psr(system) if kind == "psr" else rpsr(system)
        vectors = from_beliefs(model, stored.value_function.vectors)
        value_function = replace(stored.value_function, vectors=vectors)
        return replace(stored, model=model, value_function=value_function).policy()
    if {kind, linear.kind} <= {"belief", "rpsr"}:  # two forms of one task, rewards included
        return stored.policy()
    raise InputError(
        f"this policy was planned on a {kind} model; the states and rewards of that model cannot "
        f"be computed from this {linear.kind} model",
        place=place_of(path),
    )
