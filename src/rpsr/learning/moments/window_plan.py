"""The plan of moments: which words are tests and which are histories.

Histories are the most frequent words of a survey, with all their suffixes; tests are the most
frequent words, with all their prefixes. The bound on memory does not depend on the log's length.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rpsr.io.records import Floats, Ints
from rpsr.learning.moments.censoring import Censoring
from rpsr.learning.moments.survey import Survey, Word
from rpsr.learning.parameter_checks import check_range, one_of
from rpsr.learning.propensities import BEHAVIOURS, propensities
from rpsr.logs import Trajectories

CELLS = 2**24  # numbers of 8 bytes in the moments, without the sums for prefixes of tests
WITH_PREFIXES = 8  # with these sums, at most this many times as many numbers


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
    reward_tests: those of the tests that are also followed by each action, as intents.
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
        n_interactions = n_actions * len(survey.observation_names)
        # Half of the memory is for tests, of which each is counted after every code, half for the
        # four sums of every action and history after those that are intents with a reward. Where
        # codes are many, histories leave room for a test of each, or at least for as many tests.
        room = cells / 2 / n_interactions
        longest = min(max_histories, int(max(room / (2 + n_interactions), np.sqrt(room), 2)))
        past = _closed(survey.frequent(histories, longest), longest, slice(1, None))
        features = len(past) + 1
        most = max(int(min(room / features, cells / n_interactions**2)), 2)
        future = _closed(survey.frequent(tests, most, final=True), most, slice(None, -1))
        paid = max(int(most / (4 * n_actions)), min(most, 1 + n_interactions))
        after = n_interactions if operators else 1
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
    def final_interactions(self) -> list[int]:
        """The interactions at which tasks end."""
        names = self.observation_names
        return [
            code for code in range(self.n_interactions) if names[code % len(names)] in self.final
        ]

    @property
    def n_interactions(self) -> int:
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
        """The words that may come before a test: the empty one; for operators also each code."""
        return ((), *((code,) for code in range(self.n_interactions if self.operators else 0)))

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
        table = np.full((len(self.nodes), self.n_interactions), -1, dtype=np.int64)
        for word, node in self.nodes.items():
            if word:
                table[self.nodes[word[:-1]], word[-1]] = node
        return table

    @cached_property
    def past(self) -> Ints:
        """The trie of the histories, backwards in time, (histories, A * O)."""
        index = {word: node for node, word in enumerate(self.histories)}
        table = np.full((len(index), self.n_interactions), -1, dtype=np.int64)
        for word, node in index.items():
            if word:
                table[index[word[1:]], word[0]] = node
        return table

    def counted(self, rewards: Floats) -> Floats:
        """Centred and scaled rewards, within [-1, 1] if they are those of the plan."""
        with np.errstate(over="ignore"):  # others may be anything
            return (rewards - self.centre) / self.scale

    def weights(self, log: Trajectories) -> Floats:
        """1 / (A pi) of each logged action, (L,): 1 if the policy is uniform."""
        return 1.0 / (len(self.action_names) * propensities(log, self.behaviour, self.policies))
