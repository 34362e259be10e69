"""A POMDP fitted to logs by expectation and maximisation, then read as an R-PSR.

The recipe. Episodes are split into training and held-out ones. Over-complete POMDPs are started at
random, with a state's sight decided, and with a sight remembered (`starts`); the best of each
size are fitted and then made smaller state by state (`merge`), each step of the way down being a
candidate. Held-out likelihood of observations and rewards chooses, by the rule of one standard
error: of those that are not clearly worse than the best, the smallest. A state of the one chosen is
split (`split`) and the way down begins again, as long as that leads to another choice. The
chosen are then fitted to all episodes, in the end by likelihood alone: priors find the way and
would bias what is found. Continuous rewards are in bins while states are looked for (`bins`) and
Gaussian in these last fits.

Rewards are emissions while learning, and only then: the model that results filters on actions and
observations. Actions need no propensities as long as they were chosen by what the log shows.

What the log does not show, a planner must not hope for: an action that was hardly ever taken in a
state, and much less than another, earns so little that nothing can make up for it, in proportion to
what is missing (`models.cautious`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from rpsr.errors import DataError
from rpsr.learning.base import Estimator
from rpsr.learning.caution import ENOUGH
from rpsr.learning.em.bins import binned, unbinned
from rpsr.learning.em.candidates import Candidate, Found, chosen, difference, distinct
from rpsr.learning.em.merge import descend
from rpsr.learning.em.models import as_pomdp, as_rpsr, caution_of
from rpsr.learning.em.settings import RANGES, Choosing, Fitting, Search
from rpsr.learning.em.split import best_split
from rpsr.learning.em.starts import (
    random_start,
    remembering_start,
    sighted_start,
    worth_remembering,
)
from rpsr.learning.em.steps import (
    Encoded,
    FittedPOMDP,
    Prior,
    RewardFamily,
    improve,
    iterate,
    likelihoods,
)
from rpsr.learning.ends import final_names
from rpsr.learning.findings import Findings
from rpsr.learning.parameters import AUTO, DISCOUNT, FROM_0, FROM_1, NOT_NEGATIVE, one_of
from rpsr.learning.prepared_log import PreparedLog
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.showing import counted

LOST = 3.0  # a way down ends where it is this many standard errors below its best,
FEWEST_MERGES = 5  # but not before so many merges
NO_PRIOR = 1e-6  # a count so small that it only decides what is never seen


@dataclass(kw_only=True, eq=False)
class EMRPSR(Estimator):
    """An R-PSR learned by EM.

    `fit` gives `pomdp_`, the POMDP as fitted, whose belief model is `fitted_`; `model_`, the R-PSR
    to plan on; and `candidates_`, of which these are the first.

    discount: of the model that results. states: how many states, or 'auto', by held-out episodes.
    rewards: their family, 'auto' meaning categorical where there are few values; 'none' learns from
    observations alone. search, fitting, choosing: how to do these, see `settings`. enough: how
    many visits at most make an action in a state known. seed: the random seed. progress: called
    with words that say what is being done.
    """

    rank_parameter = "states"
    _ranges: ClassVar = {
        "discount": DISCOUNT,
        "states": AUTO | FROM_1,
        "rewards": one_of("auto", *RewardFamily.__args__),
        **RANGES,
        "enough": NOT_NEGATIVE,
        "seed": FROM_0,
    }

    discount: float | None = None
    states: int | Literal["auto"] = "auto"
    rewards: Literal["auto"] | RewardFamily = "auto"
    search: Search = field(default_factory=Search)
    fitting: Fitting = field(default_factory=Fitting)
    choosing: Choosing = field(default_factory=Choosing)
    enough: float = ENOUGH
    seed: int = 0
    progress: Callable[[str], None] | None = None
    candidates_: tuple[Candidate, ...] = field(init=False, repr=False)
    pomdp_: POMDP = field(init=False, repr=False)
    _models: list[LinearModel] = field(init=False, repr=False)

    def learn(self, log: PreparedLog) -> None:
        """Learn from episodes with rewards; a stream is read into memory, a long recording cut."""
        trajectories = log.episodes
        episodes = trajectories.episodes
        if episodes < 2 or trajectories.steps == 0:
            raise DataError(f"read {counted(episodes, 'episode')}, expected at least 2, with steps")
        encoded = Encoded.of(trajectories, self.rewards)
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(episodes)
        kept_out = min(episodes - 1, max(2, round(self.choosing.holdout * episodes)))
        coarse, went = binned(encoded)
        held_out = coarse.select(np.sort(order[:kept_out]))
        training = coarse.select(np.sort(order[kept_out:]))
        probe = coarse.select(np.sort(order[kept_out : kept_out + self.search.probe]))
        found: list[Found] = []
        for start in self._starts(probe, training, rng):
            found += self._way_down(start, training, held_out)
        found = self._way_up(found, probe, training, held_out, rng)
        best = max(found, key=lambda each: each.mean)
        refitted: dict[Found, Found] = {}
        for each in chosen(found, self.choosing.keep):
            fitted = self._refitted(unbinned(each.fitted, went), encoded)
            refitted[Found(likelihoods(fitted, encoded), fitted)] = each
        self.candidates_ = tuple(
            self._candidate(each.fitted, refitted[each], best, trajectories)
            for each in distinct(list(refitted))
        )
        self._models = [self._model(each, trajectories) for each in self.candidates_]
        first = self.candidates_[0]
        self.pomdp_ = as_pomdp(first.fitted, trajectories, self.discount)
        self.fitted_ = self.pomdp_.belief_model()
        self.caution_ = first.caution
        self.model_ = self._models[0]

    def findings(self) -> Findings:
        """What was found: the candidates, the chosen one first, and what was hardly tried."""
        first = self.candidates_[0]
        end = " and the end" if first.fitted.end >= 0 else ""
        return Findings(
            rank=self.rank_,
            origin=counted(first.states, "state") + end,
            candidates=tuple(each.summary for each in self.candidates_),
            caution=self.caution_,
        )

    def _refitted(self, fitted: FittedPOMDP, log: Encoded) -> FittedPOMDP:
        fitted = iterate(
            fitted, log, Prior(self.fitting.prior, self.fitting.sparsity), self.fitting.refitting
        )
        return iterate(fitted, log, Prior(NO_PRIOR), self.fitting.polishing)

    def _candidate(
        self, fitted: FittedPOMDP, before: Found, best: Found, trajectories: Trajectories
    ) -> Candidate:
        caution = caution_of(fitted, trajectories, self.discount, self.enough)
        behind, stderr = difference(best.scores, before.scores)
        cautious = as_pomdp(fitted, trajectories, self.discount, self.enough)
        return Candidate(fitted, cautious, caution, fitted.size, before.mean, behind, stderr)

    def _model(self, candidate: Candidate, trajectories: Trajectories) -> LinearModel:
        model = as_rpsr(candidate.cautious)
        how = {
            "seed": self.seed,
            "episodes": trajectories.episodes,
            "steps": trajectories.steps,
            "states": candidate.states,
        }
        return replace(
            model,
            estimator=type(self).__name__,
            final=final_names(trajectories),
            provenance=model.provenance | how,
        )

    def _starts(
        self, probe: Encoded, training: Encoded, rng: np.random.Generator
    ) -> Iterable[FittedPOMDP]:
        """The starts worth following down, after a trial on some episodes."""
        plain = Prior(self.fitting.prior)
        for states in self.search.sizes:
            tried: list[tuple[float, int, FittedPOMDP]] = []
            for number in range(self.search.starts):
                kind = sighted_start if number % 2 == 0 else random_start
                fitted = iterate(kind(probe, states, rng), probe, plain, self.search.probing)
                fitted, likelihood = improve(fitted, probe, plain)
                tried.append((-likelihood, number, fitted))
                self._tell(f"start of {states} states")
            tried.sort(key=lambda trial: trial[:2])
            yield from (fitted for _, _, fitted in tried[: self.search.descents])
        for memory in worth_remembering(training, self.search.memories):
            start = remembering_start(training, memory)
            if start.size <= self.search.largest:
                yield start

    def _way_down(self, start: FittedPOMDP, training: Encoded, held_out: Encoded) -> list[Found]:
        """The fit from one start, then smaller ones until they are clearly worse."""
        sparse = Prior(self.fitting.prior, self.fitting.sparsity)
        fitted = iterate(start, training, Prior(self.fitting.prior), self.fitting.iterations)
        found = [Found(likelihoods(fitted, held_out), fitted)]
        best = found[0].scores
        for smaller in descend(fitted, training, sparse):
            scores = likelihoods(smaller, held_out)
            found.append(Found(scores, smaller))
            self._tell(f"{smaller.size} states")
            best = max(best, scores, key=lambda each: float(each.mean()))
            behind, stderr = difference(best, scores)
            lost = behind > LOST * stderr and len(found) > FEWEST_MERGES
            if lost if self.states == "auto" else smaller.size <= self.states:
                break
        return found

    def _way_up(
        self,
        found: list[Found],
        probe: Encoded,
        training: Encoded,
        held_out: Encoded,
        rng: np.random.Generator,
    ) -> list[Found]:
        """What was found, and what splits of the chosen one add, as long as one is then chosen."""
        found = self._allowed(found)
        if not found:
            raise DataError(f"states: read {self.states}, expected as many as starts have, or less")
        best = chosen(found, 1)[0]
        for _ in range(self.search.largest):  # few rounds in practice; this bounds them
            if best.fitted.size >= self.search.largest:
                break
            larger = best_split(best.fitted, probe, Prior(self.fitting.prior), rng)
            self._tell(f"split into {larger.size} states")
            found += self._allowed(self._way_down(larger, training, held_out))
            before, best = best, chosen(found, 1)[0]
            if best.same_as(before):
                break
        return found

    def _allowed(self, found: list[Found]) -> list[Found]:
        """All that was found, or what has as many states as were asked for."""
        return [each for each in found if self.states in ("auto", each.fitted.size)]

    def models(self) -> list[LinearModel]:
        """The R-PSRs of all candidates, the chosen one first."""
        return list(self._models)

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(what)
