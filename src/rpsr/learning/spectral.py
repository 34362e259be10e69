"""Spectral estimators of R-PSRs, and of PSRs with rewards fitted afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.learning.base import FEW, Estimator, Logs, Part
from rpsr.learning.caution import ENOUGH, Caution
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.ends import seen_ends
from rpsr.learning.learned import check_repeatable, chunks_of, learned_model
from rpsr.learning.moments import Moments
from rpsr.learning.moments_hankel import Hankel, hankel
from rpsr.learning.moments_plan import CELLS, Survey, WindowPlan
from rpsr.learning.parameters import AUTO, DISCOUNT, FROM_1, NOT_NEGATIVE, one_of
from rpsr.learning.propensities import Overlap
from rpsr.learning.rank import BEYOND, LARGEST_RANK, Trial, choose_rank, noise_level, rank_cut
from rpsr.learning.spectral_fit import scales, singular_values, spectral_parameters
from rpsr.learning.weighted import weighted_parameters
from rpsr.logs import Trajectories
from rpsr.models import LinearModel

Weighting = Literal["plain", "scaled", "variance"]
Policy = Literal["logged", "estimated", "blind"]
Starts = Literal["auto", "episodic", "stationary"]


@dataclass(kw_only=True, eq=False)
class SpectralRPSR(Estimator):
    """An R-PSR from the moments of a log.

    rank: the dimension, or 'auto'. weighting: of the cells, 'plain', 'scaled' (rows and columns by
    their typical error) or 'variance' (every cell by its own). policy: how actions were chosen.
    tests, histories: the longest, in pairs. starts: 'episodic', 'stationary' for one long
    recording whose beginning is no different, or 'auto', by whether episodes are few. discount,
    name: of the model. max_histories, cells: bounds on memory, see `WindowPlan.of`. enough: how
    often at most an action must have been taken to be known. progress: told in words what is being
    done.

    Fitted: `fitted_`, the model as estimated, and `model_`, the one to plan on, in which actions
    that the log hardly shows earn little (`caution_`): the same one where there are none. `rank_`,
    `singular_values_`, `noise_level_`, `overlap_`, `trials_` (what each rank was worth, where it
    was chosen), `hankel_`, `plan_`.
    """

    _with_rewards: ClassVar[bool] = True  # whether they take part in the state
    _kind: ClassVar[str] = "learned-rpsr"
    streams = True
    _ranges: ClassVar = {
        "rank": AUTO | FROM_1,
        "weighting": one_of(*Weighting.__args__),
        "policy": one_of(*Policy.__args__),
        "starts": one_of(*Starts.__args__),
        "discount": DISCOUNT,
        **dict.fromkeys(("tests", "histories", "max_histories", "cells"), FROM_1),
        "enough": NOT_NEGATIVE,
    }

    rank: int | Literal["auto"] = "auto"
    weighting: Weighting = "scaled"
    policy: Policy = "estimated"
    tests: int = 2
    histories: int = 3
    starts: Starts = "auto"
    discount: float | None = None
    name: str = "log"
    max_histories: int = 400
    cells: int = CELLS
    enough: float = ENOUGH
    progress: Callable[[str], None] | None = None

    model_: LinearModel = field(init=False, repr=False)
    fitted_: LinearModel = field(init=False, repr=False)
    caution_: Caution = field(init=False, repr=False)
    rank_: int = field(init=False, repr=False)
    singular_values_: Floats = field(init=False, repr=False)
    noise_level_: float = field(init=False, repr=False)
    overlap_: Overlap = field(init=False, repr=False)
    trials_: tuple[Trial, ...] = field(init=False, repr=False)
    hankel_: Hankel = field(init=False, repr=False)
    plan_: WindowPlan = field(init=False, repr=False)

    def fit(self, trajectories: Logs) -> Self:
        """Learn from a log, in memory or as a stream, which is gone through a few times."""
        self.check()
        check_repeatable(trajectories)
        trajectories = seen_ends(trajectories)
        chunks = _Told(chunks_of(trajectories), self.progress, "surveying")
        survey = Survey.of(chunks, max(self.tests, self.histories))
        if survey.steps == 0:
            raise InputError("the log has no steps")
        self.plan_ = self._plan(survey)
        trials: tuple[Trial, ...] = ()
        rank = self.rank
        if rank == "auto":
            chunks = _Told(
                Part(trajectories, held_out=False), self.progress, "counting four fifths"
            )
            part = hankel(Moments.of(chunks, self.plan_))
            most = min(self._cut(part) + BEYOND, LARGEST_RANK)
            rank, trials = choose_rank(
                lambda n: self._trial(part, n, most), Part(trajectories, held_out=True), most
            )
        moments = Moments.of(_Told(chunks_of(trajectories), self.progress, "counting"), self.plan_)
        self.overlap_ = survey.overlap
        self.fit_hankel(hankel(moments), rank)
        self.trials_ = trials
        self.caution_ = Caution.of(survey, self.discount, self.enough)
        self.model_ = self.caution_.applied(self.fitted_)
        return self

    def fit_hankel(self, data: Hankel, rank: int | None = None) -> Self:
        """Learn from expectations, estimated or exact; the rank, if not given, by the cut."""
        self.check()
        scale = scales(data, self.weighting, self._with_rewards)
        self.hankel_ = data
        self.plan_ = data.plan
        self.singular_values_ = singular_values(data, scale)
        self.noise_level_ = noise_level(data, scale)
        self.trials_ = ()
        self.caution_ = Caution.none(data.plan.action_names)
        if rank is None:
            rank = self._cut(data) if self.rank == "auto" else self.rank
        self.fitted_ = self.model_ = self._model(data, rank)
        self.rank_ = self.model_.dimension - bool(data.plan.final)
        return self

    def judge(self, logs: Logs) -> Diagnosis:
        """How well what was learned foretells a log; caution is for planning and plays no part."""
        return diagnose(self.fitted_, logs)

    def _plan(self, survey: Survey) -> WindowPlan:
        if self.policy == "blind":
            warnings.warn(BLIND, stacklevel=3)
        return WindowPlan.of(
            survey,
            tests=self.tests,
            histories=self.histories,
            policy=self.policy,
            max_histories=self.max_histories,
            cells=self.cells,
        )

    def _cut(self, data: Hankel) -> int:
        scale = scales(data, "scaled", self._with_rewards)
        return rank_cut(singular_values(data, scale), noise_level(data, scale))

    def _trial(self, data: Hankel, rank: int, most: int) -> LinearModel:
        if self.progress is not None:
            self.progress(f"rank {rank} of {most}")
        return self._model(data, rank)

    def _model(self, data: Hankel, rank: int) -> LinearModel:
        plain = "plain" if self.weighting == "plain" else "scaled"
        scale = scales(data, plain, self._with_rewards)
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
            provenance=provenance(self, data),
        )


def provenance(estimator: Estimator, data: Hankel) -> dict[str, Any]:
    """Where a model came from, in words and numbers: from how much, with what settings."""
    settings = estimator.get_params()
    settings.pop("progress")
    return {"windows": data.samples, **settings}


@dataclass(frozen=True)
class _Told:
    """The chunks of a log, with a word on each as it is begun."""

    chunks: Iterable[Trajectories]
    progress: Callable[[str], None] | None
    what: str

    def __iter__(self) -> Iterator[Trajectories]:
        steps = 0
        for chunk in self.chunks:
            if self.progress is not None:
                self.progress(f"{self.what}, from step {steps:,}")
            yield chunk
            steps += chunk.steps


@dataclass(kw_only=True, eq=False)
class SpectralPSR(SpectralRPSR):
    """A PSR from the moments of a log: rewards take no part in the state and are regressed on it.

    What prior work does, and what fails where a PSR is not enough. Parameters and fitted attributes
    are those of `SpectralRPSR`.
    """

    _with_rewards: ClassVar[bool] = False
    _kind: ClassVar[str] = "learned-psr"


BLIND = (
    "policy blind takes actions as chosen uniformly, whatever came before; if they were not, the "
    "model is wrong and more data does not cure it: log propensities, or let them be estimated"
)
