"""The reason that a model forgets an observation on which later rewards depend.

`forgotten` finds it, on held-out episodes. A POMDP that remembers the last m observations needs at
most one state for each sequence of m; observations that need not be told apart count as one. A log
shows such a task if these sequences repeat: a step counts as shown if its sequence and its action
occur together `TIMES` times. If all A actions and k^m sequences were equally frequent, that would
take A k^m `TIMES` steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpsr.learning.base import Estimator
from rpsr.learning.chunks import whole
from rpsr.learning.forgotten import forgotten, sequences
from rpsr.learning.prepared_log import PreparedLog
from rpsr.learning.promises.reason import Reason
from rpsr.models.linear import LinearModel

TIMES = 5
SHOWN = 0.9  # of the steps


@dataclass(frozen=True)
class LongMemory(Reason):
    """Rewards of `action` depend on the observation `lag` steps ago, which the model forgets.

    states: of a POMDP that remembers the last `lag` observations. shown: the share of steps whose
    last `lag` observations and action are frequent enough in the log. needed: steps of a log that
    shows this, if its sequences are equally frequent. most: the most states that the estimator
    tries; None if it has no such limit.
    """

    WORDS = (
        "the model forgets an observation on which later rewards depend: those of {action} depend "
        "on the observation {lag} steps before; remembering the last {lag} observations takes up "
        "to {states:,} states, or a table of the last {lag} interactions"
    )

    action: str
    lag: int
    states: int
    shown: float
    needed: int
    most: int | None

    @property
    def advice(self) -> str:
        """The remedy, in a clause."""
        if self.shown < SHOWN:
            return (
                f"record more episodes; this log cannot show {self.states:,} states: "
                f"{self.shown:.0%} of its steps follow observations that, with the same "
                f"action, occur at least {TIMES} times (at least about {self.needed:,} steps are "
                "needed)"
            )
        log = "the log shows such histories often enough"
        if self.most is not None and self.states > self.most:
            return f"{log}; allow more than {self.most} states (search.most of EMRPSR)"
        return f"{log}; try another --estimator, such as em"


def long_memory(
    trained: Estimator, held_out: PreparedLog, log: PreparedLog, policy_model: LinearModel
) -> Reason | None:
    """The reason, if it applies to an estimator that did not learn from the held-out episodes.

    log: the whole log, or its beginning. policy_model: that of the policy; if it is a table of
    interactions that is long enough, nothing is forgotten.
    """
    model = trained.fitted_
    unseen = whole(held_out.as_seen_by(model))
    lost = forgotten(unseen, trained.predictions(unseen).rewards)
    if lost is None or policy_model.provenance.get("k", 0) >= lost.lag:
        return None
    seen = whole(log.as_seen_by(model))
    position = np.arange(seen.steps) - np.repeat(seen.offsets[:-1], seen.lengths)
    steps = np.flatnonzero(position >= lost.lag)
    cells = sequences(lost.kind_of[seen.observations], lost.lag)[steps - 1]
    cells = cells * len(seen.action_names) + seen.actions[steps]
    _, place, count = np.unique(cells, return_inverse=True, return_counts=True)
    states = lost.kinds**lost.lag
    return LongMemory(
        action=seen.action_names[lost.action],
        lag=lost.lag,
        states=states,
        shown=float((count >= TIMES)[place].mean()) if len(steps) else 0.0,
        needed=TIMES * len(seen.action_names) * states,
        most=trained.get_params().get("search__most"),
    )
