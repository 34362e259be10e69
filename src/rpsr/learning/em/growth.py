"""More states, while held-out episodes ask for them.

The search of `EMRPSR` starts from a few numbers of states. If the POMDP that held-out episodes
choose has about as many as the largest start (`FULL`), the system may have more. Then rounds with
`FACTOR` times as many states follow. Half of the starts of a round have one main observation per
state; the other half continue from the best POMDP so far, with its most visited states split. The
rounds end when a round is not chosen, at `Search.most` states, or when the next round would take
longer than the time limit leaves: its cost is about that of the last one times `FACTOR`^2, and is
reported before it is paid.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rpsr import deadline
from rpsr.learning.em.candidates import Found, choose_number_of_states
from rpsr.learning.em.split import split
from rpsr.learning.em.steps import Encoded, FittedPOMDP, Prior, counts_of, maximise

FULL = 0.85  # of the largest start: a POMDP with as many states may need more
FACTOR = 1.5  # from one round to the next


@dataclass
class Rounds:
    """Which numbers of states are tried next, and how long that takes.

    most: the largest number of states. limit: seconds for all rounds and the search before them;
    None is no limit. untried: the next number of states, if the limit left no time for it; else 0.
    """

    most: int
    limit: float | None
    untried: int = 0
    _began: float = field(default_factory=lambda: deadline.now())
    _last: float = field(default_factory=lambda: deadline.now())

    def next_size(self, found: list[Found], tried: int) -> int:
        """The number of states of the next round, or 0 if there is none.

        found: all candidates. tried: the most states of a start so far.
        """
        chosen = choose_number_of_states(found, 1)[0].fitted.size
        size = min(round(FACTOR * tried), self.most)
        if chosen < FULL * tried or size <= tried:
            return 0
        if self.limit is not None and self.cost(size / tried) > self.left():
            self.untried = size
            return 0
        return size

    def left(self) -> float:
        """The seconds that the limit leaves."""
        return np.inf if self.limit is None else self.limit - (deadline.now() - self._began)

    def cost(self, ratio: float) -> float:
        """The estimated seconds of a round with `ratio` times the states of the last one."""
        return (deadline.now() - self._last) * ratio**2

    def begin(self, size: int, tried: int) -> str:
        """Start the clock of a round; a line that says what it will cost."""
        words = (
            f"{tried} states are too few by held-out episodes: trying {size}, about "
            f"{self.cost(size / tried):.0f} s"
        )
        self._last = deadline.now()
        return words


def grown(
    parameters: FittedPOMDP, states: int, log: Encoded, prior: Prior, rng: np.random.Generator
) -> FittedPOMDP:
    """The POMDP with its most visited states split, some of them repeatedly, up to `states`."""
    counts, _ = counts_of(parameters, log)
    end = parameters.end
    while len(counts[0]) - (end >= 0) < states:
        visits = counts[1].sum(axis=(0, 2))
        if end >= 0:
            visits[end] = -1.0
        counts = split(counts, int(visits.argmax()), rng)
    return maximise(log, counts, prior, end)
