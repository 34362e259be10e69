"""Core intents and core histories from data: a state with an interpretation.

The state of the model consists of the predictions r(i | h) of n core intents i.

- 'pivoted': the matrix of intents by histories, scaled and cut to rank n; column-pivoted QR of its
  row space picks the core intents, of its column space the core histories.
- 'suffix-history' (Wolfe, James and Singh 2005): start from the shortest intents and histories,
  find how many are independent, keep those, add all that are one step longer, until the rank stays
  the same. Operators are then estimated on the core histories alone.
- 'reset' (James and Singh 2004): the same, with all interactions since the start as the history.
  It needs episodes.

Several sets of intents may have the same span, and chance decides between them. So the choice is
repeated on bootstrap samples: the stability of a core intent is the share of samples that chose it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats
from rpsr.learning.caution import Caution
from rpsr.learning.estimated_models import learned_model
from rpsr.learning.findings import CoreIntent, Findings, Spectrum
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.survey import Word
from rpsr.learning.parameter_checks import FROM_0, one_of
from rpsr.learning.prepared_log import PreparedLog
from rpsr.learning.spectral.core_intents import (
    CoreIndices,
    grown_core,
    history_of,
    intent_of,
    intent_word,
    pivoted_core,
)
from rpsr.learning.spectral.estimators import FromMoments, SpectralRPSR
from rpsr.learning.spectral.fit import assemble, scales, singular_values
from rpsr.learning.spectral.rank import noise_level
from rpsr.logs.parts import FEW
from rpsr.models import LinearModel
from rpsr.predictive.futures import Intent, Test

Algorithm = Literal["pivoted", "suffix-history", "reset"]

OVER = "over"  # the name of the coordinate that is 1 after the end of a task


@dataclass(kw_only=True, eq=False)
class DiscoveredRPSR(FromMoments):
    """An R-PSR whose state consists of the predictions of core intents, found in a log.

    algorithm: 'pivoted', 'suffix-history' or 'reset'. rank: of the pivoted choice, or 'auto'; the
    others find their own. repeats: bootstrap samples for the stability, from `seed`. The other
    parameters are those of `FromMoments`.

    Fitted: `core_` (intents), `core_histories_` (tests, most recent interaction last; None for the
    constant and the start), `stability_` (the share of samples that chose each core intent; empty
    without samples); the rest is as of `SpectralRPSR`.
    """

    _ranges: ClassVar = {
        **FromMoments._ranges,
        "algorithm": one_of(*Algorithm.__args__),
        **dict.fromkeys(("repeats", "seed"), FROM_0),
    }

    algorithm: Algorithm = "pivoted"
    repeats: int = 20
    seed: int = 0

    core_: tuple[Intent, ...] = field(init=False, repr=False)
    core_histories_: tuple[Test | None, ...] = field(init=False, repr=False)
    stability_: tuple[float, ...] = field(init=False, repr=False)
    _given: int | Literal["auto"] = field(init=False, repr=False)

    def check(self) -> None:
        """Raise a `DataError` for a parameter out of range, and for a rank that is not used."""
        super().check()
        if self.algorithm != "pivoted" and self.rank != "auto":
            raise DataError(f"rank: read {self.rank}, expected 'auto': {self.algorithm} finds it")

    def learn(self, log: PreparedLog) -> None:
        """Find the core of a log, and its stability."""
        first = SpectralRPSR(**self.shared())
        first.learn(log)
        trials = first.trials_ if self.algorithm == "pivoted" else ()  # others find their own rank
        data = first.hankel_
        if self.algorithm == "reset":
            if data.starts == 0:
                raise DataError("algorithm 'reset' needs starts of episodes; no window has one")
            data = hankel(Moments.of(log, replace(data.plan, anchored=True)))
        self.fit_hankel(data, first.directions_)
        self.singular_values_, self.noise_level_ = first.singular_values_, first.noise_level_
        self.overlap_, self.caution_ = first.overlap_, first.caution_
        self.model_ = self.caution_.applied(self.fitted_)
        self.trials_ = trials
        chosen = self._choose(data).intents
        votes = np.zeros(len(chosen))
        for repeat in range(self.repeats):
            if self.progress is not None:
                self.progress(f"bootstrap sample {repeat + 1} of {self.repeats}")
            sample = Moments.of(log.resampled(self.seed + repeat), data.plan)
            again = self._choose(hankel(sample)).intents if sample.windows else ()
            votes += [intent in again for intent in chosen]
        self.stability_ = tuple((votes / self.repeats).tolist()) if self.repeats else ()

    def spectrum(self) -> Spectrum:
        """The reason for the rank; algorithms other than 'pivoted' find their own."""
        found_by = "" if self.algorithm == "pivoted" else self.algorithm
        return replace(super().spectrum(), found_by=found_by)

    def findings(self) -> Findings:
        """The results: the spectrum and the core intents with their stability."""
        shares = self.stability_ or (None,) * len(self.core_)
        core = tuple(map(CoreIntent, map(str, self.core_), shares))
        return replace(super().findings(), core=core)

    def fit_hankel(self, data: Hankel, rank: int | None = None) -> Self:
        """Find the core intents and fit the model to matrices of expectations.

        These are estimated from a log, or exact.
        """
        self.check()
        self._given = self.rank if rank is None else rank
        self.caution_ = Caution.none(data.plan.action_names)
        self.hankel_ = data
        scale = scales(data, "scaled")
        self.singular_values_ = singular_values(data, scale)
        self.noise_level_ = noise_level(data, scale)
        choice = self._choose(data)
        self.core_ = tuple(intent_of(data.plan, row) for row in choice.intents)
        self.core_histories_ = tuple(history_of(data.plan, column) for column in choice.histories)
        self.stability_ = ()
        self.trials_ = ()
        self.fitted_ = self.model_ = self._model(data, choice)
        return self

    def _choose(self, data: Hankel) -> CoreIndices:
        scale = scales(data, "scaled")
        if self.algorithm == "pivoted":
            rank = None if self._given == "auto" else self._given
            return pivoted_core(data, scale, rank)
        return grown_core(data, scale)

    def _model(self, data: Hankel, choice: CoreIndices) -> LinearModel:
        n = len(choice.intents)
        rows = list(choice.intents)
        select = np.zeros((n, data.values.shape[1]))
        select[np.arange(n), rows] = 1.0
        scale = scales(data, "scaled")
        if self.algorithm == "pivoted":
            scaled = scale.rows[:, None] * data.values[0] * scale.columns
            _, _, v = np.linalg.svd(scaled, full_matrices=False)
            right = scale.columns[:, None] * v[:n].T
        else:
            right = np.zeros((data.values.shape[2], n))
            right[list(choice.histories), np.arange(n)] = scale.columns[list(choice.histories)]
        k = right @ np.linalg.pinv(select @ data.values[0] @ right)
        parameters = assemble(data, select, k, stationary=data.starts < FEW)
        # The predictions of core intents as functions of the state. For those with rewards, the
        # centre is added back, times the probability of the test.
        coordinates = np.eye(n)
        for column, row in enumerate(rows):
            word, action = intent_word(data.plan, row)
            if action >= 0:
                test = data.values[0, data.plan.tests.index(word)] @ k
                coordinates[:, column] *= data.plan.scale
                coordinates[:, column] += data.centres[action] * test
        model = learned_model(
            parameters,
            data.plan.action_names,
            data.plan.observation_names,
            kind="learned-rpsr",
            name=self.name,
            discount=self.discount,
            estimator=type(self).__name__,
            final=data.plan.final,
            provenance=self.provenance(data),
        )
        if data.plan.final:  # where an intent is read as it is defined, as the last state has it
            read = [prediction(model, *intent_word(data.plan, row))[-1] for row in rows]
            coordinates = np.pad(coordinates, ((0, 1), (0, 1)))
            coordinates[-1] = [*read, 1.0]
        core = (*map(str, self.core_), *([OVER] if data.plan.final else []))
        return replace(model, core=core, coordinates=coordinates)


def prediction(model: LinearModel, word: Word, action: int) -> Floats:
    """A model's prediction vector of a test, (n,), or of the intent with an action after it."""
    vector = model.normalizer if action < 0 else model.rewards[:, action]
    for code in reversed(word):
        vector = model.operators.right(vector[None], *divmod(code, len(model.observations)))[0]
    return vector
