"""Checks that every planner and every policy must pass (public in `rpsr.testing`).

The problems are small enough for known answers: one state with a reward, and two fully observed
states, whose four policies are enumerated. Each is given as a POMDP and in rotated coordinates, the
form of PSRs and R-PSRs. The results must agree.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.models.as_model import as_linear
from rpsr.models.domain import Corners
from rpsr.models.labels import Index
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators
from rpsr.models.pomdp import POMDP
from rpsr.planning.as_policy import AnyPolicy, as_policy
from rpsr.planning.comparing.joint_runs import policy_value
from rpsr.planning.solution import Planner, ProgressRow, Solution, Status, silent

_DISCOUNT = 0.9
_MOVES = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.7, 0.3]]])  # (A, S, S)
_REWARDS = np.array([[1.0, 0.0], [-2.0, 3.0]])  # (S, A)


def check_planner(planner: Planner, *, tolerance: float = 1e-6) -> None:
    """Verify the contract of a planner; an `AssertionError` names the first violation.

    The planner is a frozen dataclass with a name. Its bounds hold and its policy has at least the
    value of the lower one, on problems with known answers, also in rotated coordinates. A second
    run gives the same value. Progress rows are in order of time. Discount 1 is refused without a
    horizon; a planner with a horizon adds up its rewards exactly. If the status is a success, the
    value is within `tolerance` of the answer.
    """
    given: Any = planner
    _require(is_dataclass(given), "expected a planner that is a dataclass of hyper-parameters")
    frozen = type(given).__dataclass_params__.frozen
    _require(frozen, "expected a planner that is a frozen dataclass, without state")
    _require(bool(planner.name), "expected a planner with a name")
    horizon = "horizon" in {field.name for field in fields(given)}
    forever = replace(given, horizon=None) if horizon else planner
    for pomdp, answer in ((_one_state(), 2.5 / (1 - _DISCOUNT)), (_two_states(), _best_of_four())):
        for model in (pomdp.belief_model(), _rotated(pomdp)):
            _check_answer(forever, model, answer, tolerance)
    undiscounted = _one_state().with_discount(1).belief_model()
    try:
        forever.solve(undiscounted, silent)
    except ModelError:
        pass
    else:
        raise AssertionError(
            "the planner accepted discount 1 without a horizon, expected a ModelError"
        )
    if horizon:
        plan = replace(given, horizon=4).solve(undiscounted, silent)
        _check_solution(plan, "one state, 4 steps")
        off = abs(plan.value - 10.0)
        _require(
            off <= tolerance,
            f"one state, 4 steps with reward 2.5: read value {plan.value!r}, expected 10",
        )


def _check_answer(planner: Planner, model: LinearModel, answer: float, tolerance: float) -> None:
    where = str(model)
    rows: list[ProgressRow] = []
    plan = planner.solve(model, rows.append)
    _check_solution(plan, where)
    seconds = [row.seconds for row in rows]
    _require(seconds == sorted(seconds), f"{where}: progress rows are not in order of time")
    slack = 1e-9 * max(1.0, abs(answer))  # rounding of the answer and of the check
    optimum = f"the optimal value {answer!r}"
    _require(
        plan.lower <= answer + slack,
        f"{where}: the lower bound {plan.lower!r} is above {optimum}",
    )
    if plan.upper is not None:
        _require(
            plan.upper >= answer - slack,
            f"{where}: the upper bound {plan.upper!r} is below {optimum}",
        )
    if plan.status.reached_goal:
        off = abs(plan.value - answer)
        _require(
            off <= tolerance,
            f"{where}: the status is {plan.status.name}, but the value {plan.value!r} is off by "
            f"{off!r} from {optimum}",
        )
    policy = plan.policy()
    check_policy(policy, model)
    worth = policy_value(policy, model)[1]
    reached = worth >= plan.lower - slack
    _require(reached, f"{where}: the policy's value {worth!r} is below the lower bound")
    again = planner.solve(model, silent)
    same = again.value == plan.value or not plan.status.reached_goal
    _require(
        same,
        f"{where}: a second run gave the value {again.value!r}, the first one {plan.value!r}",
    )


def _check_solution(plan: Solution, where: str) -> None:
    n_vectors, n = plan.vectors.shape if plan.vectors.ndim == 2 else (0, 0)
    n_observations = len(plan.model.observations)
    _require(plan.status in Status, f"{where}: status: read {plan.status!r}, expected a Status")
    _require(
        n_vectors > 0 and n == plan.model.dimension,
        f"{where}: vectors: read shape {plan.vectors.shape}, expected (vectors, "
        f"{plan.model.dimension})",
    )
    _require(bool(np.isfinite(plan.vectors).all()), f"{where}: vectors: a number is not finite")
    _require(
        plan.actions.shape == (n_vectors,),
        f"{where}: actions: read shape {plan.actions.shape}, expected {(n_vectors,)}",
    )
    in_range = plan.actions.min() >= 0 and plan.actions.max() < len(plan.model.actions)
    indices = f"0 to {len(plan.model.actions) - 1}"
    _require(bool(in_range), f"{where}: actions: expected indices of actions, {indices}")
    shape, expected = plan.successors.shape, (n_vectors, n_observations)
    _require(shape == expected, f"{where}: successors: read shape {shape}, expected {expected}")
    _require(
        plan.lower <= plan.value,
        f"{where}: the value {plan.value!r} is below the lower bound {plan.lower!r}",
    )
    if plan.upper is not None:
        _require(
            plan.lower <= plan.upper,
            f"{where}: the lower bound {plan.lower!r} is above the upper bound {plan.upper!r}",
        )
    _require(
        plan.seconds >= 0 and plan.iterations >= 0,
        f"{where}: seconds or iterations are negative: {plan.seconds!r}, {plan.iterations!r}",
    )


def check_policy(
    policy: AnyPolicy,
    model: POMDP | LinearModel,
    *,
    seed: int = 0,
    histories: int = 5,
    steps: int = 20,
    deterministic: bool = True,
) -> None:
    """Verify the contract of a policy along random histories of a model.

    Its actions exist, and a second `act` gives the same action. Names and indices have the same
    effect. `memory` keeps its length. Updating a copy leaves the original unchanged. `reset`
    restores the start. An observation that does not exist is refused. For a policy that samples its
    actions, set `deterministic` to False, which omits the checks that compare repeated runs.
    """
    model = as_linear(model)
    policy = as_policy(policy, model)
    rng = np.random.default_rng(seed)
    policy.reset()
    first, length = policy.act(), len(policy.memory)
    for history in range(histories):
        policy.reset()
        if deterministic:
            same = policy.act() == first
            _require(same, f"history {history}: after `reset`, `act` gives another first action")
        x = model.start
        for step in range(steps):
            where = f"history {history}, step {step}"
            action = policy.act()
            _require(
                0 <= action < len(model.actions),
                f"{where}: `act` gave {action!r}, expected an index of an action, 0 to "
                f"{len(model.actions) - 1}",
            )
            _require(policy.act() == action, f"{where}: a second `act` gave another action")
            chances = np.maximum(model.predict(x, action), 0)
            chances[chances <= model.rounding] = 0
            observation = int(rng.choice(len(chances), p=chances / chances.sum()))
            twin, before = policy.copy(), policy.memory.copy()
            twin.update(model.actions[action], model.observations[observation])
            kept = np.array_equal(policy.memory, before)
            _require(kept, f"{where}: `update` of a copy changed the original policy")
            policy.update(action, Index(observation))
            _require(len(policy.memory) == length, f"{where}: the length of `memory` changed")
            agree = np.array_equal(policy.memory, twin.memory)
            _require(
                agree or not deterministic,
                f"{where}: `update` has different effects with names and with indices",
            )
            x = model.update(x, action, observation)
    policy.reset()
    try:
        policy.update(policy.act(), len(model.observations))
    except InputError:
        policy.reset()
    else:
        raise AssertionError(
            "`update` accepted the index of an observation that does not exist, expected an "
            "InputError"
        )


def _require(holds: bool, otherwise: str) -> None:
    """Not an `assert`: `python -O` must not turn a check into a pass."""
    if not holds:
        raise AssertionError(otherwise)


def _one_state() -> POMDP:
    rewards: Any = [[-1.0, 2.5]]  # the best action is not the first
    return POMDP.from_arrays([[[1.0]], [[1.0]]], [[[1.0]], [[1.0]]], rewards, discount=_DISCOUNT)


def _two_states() -> POMDP:
    seen = np.stack([np.eye(2)] * 2)
    return POMDP.from_arrays(_MOVES, seen, _REWARDS, start=[1.0, 0.0], discount=_DISCOUNT)


def _best_of_four() -> float:
    """The value of the best policy from the first state, by enumeration."""
    worth: list[float] = []
    for policy in product(range(2), repeat=2):
        moves = np.array([_MOVES[a, s] for s, a in enumerate(policy)])
        rewards = np.array([_REWARDS[s, a] for s, a in enumerate(policy)])
        worth.append(float(np.linalg.solve(np.eye(2) - _DISCOUNT * moves, rewards)[0]))
    return max(worth)


def _rotated(pomdp: POMDP) -> LinearModel:
    """The belief model in other coordinates: x = b Q."""
    model, n = pomdp.belief_model(), len(pomdp.states)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    matrices = [
        [basis.T @ model.operators.matrix(a, o) @ basis for o in range(len(model.observations))]
        for a in range(len(model.actions))
    ]
    return replace(
        model,
        kind="rpsr",
        start=model.start @ basis,
        operators=DenseOperators(np.array(matrices)),
        normalizer=basis.T @ model.normalizer,
        rewards=basis.T @ model.rewards,
        domain=Corners(basis, pomdp.D),
        rounding=1e-12,
    )
