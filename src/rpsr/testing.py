"""Public conformance checks of the laws that the rest of the library relies on.

Use them on your own classes too: `check_model` takes any model, `check_planner` a planner,
`check_policy` a policy with its model, `check_estimator` an estimator, `check_domain` a domain's
generator, `check_env` a Gymnasium environment. Each raises an `AssertionError` that names the law,
the place and the size of the violation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rpsr.domains.conformance import check_domain
from rpsr.io.records import Floats
from rpsr.learning.conformance import check_estimator
from rpsr.models.as_model import as_linear
from rpsr.models.domain import Corners
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.conformance import check_planner, check_policy

__all__ = [
    "check_domain",
    "check_env",
    "check_estimator",
    "check_model",
    "check_planner",
    "check_policy",
]


def check_model(
    model: POMDP | LinearModel,
    *,
    seed: int = 0,
    histories: int = 20,
    steps: int = 50,
    tolerance: float = 1e-9,
) -> None:
    """Verify the laws that every linear model obeys.

    Shapes and labels agree; sum_o M[a, o] e = e for every action; the start lies in the domain;
    along random histories, probabilities are in [0, 1] and sum to one and states keep x e = 1 and
    stay in the domain; the operators move corners as their kernel says.
    """
    model = as_linear(model)
    _check_labels(model)
    _check_law(model, tolerance)
    _check_state(model, model.start, "start", tolerance, in_domain=True)
    domain = model.domain
    if domain.points is not None:
        _check_kernel(model, domain, tolerance)
    rng = np.random.default_rng(seed)
    for history in range(histories):
        x, past = model.start, "start"
        for _ in range(steps):
            action = int(rng.integers(len(model.actions)))
            chances = model.predict(x, action)
            where = f"after {past}, action {model.actions[action]!r}"
            total, low = float(chances.sum()), float(chances.min())
            _require(abs(total - 1) <= tolerance, f"{where}: probabilities sum to {total!r}")
            _require(low >= -tolerance, f"{where}: a probability is {low!r}")
            possible = np.where(chances > model.rounding, chances, 0)
            observation = int(rng.choice(len(possible), p=possible / possible.sum()))
            x = model.update(x, action, observation)
            past = f"{past}, {model.actions[action]} {model.observations[observation]}"[-200:]
            # The distance to a hull takes one linear program per step: check one history only.
            cheap = model.domain.beliefs or history == 0
            _check_state(model, x, past, tolerance, in_domain=cheap)


def check_env(env: Any, model: Any = None, *, seed: int = 0, steps: int = 200) -> None:
    """Verify the rules for a Gymnasium environment, single or vectorised.

    Gymnasium's own check passes (single environments) or the autoreset mode is declared (vector
    environments); actions and observations are discrete; results have the right shapes and lie in
    the spaces; equal seeds give equal episodes. With a model (a POMDP, a linear model, or a name of
    one): every observation is possible after the history; episodes terminate at the model's final
    observations and nowhere else (anywhere, if the model learned the end as the observation
    `(end)`, which the environment does not have); if it is a POMDP, every reward is that of a
    possible outcome with the same action and observation. Needs gymnasium (the extra `gym`).
    """
    from rpsr.envs.conformance import check_env as check  # gymnasium is an extra

    check(env, model, seed=seed, steps=steps)


def _require(holds: bool, otherwise: str) -> None:
    """Not an `assert`, which `python -O` would skip."""
    if not holds:
        raise AssertionError(otherwise)


def _check_labels(model: LinearModel) -> None:
    n = model.dimension
    for kind in ("actions", "observations", "core"):
        names = getattr(model, kind)
        _require(len(set(names)) == len(names), f"{kind} are not unique: {names}")
    if model.core:
        _require(len(model.core) == n, f"{len(model.core)} core names, expected {n}")
        _require(model.coordinates is not None, "core names without coordinates")
    if model.coordinates is not None:
        shape = model.coordinates.shape
        _require(shape == (n, n), f"coordinates have shape {shape}, expected {(n, n)}")
    _require(bool(np.isfinite(model.rewards).all()), "a reward is not finite")
    has, what = (
        model.domain.dimension,
        "the simplex has" if model.domain.beliefs else "corners have",
    )
    _require(has in (None, n), f"{what} dimension {has}, expected {n}")


def _check_law(model: LinearModel, tolerance: float) -> None:
    worst = np.abs(model.emissions.sum(axis=2) - model.normalizer).max(axis=1)
    action = int(worst.argmax())
    where = f"action {model.actions[action]!r}"
    off = float(worst[action])
    _require(off <= tolerance, f"sum_o M[a, o] e != e at {where}: off by {off!r}")


def _check_state(
    model: LinearModel, x: Floats, where: str, tolerance: float, *, in_domain: bool
) -> None:
    _require(bool(np.isfinite(x).all()), f"{where}: state {x} is not finite")
    total = float(x @ model.normalizer)
    _require(abs(total - 1) <= tolerance, f"{where}: x e = {total!r}, expected 1")
    if in_domain:
        distance = model.domain.distance(x)
        _require(
            distance <= tolerance, f"{where}: the state is {distance!r} away from the valid states"
        )


def _check_kernel(model: LinearModel, domain: Corners, tolerance: float) -> None:
    size = (len(domain.kernel), len(domain.kernel[0]))
    expected = (len(model.actions), len(model.observations))
    _require(size == expected, f"the corners' transitions have shape {size}, expected {expected}")
    for a, action in enumerate(model.actions):
        for o, observation in enumerate(model.observations):
            where = f"{action!r}, {observation!r}"
            kernel = domain.kernel[a][o]
            negative = kernel.nnz > 0 and float(kernel.data.min()) < 0
            sign = f"a transition probability between corners is negative at {where}"
            _require(not negative, sign)
            moved = model.operators.left(domain.points, a, o)
            off = float(np.abs(moved - kernel @ domain.points).max())
            _require(
                off <= tolerance,
                f"operators and corners' transitions differ at {where}: by {off!r}",
            )
