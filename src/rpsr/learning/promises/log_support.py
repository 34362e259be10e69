"""Whether a log shows what a policy does: how often it has the policy's actions, where it acts.

A log supports an action after an interaction, or at the start, if the action occurs there at least
`FEWEST` times. The policy is simulated in models of the log. Models that never saw an action
somewhere agree on its result wrongly, so they are not used if more than `MOST` of the discounted
steps are unsupported, or more than that share of the first steps, on which all others depend.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.survey import Survey
from rpsr.learning.promises.promise import Gap
from rpsr.logs.trajectories import Trajectories

FEWEST, MOST = 5, 0.05


def gap(runs: Sequence[Trajectories], survey: Survey, discount: float) -> Gap | None:
    """The policy's steps in models of a log that the log hardly shows; None if they are few.

    runs: simulated episodes of the policy in each model. They have the same names as each other.
    """
    actions, observations = runs[0].action_names, runs[0].observation_names
    visits = np.asarray(sum(_visits(run, discount) for run in runs), dtype=np.float64)
    shown = _shown(survey, actions, observations)
    missing = np.where(shown < FEWEST, visits, 0.0)
    at_start = float(missing[0].sum() / visits[0].sum())
    share = max(at_start, float(missing.sum() / visits.sum()))
    if share <= MOST:
        return None
    # an action at the start is named first, because all other steps depend on it
    searched = missing[:1] if at_start > MOST else missing
    row, action = divmod(int(searched.argmax()), len(actions))
    before = divmod(row - 1, len(observations))
    after = (actions[before[0]], observations[before[1]]) if row else ()
    return Gap(share, actions[action], after, int(shown[row, action]))


def _visits(log: Trajectories, discount: float) -> Floats:
    """The discounted number of steps by the interaction before them, and by action, (1 + A O, A).

    The first row is the start.
    """
    n_actions, n_observations = len(log.action_names), len(log.observation_names)
    step = np.arange(log.steps) - np.repeat(log.offsets[:-1], log.lengths)
    interactions = log.actions * n_observations + log.observations
    row = np.where(step > 0, 1 + np.roll(interactions, 1), 0)
    size = (1 + n_actions * n_observations) * n_actions
    weights = np.bincount(row * n_actions + log.actions, discount**step, minlength=size)
    return weights.reshape(-1, n_actions).astype(np.float64)


def _shown(survey: Survey, actions: tuple[str, ...], observations: tuple[str, ...]) -> Ints:
    """How often the log has each step, like `_visits`, by a model's names; 0 for unknown ones."""
    sizes = len(survey.action_names), len(survey.observation_names)
    before = np.pad(survey.follows.reshape(*sizes, sizes[0]), ((0, 1), (0, 1), (0, 1)))
    a = [_place(name, survey.action_names) for name in actions]
    o = [_place(name, survey.observation_names) for name in observations]
    starts = np.pad(survey.starts, (0, 1))[a]
    return np.vstack([starts, before[np.ix_(a, o, a)].reshape(-1, len(actions))])


def _place(name: str, names: tuple[str, ...]) -> int:
    """The index of a name, or the one after all names."""
    return names.index(name) if name in names else len(names)
