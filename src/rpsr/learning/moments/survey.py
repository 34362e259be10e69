"""A survey of the log, and the plan of moments: which words are tests and which are histories.

A survey counts how often each action follows each context of up to three interactions. It
determines the estimated policy, the histories (the most frequent words, with all their suffixes),
the tests (the most frequent words, with all their prefixes), and the centre and scale of the
rewards. The bound on memory does not depend on the log's length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats, Ints
from rpsr.learning.hyperparameters import check_range, one_of
from rpsr.learning.moments.censoring import Censoring
from rpsr.learning.moments.kernels import count_contexts
from rpsr.learning.propensities import (
    BEHAVIOURS,
    NO_PROPENSITIES,
    Overlap,
    Weights,
    propensities,
    shrunk,
    shrunk_policy,
    unseen_share,
)
from rpsr.logs import Trajectories
from rpsr.logs.parts import few_long
from rpsr.logs.trajectories import no_rewards

Word = tuple[int, ...]  # interactions, as pairs a * O + o
LARGEST_TABLE = 2**22  # counts of contexts of one length
CELLS = 2**24  # numbers of 8 bytes in the moments, without the sums for prefixes of tests
WITH_PREFIXES = 8  # with these sums, at most this many times as many numbers


class Survey:
    """Counts of actions after contexts, and the range of rewards, over all added logs."""

    def __init__(
        self, action_names: tuple[str, ...], observation_names: tuple[str, ...], longest: int = 3
    ) -> None:
        self.action_names = action_names
        self.observation_names = observation_names
        n_actions, n_pairs = len(action_names), len(action_names) * len(observation_names)
        while longest > 1 and n_pairs**longest * n_actions > LARGEST_TABLE:
            longest -= 1
        self.longest = longest
        self.tables: Ints = np.zeros((longest + 1, n_pairs**longest, n_actions), dtype=np.int64)
        self.rewards = (np.inf, -np.inf)  # the smallest and the largest
        self.has_rewards = True
        self.has_propensities = True
        self.episodes = 0
        self.final: Ints = np.zeros(n_pairs, dtype=np.int64)  # how often a task ended at each pair
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
        pairs = log.actions * n_observations + log.observations
        n_pairs = n_actions * n_observations
        count_contexts(log.actions, pairs, log.offsets, n_pairs, self.tables)
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
        self.final += np.bincount(pairs[log.ends], minlength=n_pairs)
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
        return Overlap(weights.smallest, weights.effective, unseen_share(self.follows), never)

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
        n_pairs = len(self.action_names) * len(self.observation_names)
        return self.tables[length, : n_pairs**length].sum(axis=1)

    def frequent(self, length: int, most: int, final: bool = False) -> list[Word]:
        """The most frequent words of up to `length` interactions, `most` per length, `()` first.

        final: include interactions at which tasks ended, which no action follows.

        A word never comes before its parts: these are at least as frequent, except at ends of
        episodes, so ties and ends are resolved by adding parts first.
        """
        n_pairs = len(self.action_names) * len(self.observation_names)
        ranked: list[tuple[int, int, Word]] = []
        for k in range(1, min(length, self.longest) + 1):
            counts = self.counts(k) + (self.final if k == 1 and final else 0)
            for code in np.argsort(-counts, kind="stable")[:most].tolist():
                if counts[code]:
                    ranked.append((-int(counts[code]), k, _digits(code, k, n_pairs)))
        ranked.sort()
        return [(), *(word for _, _, word in ranked)]


def _digits(code: int, length: int, base: int) -> Word:
    digits: list[int] = []
    for _ in range(length):
        code, digit = divmod(code, base)
        digits.append(digit)
    return tuple(reversed(digits))


def _closed(words: list[Word], most: int, shorter: slice) -> tuple[Word, ...]:
    """The first words of a list, with their prefixes (or suffixes), `most` of them at most."""
    chosen: dict[Word, None] = {(): None}
    for word in words:
        parts: list[Word] = []
        part = word
        while part not in chosen:
            parts.append(part)
            part = part[shorter]
        if len(chosen) + len(parts) > most:
            break
        chosen |= dict.fromkeys(reversed(parts))
    return tuple(sorted(chosen, key=lambda word: (len(word), word)))


@dataclass(frozen=True, eq=False)
class WindowPlan:
    """The contents of moments: words for tests and for histories, and the weights of actions.

    tests: words, closed under prefixes; each followed by zeta is an intent.
    reward_tests: those of the tests that are intents with each action, too.
    histories: words, closed under suffixes; features are a constant, the start, and these.
    centre, scale: of rewards; scale is a power of two, at least the largest |reward - centre|.
    behaviour: where propensities come from. policies: tables of `shrunk_policy`, for 'estimated'.
    anchored: whether a history is all interactions since the start, not the last ones. operators:
    whether tests are also counted after each interaction. censoring: when recordings are cut off.
    final: the observations that occur at ends of tasks only.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    tests: tuple[Word, ...]
    reward_tests: tuple[Word, ...]
    histories: tuple[Word, ...]
    scale: float = 1.0
    behaviour: str = "blind"
    policies: tuple[Floats, ...] | None = None
    anchored: bool = False
    operators: bool = True
    centre: float = 0.0
    censoring: Censoring = field(default_factory=Censoring)
    final: tuple[str, ...] = ()

    @staticmethod
    def of(
        survey: Survey,
        *,
        tests: int = 2,
        histories: int = 3,
        behaviour: str = "estimated",
        max_histories: int = 400,
        cells: int = CELLS,
        anchored: bool = False,
        operators: bool = True,
    ) -> WindowPlan:
        """The plan for a surveyed log.

        tests, histories: the longest, in interactions. max_histories: the most histories.
        cells: a bound on memory: moments have at most `WITH_PREFIXES` times this many numbers.
        """
        one_of(*BEHAVIOURS).check("behaviour", behaviour)
        survey.check(behaviour)
        n_actions = len(survey.action_names)
        n_pairs = n_actions * len(survey.observation_names)
        # Half of the memory is for tests, of which each is counted after every pair, half for the
        # four sums of every action and history after those that are intents with a reward. Where
        # pairs are many, histories leave room for a test of each, or at least for as many tests.
        room = cells / 2 / n_pairs
        longest = min(max_histories, int(max(room / (2 + n_pairs), np.sqrt(room), 2)))
        past = _closed(survey.frequent(histories, longest), longest, slice(1, None))
        features = len(past) + 1
        most = max(int(min(room / features, cells / n_pairs**2)), 2)
        future = _closed(survey.frequent(tests, most, final=True), most, slice(None, -1))
        paid = max(int(most / (4 * n_actions)), min(most, 1 + n_pairs))
        after = n_pairs if operators else 1
        paid = max(min(paid, int(cells / (2 * n_actions * after * features))), 1)
        # Only counted words have rewards; `future` prefers ends of tasks, so it may lack others.
        frequent = _closed(survey.frequent(tests, paid), paid, slice(None, -1))
        counted = set(future)
        rewarded = tuple(word for word in frequent if word in counted)
        low, high = survey.rewards if survey.steps else (0.0, 0.0)
        check_range(low, high)
        furthest = high / 2 - low / 2
        plan = WindowPlan(
            survey.action_names,
            survey.observation_names,
            future,
            rewarded,
            past,
            scale=float(2.0 ** np.ceil(np.log2(furthest))) if furthest > 0 else 1.0,
            behaviour=behaviour,
            policies=survey.policy if behaviour == "estimated" else None,
            anchored=anchored,
            operators=operators,
            centre=low / 2 + high / 2,
            censoring=survey.censoring,
            final=survey.final_names,
        )
        fewer = max(WITH_PREFIXES * cells // (plan.numbers // plan.features) - 1, 1)
        if fewer < len(past):  # sums of what comes before tests, which many actions make many
            past = _closed(survey.frequent(histories, fewer), fewer, slice(1, None))
            plan = replace(plan, histories=past)
        return plan

    @property
    def final_pairs(self) -> list[int]:
        """The interactions at which tasks end."""
        names = self.observation_names
        return [pair for pair in range(self.n_pairs) if names[pair % len(names)] in self.final]

    @property
    def n_pairs(self) -> int:
        """A * O."""
        return len(self.action_names) * len(self.observation_names)

    @property
    def features(self) -> int:
        """The number H of history features."""
        return len(self.histories) + 1

    @property
    def numbers(self) -> int:
        """The number of numbers in the moments."""
        sums = 4 * len(self.action_names) * (int(self.rows.max()) + 1)
        return (len(self.nodes) + sums) * self.features

    @cached_property
    def heads(self) -> tuple[Word, ...]:
        """The words that may come before a test: the empty one and, for operators, each pair."""
        return ((), *((pair,) for pair in range(self.n_pairs if self.operators else 0)))

    @cached_property
    def nodes(self) -> dict[Word, int]:
        """Every word whose windows are counted: the tests, and each of them after each head."""
        words = {head + word for head in self.heads for word in self.tests}
        ordered = sorted(words, key=lambda word: (len(word), word))
        return {word: node for node, word in enumerate(ordered)}

    @cached_property
    def rows(self) -> Ints:
        """Of each word, the row of its sums by action, or -1 if it needs none, (U,)."""
        needed = {word[:-1] for word in self.nodes if word}
        needed |= {head + word for head in self.heads for word in self.reward_tests}
        rows = np.full(len(self.nodes), -1, dtype=np.int64)
        rows[sorted(self.nodes[word] for word in needed)] = np.arange(len(needed))
        return rows

    @cached_property
    def depth(self) -> int:
        """The length of the longest word."""
        return max(map(len, self.nodes))

    @cached_property
    def children(self) -> Ints:
        """The trie of the words, (U, A * O)."""
        table = np.full((len(self.nodes), self.n_pairs), -1, dtype=np.int64)
        for word, node in self.nodes.items():
            if word:
                table[self.nodes[word[:-1]], word[-1]] = node
        return table

    @cached_property
    def past(self) -> Ints:
        """The trie of the histories, backwards in time, (histories, A * O)."""
        index = {word: node for node, word in enumerate(self.histories)}
        table = np.full((len(index), self.n_pairs), -1, dtype=np.int64)
        for word, node in index.items():
            if word:
                table[index[word[1:]], word[0]] = node
        return table

    def counted(self, rewards: Floats) -> Floats:
        """Centred and scaled rewards, within [-1, 1]."""
        return (rewards - self.centre) / self.scale

    def weights(self, log: Trajectories) -> Floats:
        """1 / (A pi) of each logged action, (L,): 1 if the policy is uniform."""
        return 1.0 / (len(self.action_names) * propensities(log, self.behaviour, self.policies))
