"""Gymnasium environments: every model as one, wrappers with a model's state, and logs of others.

    import gymnasium, rpsr.envs
    env = gymnasium.make("rpsr/POMDP-v0", source="tiger")
    envs = gymnasium.make_vec("rpsr/POMDP-v0", num_envs=1024, source="hallway")

Importing this package registers the environment. `gymnasium.make("rpsr.envs:rpsr/POMDP-v0", ...)`
imports it by itself. Needs gymnasium (the extra `gym`).
"""

try:
    import gymnasium as _gymnasium  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError:
    raise ImportError("rpsr.envs needs gymnasium: pip install 'rpsr[gym]'") from None

from rpsr.envs.names import NamedDiscrete
from rpsr.envs.optimum import Optimum
from rpsr.envs.predictive_state import PredictiveState, VectorPredictiveState
from rpsr.envs.recording import record
from rpsr.envs.registration import ID, make, register
from rpsr.envs.single import POMDPEnv
from rpsr.envs.vector import POMDPVectorEnv

register()

__all__ = [
    "ID",
    "NamedDiscrete",
    "Optimum",
    "POMDPEnv",
    "POMDPVectorEnv",
    "PredictiveState",
    "VectorPredictiveState",
    "make",
    "record",
]
