"""Evaluation: policies simulated on any model and valued by any, exactly where that can be."""

from rpsr.evaluation.estimates import Estimate, Estimates, evaluate
from rpsr.evaluation.exact import exact_return
from rpsr.evaluation.experiment import (
    PAPER_DOMAINS,
    Experiment,
    experiment,
    paper_domain,
)
from rpsr.evaluation.returns import returns
from rpsr.evaluation.simulation import simulate, simulate_blocks
from rpsr.evaluation.stochastic import StochasticController
from rpsr.evaluation.stored import open_policy

__all__ = [
    "PAPER_DOMAINS",
    "Estimate",
    "Estimates",
    "Experiment",
    "StochasticController",
    "evaluate",
    "exact_return",
    "experiment",
    "open_policy",
    "paper_domain",
    "returns",
    "simulate",
    "simulate_blocks",
]
