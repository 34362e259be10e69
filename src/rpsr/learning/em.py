"""A POMDP fitted to logs by expectation and maximisation, then read as an R-PSR.

The recipe. Episodes are split into training and held-out ones. Over-complete POMDPs are started at
random, with a state's sight decided, and with a sight remembered (`em_starts`); the best of each
size are fitted and then made smaller state by state (`em_merge`), each step of the way down being a
candidate. Held-out likelihood of observations and rewards chooses, by the rule of one standard
error: of those that are not clearly worse than the best, the smallest. A state of the one chosen is
split (`em_split`) and the way down begins again, as long as that leads to another choice. The
chosen are then fitted to all episodes, in the end by likelihood alone: priors find the way and
would bias what is found. Continuous rewards are in bins while states are looked for (`em_bins`) and
Gaussian in these last fits.

Rewards are emissions while learning, and only then: the model that results filters on actions and
observations. Actions need no propensities as long as they were chosen by what the log shows.

What the log does not show, a planner must not hope for: an action that was hardly ever taken in a
state, and much less than another, earns so little that nothing can make up for it, in proportion to
what is missing (`em_models.cautious`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from rpsr.errors import DataError
from rpsr.learning.base import Estimator
from rpsr.learning.em_bins import binned, unbinned
from rpsr.learning.em_candidates import Candidate, Found, chosen, difference, distinct
from rpsr.learning.em_merge import descend
from rpsr.learning.em_models import as_pomdp, as_rpsr, caution_of
from rpsr.learning.em_split import best_split
from rpsr.learning.em_starts import (
    random_start,
    remembering_start,
    sighted_start,
    worth_remembering,
)
from rpsr.learning.em_steps import (
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
from rpsr.learning.parameters import (
    AUTO,
    DISCOUNT,
    FROM_0,
    FROM_1,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    one_of,
    several,
)
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

    discount: of the model that results. sizes: how many states starts have; starts: how many of
    them for each size, `descents` of which are followed down; memories: how many starts remember a
    sight; largest: how many states they, and what splits lead to, may have. prior: the Dirichlet
    count; sparsity: what is taken away from every count on the way down and in refitting, so that
    small probabilities go to 0.
    rewards: their family, 'auto' meaning categorical where there are few values; 'none' learns from
    observations alone. holdout: the share of episodes kept for choosing; keep: how many candidates
    at most are fitted to everything. probe: how many episodes starts are tried on; probing,
    fitting, refitting, polishing: iterations. states: so many and no others, or 'auto', by held-out
    episodes. enough: how many visits at most make an action in a state known. seed: of all that is
    drawn. progress: told in words what is being done.
    """

    rank_parameter = "states"
    _ranges: ClassVar = {
        "discount": DISCOUNT,
        "sizes": several(FROM_1),
        **dict.fromkeys(("starts", "descents", "keep", "probe"), FROM_1),
        **dict.fromkeys(("memories", "largest", "seed"), FROM_0),
        **dict.fromkeys(("probing", "fitting", "refitting", "polishing"), FROM_0),
        "prior": POSITIVE,
        "sparsity": NOT_NEGATIVE,
        "rewards": one_of("auto", *RewardFamily.__args__),
        "holdout": SHARE,
        "states": AUTO | FROM_1,
        "enough": NOT_NEGATIVE,
    }

    discount: float | None = None
    sizes: tuple[int, ...] = (12, 18)
    starts: int = 6
    descents: int = 2
    memories: int = 2
    prior: float = 0.02
    sparsity: float = 0.5
    rewards: Literal["auto"] | RewardFamily = "auto"
    holdout: float = 0.2
    keep: int = 5
    probe: int = 400
    probing: int = 20
    fitting: int = 40
    refitting: int = 30
    polishing: int = 40
    largest: int = 48
    states: int | Literal["auto"] = "auto"
    enough: float = 20.0
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
        kept_out = min(episodes - 1, max(2, round(self.holdout * episodes)))
        coarse, went = binned(encoded)
        held_out = coarse.select(np.sort(order[:kept_out]))
        training = coarse.select(np.sort(order[kept_out:]))
        probe = coarse.select(np.sort(order[kept_out : kept_out + self.probe]))
        found: list[Found] = []
        for start in self._starts(probe, training, rng):
            found += self._way_down(start, training, held_out)
        found = self._way_up(found, probe, training, held_out, rng)
        best = max(found, key=lambda each: each.mean)
        refitted: dict[Found, Found] = {}
        for each in chosen(found, self.keep):
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
        fitted = iterate(fitted, log, Prior(self.prior, self.sparsity), self.refitting)
        return iterate(fitted, log, Prior(NO_PRIOR), self.polishing)

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
        plain = Prior(self.prior)
        for states in self.sizes:
            tried: list[tuple[float, int, FittedPOMDP]] = []
            for number in range(self.starts):
                kind = sighted_start if number % 2 == 0 else random_start
                fitted = iterate(kind(probe, states, rng), probe, plain, self.probing)
                fitted, likelihood = improve(fitted, probe, plain)
                tried.append((-likelihood, number, fitted))
                self._tell(f"start of {states} states")
            tried.sort(key=lambda trial: trial[:2])
            yield from (fitted for _, _, fitted in tried[: self.descents])
        for memory in worth_remembering(training, self.memories):
            start = remembering_start(training, memory)
            if start.size <= self.largest:
                yield start

    def _way_down(self, start: FittedPOMDP, training: Encoded, held_out: Encoded) -> list[Found]:
        """The fit from one start, then smaller ones until they are clearly worse."""
        sparse = Prior(self.prior, self.sparsity)
        fitted = iterate(start, training, Prior(self.prior), self.fitting)
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
        for _ in range(self.largest):  # few rounds in practice; this bounds them
            if best.fitted.size >= self.largest:
                break
            larger = best_split(best.fitted, probe, Prior(self.prior), rng)
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
