"""The compiled step of a vector environment over a POMDP."""

from __future__ import annotations

from rpsr.evaluation.kernels import Outcomes, pick
from rpsr.io.records import Bools, Floats, Ints
from rpsr.kernels import njit


# The arguments are the tables of a POMDP, then one array per column of the batch.
@njit(cache=True, nogil=True)
def advance(
    outcomes: Outcomes,
    rewards: Floats,
    n_states: int,
    initial: int,
    chances: Floats,
    actions: Ints,
    begins: Bools,
    states: Ints,
    observations: Ints,
    paid: Floats,
) -> None:
    """One step of B episodes: writes the new states, the observations and the rewards, all (B,).

    rewards (N,): of the outcomes. chances (B,): numbers in [0, 1) that select the outcomes.
    Where begins (B,) is true, the episode begins again instead: its observation is `initial`, its
    reward 0.
    """
    start = len(outcomes.indptr) - 2
    for i in range(len(states)):
        if begins[i]:
            states[i] = outcomes.table[pick(outcomes, start, chances[i]), 0]
            observations[i] = initial
            paid[i] = 0.0
        else:
            drawn = pick(outcomes, actions[i] * n_states + states[i], chances[i])
            states[i] = outcomes.table[drawn, 0]
            observations[i] = outcomes.table[drawn, 1]
            paid[i] = rewards[drawn]
