"""Spectral estimators of R-PSRs, and of PSRs with rewards fitted afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, Literal, Self

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.base import Estimator
from rpsr.learning.caution import ENOUGH, Caution
from rpsr.learning.estimated_models import learned_model
from rpsr.learning.findings import Findings, Spectrum
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.rare_observations import Pooling
from rpsr.learning.moments.survey import Survey
from rpsr.learning.moments.window_plan import CELLS, WindowPlan
from rpsr.learning.parameter_checks import AUTO, DISCOUNT, FROM_1, NOT_NEGATIVE, one_of
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.propensities import BEHAVIOURS, Behaviour, Overlap
from rpsr.learning.spectral.fit import scales, singular_values, spectral_parameters
from rpsr.learning.spectral.rank import (
    BEYOND,
    LARGEST_RANK,
    Trial,
    choose_rank,
    noise_level,
    rank_cut,
)
from rpsr.learning.spectral.weighted import weighted_parameters
from rpsr.logs.parts import FEW
from rpsr.models import LinearModel
from rpsr.showing import counted

Weighting = Literal["plain", "scaled", "variance"]
Starts = Literal["auto", "episodic", "stationary"]


@dataclass(kw_only=True, eq=False)
class FromMoments(Estimator):
    """The common parameters and fitted attributes of estimators from the moments of a log.

    rank: the dimension, or 'auto'. behaviour: the source of propensities. tests, histories: the
    longest, in interactions. discount, name: of the model. max_histories, cells:
    bounds on memory, see `WindowPlan.of`. enough: a count that is always enough for an action to be
    known, see `caution`. progress: called with the name of each stage.

    `pooled_` has the observations that `fit` pooled (`moments.rare_observations`), usually none.
    """

    streams = True
    _ranges: ClassVar = {
        "rank": AUTO | FROM_1,
        "behaviour": one_of(*BEHAVIOURS),
        "discount": DISCOUNT,
        **dict.fromkeys(("tests", "histories", "max_histories", "cells"), FROM_1),
        "enough": NOT_NEGATIVE,
    }

    rank: int | Literal["auto"] = "auto"
    behaviour: Behaviour = "estimated"
    tests: int = 2
    histories: int = 3
    discount: float | None = None
    name: str = "log"
    max_histories: int = 400
    cells: int = CELLS
    enough: float = ENOUGH
    progress: Callable[[str], None] | None = None

    singular_values_: Floats = field(init=False, repr=False)
    noise_level_: float = field(init=False, repr=False)
    overlap_: Overlap = field(init=False, repr=False)
    trials_: tuple[Trial, ...] = field(init=False, repr=False)
    hankel_: Hankel = field(init=False, repr=False)
    pooled_: tuple[str, ...] = field(init=False, repr=False)

    def fit(self, X: Logs, y: object = None) -> Self:
        """Learn from a log; if it has very many symbols, rare observations are pooled."""
        self.check()
        log = PreparedLog.of(X)
        survey = log.survey(max(self.tests, self.histories), self.progress)
        pooling = Pooling.of(survey)
        self.pooled_ = () if pooling is None else pooling.pooled
        if pooling is None:
            return super().fit(log)
        super().fit(pooling.log(log))
        self.fitted_, self.model_ = map(pooling.expanded, (self.fitted_, self.model_))
        warnings.warn(pooling.note, stacklevel=2)
        return self

    def shared(self) -> dict[str, Any]:
        """The parameters that all of these estimators have, by name."""
        return {item.name: getattr(self, item.name) for item in fields(FromMoments) if item.init}

    @property
    def behaviour_source(self) -> Behaviour:
        """Where the propensities come from."""
        return self.behaviour

    @property
    def directions_(self) -> int:
        """The dimension of the state, without the end."""
        return self.model_.dimension - bool(self.model_.final)

    def spectrum(self) -> Spectrum:
        """The reason for the rank."""
        return Spectrum(
            self.singular_values_, self.noise_level_, self.directions_, self.rank, self.trials_
        )

    def findings(self) -> Findings:
        """The results: the spectrum, the origin of the rank, and rarely tried actions."""
        end, dimensions = bool(self.model_.final), counted(self.directions_, "dimension")
        return Findings(
            rank=self.rank_,
            origin=f"{dimensions} from the data, 1 for the end of the task" if end else "",
            spectrum=self.spectrum(),
            caution=self.caution_,
        )

    def provenance(self, data: Hankel) -> dict[str, Any]:
        """The origin of a model, in words: the number of windows and the settings."""
        settings = self.get_params()
        settings.pop("progress")
        return {"windows": data.samples, **settings}


@dataclass(kw_only=True, eq=False)
class SpectralRPSR(FromMoments):
    """An R-PSR from the moments of a log.

    weighting: of the cells, 'plain', 'scaled' (rows and columns by their typical error) or
    'variance' (every cell by its own). starts: 'episodic', 'stationary' for one long recording
    whose start is like any other step, or 'auto', by the number of episodes. The other parameters
    are those of `FromMoments`.

    Fitted: `fitted_`, `model_`, `caution_` and `rank_` as of every estimator; `singular_values_`,
    `noise_level_`, `overlap_`, `trials_` (the score of each rank, if it was chosen),
    `directions_` (the rank without the end), `hankel_`, `plan_`.
    """

    _kind: ClassVar[str] = "learned-rpsr"
    _ranges: ClassVar = {
        **FromMoments._ranges,
        "weighting": one_of(*Weighting.__args__),
        "starts": one_of(*Starts.__args__),
    }

    weighting: Weighting = "scaled"
    starts: Starts = "auto"

    plan_: WindowPlan = field(init=False, repr=False)

    def learn(self, log: PreparedLog) -> None:
        """Learn from a log, which is read a few times."""
        survey = log.survey(max(self.tests, self.histories), self.progress)
        if survey.steps == 0:
            raise DataError("the log has no steps")
        self.plan_ = self._plan(survey)
        trials: tuple[Trial, ...] = ()
        rank = self.rank
        count = partial(Moments.of, plan=self.plan_)
        if rank == "auto":
            what = "counting training episodes"
            part = hankel(log.training.summed(count, self.progress, what, exact=True))
            most = min(self._cut(part) + BEYOND, LARGEST_RANK)
            rank, trials = choose_rank(lambda n: self._trial(part, n, most), log.held_out, most)
        moments = log.summed(count, self.progress, "counting", exact=True)
        self.overlap_ = survey.overlap
        self.fit_hankel(hankel(moments), rank)
        self.trials_ = trials
        self.caution_ = Caution.of(survey, self.discount, self.enough)
        self.model_ = self.caution_.applied(self.fitted_)

    def fit_hankel(self, data: Hankel, rank: int | None = None) -> Self:
        """Learn from a matrix of expectations, estimated or exact, instead of a log.

        rank: the dimension; by default the parameter `rank` or, if that is "auto", the number of
        singular values above the noise. `caution_` is that of a log without rare actions.
        """
        self.check()
        scale = scales(data, self.weighting, self.rewards_in_state)
        self.hankel_ = data
        self.plan_ = data.plan
        self.singular_values_ = singular_values(data, scale)
        self.noise_level_ = noise_level(data, scale)
        self.trials_ = ()
        self.caution_ = Caution.none(data.plan.action_names)
        if rank is None:
            rank = self._cut(data) if self.rank == "auto" else self.rank
        self.fitted_ = self.model_ = self._model(data, rank)
        return self

    def _plan(self, survey: Survey) -> WindowPlan:
        if self.behaviour == "blind":
            warnings.warn(BLIND, stacklevel=4)
        return WindowPlan.of(
            survey,
            tests=self.tests,
            histories=self.histories,
            behaviour=self.behaviour,
            max_histories=self.max_histories,
            cells=self.cells,
        )

    def _cut(self, data: Hankel) -> int:
        scale = scales(data, "scaled", self.rewards_in_state)
        return rank_cut(singular_values(data, scale), noise_level(data, scale))

    def _trial(self, data: Hankel, rank: int, most: int) -> LinearModel:
        if self.progress is not None:
            self.progress(f"rank {rank} of {most}")
        return self._model(data, rank)

    def _model(self, data: Hankel, rank: int) -> LinearModel:
        plain = "plain" if self.weighting == "plain" else "scaled"
        scale = scales(data, plain, self.rewards_in_state)
        stationary = data.starts < FEW if self.starts == "auto" else self.starts == "stationary"
        estimate = weighted_parameters if self.weighting == "variance" else spectral_parameters
        parameters = estimate(data, rank, scale, stationary)
        return learned_model(
            parameters,
            data.plan.action_names,
            data.plan.observation_names,
            kind=self._kind,
            name=self.name,
            discount=self.discount,
            estimator=type(self).__name__,
            final=data.plan.final,
            provenance=self.provenance(data),
        )


@dataclass(kw_only=True, eq=False)
class SpectralPSR(SpectralRPSR):
    """A PSR from the moments of a log: tests determine the state; rewards are regressed on it.

    This is the method of prior work, and fails where a PSR is not enough. Parameters and fitted
    attributes are those of `SpectralRPSR`.
    """

    rewards_in_state = False
    _kind: ClassVar[str] = "learned-psr"


BLIND = (
    "behaviour blind assumes that actions were chosen uniformly; if not, the model is biased, and "
    "more data does not help: log the propensities, or use behaviour estimated"
)
