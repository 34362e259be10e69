"""The POMDP, the linear model that belief, PSR and R-PSR share, and their native file."""

from rpsr.models.domain import Corners, Simplex, Unknown
from rpsr.models.filter import Filter, RobustBatch, RobustFilter
from rpsr.models.linear import LinearModel
from rpsr.models.objectives import (
    Objective,
    discounted_reward,
    reach,
    total_cost,
    total_reward,
)
from rpsr.models.operators import DenseOperators, FactoredOperators, Operators, SparseOperators
from rpsr.models.pomdp import POMDP, Outcomes
from rpsr.models.store import load_native, save_native
from rpsr.models.terminal import continuing, episodic

__all__ = [
    "POMDP",
    "Corners",
    "DenseOperators",
    "FactoredOperators",
    "Filter",
    "LinearModel",
    "Objective",
    "Operators",
    "Outcomes",
    "RobustBatch",
    "RobustFilter",
    "Simplex",
    "SparseOperators",
    "Unknown",
    "continuing",
    "discounted_reward",
    "episodic",
    "load_native",
    "reach",
    "save_native",
    "total_cost",
    "total_reward",
]
