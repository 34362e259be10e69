"""Planning on any linear model: value functions, planners, policies and their certificates."""

from rpsr.planning.anytime import HSVI, SARSOP
from rpsr.planning.bound_planners import QMDP, FastInformedBound
from rpsr.planning.checkpoint import Checkpoint, load_checkpoint, resume, save_checkpoint
from rpsr.planning.classic_files import read_alpha, read_pg, write_alpha, write_pg
from rpsr.planning.compare import Comparison, Difference, compare, compare_over_domain
from rpsr.planning.compress import Compressed, compress
from rpsr.planning.controllers import FiniteStateController, extract_controller
from rpsr.planning.coordinates import from_beliefs, to_beliefs, translate
from rpsr.planning.enumeration import Enumeration
from rpsr.planning.exact import ValueIteration
from rpsr.planning.optimal_range import OptimalRange, optimal_range
from rpsr.planning.pbvi import PBVI
from rpsr.planning.perseus import Perseus
from rpsr.planning.policies import AlphaPolicy, Policy, StagedPolicy, UniformPolicy
from rpsr.planning.policy_files import StoredVectors, load_policy, save_policy
from rpsr.planning.policy_iteration import PolicyIteration
from rpsr.planning.precision import Relative
from rpsr.planning.q_learning import QLearning
from rpsr.planning.reachable import Reachable
from rpsr.planning.solution import Planner, ProgressRow, Solution, Status
from rpsr.planning.solve import PLANNER_NAMES, planner_by_name, planner_options, solve
from rpsr.planning.trees import PolicyTree
from rpsr.planning.walk import policy_value

__all__ = [
    "HSVI",
    "PBVI",
    "PLANNER_NAMES",
    "QMDP",
    "SARSOP",
    "AlphaPolicy",
    "Checkpoint",
    "Comparison",
    "Compressed",
    "Difference",
    "Enumeration",
    "FastInformedBound",
    "FiniteStateController",
    "OptimalRange",
    "Perseus",
    "Planner",
    "Policy",
    "PolicyIteration",
    "PolicyTree",
    "ProgressRow",
    "QLearning",
    "Reachable",
    "Relative",
    "Solution",
    "StagedPolicy",
    "Status",
    "StoredVectors",
    "UniformPolicy",
    "ValueIteration",
    "compare",
    "compare_over_domain",
    "compress",
    "extract_controller",
    "from_beliefs",
    "load_checkpoint",
    "load_policy",
    "optimal_range",
    "planner_by_name",
    "planner_options",
    "policy_value",
    "read_alpha",
    "read_pg",
    "resume",
    "save_checkpoint",
    "save_policy",
    "solve",
    "to_beliefs",
    "translate",
    "write_alpha",
    "write_pg",
]
