"""Predictive state representations that get rewards right: the whole library from one import.

    tiger = rpsr.load("tiger")                       # a file, a domain's name, a native model
    plan = rpsr.solve(tiger, "sarsop", time_limit=10)
    episodes = rpsr.simulate(tiger, plan.policy(), episodes=1000, steps=100)
    learned = rpsr.learn("em", "log.csv", discount=0.95)

Public names and subpackages are imported on first use, so that `import rpsr` and `rpsr --help` do
not wait for numerical libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rpsr._version import __version__

if TYPE_CHECKING:
    from rpsr import (
        certificates,
        domains,
        envs,
        evaluation,
        learning,
        logs,
        models,
        planning,
        predictive,
        report,
        testing,
    )
    from rpsr.certificates import verify
    from rpsr.errors import ImpossibleObservation, InputError, ModelError, RpsrError
    from rpsr.evaluation import almost_sure, evaluate, simulate
    from rpsr.learning import learn
    from rpsr.logs import Trajectories
    from rpsr.models import (
        POMDP,
        Filter,
        LinearModel,
        Objective,
        continuing,
        discounted_reward,
        episodic,
        reach,
        total_cost,
        total_reward,
    )
    from rpsr.planning import (
        HSVI,
        PBVI,
        QMDP,
        SARSOP,
        Auto,
        Enumeration,
        FastInformedBound,
        FiniteStateController,
        Perseus,
        PolicyIteration,
        QLearning,
        Reachable,
        Solution,
        Status,
        UniformPolicy,
        ValueIteration,
        certify,
        load_policy,
        plan_online,
        save_policy,
        solve,
    )
    from rpsr.predictive import accuracy, find_core, psr, reward_aware_psr, rpsr
    from rpsr.sources import load, load_pomdp, save

_SUBPACKAGES = (
    "certificates",
    "domains",
    "envs",
    "evaluation",
    "learning",
    "logs",
    "models",
    "planning",
    "predictive",
    "report",
    "testing",
)
_WHERE = {
    "HSVI": "rpsr.planning",
    "PBVI": "rpsr.planning",
    "POMDP": "rpsr.models",
    "QMDP": "rpsr.planning",
    "SARSOP": "rpsr.planning",
    "Auto": "rpsr.planning",
    "Enumeration": "rpsr.planning",
    "FastInformedBound": "rpsr.planning",
    "Filter": "rpsr.models",
    "FiniteStateController": "rpsr.planning",
    "ImpossibleObservation": "rpsr.errors",
    "InputError": "rpsr.errors",
    "LinearModel": "rpsr.models",
    "ModelError": "rpsr.errors",
    "Objective": "rpsr.models",
    "Perseus": "rpsr.planning",
    "PolicyIteration": "rpsr.planning",
    "QLearning": "rpsr.planning",
    "Reachable": "rpsr.planning",
    "RpsrError": "rpsr.errors",
    "Solution": "rpsr.planning",
    "Status": "rpsr.planning",
    "Trajectories": "rpsr.logs",
    "UniformPolicy": "rpsr.planning",
    "ValueIteration": "rpsr.planning",
    "accuracy": "rpsr.predictive",
    "almost_sure": "rpsr.evaluation",
    "certify": "rpsr.planning",
    "continuing": "rpsr.models",
    "discounted_reward": "rpsr.models",
    "episodic": "rpsr.models",
    "evaluate": "rpsr.evaluation",
    "find_core": "rpsr.predictive",
    "learn": "rpsr.learning",
    "load": "rpsr.sources",
    "load_policy": "rpsr.planning",
    "load_pomdp": "rpsr.sources",
    "plan_online": "rpsr.planning",
    "psr": "rpsr.predictive",
    "reach": "rpsr.models",
    "reward_aware_psr": "rpsr.predictive",
    "rpsr": "rpsr.predictive",
    "save": "rpsr.sources",
    "save_policy": "rpsr.planning",
    "simulate": "rpsr.evaluation",
    "solve": "rpsr.planning",
    "total_cost": "rpsr.models",
    "total_reward": "rpsr.models",
    "verify": "rpsr.certificates",
}

__all__ = [
    "HSVI",
    "PBVI",
    "POMDP",
    "QMDP",
    "SARSOP",
    "Auto",
    "Enumeration",
    "FastInformedBound",
    "Filter",
    "FiniteStateController",
    "ImpossibleObservation",
    "InputError",
    "LinearModel",
    "ModelError",
    "Objective",
    "Perseus",
    "PolicyIteration",
    "QLearning",
    "Reachable",
    "RpsrError",
    "Solution",
    "Status",
    "Trajectories",
    "UniformPolicy",
    "ValueIteration",
    "__version__",
    "accuracy",
    "almost_sure",
    "certificates",
    "certify",
    "continuing",
    "discounted_reward",
    "domains",
    "envs",
    "episodic",
    "evaluate",
    "evaluation",
    "find_core",
    "learn",
    "learning",
    "load",
    "load_policy",
    "load_pomdp",
    "logs",
    "models",
    "plan_online",
    "planning",
    "predictive",
    "psr",
    "reach",
    "report",
    "reward_aware_psr",
    "rpsr",
    "save",
    "save_policy",
    "simulate",
    "solve",
    "testing",
    "total_cost",
    "total_reward",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"rpsr.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'rpsr' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
