"""The kinds of models that a user can ask for, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rpsr.models import POMDP, LinearModel

Kind = Literal["pomdp", "belief", "psr", "rpsr", "ra-psr"]


def as_kind(pomdp: POMDP, kind: Kind) -> POMDP | LinearModel:
    """A POMDP as a model of another kind."""
    from rpsr.predictive import psr, reward_aware_psr, rpsr

    match kind:
        case "pomdp":
            return pomdp
        case "belief":
            return pomdp.belief_model()
        case "psr":
            return psr(pomdp)
        case "rpsr":
            return rpsr(pomdp)
        case "ra-psr":
            return reward_aware_psr(pomdp)
