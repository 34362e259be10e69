"""Exact expected returns, where they can be computed.

A controller with K nodes and a linear model of dimension n together are one linear system whose
states are pairs (node, x). Let X[k] (n,) be the state's share in node k, with sum_k X[k] e = 1. The
expected reward is sum_ka p(a | k) X[k] R[:, a], and the next state is

    X'[succ(k, a, o)] += p(a | k) X[k] M[a, o],

which, repeated `steps` times, gives the return of that many steps. For an infinite horizon the
return solves a linear system: of dimension n for one node, that of `FiniteStateController` if every
node has one action. Otherwise the sum ends when the remaining terms are negligible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from rpsr.errors import ImpossibleObservation, ModelError
from rpsr.evaluation import kernels
from rpsr.evaluation.simulation import AnyPolicy, as_table, runnable
from rpsr.evaluation.stochastic import StochasticController
from rpsr.io.records import Floats, Ints
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.operators import SparseOperators, entries_of
from rpsr.models.pomdp import POMDP
from rpsr.planning.comparing.model_sums import direct_sum, second_rewards
from rpsr.planning.convergence import planning_discount, undiscounted
from rpsr.planning.linear_systems import solve_dense
from rpsr.planning.value.controllers import FiniteStateController
from rpsr.planning.value.coordinates import from_beliefs
from rpsr.planning.value.sums_to_the_end import sum_at_start, sums_to_the_end

_NEGLIGIBLE = 1e-15  # of the largest return that rewards allow
_LOST = 1e-9  # probability: more than rounding


def exact_return(
    system: POMDP | LinearModel,
    policy: AnyPolicy,
    *,
    steps: int | None = None,
    rewards: POMDP | LinearModel | None = None,
) -> float | None:
    """The expected discounted return from a system's start, up to rounding, or None.

    steps: the number of steps; default: an infinite horizon, which without a discount needs a
    POMDP and a finite sum of rewards (see `sums_to_the_end`).
    rewards: a model whose expected rewards replace the system's; it must predict the same
    observations, as a POMDP's PSR and R-PSR do. Returns None for a policy that is not a controller
    and reaches too many states to become one, and for a model whose valid states are unknown: a
    simulation corrects its negative probabilities, which a linear system cannot.
    """
    paying = system if rewards is None else rewards
    return exact_returns(system, policy, [paying], steps=steps)[0]


def exact_returns(
    system: POMDP | LinearModel,
    policy: AnyPolicy,
    rewards: Sequence[POMDP | LinearModel],
    *,
    steps: int | None = None,
) -> list[float | None]:
    """`exact_return` for several reward models at once, at little more cost than for one."""
    linear = as_linear(system, "system")
    paying = [linear if model is system else as_linear(model, "rewards") for model in rewards]
    discount = 1.0 if undiscounted(linear) else planning_discount(linear, steps)
    table = as_table(runnable(policy, linear), linear, steps)
    if table is None or not all(model.domain.known for model in (linear, *paying)):
        return [None] * len(rewards)
    earning = [linear if model is linear else _with_rewards_of(linear, model) for model in paying]
    if steps is None and undiscounted(linear):
        return [_to_the_end(model, table) for model in earning]
    if steps is None:
        return [_infinite_horizon(model, table, discount) for model in earning]
    if all(model.operators is linear.operators for model in earning):
        stacked = np.stack([model.rewards for model in earning])
        return list(_sums(linear, stacked, table, discount, steps))
    return [_sum(model, table, discount, steps) for model in earning]


def _with_rewards_of(system: LinearModel, other: LinearModel) -> LinearModel:
    """The system with another model's rewards; if necessary, the state contains both states.

    If both are models of the same POMDP, the other's rewards at its corners are rewards of the
    POMDP's states. The belief model can represent them, as can any model that distinguishes them.
    """
    if system.pomdp is not None and system.pomdp == other.pomdp:
        try:
            return system.with_rewards(
                from_beliefs(system, other.domain.at_corners(other.rewards).T).T
            )
        except ModelError:  # the system does not distinguish states of different rewards
            pass
    return direct_sum(system, other).with_rewards(second_rewards(system, other))


def _infinite_horizon(model: LinearModel, table: StochasticController, discount: float) -> float:
    if len(table) == 1 and table.successors.min() >= 0:
        return _stationary(model, table.probabilities[0], discount)
    enough = math.ceil(math.log(_NEGLIGIBLE) / math.log(discount)) if discount > 0 else 1
    if (table.probabilities.max(axis=1) < 1.0).any():
        return _sum(model, table, discount, enough)
    # The probability of an observation without a successor is linear in a state of dimension K n.
    # If it is zero for K n steps, it is zero at every step (Cayley and Hamilton).
    deciding = 0 if table.successors.min() >= 0 else len(table) * model.dimension + 1
    if deciding >= enough:
        return _sum(model, table, discount, enough)
    if deciding:
        _sum(model, table, discount, deciding)
    actions = table.probabilities.argmax(axis=1)
    successors = table.successors[np.arange(len(table)), actions]
    names = table.action_names, table.observation_names
    controller = FiniteStateController(*names, actions, successors, table.first)
    return controller.value(model.with_discount(discount))


def _to_the_end(model: LinearModel, table: StochasticController) -> float | None:
    """The expected sum of rewards without a discount; None if it cannot be computed."""
    values = sums_to_the_end(model, table.probabilities, table.successors)
    return None if values is None else sum_at_start(model, values[table.first])


def _stationary(model: LinearModel, probabilities: Floats, discount: float) -> float:
    """The infinite-horizon return of actions sampled with fixed probabilities, (A,)."""
    moves = discount * model.operators.mixed(probabilities)
    return float(model.start @ solve_dense(moves, model.rewards @ probabilities))


def _sum(model: LinearModel, table: StochasticController, discount: float, steps: int) -> float:
    """The expected return of a number of steps."""
    return _sums(model, model.rewards[None], table, discount, steps)[0]


def _sums(
    model: LinearModel, rewards: Floats, table: StochasticController, discount: float, steps: int
) -> list[float]:
    """The same by each of several rewards, (N, n, A).

    Returns are linear in the discounted sum of shares, so rewards are looked at only once.
    """
    walk = _walk(model, table)
    shares = np.zeros((len(table), model.dimension))
    shares[table.first] = model.start
    visits, weight = np.zeros_like(shares), 1.0
    for step in range(steps):
        if step > 0:
            shares = walk(shares)
        visits += weight * shares
        weight *= discount
        if weight == 0.0:
            break
    return [float((visits @ reward * table.probabilities).sum()) for reward in rewards]


def _walk(model: LinearModel, table: StochasticController) -> Callable[[Floats], Floats]:
    """The function from shares (K, n) to those one step later."""
    if isinstance(model.operators, SparseOperators):
        return _walk_on_states(model, table, model.operators)
    pairs = np.argwhere(table.probabilities > 0)
    by_action = [pairs[pairs[:, 1] == a, 0] for a in range(len(model.actions))]

    def walk(shares: Floats) -> Floats:
        following = np.zeros_like(shares)
        for a, nodes in enumerate(by_action):
            nodes = nodes[shares[nodes].any(axis=1)]
            if not len(nodes):
                continue
            taken = shares[nodes] * table.probabilities[nodes, a, None]
            for o in range(len(model.observations)):
                _move(model, table, following, nodes, taken, a, o)
        return following

    return walk


def _walk_on_states(
    model: LinearModel, table: StochasticController, operators: SparseOperators
) -> Callable[[Floats], Floats]:
    """The same for probabilities of pairs of a node and a state, of which most may be zero."""
    entries, n = entries_of(operators.as_process()), model.dimension
    row = entries.action * n + entries.row
    order = np.argsort(row, kind="stable")
    moves = kernels.Steps(
        np.searchsorted(row[order], np.arange(len(model.actions) * n + 1)),
        entries.observation[order],
        entries.column[order],
        entries.value[order],
    )

    def walk(shares: Floats) -> Floats:
        following = np.zeros_like(shares)
        lost, a, o = kernels.walk(moves, table.probabilities, table.successors, shares, following)
        if lost > _LOST:
            raise _cannot_continue(model, a, o)
        return following

    return walk


def _cannot_continue(model: LinearModel, action: int, observation: int) -> ImpossibleObservation:
    return ImpossibleObservation(
        f"the policy cannot continue: its model rules out observation "
        f"{model.observations[observation]!r} after action "
        f"{model.actions[action]!r}, but the system can produce it"
    )


def _move(
    model: LinearModel,
    table: StochasticController,
    following: Floats,
    nodes: Ints,
    taken: Floats,
    action: int,
    observation: int,
) -> None:
    after = model.operators.left(taken, action, observation)
    targets = table.successors[nodes, action, observation]
    lost = targets < 0
    if lost.any():
        if float(np.abs(after[lost] @ model.normalizer).max()) > _LOST:
            raise _cannot_continue(model, action, observation)
        after, targets = after[~lost], targets[~lost]
    if len(targets):  # several nodes may share a successor: their shares are summed first
        order = np.argsort(targets, kind="stable")
        into, begins = np.unique(targets[order], return_index=True)
        following[into] += np.add.reduceat(after[order], begins, axis=0)
