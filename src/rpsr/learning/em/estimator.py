"""A POMDP fitted to a log by expectation maximisation (EM), converted to an R-PSR.

1. Episodes are split into training and held-out ones.
2. POMDPs with more states than necessary are started at random, with one main observation per
   state, and with a memory of an observation (`starts`). The best of each size are fitted.
3. Their states are merged one by one (`merge`). Each size on the way down is a candidate.
4. The held-out likelihood of observations and rewards (of observations alone in the family 'none')
   chooses: the smallest candidate within one standard error of the best.
5. If the chosen one has about as many states as the largest start, larger starts follow
   (`growth`). Then a state of the chosen one is split (`split`), and steps 3 and 4 are repeated,
   while the choice changes. If it has grown by splits, larger starts may follow again.
6. If rewards depend on observations that the chosen one forgets (`forgotten`), one more start
   remembers them (`window_start`).
7. The chosen candidates are fitted to all episodes, at the end without priors, which bias results.

Continuous rewards are in bins during the search (`bins`), and Gaussian in step 7.

Rewards are emissions during learning only: the resulting model filters on actions and observations.
Propensities are not needed if the behaviour policy depends on the logged history only.

In the model to plan on, actions that were rarely taken in a state have a penalty there (`caution`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from rpsr.learning.base import Estimator, Family
from rpsr.learning.caution import ENOUGH
from rpsr.learning.em.bins import binned
from rpsr.learning.em.candidates import (
    Candidate,
    Scored,
    choose_number_of_states,
    difference,
    distinct,
)
from rpsr.learning.em.conversion import Facts, as_pomdp, as_rpsr, caution_of
from rpsr.learning.em.devices import Device, check_device
from rpsr.learning.em.fitted_pomdp import (
    Encoded,
    FittedPOMDP,
    Log,
    Prior,
    improve,
    iterate,
    likelihoods,
)
from rpsr.learning.em.growth import FACTOR, Rounds, doubled, grown
from rpsr.learning.em.merge import descend
from rpsr.learning.em.partitioned_log import Views
from rpsr.learning.em.reward_families import RewardFamily
from rpsr.learning.em.settings import RANGES, Choosing, Fitting, Search
from rpsr.learning.em.split import best_split
from rpsr.learning.em.starts import (
    observation_start,
    random_start,
    remembering_start,
    worth_remembering,
)
from rpsr.learning.em.window_start import window_start
from rpsr.learning.estimated_models import filtered
from rpsr.learning.findings import Findings
from rpsr.learning.forgotten import forgotten
from rpsr.learning.parameter_checks import (
    AUTO,
    DISCOUNT,
    FROM_0,
    FROM_1,
    NOT_NEGATIVE,
    POSITIVE,
    one_of,
)
from rpsr.learning.prepared_log import PreparedLog
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.showing import counted

LOST = 3.0  # merging stops this many standard errors below the best size so far,
FEWEST_MERGES = 5  # but not before this many merges
AGAIN = 25  # iterations of EM on a resampled log, from the fit to the whole one
NO_PRIOR = 1e-6  # a count so small that it matters only for events that never occur


@dataclass(kw_only=True, eq=False)
class EMRPSR(Estimator):
    """An R-PSR learned by EM.

    `fit` sets `pomdp_`, the fitted POMDP, whose belief model is `fitted_`; `model_`, the R-PSR to
    plan on; `candidates_`, of which these are the first; and `reward_family_`.

    discount: of the model. states: the number of states, or 'auto', by held-out episodes. rewards:
    their family; 'none' learns states from observations alone; 'auto' is 'none' if action and
    observation determine the log's rewards (`reward_families`), else categorical if there are few
    values, else Gaussian. search, fitting, choosing: see `settings`. enough: a number of visits
    that is always enough for an action in a state to be known. seed: the random seed. device: where
    EM runs, 'cpu', 'gpu' (the extra `gpu`) or 'auto', a GPU for a large log if there is one; a log
    in partitions runs on the CPU. time_limit: seconds, after which no larger number of states is
    tried; the best so far is the result. progress: called with the name of each stage.
    """

    rank_parameter = "states"
    streams = True
    _ranges: ClassVar = {
        "discount": DISCOUNT,
        "states": AUTO | FROM_1,
        "rewards": one_of("auto", *RewardFamily.__args__),
        **RANGES,
        "enough": NOT_NEGATIVE,
        "seed": FROM_0,
        "device": one_of(*Device.__args__),
        "time_limit": one_of(None) | POSITIVE,
    }

    discount: float | None = None
    states: int | Literal["auto"] = "auto"
    rewards: Literal["auto"] | RewardFamily = "auto"
    search: Search = field(default_factory=Search)
    fitting: Fitting = field(default_factory=Fitting)
    choosing: Choosing = field(default_factory=Choosing)
    enough: float = ENOUGH
    seed: int = 0
    device: Device = "auto"
    time_limit: float | None = None
    progress: Callable[[str], None] | None = None
    untried_: int = field(init=False, repr=False)
    _unsplit: bool = field(init=False, repr=False)
    reward_family_: RewardFamily = field(init=False, repr=False)
    candidates_: tuple[Candidate, ...] = field(init=False, repr=False)
    pomdp_: POMDP = field(init=False, repr=False)
    _models: list[LinearModel] = field(init=False, repr=False)
    _at_largest: int | None = field(init=False, repr=False)
    _largest: Candidate = field(init=False, repr=False)

    def learn(self, log: PreparedLog) -> None:
        """Learn from episodes with rewards; a stream is searched by a sample (`search_sample`)."""
        check_device(self.device)
        views = Views.of(log, self.rewards, self.seed, self.device)
        encoded, facts = views.encoded, views.facts
        self.reward_family_ = encoded.family
        episodes = views.sample.episodes
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(episodes)
        kept_out = min(episodes - 1, max(2, round(self.choosing.holdout * episodes)))
        coarse, payoff_of = binned(encoded)
        held_out = coarse.select(np.sort(order[:kept_out]))
        training = coarse.select(np.sort(order[kept_out:]))
        probe = coarse.select(np.sort(order[kept_out : kept_out + self.search.probe]))
        parts = probe, training, held_out
        rounds = Rounds(self.search.most, self.time_limit)
        candidates: list[Scored] = []
        for start in self._starts(probe, training, rng):
            candidates += self._way_down(start, training, held_out)
        rounds.end()
        candidates = self._way_up(
            self._larger(candidates, rounds, *parts, rng), rounds, *parts, rng
        )
        while len(larger := self._larger(candidates, rounds, *parts, rng)) > len(candidates):
            candidates = self._way_up(larger, rounds, *parts, rng)
        self.untried_, self._unsplit = rounds.untried, rounds.unsplit
        most = max(one.fitted.size for one in candidates)
        if rounds.left() > 0:
            candidates += self._remembering(candidates, views, training, held_out)
        best = max(candidates, key=lambda one: one.mean)
        self._at_largest = most if self.states == "auto" and best.fitted.size == most else None
        near = choose_number_of_states(candidates, len(candidates))
        refitted: dict[Scored, Scored] = {}
        for one in near[: self.choosing.keep]:
            fitted = self._refitted(*views.to_fit(one.fitted, payoff_of))
            refitted[Scored(views.likelihoods(fitted), fitted)] = one
        self.candidates_ = tuple(
            self._candidate(one.fitted, refitted[one], best, facts)
            for one in distinct(list(refitted))
        )
        self._largest = self.candidates_[-1]
        if len(near) > self.choosing.keep:
            fitted = self._refitted(*views.to_fit(near[-1].fitted, payoff_of))
            self._largest = self._candidate(fitted, near[-1], best, facts)
        self._models = [self._model(one, facts) for one in self.candidates_]
        first = self.candidates_[0]
        self.pomdp_ = as_pomdp(first.fitted, facts, self.discount)
        self.fitted_ = self._labelled(self.pomdp_.belief_model(), first, facts)
        self.caution_ = first.caution
        self.model_ = self._models[0]

    def findings(self) -> Findings:
        """The results: the candidates, the chosen one first, and rarely tried actions."""
        first = self.candidates_[0]
        end = " and one for the end of the task" if first.fitted.end >= 0 else ""
        more = ""
        if self.untried_:
            more = "; more states may predict held-out episodes better, but the time limit left no "
            more += f"time to try {self.untried_}"
        elif self._unsplit:
            more = "; the time limit left no time to split states"
        alone = (
            "; observations determine the rewards, so states were learned from observations alone"
            if self.rewards == "auto" and self.reward_family_ == "none"
            else ""
        )
        return Findings(
            rank=self.rank_,
            origin=f"the fitted POMDP has {counted(first.states, 'state')}{end}{alone}{more}",
            candidates=tuple(one.summary for one in self.candidates_),
            at_largest=self._at_largest,
            caution=self.caution_,
            reward_family=self.reward_family_,
        )

    def _refitted(self, fitted: FittedPOMDP, log: Log) -> FittedPOMDP:
        fitted = iterate(
            fitted, log, Prior(self.fitting.prior, self.fitting.sparsity), self.fitting.refitting
        )
        return iterate(fitted, log, Prior(NO_PRIOR), self.fitting.polishing)

    def _candidate(
        self, fitted: FittedPOMDP, before: Scored, best: Scored, facts: Facts
    ) -> Candidate:
        caution = caution_of(fitted, facts, self.discount, self.enough)
        behind, stderr = difference(best.scores, before.scores)
        cautious = as_pomdp(fitted, facts, self.discount, self.enough)
        return Candidate(fitted, cautious, caution, fitted.size, before.mean, behind, stderr)

    def _model(self, candidate: Candidate, facts: Facts) -> LinearModel:
        return self._labelled(as_rpsr(candidate.cautious), candidate, facts)

    def _labelled(self, model: LinearModel, candidate: Candidate, facts: Facts) -> LinearModel:
        """The model with its estimator, the observations that end a task, and its origin."""
        how = {
            "seed": self.seed,
            "episodes": facts.size[0],
            "steps": facts.size[1],
            "states": candidate.states,
        }
        return replace(
            model,
            estimator=type(self).__name__,
            final=facts.final,
            provenance=model.provenance | how,
        )

    def _starts(
        self, probe: Encoded, training: Encoded, rng: np.random.Generator
    ) -> Iterable[FittedPOMDP]:
        """The best starts of each kind, after a trial on some episodes."""
        sizes = self.search.sizes
        if self.states != "auto" and self.states > max(sizes):
            sizes = (self.states, round(FACTOR * self.states))
        for states in sizes:
            yield from self._tried(probe, states, rng)
        for memory in worth_remembering(training, self.search.memories):
            start = remembering_start(training, memory)
            if start.size <= self.search.largest:
                yield start

    def _tried(
        self,
        probe: Encoded,
        states: int,
        rng: np.random.Generator,
        smaller: FittedPOMDP | None = None,
    ) -> list[FittedPOMDP]:
        """The best starts of a size; every other one is random, or from a smaller POMDP."""
        plain = Prior(self.fitting.prior)
        tried: list[tuple[float, int, FittedPOMDP]] = []
        for number in range(self.search.starts):
            if number % 2 == 0:
                start = observation_start(probe, states, rng)
            elif smaller is None:
                start = random_start(probe, states, rng)
            elif 2 * smaller.size <= self.search.most:
                start = doubled(smaller, probe, plain, rng)
            else:
                start = grown(smaller, states, probe, plain, rng)
            fitted = iterate(start, probe, plain, self.search.probing)
            fitted, likelihood = improve(fitted, probe, plain)
            tried.append((-likelihood, number, fitted))
            self._tell(f"start of {start.size} states")
        tried.sort(key=lambda trial: trial[:2])
        return [fitted for _, _, fitted in tried[: self.search.descents]]

    def _way_down(self, start: FittedPOMDP, training: Encoded, held_out: Encoded) -> list[Scored]:
        """The fit from one start, then smaller ones until they are much worse (`LOST`)."""
        sparse = Prior(self.fitting.prior, self.fitting.sparsity)
        fitted = iterate(start, training, Prior(self.fitting.prior), self.fitting.iterations)
        candidates = [Scored(likelihoods(fitted, held_out), fitted)]
        best = candidates[0].scores
        for smaller in descend(fitted, training, sparse):
            scores = likelihoods(smaller, held_out)
            candidates.append(Scored(scores, smaller))
            self._tell(f"{smaller.size} states")
            best = max(best, scores, key=lambda array: float(array.mean()))
            behind, stderr = difference(best, scores)
            lost = behind > LOST * stderr and len(candidates) > FEWEST_MERGES
            if lost if self.states == "auto" else smaller.size <= self.states:
                break
        return candidates

    def _larger(
        self,
        candidates: list[Scored],
        rounds: Rounds,
        probe: Encoded,
        training: Encoded,
        held_out: Encoded,
        rng: np.random.Generator,
    ) -> list[Scored]:
        """All candidates, with those of larger starts, while held-out episodes ask for them."""
        tried = max(one.fitted.size for one in candidates)
        while self.states == "auto" and (size := rounds.next_size(candidates, tried)):
            self._tell(rounds.begin(size, tried))
            best = max(candidates, key=lambda one: one.mean).fitted
            for start in self._tried(probe, size, rng, best):
                candidates = candidates + self._way_down(start, training, held_out)
            rounds.end()
            tried = size
        return candidates

    def _way_up(
        self,
        candidates: list[Scored],
        rounds: Rounds,
        probe: Encoded,
        training: Encoded,
        held_out: Encoded,
        rng: np.random.Generator,
    ) -> list[Scored]:
        """All candidates, with those from splits of the chosen one, while the choice changes."""
        candidates = self._allowed(candidates)
        best = choose_number_of_states(candidates, 1)[0]
        for _ in range(self.search.largest):  # few rounds in practice; this bounds them
            if best.fitted.size >= self.search.largest:
                break
            many = self.states == "auto" and best.fitted.size >= max(self.search.sizes)
            if many and rounds.left() <= 0:
                rounds.unsplit = True
                break
            larger = best_split(best.fitted, probe, Prior(self.fitting.prior), rng)
            self._tell(f"split into {larger.size} states")
            candidates += self._allowed(self._way_down(larger, training, held_out))
            before, best = best, choose_number_of_states(candidates, 1)[0]
            if best.same_as(before):
                break
        return candidates

    def _remembering(
        self, candidates: list[Scored], views: Views, training: Encoded, held_out: Encoded
    ) -> list[Scored]:
        """Candidates that remember the last observations, if the chosen one forgets them."""
        chosen = choose_number_of_states(candidates, 1)[0].fitted
        model = as_pomdp(chosen, views.facts, self.discount).belief_model()
        lost = forgotten(views.sample, filtered(model, views.sample).rewards)
        start = lost and window_start(training, lost.kind_of, lost.lag, self.search.most)
        if lost is None or start is None or (self.states != "auto" and start.size < self.states):
            return []
        self._tell(f"start of {start.size} states, for the last {lost.lag} observations")
        return self._allowed(self._way_down(start, training, held_out))

    def _allowed(self, candidates: list[Scored]) -> list[Scored]:
        """All candidates, or those with the requested number of states."""
        return [one for one in candidates if self.states in ("auto", one.fitted.size)]

    def models(self) -> list[LinearModel]:
        """The R-PSRs of all candidates, the chosen one first."""
        return list(self._models)

    def families(self, log: PreparedLog, most: int, refits: int, seed: int) -> list[Family]:
        """Families of candidates, refitted by EM from their own parameters.

        The first is the chosen one. The second is the one with the most states that explains the
        log about as well: small models of a short log may all leave out the same thing.
        """
        views = Views.of(log, self.rewards, self.seed)
        rng, n = np.random.default_rng(seed), views.sample.episodes
        families: list[Family] = []
        chosen = [self.candidates_[0], self._largest, *self.candidates_[1:]]
        for candidate in list(dict.fromkeys(chosen))[:most]:
            samples = [views.selected(np.sort(rng.integers(n, size=n))) for _ in range(refits)]
            again = [
                iterate(candidate.fitted, sample, Prior(NO_PRIOR), AGAIN) for sample in samples
            ]
            families.append(
                tuple(
                    self._labelled(
                        as_pomdp(fitted, views.facts, self.discount).belief_model(),
                        candidate,
                        views.facts,
                    )
                    for fitted in (candidate.fitted, *again)
                )
            )
        return families

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(what)
