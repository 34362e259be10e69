"""Core intents and core histories from data, so that a person can read what the model predicts.

The state of the model is then the predictions of n intents, r(i | h) for each core intent i.

- 'pivoted': the matrix of intents by histories, scaled and cut to rank n; column-pivoted QR of its
  row space picks the core intents, of its column space the core histories.
- 'suffix-history' (Wolfe, James and Singh 2005): start from the shortest intents and histories,
  find how many are independent, keep those, add everything one step longer, until nothing is
  gained. Operators are then solved for on the core histories alone.
- 'reset' (James and Singh 2004): the same, a history being all that happened since the start, which
  needs episodes.

Sets of intents with the same span differ by luck, so the choice is repeated on bootstrap samples:
the stability of a core intent is the share of them that chose it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

import numpy as np

from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.learning.base import FEW, Estimator, Logs, Resampled
from rpsr.learning.caution import ENOUGH, Caution
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.discovery_core import (
    CoreIndices,
    grown_core,
    history_of,
    intent_of,
    intent_word,
    pivoted_core,
)
from rpsr.learning.ends import seen_ends
from rpsr.learning.learned import chunks_of, learned_model
from rpsr.learning.moments import Moments
from rpsr.learning.moments_hankel import Hankel, hankel
from rpsr.learning.moments_plan import CELLS, Word
from rpsr.learning.parameters import AUTO, DISCOUNT, FROM_0, FROM_1, NOT_NEGATIVE, one_of
from rpsr.learning.propensities import Overlap
from rpsr.learning.rank import Trial
from rpsr.learning.spectral import Policy, SpectralRPSR, provenance
from rpsr.learning.spectral_fit import assemble, scales
from rpsr.models import LinearModel
from rpsr.predictive.futures import Intent, Test

Algorithm = Literal["pivoted", "suffix-history", "reset"]

OVER = "over"  # whether the task is, beside the core intents of one that goes on


@dataclass(kw_only=True, eq=False)
class DiscoveredRPSR(Estimator):
    """An R-PSR whose state is the predictions of core intents, found in a log.

    algorithm: 'pivoted', 'suffix-history' or 'reset'. rank: of the pivoted choice, or 'auto'; the
    others find their own. repeats: bootstrap samples for the stability, from `seed`. The rest is as
    in `SpectralRPSR`.

    Fitted: `rank_`, `core_` (intents), `core_histories_` (tests, most recent pair last; None for
    the constant and the start), `stability_` (the share of samples that chose each core intent);
    `model_`, `fitted_`, `caution_`, `singular_values_`, `noise_level_`, `overlap_` and `trials_` as
    of `SpectralRPSR`.
    """

    streams = True
    _ranges: ClassVar = {
        "algorithm": one_of(*Algorithm.__args__),
        "rank": AUTO | FROM_1,
        "policy": one_of(*Policy.__args__),
        "discount": DISCOUNT,
        **dict.fromkeys(("tests", "histories", "max_histories", "cells"), FROM_1),
        **dict.fromkeys(("repeats", "seed"), FROM_0),
        "enough": NOT_NEGATIVE,
    }

    algorithm: Algorithm = "pivoted"
    rank: int | Literal["auto"] = "auto"
    policy: Policy = "estimated"
    tests: int = 2
    histories: int = 3
    discount: float | None = None
    name: str = "log"
    repeats: int = 20
    seed: int = 0
    max_histories: int = 400
    cells: int = CELLS
    enough: float = ENOUGH
    progress: Callable[[str], None] | None = None

    model_: LinearModel = field(init=False, repr=False)
    fitted_: LinearModel = field(init=False, repr=False)
    caution_: Caution = field(init=False, repr=False)
    rank_: int = field(init=False, repr=False)
    core_: tuple[Intent, ...] = field(init=False, repr=False)
    core_histories_: tuple[Test | None, ...] = field(init=False, repr=False)
    stability_: tuple[float, ...] = field(init=False, repr=False)
    singular_values_: Floats = field(init=False, repr=False)
    noise_level_: float = field(init=False, repr=False)
    overlap_: Overlap = field(init=False, repr=False)
    trials_: tuple[Trial, ...] = field(init=False, repr=False)
    hankel_: Hankel = field(init=False, repr=False)
    _given: int | Literal["auto"] = field(init=False, repr=False)

    def check(self) -> None:
        """Refuse a parameter out of range, by its name, and a rank that would be ignored."""
        super().check()
        if self.algorithm != "pivoted" and self.rank != "auto":
            raise InputError(f"rank: read {self.rank}, expected 'auto': {self.algorithm} finds it")

    def fit(self, trajectories: Logs) -> Self:
        """Discover the core of a log, in memory or as a stream, and how stable that is."""
        self.check()
        trajectories = seen_ends(trajectories)
        first = SpectralRPSR(
            rank=self.rank,
            policy=self.policy,
            tests=self.tests,
            histories=self.histories,
            max_histories=self.max_histories,
            cells=self.cells,
            discount=self.discount,
            enough=self.enough,
            progress=self.progress,
        ).fit(trajectories)
        self.singular_values_, self.noise_level_ = first.singular_values_, first.noise_level_
        self.overlap_ = first.overlap_
        trials = first.trials_ if self.algorithm == "pivoted" else ()  # others find their own rank
        data = first.hankel_
        if self.algorithm == "reset":
            if data.starts == 0:
                raise InputError("algorithm 'reset' needs episodes that start")
            data = hankel(Moments.of(chunks_of(trajectories), replace(data.plan, anchored=True)))
        self.fit_hankel(data, first.rank_)
        self.caution_ = first.caution_
        self.model_ = self.caution_.applied(self.fitted_)
        self.trials_ = trials
        chosen = self._choose(data).intents
        votes = np.zeros(len(chosen))
        for repeat in range(self.repeats):
            if self.progress is not None:
                self.progress(f"bootstrap sample {repeat + 1} of {self.repeats}")
            sample = Moments.of(Resampled(trajectories, self.seed + repeat), data.plan)
            again = self._choose(hankel(sample)).intents if sample.windows else ()
            votes += [intent in again for intent in chosen]
        self.stability_ = tuple((votes / max(self.repeats, 1)).tolist())
        return self

    def fit_hankel(self, data: Hankel, rank: int | None = None) -> Self:
        """Discover the core in expectations, estimated or exact."""
        self.check()
        self._given = self.rank if rank is None else rank
        self.caution_ = Caution.none(data.plan.action_names)
        self.hankel_ = data
        choice = self._choose(data)
        self.rank_ = len(choice.intents)
        self.core_ = tuple(intent_of(data.plan, row) for row in choice.intents)
        self.core_histories_ = tuple(history_of(data.plan, column) for column in choice.histories)
        self.stability_ = ()
        self.trials_ = ()
        self.fitted_ = self.model_ = self._model(data, choice)
        return self

    def judge(self, logs: Logs) -> Diagnosis:
        """How well what was learned foretells a log; caution is for planning and plays no part."""
        return diagnose(self.fitted_, logs)

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
        # What the state says of each core intent: of those with rewards, what was taken off is put
        # back, in proportion to the probability of the test before them.
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
            provenance=provenance(self, data),
        )
        if data.plan.final:  # where an intent is read as it is defined, as the last state has it
            read = [prediction(model, *intent_word(data.plan, row))[-1] for row in rows]
            coordinates = np.pad(coordinates, ((0, 1), (0, 1)))
            coordinates[-1] = [*read, 1.0]
        core = (*map(str, self.core_), *([OVER] if data.plan.final else []))
        return replace(model, core=core, coordinates=coordinates)


def prediction(model: LinearModel, word: Word, action: int) -> Floats:
    """What a model says of a test, (n,), or of the reward of an action after it."""
    vector = model.normalizer if action < 0 else model.rewards[:, action]
    for pair in reversed(word):
        vector = model.operators.right(vector[None], *divmod(pair, len(model.observations)))[0]
    return vector
