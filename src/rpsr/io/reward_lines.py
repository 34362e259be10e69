"""Write rewards by the fewest indices on which they depend.

Only possible outcomes matter for "depend": if all possible outcomes of an action have the same
reward, one line suffices. Actions share their lines if all of them agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rpsr.io.decimals import number, shortest
from rpsr.io.records import Ints, Record


def reward_lines(record: Record) -> Iterator[str]:
    """The `R` statements of a record; rewards of zero need none."""
    return (f"R: {' : '.join(cell)} {text}" for cell, text in reward_patterns(record))


def reward_patterns(record: Record) -> Iterator[tuple[list[str], str]]:
    """Action, state, next state and observation, each by name or `*`, with the reward.

    Later patterns override earlier ones.
    """
    rewards = record.rewards
    if rewards.exact is not None:
        texts = [number(value) for value in rewards.exact]
    else:
        texts = [shortest(value) for value in rewards.values.tolist()]
    edge, entry = record.outcome_entries()
    action, *others = record.outcome_cells(edge, entry)
    axes = np.stack(others)
    names = (record.states, record.states, record.observations)
    zero = next((i for i, text in enumerate(texts) if float(text) == 0), -1)
    groups = [("*", np.arange(len(action)))]
    if _fewest(axes, rewards.index, names, zero) is None:  # the action matters
        groups = [(name, np.flatnonzero(action == a)) for a, name in enumerate(record.actions)]
    for name, members in groups:
        index = rewards.index[members]
        pattern = _fewest(axes[:, members], index, names, zero)
        assert pattern is not None, "an outcome's reward depends on at most all its indices"
        base, fixed = pattern
        if base != zero:
            yield [name, "*", "*", "*"], texts[base]
        _, first = np.unique(_keys(axes[:, members], names, fixed), return_index=True)
        for k in first[index[first] != base].tolist():
            cell = [names[i][axes[i, members[k]]] if i in fixed else "*" for i in range(3)]
            yield [name, *cell], texts[index[k]]


def _fewest(
    axes: Ints, index: Ints, names: tuple[tuple[str, ...], ...], zero: int
) -> tuple[int, tuple[int, ...]] | None:
    """The value written first for all, and the indices that decide the others: the fewest lines.

    None if the rewards also depend on the action.
    """
    common = int(np.bincount(index).argmax())
    best: tuple[int, int, tuple[int, ...]] | None = None
    for size in range(4):
        for fixed in combinations(range(3), size):
            _, first, inverse = np.unique(
                _keys(axes, names, fixed), return_index=True, return_inverse=True
            )
            if not np.array_equal(index[first][inverse], index):
                continue
            for base in (zero, common):
                lines = int((index[first] != base).sum()) + (base != zero)
                if best is None or lines < best[0]:
                    best = (lines, base, fixed)
    return None if best is None else best[1:]


def _keys(axes: Ints, names: tuple[tuple[str, ...], ...], fixed: tuple[int, ...]) -> Ints:
    keys = np.zeros(axes.shape[1], dtype=np.int64)
    for i in fixed:
        keys = keys * len(names[i]) + axes[i]
    return keys
