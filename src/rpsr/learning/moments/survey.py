"""A survey of the log: how often each action follows each context of up to three interactions.

It determines the estimated policy, the most frequent words, of which `window_plan` makes tests and
histories, and the range of rewards. Its memory does not depend on the log's length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.censoring import Censoring
from rpsr.learning.moments.kernels import count_contexts
from rpsr.learning.propensities import (
    NO_PROPENSITIES,
    Overlap,
    Weights,
    shrunk,
    shrunk_policy,
    unseen_case,
    unseen_share,
)
from rpsr.logs import Trajectories
from rpsr.logs.parts import few_long
from rpsr.logs.trajectories import no_rewards

Word = tuple[int, ...]  # of interactions, each the number a * O + o
LARGEST_TABLE = 2**22  # counts of contexts of one length


class Survey:
    """Counts of actions after contexts, and the range of rewards, over all added logs."""

    def __init__(
        self, action_names: tuple[str, ...], observation_names: tuple[str, ...], longest: int = 3
    ) -> None:
        self.action_names = action_names
        self.observation_names = observation_names
        n_actions, n_interactions = len(action_names), len(action_names) * len(observation_names)
        while longest > 1 and n_interactions**longest * n_actions > LARGEST_TABLE:
            longest -= 1
        self.longest = longest
        self.tables: Ints = np.zeros(
            (longest + 1, n_interactions**longest, n_actions), dtype=np.int64
        )
        self.rewards = (np.inf, -np.inf)  # the smallest and the largest
        self.has_rewards = True
        self.has_propensities = True
        self.episodes = 0
        self.final: Ints = np.zeros(
            n_interactions, dtype=np.int64
        )  # how often a task ended at each interaction
        self._cut: Counter[int] = Counter()  # how many recordings of each length were cut off,
        self._ended: Counter[int] = Counter()  # and after how many steps tasks ended
        self._logged = Weights()

    @staticmethod
    def of(chunks: Iterable[Trajectories], longest: int = 3) -> Survey:
        """The survey of a log, chunk by chunk."""
        survey = None
        for chunk in chunks:
            survey = survey or Survey(chunk.action_names, chunk.observation_names, longest)
            survey.add(chunk)
        if survey is None:
            raise DataError("the log is empty")
        return survey

    def add(self, log: Trajectories) -> None:
        """Add a chunk of the log."""
        n_actions, n_observations = len(self.action_names), len(self.observation_names)
        interactions = log.actions * n_observations + log.observations
        n_interactions = n_actions * n_observations
        count_contexts(log.actions, interactions, log.offsets, n_interactions, self.tables)
        if log.rewards is None:
            self.has_rewards = False
        else:
            low, high = self.rewards
            if len(log.ends):  # the reward after the end of a task is 0
                low, high = min(low, 0.0), max(high, 0.0)
            low, high = log.rewards.min(initial=low), log.rewards.max(initial=high)
            self.rewards = float(low), float(high)
        if log.propensities is None:
            self.has_propensities = False
        else:
            self._logged.add(log.propensities, n_actions)
        self.episodes += log.episodes
        self.final += np.bincount(interactions[log.ends], minlength=n_interactions)
        over = log.terminated & (log.lengths > 0)
        self._ended.update(log.lengths[over].tolist())
        self._cut.update(log.lengths[~over].tolist())

        for derived in ("censoring", "policy", "overlap"):
            vars(self).pop(derived, None)

    def __add__(self, other: Survey) -> Survey:
        """The survey of both logs together."""
        total = Survey(self.action_names, self.observation_names, self.longest)
        total.tables = self.tables + other.tables
        low, high = zip(self.rewards, other.rewards, strict=True)
        total.rewards = min(low), max(high)
        total.has_rewards = self.has_rewards and other.has_rewards
        total.has_propensities = self.has_propensities and other.has_propensities
        total.episodes = self.episodes + other.episodes
        total.final = self.final + other.final
        total._cut, total._ended = self._cut + other._cut, self._ended + other._ended
        total._logged = self._logged + other._logged
        return total

    def check(self, behaviour: str | None) -> None:
        """Raise a `DataError` if the log lacks rewards, or the propensities of a behaviour."""
        if not self.has_rewards:
            raise DataError(no_rewards("learning"))
        if behaviour == "logged" and not self.has_propensities:
            raise DataError(NO_PROPENSITIES)

    @property
    def steps(self) -> int:
        """How many steps were counted."""
        return int(self.tables[0].sum())

    @property
    def longest_episode(self) -> int:
        """The steps of the longest episode."""
        return max((*self._cut, *self._ended), default=0)

    @property
    def final_names(self) -> tuple[str, ...]:
        """The observations at ends of tasks, if none of them occurs elsewhere."""
        shape = (len(self.action_names), len(self.observation_names))
        last, followed = (
            counts.reshape(shape).sum(axis=0) > 0 for counts in (self.final, self.counts(1))
        )
        if (last & followed).any():
            return ()
        return tuple(np.array(self.observation_names, dtype=object)[last].tolist())

    @cached_property
    def censoring(self) -> Censoring:
        """The estimate of when recordings are cut off."""
        return Censoring.of(self._cut, self._ended)

    @cached_property
    def policy(self) -> tuple[Floats, ...]:
        """The probability of each action after contexts of 0, 1, ... interactions."""
        return shrunk_policy(self.tables, len(self.action_names) * len(self.observation_names))

    @cached_property
    def overlap(self) -> Overlap:
        """How well the logged actions cover all actions.

        From logged propensities; if some are missing, from estimated ones.
        """
        weights = (
            self._logged if self.has_propensities else Weights.counted(self.tables, self.policy)
        )
        taken = self.tables[0].sum(axis=0)
        never = tuple(
            name for name, times in zip(self.action_names, taken, strict=True) if not times
        )
        share, case = unseen_share(self.follows), unseen_case(self.follows)
        return Overlap(weights.smallest, weights.effective, share, never, self._named(case))

    def _named(self, case: tuple[int, int] | None) -> tuple[str, ...]:
        """An action, and the action and observation before it, by name."""
        if case is None:
            return ()
        action, observation = divmod(case[0], len(self.observation_names))
        before = self.action_names[action], self.observation_names[observation]
        return self.action_names[case[1]], *before

    @property
    def follows(self) -> Ints:
        """How often each action followed each interaction, (A * O, A)."""
        return self.tables[1, : len(self.action_names) * len(self.observation_names)]

    @property
    def starts(self) -> Ints:
        """How often each action was the first of an episode, (A,).

        A few long recordings begin anywhere: all of their steps count.
        """
        everywhere = self.tables[0, 0]
        if few_long(self.episodes, self.longest_episode):
            return everywhere
        return everywhere - self.follows.sum(axis=0)

    @property
    def first_policy(self) -> Floats:
        """The probability of each action at the start of an episode, shrunk like `policy`, (A,)."""
        return shrunk(self.starts.astype(np.float64), self.policy[0][0])

    def counts(self, length: int) -> Ints:
        """How often each word of `length` interactions was followed by an action, (contexts,)."""
        n_interactions = len(self.action_names) * len(self.observation_names)
        return self.tables[length, : n_interactions**length].sum(axis=1)

    def frequent(self, length: int, most: int, final: bool = False) -> list[Word]:
        """The most frequent words of up to `length` interactions, `most` per length, `()` first.

        final: include interactions at which tasks ended, which no action follows.

        A word never comes before its parts: these are at least as frequent, except at ends of
        episodes, so ties and ends are resolved by adding parts first.
        """
        n_interactions = len(self.action_names) * len(self.observation_names)
        ranked: list[tuple[int, int, Word]] = []
        for k in range(1, min(length, self.longest) + 1):
            counts = self.counts(k) + (self.final if k == 1 and final else 0)
            for code in np.argsort(-counts, kind="stable")[:most].tolist():
                if counts[code]:
                    ranked.append((-int(counts[code]), k, _digits(code, k, n_interactions)))
        ranked.sort()
        return [(), *(word for _, _, word in ranked)]


def _digits(code: int, length: int, base: int) -> Word:
    digits: list[int] = []
    for _ in range(length):
        code, digit = divmod(code, base)
        digits.append(digit)
    return tuple(reversed(digits))
