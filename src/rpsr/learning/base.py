"""The base class of estimators: keyword parameters, `fit`, and fitted attributes ending in `_`.

It follows scikit-learn's conventions without depending on it: `__init__` only stores, `fit` returns
the estimator, `get_params` and `set_params` work with `clone`, and `score` with model selection. X
is a log, y is ignored.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rpsr.errors import DataError
from rpsr.learning.caution import Caution
from rpsr.learning.diagnostics import Diagnosis, judged
from rpsr.learning.estimated_models import Filtered, filtered
from rpsr.learning.findings import Findings
from rpsr.learning.parameter_checks import Allowed
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.learning.propensities import Behaviour
from rpsr.logs.trajectories import Trajectories
from rpsr.models import LinearModel


class NotFitted(DataError, AttributeError):
    """A fitted attribute was read before `fit`.

    It is a `ValueError` and an `AttributeError`, like scikit-learn's `NotFittedError`, so that
    `hasattr` is False.
    """


RESAMPLED = 200_000  # steps
Family = tuple[LinearModel, ...]  # a fitted model, and its refits to resampled logs


class Estimator(ABC):
    """A dataclass of keyword parameters; attributes that end in `_` are set by `fit`.

    Implement `learn`, which sets `model_`, `fitted_` and `caution_`, and `findings`. `fit` first
    calls `check`, which compares the parameters with `_ranges`.

    `fitted_` is the model as estimated, used by `judge` and `score`. `model_` is the model to plan
    on, with penalties for rarely tried actions (`caution_`), or `fitted_` itself if there are none.
    `rank_` is the dimension of `model_`.

    `rank_parameter` is the name of the parameter for the size of the model. `streams` says whether
    `fit` reads a log in chunks, not into memory. `rewards_in_state` says whether the state predicts
    rewards, as that of every model but a PSR does. `compares_with_table` says whether `learn` also
    plans on a table of the last interactions. An estimator that shows its progress has a parameter
    `progress`, which is called with the current work.
    """

    rank_parameter: ClassVar[str] = "rank"
    streams: ClassVar[bool] = False
    rewards_in_state: ClassVar[bool] = True
    compares_with_table: ClassVar[bool] = True
    progress: Callable[[str], None] | None = None
    _ranges: ClassVar[dict[str, Allowed]] = {}

    model_: LinearModel
    fitted_: LinearModel
    caution_: Caution

    def fit(self, X: Logs, y: object = None) -> Self:
        """Learn from a log: in memory, a stream, names of files, or a prepared log."""
        self.check()
        log = PreparedLog.of(X, held=not self.streams)
        self.learn(log)
        if log.warning:
            warnings.warn(log.warning, stacklevel=2)
        return self

    @abstractmethod
    def learn(self, log: PreparedLog) -> None:
        """Learn from a prepared log: the algorithm."""

    @abstractmethod
    def findings(self) -> Findings:
        """The results of the fit that the terminal, JSON and the page show."""

    if not TYPE_CHECKING:  # for a type checker, fitted attributes always exist

        def __getattr__(self, name: str) -> Any:
            common = ("model_", "fitted_", "caution_")
            known = (*common, *(field.name for field in fields(self)))
            # A property of a fitted attribute gets here when that attribute is missing.
            if name in known or isinstance(getattr(type(self), name, None), property):
                raise NotFitted(f"{type(self).__name__} is not fitted: call fit before {name}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def rank_(self) -> int:
        """The dimension of the model."""
        return self.model_.dimension

    @property
    def behaviour_source(self) -> Behaviour | None:
        """Where the propensities come from that it learns with; None if it needs none."""
        return None

    def check(self) -> None:
        """Raise a `DataError` for a parameter out of range."""
        for name, allowed in self._ranges.items():  # a group comes before its fields
            group, _, field = name.partition("__")
            value = getattr(self, group)
            allowed.check(name, getattr(value, field) if field else value)

    def judge(self, logs: Logs) -> Diagnosis:
        """The accuracy of the fitted model's predictions on a held-out log."""
        seen = PreparedLog.of(logs).as_seen_by(self.fitted_)
        return judged((self.predictions(log), log) for log in seen)

    def predictions(self, log: Trajectories) -> Filtered:
        """The predictions of `fitted_` at every step of a log with its names."""
        return filtered(self.fitted_, log)

    def score(self, X: Logs, y: object = None) -> float:
        """How well `fitted_` predicts a log (`Diagnosis.score`); higher is better."""
        return self.judge(X).score

    def models(self) -> list[LinearModel]:
        """All models that explain the log about equally well, the chosen one first."""
        return [self.model_]

    def families(self, log: PreparedLog, most: int, refits: int, seed: int) -> list[Family]:
        """Models to value a policy in, without caution: for each explanation of a log, a family.

        A family is a fitted model and models of resampled logs, `refits` of them, that explain the
        log in the same way. No two refits are to the same resampled log. log: the one that was
        fitted; of a large one, only the first `RESAMPLED` steps are resampled. most: the largest
        number of families.
        """
        log = log.beginning(RESAMPLED)
        seeds = range(seed, seed + refits)
        again = [copy(self).fit(log.resampled(number)).fitted_ for number in seeds]
        return [(self.fitted_, *again)][:most]

    def silent(self) -> Self:
        """The same estimator without `progress`; for other processes."""
        if self.progress is None:
            return self
        silent = copy(self)
        silent.progress = None
        return silent

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. deep: also the fields of grouped ones, as `group__field`."""
        own = {item.name: getattr(self, item.name) for item in fields(self) if item.init}  # pyright: ignore
        groups = {name: value for name, value in own.items() if _is_group(value)}
        if not deep:
            return own
        return own | {
            f"{name}__{item.name}": getattr(group, item.name)
            for name, group in groups.items()
            for item in fields(group)
        }

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name, or a field of a grouped one by `group__field`."""
        known = self.get_params()
        unknown = [name for name in params if name not in known]
        if unknown:
            expected = ", ".join(known)
            raise DataError(f"no parameter is called {unknown[0]!r}; expected {expected}")
        # A group comes before its fields, so that these are not lost.
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            group, _, part = name.partition("__")
            setattr(self, group, replace(getattr(self, group), **{part: value}) if part else value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tags for scikit-learn, its only caller: X is a log, and there is no y."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
        )


def _is_group(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)
