"""A compiled `RobustFilter`: a learned model's predictions at every step of a log."""

from __future__ import annotations

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.kernels import njit


@njit(cache=True)
def _move(
    x: Floats, matrix: Floats, e: Floats, limits: tuple[float, float, int], out: Floats
) -> bool:
    """out = x M / mass, and whether that is a state."""
    n = len(x)
    mass = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += x[i] * matrix[i, j]
        out[j] = total
        mass += total * e[j]
    if not mass > limits[0]:
        return False
    for j in range(n):
        out[j] /= mass
        if not abs(out[j]) <= limits[1]:
            return False
    return True


@njit(cache=True)
def _predict(x: Floats, emissions: Floats, most_mass: float, out: Floats) -> float:
    """out (O,) = x E as probabilities, as `models.filter.clipped`; returns the negative mass."""
    largest = total = negative = 0.0
    for k in range(len(out)):
        p = 0.0
        for i in range(len(x)):
            p += x[i] * emissions[i, k]
        if not p >= 0:
            negative -= p
        out[k] = p if 0 < p < np.inf else 0.0
        largest = max(largest, out[k])
        total += out[k]
    if not total < np.inf:  # dividing by the largest first prevents overflow of the sum
        total = 0.0
        for k in range(len(out)):
            out[k] /= largest
            total += out[k]
    for k in range(len(out)):
        out[k] = out[k] / total if total > 0 else 1 / len(out)
    return negative if negative < most_mass else most_mass


@njit(cache=True)
def filter_log(
    model: tuple[Floats, Floats, Floats, Floats, Floats],
    actions: Ints,
    observations: Ints,
    offsets: Ints,
    limits: tuple[float, float, int],
    most_mass: float,
    states: Floats,
) -> tuple[Floats, Floats, float, int]:
    """Predictions (L, O) and rewards (L,) of the actions taken, the negative mass, the resets.

    model: operators (A, O, n, n), emissions (A, n, O), normalizer (n,), the rule's origin (n,) and
    rewards (n, A). limits: the probability that counts as impossible, the largest entry of a state,
    and how many interactions to replay. most_mass: the most negative mass of one prediction. Both
    are arguments, since a compiled cache does not see constants change. states (L, n) is filled
    with the state before each step, or has no rows.
    """
    operators, emissions, e, start, rewards = model
    n, n_observations = len(start), emissions.shape[2]
    predictions = np.empty((len(actions), n_observations))
    expected = np.empty(len(actions))
    negative = 0.0
    resets = 0
    x, y = np.empty(n), np.empty(n)
    for episode in range(len(offsets) - 1):
        first = offsets[episode]
        x[:] = start
        for t in range(first, offsets[episode + 1]):
            a, o = actions[t], observations[t]
            if len(states):
                states[t] = x
            expected[t] = 0.0
            for i in range(n):
                expected[t] += x[i] * rewards[i, a]
            negative += _predict(x, emissions[a], most_mass, predictions[t])
            if _move(x, operators[a, o], e, limits, y):
                x[:] = y
                continue
            resets += 1
            x[:] = start
            for b in range(max(first, t - limits[2] + 1), t + 1):
                if _move(x, operators[actions[b], observations[b]], e, limits, y):
                    x[:] = y
                else:
                    x[:] = start
    return predictions, expected, negative, resets
