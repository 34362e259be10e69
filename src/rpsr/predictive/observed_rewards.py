"""Reward-aware observations: pairs of an observation and its reward.

Each possible pair (o, R(s, a, s', o)) becomes one observation, so that a PSR of the result predicts
rewards as part of observations. The second group of prior work does so (James and Singh 2004;
James, Wessling and Vlassis 2006). It is another control problem: an agent that observes its rewards
may base actions and its state estimate on them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpsr.io.decimals import number
from rpsr.io.records import Rows
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP


def reward_aware(pomdp: POMDP) -> POMDP:
    """The POMDP in which every observation includes the reward of its step.

    Observations are named `observation|reward`, one per pair that can occur, in order of
    observation and then of reward. Transitions and rewards are unchanged.
    """
    pomdp = as_pomdp(pomdp)
    record, outcomes = pomdp.record, pomdp.outcomes
    n_values = len(record.rewards.values)
    pairs, pair_of = np.unique(
        outcomes.observation * n_values + outcomes.reward_index, return_inverse=True
    )
    exact = record.rewards.exact
    texts = (
        [number(value) for value in exact]
        if exact is not None
        else [repr(value) for value in record.rewards.values.tolist()]
    )
    names = tuple(
        f"{pomdp.observations[pair // n_values]}|{texts[pair % n_values]}"
        for pair in pairs.tolist()
    )
    # One emission row per edge, its entries in the order of the new observations.
    edge, entry = record.outcome_entries()
    order = np.lexsort((pair_of, edge))
    entry = entry[order]
    emission, rows = record.emission, record.emission_row_of_edge()
    seen = replace(
        record,
        name=f"{record.name}, rewards seen",
        observations=names,
        emission=Rows(
            width=len(pairs),
            indptr=np.searchsorted(edge[order], np.arange(len(rows) + 1)),
            indices=pair_of[order].astype(np.int64),
            values=emission.values[entry],
            weights=None if emission.weights is None else emission.weights[entry],
            digits=None if emission.digits is None else emission.digits[rows],
        ),
        emission_by_edge=True,
        rewards=replace(record.rewards, index=record.rewards.index[order]),
    )
    return POMDP(seen)
