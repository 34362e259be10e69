"""More states, while held-out episodes ask for them.

The search of `EMRPSR` starts from a few numbers of states. If the POMDP that held-out episodes
choose has about as many as the largest start (`FULL`), the system may have more. Then rounds with
`FACTOR` times as many states follow. Half of the starts of a round have one main observation per
state; the other half continue from the best POMDP so far: two copies of it (`doubled`), or, if
these have too many states, itself with its most visited states split (`grown`). The rounds end when
a round is not chosen, at `Search.most` states, or when the next round would take longer than the
time limit leaves: its cost grows with the square of the states of its largest start, and is
reported before it is paid.

A POMDP with too few states often lacks something that lasts: which of two floors the system is on,
or its direction. Splitting one state has no gradient towards it, because what one state remembers
is lost in the next one. With copies, every state remembers which copy it is in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rpsr import deadline
from rpsr.learning.em.candidates import Scored, choose_number_of_states
from rpsr.learning.em.fitted_pomdp import Encoded, FittedPOMDP, Prior, counts_of, maximise
from rpsr.learning.em.merge import merged
from rpsr.learning.em.split import split

FULL = 0.85  # of the largest start: a POMDP with as many states may need more
FACTOR = 1.5  # from one round to the next
LEAK = 0.01  # of the moves of two copies, from one to the other
SHAPE = 5.0  # of the gamma distribution of mean 1 by which the counts of copies differ


@dataclass
class Rounds:
    """Which numbers of states are tried next, and how long that takes.

    most: the largest number of states. limit: seconds for all rounds and the search before them;
    None is no limit. untried: the next number of states, if the limit left no time for it; else 0.
    unsplit: whether the limit left no time to split states.
    """

    most: int
    limit: float | None
    untried: int = 0
    unsplit: bool = False
    _began: float = field(default_factory=lambda: deadline.now())
    _last: float = field(default_factory=lambda: deadline.now())
    _took: float = 0.0
    _cost: float = 0.0
    _widest: int = 0  # the most states of a start in the last round
    _next: int = 0  # and in the next one

    def next_size(self, candidates: list[Scored], tried: int) -> int:
        """The number of states of the next round, or 0 if there is none.

        candidates: all of them. tried: the most states of a start so far, copies left out.
        """
        self.untried = 0
        chosen = choose_number_of_states(candidates, 1)[0].fitted.size
        size = min(round(FACTOR * tried), self.most)
        if chosen < FULL * tried or size <= tried:
            return 0
        copies = 2 * max(candidates, key=lambda one: one.mean).fitted.size
        self._next = max(size, copies) if copies <= self.most else size
        self._cost = self._took * (self._next / (self._widest or tried)) ** 2
        if self._cost > self.left():
            self.untried = size
            return 0
        return size

    def left(self) -> float:
        """The seconds that the limit leaves."""
        return np.inf if self.limit is None else self.limit - (deadline.now() - self._began)

    def end(self) -> None:
        """Stop the clock of a round, or of the search before all rounds."""
        self._took, self._widest = deadline.now() - self._last, self._next

    def begin(self, size: int, tried: int) -> str:
        """Start the clock of a round; a line that says what it will cost."""
        words = (
            f"more than {tried} states may predict held-out episodes better: trying {size}, which "
            f"takes about {self._cost:.0f} s"
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


def doubled(
    parameters: FittedPOMDP, log: Encoded, prior: Prior, rng: np.random.Generator
) -> FittedPOMDP:
    """Two copies of a POMDP that differ at random, with few moves between them, and one end."""
    (start, moves, emissions, payoffs), _ = counts_of(parameters, log)
    stays = np.array([[1 - LEAK, LEAK], [LEAK, 1 - LEAK]])
    counted = [np.tile(start, 2), np.kron(stays, moves), np.tile(emissions, 2), np.tile(payoffs, 2)]
    counts = [rng.gamma(SHAPE, 1 / SHAPE, row.shape) * row / 2 for row in counted]
    if parameters.end >= 0:
        counts = merged(counts, parameters.end, parameters.end + parameters.states)
    return maximise(log, counts, prior, parameters.end)
