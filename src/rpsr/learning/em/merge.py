"""Make a POMDP with too many states smaller, by merging two states at a time.

EM started at the right size mostly ends in a bad local optimum. Started with more states, it ends
near a good one, in which several states represent one. Merging these keeps the optimum with fewer
parameters. Held-out data then choose the size.

The cost of a merger is the loss of expected log-likelihood of the completed data if both states
share their distributions of moves, observations and rewards: with counts c_i and c_j over the same
categories,

    sum c_i log(c_i / |c_i|) + sum c_j log(c_j / |c_j|) - sum (c_i + c_j) log((c_i + c_j) / |...|).

Rewards of the family 'none' are not part of the likelihood and cost nothing; continuous ones are in
bins (`bins`).

The cost is not a bound, but a good ranking. The cheapest few mergers are tried with some iterations
of EM, and the one of highest likelihood is kept.

The idea of merging to choose a hidden Markov model's size: Stolcke and Omohundro, "Hidden Markov
model induction by Bayesian model merging", NIPS 1992.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rpsr.io.records import Floats
from rpsr.learning.em.fitted_pomdp import (
    Encoded,
    FittedPOMDP,
    Prior,
    counts_of,
    improve,
    iterate,
    maximise,
)

TRIED, QUICK, POLISH = (
    4,
    3,
    12,
)  # mergers tried; iterations to judge one; and for the kept one


def descend(parameters: FittedPOMDP, log: Encoded, prior: Prior) -> Iterator[FittedPOMDP]:
    """POMDPs fitted to the same log, each with one state less, until one is left."""
    while parameters.size > 1:
        parameters = _merge_best(parameters, log, prior)
        yield parameters


def _merge_best(parameters: FittedPOMDP, log: Encoded, prior: Prior) -> FittedPOMDP:
    counts, _ = counts_of(parameters, log)
    costs = merge_costs(counts, log, parameters.end)
    n = parameters.states
    tried: list[tuple[float, int, FittedPOMDP]] = []
    for rank, both in enumerate(np.argsort(costs, axis=None)[:TRIED].tolist()):
        i, j = divmod(both, n)
        if not np.isfinite(costs[i, j]):
            break
        end = parameters.end - (parameters.end > j)
        smaller = maximise(log, merged(counts, i, j), prior, end)
        smaller = iterate(smaller, log, prior, QUICK - 1)
        smaller, likelihood = improve(smaller, log, prior)
        tried.append((-likelihood, rank, smaller))
    return iterate(min(tried, key=lambda trial: trial[:2])[2], log, prior, POLISH)


def merge_costs(counts: list[Floats], log: Encoded, end: int) -> Floats:
    """The cost of merging states i < j, (S, S); infinite elsewhere, and for the end."""
    _, moves, emissions, payoffs = counts
    costs = _row_costs(np.swapaxes(moves, 1, 2)) + _row_costs(emissions)
    if log.family == "categorical":
        for action in range(log.sizes[0]):
            costs += _row_costs(payoffs[None, log.payoff_actions == action])
    costs[np.tril_indices(len(costs))] = np.inf
    if end >= 0:
        costs[end] = costs[:, end] = np.inf
    return costs


def _row_costs(counts: Floats) -> Floats:
    """The cost of sharing D distributions over C categories, from counts (D, C, S)."""
    own = _entropies(counts)
    return np.stack(
        [own[i] + own - _entropies(counts[:, :, [i]] + counts) for i in range(counts.shape[2])]
    )


def _entropies(counts: Floats) -> Floats:
    """Sum of c log(c / |c|), (D, C, S) -> (S,)."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return (counts * np.log(np.maximum(shares, 1e-300))).sum(axis=(0, 1))


def merged(counts: list[Floats], i: int, j: int) -> list[Floats]:
    """The counts with state j added to state i."""
    start, moves, emissions, payoffs = (array.copy() for array in counts)
    start[i] += start[j]
    moves[:, :, i] += moves[:, :, j]
    moves[:, i] += moves[:, j]
    emissions[:, :, i] += emissions[:, :, j]
    payoffs[:, i] += payoffs[:, j]
    kept = np.delete(np.arange(len(start)), j)
    return [
        start[kept],
        np.ascontiguousarray(moves[:, kept][:, :, kept]),
        np.ascontiguousarray(emissions[:, :, kept]),
        np.ascontiguousarray(payoffs[:, kept]),
    ]
