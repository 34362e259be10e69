"""A POMDP whose fully observed variables are revealed before the first action.

The C++ SARSOP knows these variables before its first action, `rpsr` after its first observation. To
compare bounds, the model gets one step before the first: it has no reward, draws the first state,
and reveals its observed variables. All bounds are multiplied by the discount.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from rpsr.models.pomdp import POMDP


def observed_values(pomdp: POMDP) -> list[str]:
    """The values of the observed variables, one string per state, (S,)."""
    variables = pomdp.state_variables or ()
    if len(variables) == 1:  # states have the names of its values
        return list(pomdp.states) if variables[0].observed else [""] * len(pomdp.states)
    names = {variable.name for variable in variables if variable.observed}
    return [
        ",".join(part for part in state.split(",") if part.split("=")[0] in names)
        for state in pomdp.states
    ]


def revealed(pomdp: POMDP) -> POMDP | None:
    """The model with one step more; None if the start is known already.

    Its states are those of the POMDP (S), a copy of each for the first step, which the observed
    variables are read from, and the new start.
    """
    values, start = observed_values(pomdp), pomdp.belief_model().start
    first = sorted({values[s] for s in np.flatnonzero(start)})
    if len(first) < 2:
        return None
    S, O = len(values), len(pomdp.observations)
    reveals = np.zeros((S, len(first)))
    for s in np.flatnonzero(start):
        reveals[s, first.index(values[s])] = 1.0
    moves, sees = [], []
    outcomes = pomdp.outcomes
    for a in range(len(pomdp.actions)):
        rows = outcomes.action == a
        s, after, seen = (
            column[rows] for column in (outcomes.state, outcomes.next_state, outcomes.observation)
        )
        joint = outcomes.probability[rows]
        move = sparse.csr_array((joint, (s, after)), shape=(S, S))
        begin = sparse.csr_array(np.concatenate([np.zeros(S), start, [0.0]])[None])
        both = sparse.hstack([sparse.vstack([move, move]), sparse.csr_array((2 * S, S + 1))])
        moves.append(sparse.csr_array(sparse.vstack([both, begin])))
        see = np.zeros((2 * S + 1, O + len(first) + 1))
        np.add.at(see, (after, seen), joint)  # what is observed depends on the next state only
        see[S : 2 * S, O:-1] = reveals
        see[see.sum(axis=1) == 0, -1] = 1.0  # states that are never entered by this action
        sees.append(see / see.sum(axis=1, keepdims=True))
    rewards = pomdp.belief_model().rewards
    last = np.zeros((1, rewards.shape[1]))
    return POMDP.from_arrays(
        moves,
        np.array(sees),
        np.concatenate([rewards, rewards, last]),
        start=np.append(np.zeros(2 * S), 1.0),
        discount=pomdp.discount,
        name=f"{pomdp.name}, revealed",
    )
