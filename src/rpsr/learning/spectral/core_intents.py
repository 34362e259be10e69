"""The core rows and columns of a matrix of intents by histories, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from rpsr.io.records import Floats
from rpsr.learning.moments.hankel import Hankel
from rpsr.learning.moments.survey import Word
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.learning.spectral.fit import Scales
from rpsr.learning.spectral.rank import noise_level, rank_cut
from rpsr.predictive.futures import ZETA, Intent, Interaction, Test


@dataclass(frozen=True)
class CoreIndices:
    """Core intents (rows) and core histories (columns) of a matrix, by index."""

    intents: tuple[int, ...]
    histories: tuple[int, ...]


def pivoted_core(data: Hankel, scale: Scales, rank: int | None = None) -> CoreIndices:
    """Core rows and columns of the matrix cut to a rank, by column-pivoted QR."""
    scaled = scale.rows[:, None] * data.values[0] * scale.columns
    u, s, v = np.linalg.svd(scaled, full_matrices=False)
    if rank is None:
        rank = rank_cut(s, noise_level(data, scale))
    rank = max(1, min(rank, int((s > s[0] * 1e-12).sum())))
    return CoreIndices(_pivots((u[:, :rank] * s[:rank]).T), _pivots(s[:rank, None] * v[:rank]))


def grown_core(data: Hankel, scale: Scales) -> CoreIndices:
    """Core rows and columns grown from the shortest ones, one step at a time."""
    plan = data.plan
    lengths = np.array([len(intent_word(plan, row)[0]) for row in range(data.values.shape[1])])
    words = [(), (), *plan.histories[1:]]  # the constant and the start have no interactions
    sizes = np.array([len(word) for word in words])
    scaled = scale.rows[:, None] * data.values[0] * scale.columns
    variances = data.variances[0] * (scale.rows[:, None] * scale.columns) ** 2
    rows, columns = np.flatnonzero(lengths == 0), np.flatnonzero(sizes == 0)
    rank = 0
    while True:
        block, spread = scaled[np.ix_(rows, columns)], variances[np.ix_(rows, columns)]
        u, s, v = np.linalg.svd(block, full_matrices=False)
        noise = float(np.sqrt(spread.sum(axis=1).max()) + np.sqrt(spread.sum(axis=0).max()))
        standing = max(1, int((s > max(noise, s[0] * 1e-12)).sum()))
        standing = max(standing, rank)
        core_rows = rows[list(_pivots((u[:, :standing] * s[:standing]).T))]
        core_columns = columns[list(_pivots(s[:standing, None] * v[:standing]))]
        if standing == rank:
            return CoreIndices(tuple(core_rows.tolist()), tuple(core_columns.tolist()))
        rank = standing
        rows = _longer(core_rows, [intent_word(plan, row) for row in range(len(lengths))])
        columns = _longer(core_columns, [(word, k == 1) for k, word in enumerate(words)])


def _longer(core: Any, names: list[tuple[Word, Any]]) -> Any:
    """The core, all members without interactions, and those one longer than a core member.

    Intents grow at their front, histories at their end.
    """
    kept = {names[index] for index in core.tolist()}
    short = {word for word, _ in kept}
    return np.array(
        [
            index
            for index, (word, last) in enumerate(names)
            if not word or (word, last) in kept or word[1:] in short or word[:-1] in short
        ]
    )


def _pivots(matrix: Floats) -> tuple[int, ...]:
    """The first n columns that pivoted QR chooses from an (n, m) matrix, in order of index."""
    _, _, order = qr(matrix, mode="economic", pivoting=True)
    return tuple(sorted(int(column) for column in order[: len(matrix)]))


def intent_word(plan: WindowPlan, row: int) -> tuple[Word, int]:
    """The test of an intent, and its last action, -1 for zeta."""
    if row < len(plan.tests):
        return plan.tests[row], -1
    action, test = divmod(row - len(plan.tests), len(plan.reward_tests))
    return plan.reward_tests[test], action


def intent_of(plan: WindowPlan, row: int) -> Intent:
    """The intent behind a row, with its names."""
    word, action = intent_word(plan, row)
    return Intent(_test(plan, word), ZETA if action < 0 else plan.action_names[action])


def history_of(plan: WindowPlan, column: int) -> Test | None:
    """The last interactions behind a history feature; None for the constant and the start."""
    return None if column < 2 else _test(plan, plan.histories[column - 1])


def _test(plan: WindowPlan, word: Word) -> Test:
    n = len(plan.observation_names)
    return Test(
        tuple(
            Interaction(plan.action_names[code // n], plan.observation_names[code % n])
            for code in word
        )
    )
