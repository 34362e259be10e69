"""Evaluation: policies simulated on any model and valued by any, exactly where that can be."""

from rpsr.evaluation.estimates import Estimate, evaluate
from rpsr.evaluation.exact import exact_return
from rpsr.evaluation.returns import returns
from rpsr.evaluation.simulation import simulate, simulate_blocks
from rpsr.evaluation.stochastic import StochasticController

__all__ = [
    "Estimate",
    "StochasticController",
    "evaluate",
    "exact_return",
    "returns",
    "simulate",
    "simulate_blocks",
]
