"""Predictive models of a POMDP: tests, intents, core sets, PSRs, R-PSRs, and their errors."""

from rpsr.predictive.constructors import predictive_model, psr, reward_aware_psr, rpsr
from rpsr.predictive.core import Core, find_core, given_core, outcomes_of
from rpsr.predictive.futures import ZETA, Intent, Interaction, Test, parse_future
from rpsr.predictive.observed_rewards import reward_aware
from rpsr.predictive.rank_certificates import save_rank_certificate
from rpsr.predictive.reach import accurate_on_reachable, reachable_rank, reachable_states
from rpsr.predictive.reduction import Reduction, observable_quotient, reachable_restriction
from rpsr.predictive.reward_accuracy import Accuracy, Merge, accuracy
from rpsr.predictive.rewards import (
    approximate_rewards,
    distance_to_representable,
    least_largest_error,
    pomdp_rewards,
    reconstruct,
)
from rpsr.predictive.views import CoreView, expect, future_vector, state_after

__all__ = [
    "ZETA",
    "Accuracy",
    "Core",
    "CoreView",
    "Intent",
    "Interaction",
    "Merge",
    "Reduction",
    "Test",
    "accuracy",
    "accurate_on_reachable",
    "approximate_rewards",
    "distance_to_representable",
    "expect",
    "find_core",
    "future_vector",
    "given_core",
    "least_largest_error",
    "observable_quotient",
    "outcomes_of",
    "parse_future",
    "pomdp_rewards",
    "predictive_model",
    "psr",
    "reachable_rank",
    "reachable_restriction",
    "reachable_states",
    "reconstruct",
    "reward_aware",
    "reward_aware_psr",
    "rpsr",
    "save_rank_certificate",
    "state_after",
]
