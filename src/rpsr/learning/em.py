"""A POMDP fitted to logs by expectation and maximisation, then read as an R-PSR.

The recipe. Episodes are split into training and held-out ones. Over-complete POMDPs are started at
random, with a state's sight decided, and with a sight remembered (`em_starts`); the best of each
size are fitted and then made smaller state by state (`em_merge`), each step of the way down being a
candidate. Held-out likelihood of observations and rewards chooses, by the rule of one standard
error: of those that are not clearly worse than the best, the smallest. Those are then fitted to all
episodes.

Rewards are emissions while learning, and only then: the model that results filters on actions and
observations. Actions need no propensities as long as they were chosen by what the log shows.

What the log does not show, a planner must not hope for: an action taken in a state fewer than
`enough` times earns so little that nothing can make up for it, in proportion to what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats, Ints
from rpsr.learning.base import Estimator
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.em_merge import descend
from rpsr.learning.em_starts import (
    random_start,
    remembering_start,
    sighted_start,
    worth_remembering,
)
from rpsr.learning.em_steps import (
    Encoded,
    Parameters,
    Prior,
    RewardFamily,
    improve,
    iterate,
    likelihoods,
)
from rpsr.logs.trajectories import Trajectories
from rpsr.models.domain import Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators
from rpsr.models.pomdp import POMDP

LOST = 3.0  # a way down ends where it is this many standard errors below its best
FEWEST_MERGES = 5  # but not before so many merges


@dataclass(frozen=True, eq=False)
class Candidate:
    """One fitted POMDP and what held-out episodes said of it before it saw them.

    states: how many it has, the end left out. loglik: held-out log-likelihood of observations and
    rewards, per episode; behind: by how much that is below the best, and stderr how sure that is.
    """

    parameters: Parameters
    trained: Parameters
    states: int
    loglik: float
    behind: float
    stderr: float


@dataclass(kw_only=True, eq=False)
class EMRPSR(Estimator):
    """An R-PSR learned by EM. `fit` gives `model_`, `pomdp_`, `rank_` and `candidates_`.

    discount: of the model that results. sizes: how many states starts have; starts: how many of
    them for each size, `descents` of which are followed down; memories: how many starts remember a
    sight. prior: the Dirichlet count. rewards: their family, 'auto' meaning categorical where there
    are few values; 'none' learns from observations alone. holdout: the share of episodes kept
    for choosing; keep: how many candidates at most are fitted to everything. probe: how many
    episodes starts are tried on; probing, fitting, refitting: iterations. seed: of all that is
    drawn. states: so many and no others, instead of a choice by held-out episodes. enough: how many
    visits make an action's reward in a state known.
    """

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
    largest: int = 48
    states: int | None = None
    enough: float = 20.0
    seed: int = 0
    progress: Callable[[str], None] | None = None
    candidates_: tuple[Candidate, ...] = field(init=False, repr=False)
    pomdp_: POMDP = field(init=False, repr=False)
    model_: LinearModel = field(init=False, repr=False)
    rank_: int = field(init=False, repr=False)
    heldout_: Diagnosis = field(init=False, repr=False)
    held_out_: Ints = field(init=False, repr=False)

    def fit(self, trajectories: Trajectories) -> EMRPSR:
        """Learn from episodes; needs rewards, unless they are to be left out."""
        log = Encoded.of(trajectories, self.rewards)
        episodes = trajectories.episodes
        if episodes < 2 or trajectories.steps == 0:
            raise InputError(f"read {episodes} episodes, expected at least 2, with steps")
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(episodes)
        kept_out = min(episodes - 1, max(1, round(self.holdout * episodes)))
        held_out = log.select(np.sort(order[:kept_out]))
        training = log.select(np.sort(order[kept_out:]))
        probe = log.select(np.sort(order[kept_out : kept_out + self.probe]))
        found: list[tuple[Floats, Parameters]] = []
        for start in self._starts(probe, training, rng):
            found += self._way_down(start, training, held_out)
        found = self._allowed(found)
        sparse = Prior(self.prior, self.sparsity)
        self.held_out_ = np.sort(order[:kept_out])
        self.candidates_ = tuple(
            Candidate(
                parameters=iterate(fitted, log, sparse, self.refitting),
                trained=fitted,
                states=fitted.states - (fitted.end >= 0),
                loglik=float(scores.mean()),
                behind=behind,
                stderr=stderr,
            )
            for scores, fitted, behind, stderr in chosen(found, self.keep)
        )
        self._adopt(trajectories, self.candidates_[0])
        trained = as_pomdp(self.candidates_[0].trained, trajectories, self.discount)
        self.heldout_ = diagnose(trained.belief_model(), trajectories.select(self.held_out_))
        return self

    def _starts(
        self, probe: Encoded, training: Encoded, rng: np.random.Generator
    ) -> Iterable[Parameters]:
        """The starts worth following down, after a trial on some episodes."""
        plain = Prior(self.prior)
        for states in self.sizes:
            tried: list[tuple[float, int, Parameters]] = []
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
            if start.states <= self.largest:
                yield start

    def _way_down(
        self, start: Parameters, training: Encoded, held_out: Encoded
    ) -> list[tuple[Floats, Parameters]]:
        """The fit from one start, then smaller ones until they are clearly worse."""
        sparse = Prior(self.prior, self.sparsity)
        fitted = iterate(start, training, Prior(self.prior), self.fitting)
        found = [(likelihoods(fitted, held_out), fitted)]
        best = found[0][0]
        for smaller in descend(fitted, training, sparse):
            scores = likelihoods(smaller, held_out)
            found.append((scores, smaller))
            self._tell(f"{smaller.states} states")
            best = max(best, scores, key=lambda each: float(each.mean()))
            behind, stderr = difference(best, scores)
            lost = behind > LOST * stderr and len(found) > FEWEST_MERGES
            if lost if self.states is None else smaller.states <= self.states:
                break
        return found

    def _allowed(self, found: list[tuple[Floats, Parameters]]) -> list[tuple[Floats, Parameters]]:
        """All that was found, or what has as many states as were asked for."""
        if self.states is None:
            return found
        some = [each for each in found if each[1].states - (each[1].end >= 0) == self.states]
        if not some:
            most = max(each[1].states - (each[1].end >= 0) for each in found)
            raise InputError(f"states: read {self.states}, expected 2 to {most}: see `sizes`")
        return some

    def _adopt(self, trajectories: Trajectories, candidate: Candidate) -> None:
        self.pomdp_ = as_pomdp(candidate.parameters, trajectories, self.discount, self.enough)
        self.model_, self.rank_ = as_rpsr(
            self.pomdp_,
            {
                "estimator": "em",
                "episodes": trajectories.episodes,
                "steps": trajectories.steps,
                "states": candidate.states,
                "seed": self.seed,
            },
        )

    def models(self, trajectories: Trajectories) -> list[LinearModel]:
        """The models of all candidates, the chosen one first."""
        pomdps = (
            as_pomdp(each.parameters, trajectories, self.discount, self.enough)
            for each in self.candidates_
        )
        return [as_rpsr(pomdp, {"estimator": "em"})[0] for pomdp in pomdps]

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(what)


def difference(best: Floats, scores: Floats) -> tuple[float, float]:
    """By how much scores (N,) are behind on average, and its standard error."""
    behind = best - scores
    return float(behind.mean()), float(behind.std() / np.sqrt(len(behind)))


def chosen(
    found: list[tuple[Floats, Parameters]], keep: int
) -> list[tuple[Floats, Parameters, float, float]]:
    """Those within one standard error of the best by held-out scores, the fewest states first."""
    best = max((scores for scores, _ in found), key=lambda each: float(each.mean()))
    rows = [(scores, fitted, *difference(best, scores)) for scores, fitted in found]
    near = [row for row in rows if row[2] <= row[3]]
    return sorted(near, key=lambda row: (row[1].states, row[2]))[:keep]


def as_pomdp(
    parameters: Parameters,
    trajectories: Trajectories,
    discount: float | None,
    enough: float = 0.0,
) -> POMDP:
    """The fitted POMDP, with the names of the log; what was not visited enough earns the worst."""
    states = [f"state-{s}" for s in range(parameters.states)]
    if parameters.end >= 0:
        states[parameters.end] = "end"
    return POMDP.from_arrays(
        parameters.moves,
        np.swapaxes(parameters.sights, 1, 2),
        cautious(parameters, trajectories, discount, enough).T,
        parameters.start,
        discount,
        {
            "name": "learned",
            "states": states,
            "actions": trajectories.action_names,
            "observations": trajectories.observation_names,
        },
    )


def cautious(
    parameters: Parameters, trajectories: Trajectories, discount: float | None, enough: float
) -> Floats:
    """Expected rewards (A, S), mixed with the worst where fewer than `enough` visits are known.

    The worst is the lowest reward now and then, instead of the highest for ever, again the lowest:
    below what any policy can lose by doing something else.
    """
    assert trajectories.rewards is not None
    low, high = float(trajectories.rewards.min()), float(trajectories.rewards.max())
    beta = 1.0 if discount is None else discount
    later = beta / (1 - beta) if beta < 1 else float(np.diff(trajectories.offsets).max())
    known = np.minimum(parameters.visits / enough, 1.0) if enough > 0 else np.ones(1)
    if parameters.end >= 0 and enough > 0:
        known[:, parameters.end] = 1.0
    return known * parameters.means + (1 - known) * (low - later * (high - low))


def as_rpsr(pomdp: POMDP, provenance: dict[str, Any]) -> tuple[LinearModel, int]:
    """The R-PSR of a fitted POMDP, which forgets the states it invented, and its rank.

    Where the rank is that of all states, or too close to call in floats, nothing can be forgotten:
    the identity is then the basis, beliefs are the R-PSR's states, and the simplex its domain.
    """
    from dataclasses import replace

    from rpsr.predictive import rpsr

    n = len(pomdp.states)
    try:
        model = rpsr(pomdp)
    except ModelError:
        model = None
    if model is not None and model.dimension < n:
        return replace(model, provenance=model.provenance | provenance), model.dimension
    belief = pomdp.belief_model()
    matrices = [
        [belief.operators.matrix(a, o) for o in range(len(pomdp.observations))]
        for a in range(len(pomdp.actions))
    ]
    model = replace(
        belief,
        kind="rpsr",
        operators=DenseOperators(np.array(matrices)),
        domain=Simplex(n),
        provenance=belief.provenance | provenance,
    )
    return model, n
