"""Evaluation: returns of policies on any model, simulated and, where possible, exact."""

from rpsr.evaluation.certain_goals import AlmostSure, almost_sure
from rpsr.evaluation.episode_returns import returns
from rpsr.evaluation.estimates import Estimate, Estimates, evaluate
from rpsr.evaluation.exact import exact_return
from rpsr.evaluation.policy_files import open_policy
from rpsr.evaluation.simulation import simulate, simulate_blocks
from rpsr.evaluation.stochastic import StochasticController
from rpsr.evaluation.systems import sampler

__all__ = [
    "AlmostSure",
    "Estimate",
    "Estimates",
    "StochasticController",
    "almost_sure",
    "evaluate",
    "exact_return",
    "open_policy",
    "returns",
    "sampler",
    "simulate",
    "simulate_blocks",
]
