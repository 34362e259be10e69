"""Planning on any linear model: value functions, planners, policies and their certificates."""

from rpsr.planning.admitted import admitted_objectives
from rpsr.planning.anytime.planners import HSVI, SARSOP
from rpsr.planning.autosave import Autosave
from rpsr.planning.certifying import Certificate, certify
from rpsr.planning.comparing.comparison import Comparison, Difference, compare, compare_over_domain
from rpsr.planning.comparing.joint_runs import policy_value
from rpsr.planning.comparing.optimal_range import OptimalRange, optimal_range
from rpsr.planning.compression import Compressed, compress
from rpsr.planning.controller_certificates import ControllerCertificate, certify_controller
from rpsr.planning.corners.cheap_bounds import blind_values, initial_upper_bound
from rpsr.planning.exact.enumeration import Enumeration
from rpsr.planning.exact.policy_iteration import PolicyIteration
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.files.checkpoint import Checkpoint, load_checkpoint, resume, save_checkpoint
from rpsr.planning.files.classic import read_alpha, read_pg, write_alpha, write_pg
from rpsr.planning.files.native import StoredVectors
from rpsr.planning.files.policies import load_policy, save_policy
from rpsr.planning.online.front import plan_online
from rpsr.planning.online.particles import ParticlePolicy
from rpsr.planning.online.policy import OnlinePolicy
from rpsr.planning.online.pomdp_simulator import PomdpSimulator
from rpsr.planning.online.simulator import Simulator
from rpsr.planning.planners import (
    PLANNER_NAMES,
    default_planner,
    planner_by_name,
    planner_options,
    solve,
)
from rpsr.planning.points.baselines import QMDP, FastInformedBound
from rpsr.planning.points.pbvi import PBVI
from rpsr.planning.points.perseus import Perseus
from rpsr.planning.points.q_learning import QLearning
from rpsr.planning.portfolio.planner import Auto
from rpsr.planning.precision import Relative
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.runner import BasePlanner
from rpsr.planning.solution import Planner, ProgressRow, Solution, Status
from rpsr.planning.value.controllers import FiniteStateController, extract_controller
from rpsr.planning.value.coordinates import from_beliefs, to_beliefs, translate
from rpsr.planning.value.policies import AlphaPolicy, Policy, StagedPolicy, UniformPolicy
from rpsr.planning.value.trees import PolicyTree
from rpsr.planning.value.value_function import ValueFunction

__all__ = [
    "HSVI",
    "PBVI",
    "PLANNER_NAMES",
    "QMDP",
    "SARSOP",
    "AlphaPolicy",
    "Auto",
    "Autosave",
    "BasePlanner",
    "Certificate",
    "Checkpoint",
    "Comparison",
    "Compressed",
    "ControllerCertificate",
    "Difference",
    "Enumeration",
    "FastInformedBound",
    "FiniteStateController",
    "OnlinePolicy",
    "OptimalRange",
    "ParticlePolicy",
    "Perseus",
    "Planner",
    "Policy",
    "PolicyIteration",
    "PolicyTree",
    "PomdpSimulator",
    "ProgressRow",
    "QLearning",
    "Reachable",
    "Relative",
    "Simulator",
    "Solution",
    "StagedPolicy",
    "Status",
    "StoredVectors",
    "UniformPolicy",
    "ValueFunction",
    "ValueIteration",
    "admitted_objectives",
    "blind_values",
    "certify",
    "certify_controller",
    "compare",
    "compare_over_domain",
    "compress",
    "default_planner",
    "extract_controller",
    "from_beliefs",
    "initial_upper_bound",
    "load_checkpoint",
    "load_policy",
    "optimal_range",
    "plan_online",
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
