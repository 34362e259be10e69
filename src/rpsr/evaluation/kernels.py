"""Compiled loops of simulation: tables that sample in constant time, and whole episodes.

The alias method keeps, for a row of n probabilities, n columns of equal width, each split between
two outcomes: one number in [0, 1) picks the column by its integer part and the side by the rest.
The kernels draw from the numpy generator they are given, so each has its plain Python version as
`.py_func`, which draws the same numbers: the oracle of its tests.

Reference: M. D. Vose, "A linear algorithm for generating random numbers with a given
distribution", IEEE Transactions on Software Engineering, 1991.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit


class Outcomes(NamedTuple):
    """A POMDP to draw from: rows by action and state, then one for the start.

    indptr (A * S + 2,): where each row begins. keep (N,). table (N, 3): next state, observation,
    alias.
    """

    indptr: Ints
    keep: Floats
    table: Ints


@njit(cache=True)
def alias_tables(indptr: Ints, probability: Floats) -> tuple[Floats, Ints]:
    """For every entry, the share that it has of its column, and the entry of the rest, (N,), (N,).

    indptr (rows + 1,): where each row begins; probability (N,), positive sums by row.
    """
    keep = np.ones(len(probability))
    other = np.arange(len(probability))
    small = np.empty(len(probability), dtype=np.int64)
    large = np.empty(len(probability), dtype=np.int64)
    for row in range(len(indptr) - 1):
        first, last = indptr[row], indptr[row + 1]
        total = 0.0
        for i in range(first, last):
            total += probability[i]
        n_small, n_large = 0, 0
        for i in range(first, last):
            keep[i] = probability[i] * (last - first) / total
            if keep[i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            poor, rich = small[n_small], large[n_large - 1]
            other[poor] = rich
            keep[rich] -= 1.0 - keep[poor]
            if keep[rich] < 1.0:
                n_large -= 1
                small[n_small] = rich
                n_small += 1
        for i in range(n_small):  # only rounding leaves these short of 1
            keep[small[i]] = 1.0
        for i in range(n_large):
            keep[large[i]] = 1.0
    return keep, other


@njit(cache=True, nogil=True)
def pick(outcomes: Outcomes, row: int, chance: float) -> int:
    """The outcome of a row that a number in [0, 1) selects."""
    first, count = outcomes.indptr[row], outcomes.indptr[row + 1] - outcomes.indptr[row]
    where = chance * count
    column = min(int(where), count - 1)  # the product may round up to the count
    if where - column < outcomes.keep[first + column]:
        return first + column
    return outcomes.table[first + column, 2]


@njit(cache=True, nogil=True)
def episodes(
    rng: np.random.Generator,
    outcomes: Outcomes,
    final: Bools,
    cumulative: Floats,
    successors: Ints,
    node: int,
    log: Ints,
) -> Ints:
    """Episodes of a controller on a POMDP, written into a log; their lengths, (B,).

    final (O,): whether an observation ends the episode.
    cumulative (K, A), successors (K, A, O): of a controller that starts in `node`. A successor of
    -1 means an observation without a successor: the episode ends, with a negative length.
    log (B, T, 5): outcome, action, observation, state and node before the action.
    """
    n_actions = cumulative.shape[1]
    n_states = (len(outcomes.indptr) - 2) // n_actions
    lengths = np.zeros(log.shape[0], dtype=np.int64)
    for episode in range(log.shape[0]):
        state = outcomes.table[pick(outcomes, n_actions * n_states, rng.random()), 0]
        at = node
        for step in range(log.shape[1]):
            action = 0
            if cumulative[at, 0] < 1.0:
                chance = rng.random()
                while action < n_actions - 1 and cumulative[at, action] <= chance:
                    action += 1
            outcome = pick(outcomes, action * n_states + state, rng.random())
            seen = outcomes.table[outcome, 1]
            log[episode, step, 0] = outcome
            log[episode, step, 1] = action
            log[episode, step, 2] = seen
            log[episode, step, 3] = state
            log[episode, step, 4] = at
            lengths[episode] = step + 1
            if final[seen]:
                break
            at = successors[at, action, seen]
            if at < 0:
                if step + 1 < log.shape[1]:
                    lengths[episode] = -step - 1
                break
            state = outcomes.table[outcome, 0]
    return lengths


class Steps(NamedTuple):
    """A process with E possible outcomes, rows by action and state.

    indptr (A * S + 1,): where each row begins. observation, target (E,). chance (E,).
    """

    indptr: Ints
    observation: Ints
    target: Ints
    chance: Floats


@njit(cache=True)
def walk(
    steps: Steps, probabilities: Floats, successors: Ints, shares: Floats, following: Floats
) -> tuple[float, int, int]:
    """Add the probabilities of a controller's nodes and states one step later to `following`.

    shares, following (K, S). probabilities (K, A) and successors (K, A, O): the controller.
    Returns the largest probability of an observation without a successor from one node, and that
    action and observation.
    """
    n_nodes, n_actions, n_observations = successors.shape
    n_states = shares.shape[1]
    gone = np.zeros(n_observations)
    worst, action, seen = 0.0, 0, 0
    for node in range(n_nodes):
        for a in range(n_actions):
            if probabilities[node, a] == 0.0:
                continue
            open_ended = False
            for s in range(n_states):
                share = probabilities[node, a] * shares[node, s]
                if share == 0.0:
                    continue
                row = a * n_states + s
                for e in range(steps.indptr[row], steps.indptr[row + 1]):
                    o = steps.observation[e]
                    after = successors[node, a, o]
                    if after >= 0:
                        following[after, steps.target[e]] += share * steps.chance[e]
                    else:
                        gone[o] += share * steps.chance[e]
                        open_ended = True
            if open_ended:
                o = int(gone.argmax())
                if gone[o] > worst:
                    worst, action, seen = gone[o], a, o
                gone[:] = 0.0
    return worst, action, seen
