"""One input-output POMDP with reward emission, and the two steps of EM on it.

`Encoded` is a log in the form of the kernels, `FittedPOMDP` the model. `improve` is one iteration:
expected counts from `kernels.expect`, then the parameters that maximise

    log likelihood + prior * (sum of the logarithms of all probabilities),

the mode of the posterior under a Dirichlet prior; no iteration lowers it. Rewards are categorical,
over the values observed for an action, or Gaussian (`gaussian`).

Reference: Bengio and Frasconi, "An input output HMM architecture", NIPS 1995.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.learning.em.devices import Device, resident
from rpsr.learning.em.gaussian import TINY_SCALE, densities, gaussians, reward_sums
from rpsr.learning.em.kernels import expect, score
from rpsr.learning.em.reward_families import RewardFamily, RewardRanges, family_of
from rpsr.learning.ends import final_observations
from rpsr.logs.trajectories import Trajectories

if TYPE_CHECKING:
    from rpsr.learning.em.jax_kernels import Resident


@dataclass(frozen=True, eq=False)
class Encoded:
    """A log of N episodes and L steps as integers.

    steps (L, 3): action, observation and the number j of the payoff, which is an action with its
    reward. payoff_actions (J,), payoff_rewards (J,): of each payoff. terminated (N,), offsets
    (N + 1,).
    family: how rewards are emitted; scale, centre: the variance and the mean of all rewards. In
    partitions of a log with Gaussian rewards, every step is a payoff. ends: whether any episode
    of the log, or of the log it was selected from, terminated, so that a state represents the end.
    final (O,): the observations of that state alone, if all ends are observed; else none.
    device: where expected counts are computed, see `devices`.
    """

    sizes: tuple[int, int]  # A, O
    steps: Ints
    offsets: Ints
    terminated: Bools
    payoff_actions: Ints
    payoff_rewards: Floats
    family: RewardFamily
    scale: float
    ends: bool
    final: Bools
    device: Device = "cpu"
    centre: float = 0.0

    @staticmethod
    def of(log: Trajectories, family: RewardFamily | Literal["auto"] = "auto") -> Encoded:
        """Encode a log. In the family 'none', observations alone determine the states, and rewards
        are fitted to these states.
        """
        families = ("auto", *RewardFamily.__args__)
        if family not in families:
            raise DataError(f"rewards: read {family!r}, expected one of {', '.join(families)}")
        rewards = log.rewards_for("learning")
        family = family_of(family, len(np.unique(rewards)), RewardRanges.of(log))
        order = np.lexsort((rewards, log.actions))
        actions, paid = log.actions[order], rewards[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (actions[1:] != actions[:-1]) | (paid[1:] != paid[:-1])
        steps = np.empty((len(order), 3), dtype=np.int64)
        steps[:, 0], steps[:, 1] = log.actions, log.observations
        steps[order, 2] = np.cumsum(new) - 1
        return Encoded(
            sizes=(len(log.action_names), len(log.observation_names)),
            steps=steps,
            offsets=log.offsets.copy(),  # writable: a kernel is compiled for each kind of array
            terminated=log.terminated.copy(),
            payoff_actions=actions[new],
            payoff_rewards=paid[new],
            family=family,
            scale=float(rewards.var()) or 1.0,
            ends=len(log.ends) > 0,
            final=final_observations(log),
            centre=float(rewards.mean()) if len(rewards) else 0.0,
        )

    @cached_property
    def by_action(self) -> Floats:
        """Whether a payoff belongs to an action, 1 or 0, (A, J)."""
        return (np.arange(self.sizes[0])[:, None] == self.payoff_actions).astype(np.float64)

    @cached_property
    def resident(self) -> Resident | None:
        """The log on an accelerator, if one is used."""
        return resident(self)

    @property
    def outline(self) -> Encoded:
        """The log itself, of which `maximise` needs the outline only."""
        return self

    def expected(self, parameters: FittedPOMDP) -> tuple[list[Floats], float]:
        """Expected counts and the log-likelihood, see `counts_of`."""
        return counts_of(parameters, self)

    def select(self, episodes: Ints) -> Encoded:
        """Some of the episodes; payoffs keep their numbers."""
        lengths = np.diff(self.offsets)[episodes]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        index = np.arange(offsets[-1]) + np.repeat(self.offsets[episodes] - offsets[:-1], lengths)
        return replace(
            self, steps=self.steps[index], offsets=offsets, terminated=self.terminated[episodes]
        )


def with_payoffs(log: Encoded, interactions: Ints, rewards: Floats) -> Encoded:
    """A log with the steps (L, 2) of actions and observations, each of which is a payoff."""
    steps = np.column_stack([interactions, np.arange(len(interactions))])
    return replace(log, steps=steps, payoff_actions=steps[:, 0].copy(), payoff_rewards=rewards)


@dataclass(frozen=True)
class Prior:
    """The change of expected counts c by the prior: max(c - sparsity, 0) + count.

    Counts whose distribution would become 0 keep c + count. The sparsity k is a Dirichlet prior of
    exponent -k: a probability whose estimate is less than about 2 sqrt(k) standard errors away from
    0 becomes 0. Without it a fitted POMDP has many such small probabilities, and a plan may exploit
    each. With sparsity an iteration may lower the likelihood.
    """

    count: float
    sparsity: float = 0.0

    def add(self, counts: Floats, axis: int, *, sparse: bool = True) -> Floats:
        """The changed counts of distributions along an axis, before normalisation."""
        if self.sparsity == 0 or not sparse:
            return counts + self.count
        cut = np.maximum(counts - self.sparsity, 0.0)
        unseen = cut.sum(axis=axis, keepdims=True) <= 0
        return np.where(unseen, counts, cut) + self.count


@dataclass(frozen=True, eq=False)
class FittedPOMDP:
    """A fitted POMDP of S states: start (S,), moves (A, S, S), emissions (A, O, S).

    payoffs (J, S): the likelihood of each reward in each state, divided by exp(log_scale) (J,).
    means (A, S): expected rewards; visits (A, S): the expected number of times that an action was
    taken in a state. end: the state of the end, or -1. variances: of Gaussian rewards, (A,).
    """

    start: Floats
    moves: Floats
    emissions: Floats
    payoffs: Floats
    log_scale: Floats
    means: Floats
    visits: Floats
    end: int
    variances: Floats | None = None

    @property
    def states(self) -> int:
        """The number S of states, that of the end included."""
        return len(self.start)

    @property
    def size(self) -> int:
        """The number of states that do not stand for the end."""
        return self.states - (self.end >= 0)


def counts_of(parameters: FittedPOMDP, log: Encoded) -> tuple[list[Floats], float]:
    """Expected counts of starts (S,), moves (A, S, S), emissions (A, O, S), payoffs (J, S).

    Also returns the log-likelihood.
    """
    p = parameters
    model = (p.start, p.moves, p.emissions, p.payoffs)
    if log.resident is not None:
        counts, likelihood = log.resident.expect(*model, p.end)
    else:
        counts = [np.zeros_like(array) for array in model]
        likelihood = expect(*model, log.steps, log.offsets, log.terminated, p.end, *counts)
    counts[1] *= p.moves
    return counts, likelihood + float(p.log_scale[log.steps[:, 2]].sum())


class Log(Protocol):
    """A log as iterations of EM need it: an `Encoded` one, or one in partitions."""

    @property
    def outline(self) -> Encoded:
        """The log without its episodes: sizes, payoffs, ends."""
        ...

    def expected(self, parameters: FittedPOMDP) -> tuple[list[Floats], float]:
        """Expected counts and the log-likelihood, see `counts_of`."""
        ...


def improve(parameters: FittedPOMDP, log: Log, prior: Prior) -> tuple[FittedPOMDP, float]:
    """One iteration of EM; the new parameters and the log-likelihood of the old ones."""
    counts, likelihood = log.expected(parameters)
    return maximise(log.outline, counts, prior, parameters.end), likelihood


def iterate(parameters: FittedPOMDP, log: Log, prior: Prior, iterations: int) -> FittedPOMDP:
    """Some iterations of EM."""
    for _ in range(iterations):
        parameters, _ = improve(parameters, log, prior)
    return parameters


def maximise(log: Encoded, counts: list[Floats], prior: Prior, end: int) -> FittedPOMDP:
    """The mode of the posterior, from counts of starts, moves, emissions and payoffs.

    Gaussian rewards need their `reward_sums` only, in place of the counts of payoffs.
    """
    start, moves, emissions, payoffs = counts
    start, moves, emissions = prior.add(start, 0), prior.add(moves, 2), prior.add(emissions, 1)
    if end >= 0:
        start[end] = 0.0
        moves[:, end] = 0.0
        moves[:, end, end] = 1.0
        if log.final.any():
            alive = np.arange(len(start)) != end
            emissions[:, ~log.final, end] = 0.0
            emissions[:, log.final] *= ~alive | log.final.all()
    if log.family == "gaussian":
        payoffs = payoffs if payoffs.ndim == 3 else reward_sums(log, payoffs)
        visits = payoffs[0]
        means, variances = gaussians(log, payoffs, prior.count)
        payoffs, log_scale = densities(log, means, variances)
    else:
        visits = np.stack(
            [payoffs[log.payoff_actions == a].sum(axis=0) for a in range(log.sizes[0])]
        )
        payoffs, means = _categories(log, payoffs, prior)
        log_scale, variances = np.zeros(len(payoffs)), None
    if end >= 0:
        means[:, end] = 0.0
    return FittedPOMDP(
        start=start / start.sum(),
        moves=np.ascontiguousarray(moves / moves.sum(axis=2, keepdims=True)),
        emissions=np.ascontiguousarray(emissions / emissions.sum(axis=1, keepdims=True)),
        payoffs=np.ascontiguousarray(payoffs),
        log_scale=log_scale,
        means=means,
        visits=visits,
        end=end,
        variances=variances,
    )


def _categories(log: Encoded, counts: Floats, prior: Prior) -> tuple[Floats, Floats]:
    """The probabilities of payoffs (J, S), or ones for the family 'none', and the means (A, S)."""
    weights = np.empty_like(counts)
    for action in range(log.sizes[0]):
        mine = log.payoff_actions == action
        weights[mine] = prior.add(counts[mine], 0, sparse=log.family == "categorical")
    totals = np.maximum(log.by_action @ weights, TINY_SCALE)  # (A, S)
    means = (log.by_action * log.payoff_rewards) @ weights / totals
    if log.family == "categorical":
        return weights / totals[log.payoff_actions], means
    return np.ones_like(counts), means


def likelihoods(parameters: FittedPOMDP, log: Encoded) -> Floats:
    """The log-likelihood of observations and rewards of each episode, (N,)."""
    p = parameters
    scores = score(
        p.start, p.moves, p.emissions, p.payoffs, log.steps, log.offsets, log.terminated, p.end
    )
    shifts = np.concatenate([[0.0], np.cumsum(p.log_scale[log.steps[:, 2]])])
    return scores + np.diff(shifts[log.offsets])
