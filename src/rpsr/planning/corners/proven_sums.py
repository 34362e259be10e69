"""Proven sums of rewards of a Markov chain without a discount.

On the states that the chain leaves in the end it has probabilities P. With w near the expected
number of steps there and u near the sums, let f > 0 be at most w - P w, and d at least u - r - P u,
rounding included. Then u - (d / f) w is at most the sum: it is at most its own backup, and P^n
tends to 0.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Floats
from rpsr.models.operators import Sparse
from rpsr.planning.corners.corner_model import CornerProcess
from rpsr.planning.end_components import end_components, leading_to
from rpsr.planning.linear_systems import factorised

ENDLESS = -1e150  # stands for a sum that is not finite, or cannot be proven in floats


def proven_sums(process: CornerProcess, chain: Sparse, rewards: Floats) -> Floats:
    """Lower bounds on the sums of rewards (N,) of a chain, sparse (N, N); `ENDLESS` if infinite.

    process: the one whose rows the chain's are, for the rounding of a step.
    """
    earns = leading_to(chain, rewards != 0)
    endless = leading_to(chain, end_components(chain, 1)[1][0] & earns)
    values = np.where(endless, ENDLESS, 0.0)
    live = np.flatnonzero(earns & ~endless)
    if not len(live):
        return values
    among = sp.csr_array(chain[live][:, live])
    try:
        steps = factorised(among, np.ones(len(live)))
        sums = factorised(among, rewards[live])
    except RuntimeError:  # the probability of leaving is lost in rounding
        return np.where(earns, ENDLESS, 0.0)
    slack = float((steps - among @ steps).min()) - process.rounding(largest(steps))
    if not slack > 0:
        return np.where(earns, ENDLESS, 0.0)
    over = float((sums - rewards[live] - among @ sums).max())
    over = max(over + process.rounding(largest(sums) + largest(rewards)), 0.0)
    values[live] = sums - over / slack * steps
    return values


def largest(values: Floats) -> float:
    """The largest absolute value of those that are finite."""
    return float(np.abs(values[values > ENDLESS / 2]).max(initial=0.0))
