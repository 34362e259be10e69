"""Arguments that stand for a policy: converted to one, or refused."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rpsr.models.as_model import wrong_type
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.files.native import StoredVectors
from rpsr.planning.solution import Solution
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.policies import Policy, UniformPolicy
from rpsr.planning.value.trees import PolicyTree

UNIFORM: Literal["uniform"] = "uniform"
VERBS = ("reset", "act", "update")  # the methods of a policy
# All that as_policy takes; evaluation adds its own tables.
AnyPolicy = (
    Policy | Solution | FiniteStateController | PolicyTree | StoredVectors | Literal["uniform"]
)
_EXPECTED = (
    f"a plan, a policy (an object with the methods {', '.join(VERBS)}), a controller, a policy "
    f"tree or {UNIFORM!r}"
)


def as_policy(given: Any, model: POMDP | LinearModel, what: str = "policy") -> Policy:
    """An argument as a policy for a model; `"uniform"` chooses from the model's actions.

    A plan, a controller, a tree and vectors from a file become policies at their start. A policy is
    returned unchanged. Anything else is an `InputError`. what: the argument's name, for the
    message.
    """
    if isinstance(given, str) and given == UNIFORM:
        return UniformPolicy(model, np.random.default_rng(0))
    begin: Any = None if isinstance(given, type) else getattr(given, "policy", None)
    policy: Any = begin() if callable(begin) and not _follows(given) else given
    if not _follows(policy):
        raise wrong_type(given, what, _EXPECTED, "rpsr.load_policy opens files")
    return policy


def _follows(given: Any) -> bool:
    """Whether it is an object (not a class) with the methods of a policy."""
    verbs = (getattr(given, verb, None) for verb in VERBS)
    return not isinstance(given, type) and all(map(callable, verbs))
