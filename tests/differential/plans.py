"""Which planner runs on which form of a model, with which options: drawn for every model.

Nothing here depends on a clock, so that a plan can be run again: planners are stopped early by
trials, iterations, points or states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.planning import PLANNER_NAMES, planner_options

KINDS = ("belief", "psr", "rpsr")
HORIZONS = ("vi", "enumeration", "reachable")  # planners that take one
MEMORY = 2**20  # bytes: thousands of vectors, where exact planning takes too long for a test
MOST_HISTORIES = 300  # of a horizon: the oracle lists them


@dataclass(frozen=True)
class Plan:
    """A planner by name with its options, for one form of a model."""

    planner: str
    kind: str
    options: dict[str, Any]

    @property
    def horizon(self) -> int | None:
        """Steps to plan; None for the infinite horizon."""
        return self.options.get("horizon")

    def __str__(self) -> str:
        given = "".join(f" {key}={value!r}" for key, value in self.options.items())
        return f"{self.planner} on {self.kind}{given}"


def draw_plan(
    rng: np.random.Generator, sizes: tuple[int, int, int], discount: float, scale: float
) -> Plan:
    """A random plan for a model of these sizes; scale: of its values."""
    planner = str(rng.choice(PLANNER_NAMES))
    known = planner_options(planner)
    options: dict[str, Any] = {}
    if planner in HORIZONS and rng.random() < 0.4:
        options["horizon"] = _horizon(rng, sizes)
    elif rng.random() < 0.8:
        options["epsilon"] = _epsilon(rng, planner, discount) * scale or 1e-6
    if "seed" in known:
        options["seed"] = int(rng.integers(100))
    options |= {key: value for key, value in _effort(rng, planner).items() if value is not None}
    return Plan(planner, str(rng.choice(KINDS)), options)


def _horizon(rng: np.random.Generator, sizes: tuple[int, int, int]) -> int:
    A, _, O = sizes
    most = next(h for h in range(1, 99) if h == 8 or (A * O) ** (h + 1) > MOST_HISTORIES)
    return int(rng.integers(1, most + 1))


def _epsilon(rng: np.random.Generator, planner: str, discount: float) -> float:
    """Relative to the scale of values; small ones where they are soon reached."""
    exact = planner in ("vi", "enumeration", "policy-iteration")
    finest = 3 if exact and discount > 0.9 else 5 if exact else 9
    return 10.0 ** -int(rng.integers(1, finest + 1))


def _effort(rng: np.random.Generator, planner: str) -> dict[str, int | None]:
    """What the planner may spend: to the goal, or until it is stopped."""
    early = bool(rng.random() < 0.5)
    match planner:
        case "vi" | "policy-iteration":
            most = int(rng.integers(1, 4)) if early else 12
            return {"max_iterations": most, "memory_limit": MEMORY}
        case "enumeration":
            return {"max_iterations": int(rng.integers(1, 3)) if early else 6}
        case "auto":
            most = int(rng.integers(0, 4)) if early else 40
            return {"max_iterations": most, "everywhere": bool(rng.random() < 0.5)}
        case "hsvi" | "sarsop":
            return {"max_iterations": int(rng.integers(0, 4)) if early else 40}
        case "pbvi" | "perseus":
            return {"max_points": int(rng.integers(2, 12)) if early else 30, "max_iterations": 20}
        case "q-learning":
            steps, states = int(rng.integers(64, 1000)), int(rng.integers(1, 40))
            return {"max_iterations": -(-steps // 64), "max_states": states, "tilings": 2}
        case _:
            return {"max_states": int(rng.integers(1, 20)) if early else 100}
