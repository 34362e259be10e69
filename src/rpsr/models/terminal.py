"""Two views of a task that ends, as explicit transformations of the model.

A file may use `reset` (the episode ends and the next begins at once) or absorbing states (the
episode is over). An absorbing state is one that no action leaves and that has no reward. Neither is
silently read as the other: `episodic` turns resets into an absorbing end, `continuing` turns
absorbing ends into resets.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Cells, Ints, Record, Rewards, Rows
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP, Outcomes
from rpsr.models.row_edits import Row, certain_row, join_rows, split_rows

END = "end"


def continuing(pomdp: POMDP) -> POMDP:
    """The POMDP in which every action in an absorbing state starts the next episode."""
    pomdp = as_pomdp(pomdp)
    record, ends = pomdp.record, pomdp.absorbing
    if not ends.any():
        raise ModelError(
            f"{pomdp.name} has no absorbing state, so there is no episode end to convert"
        )
    if ends[record.start.indices].any():
        raise ModelError(f"{pomdp.name} may start in an absorbing state, where the episode is over")
    if record.emission_by_edge:
        raise ModelError(
            f"{pomdp.name}: resets cannot be added to a model whose observations depend on "
            "(s, a, s')"
        )
    rows = split_rows(record.transition)
    first = split_rows(record.start)[0]
    n_states = len(record.states)
    begins = np.tile(ends, len(record.actions))
    rows = [first if begins[r] else row for r, row in enumerate(rows)]
    moved = replace(record, transition=join_rows(rows, n_states), resets=record.resets | ends)
    return POMDP(_with_outcome_rewards(moved, pomdp))


def episodic(pomdp: POMDP) -> POMDP:
    """The POMDP whose resets lead to a new absorbing state, with an observation of its own.

    Both are named 'end'. The reward of a reset becomes its expectation over the states it led to.
    """
    pomdp = as_pomdp(pomdp)
    record, resets = pomdp.record, pomdp.resets.reshape(-1)
    if not resets.any():
        raise ModelError(f"{pomdp.name} has no `reset` rows, so there is no episode end to convert")
    if record.emission_by_edge:
        raise ModelError(
            f"{pomdp.name}: an end cannot be added to a model whose observations depend on "
            "(s, a, s')"
        )
    if END in record.states or END in record.observations:
        raise ModelError(f"{pomdp.name} already has a state or observation called {END!r}")
    n, n_observations = len(record.states), len(record.observations)
    stay, see = certain_row(n, record), certain_row(n_observations, record)
    moves, emissions = split_rows(record.transition), split_rows(record.emission)
    transition: list[Row] = []
    emission: list[Row] = []
    for a in range(len(record.actions)):
        transition += [stay if resets[a * n + s] else moves[a * n + s] for s in range(n)] + [stay]
        emission += [*emissions[a * n : (a + 1) * n], see]
    start = record.start
    ended = replace(
        record,
        states=(*record.states, END),
        observations=(*record.observations, END),
        start=Rows(n + 1, start.indptr, start.indices, start.values, start.weights, start.digits),
        transition=join_rows(transition, n + 1),
        emission=join_rows(emission, n_observations + 1),
        resets=np.zeros((len(record.actions), n + 1), dtype=np.bool_),
        state_variables=(),  # the new state is no joint value of theirs
        unavailable=_everywhere(record.unavailable),
    )
    return POMDP(_with_outcome_rewards(ended, pomdp))


def _everywhere(unavailable: Bools | None) -> Bools | None:
    """Availability with one more state, in which every action may be taken."""
    return None if unavailable is None else np.pad(unavailable, ((0, 0), (0, 1)))


def _with_outcome_rewards(record: Record, before: POMDP) -> Record:
    """Rewards of a changed process: of the same outcome if it existed, else R(s, a)."""
    sizes = (len(before.states), len(before.observations))
    old, new = before.outcomes, record.outcome_cells(*record.outcome_entries())
    known, asked = _keys(old, sizes), _keys(new, sizes)  # outcomes come sorted, so keys do
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    existed = known[at] == asked
    for index, size in zip(
        (new.state, new.next_state, new.observation), (sizes[0], *sizes), strict=True
    ):
        existed &= index < size
    exact = before.record.rewards.exact
    table = before.record.rewards.values.tolist() if exact is None else exact
    expected = before.R.tolist() if exact is None else before.exact_rewards()
    worth = [
        table[index] if kept else expected[s][a] if s < sizes[0] else 0
        for kept, index, s, a in zip(
            existed.tolist(),
            old.reward_index[at].tolist(),
            new.state.tolist(),
            new.action.tolist(),
            strict=True,
        )
    ]
    values = sorted(set(worth))
    position = {value: i for i, value in enumerate(values)}
    rewards = Rewards(
        np.array([float(v) for v in values]),
        np.array([position[v] for v in worth], dtype=np.int64),
        None if exact is None else tuple(Fraction(v) for v in values),
    )
    return replace(record, rewards=rewards)


def _keys(outcomes: Outcomes | Cells, sizes: tuple[int, int]) -> Ints:
    n_states, n_observations = sizes
    row = outcomes.action * n_states + outcomes.state
    return (row * n_states + outcomes.next_state) * n_observations + outcomes.observation


def final_observations(pomdp: POMDP) -> Bools:
    """(O,): observations that mark the end of an episode: only absorbing states emit them.

    `episodic` marks ends in this way. An absorbing state whose observations also occur elsewhere
    marks no end. If an episode may begin in an absorbing state, no observation marks an end.
    """
    ends, outcomes = pomdp.absorbing, pomdp.outcomes
    final = np.zeros(len(pomdp.observations), dtype=np.bool_)
    if ends[pomdp.record.start.indices].any():
        return final
    final[outcomes.observation] = True
    final[outcomes.observation[~ends[outcomes.next_state]]] = False
    return final
