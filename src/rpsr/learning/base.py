"""What estimators share: parameters by keyword, `fit`, and fitted attributes ending in `_`.

The conventions are scikit-learn's, which is not needed: `__init__` only stores, `fit` returns the
estimator, `get_params` and `set_params` do what its `clone` expects, and `score` is what its model
selection maximises. X is a log, y is ignored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rpsr.errors import DataError
from rpsr.learning.caution import Caution
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.findings import Findings
from rpsr.learning.parameters import Allowed
from rpsr.learning.prepared_log import Logs, PreparedLog
from rpsr.models import LinearModel


class NotFitted(DataError, AttributeError):
    """A fitted attribute was asked for before `fit`.

    A `ValueError` and an `AttributeError`, as scikit-learn's `NotFittedError` is: to `hasattr`, the
    attribute is not there.
    """


class Estimator(ABC):
    """A dataclass of keyword parameters; attributes that end in `_` are set by `fit`.

    Implement `learn`, which sets `model_`, `fitted_` and `caution_`, and `findings`. `fit` begins
    with `check`, which looks up in `_ranges` what each parameter may be.

    fitted_: the model as estimated, which `judge` and `score` look at. model_: the model to plan
    on, with low rewards for what the log hardly shows (`caution_`); `fitted_` itself where nothing
    is. rank_: the dimension of `model_`.

    rank_parameter: which parameter is the size of the model. streams: whether `fit` passes through
    a log in chunks, without holding it in memory.
    """

    rank_parameter: ClassVar[str] = "rank"
    streams: ClassVar[bool] = False
    _ranges: ClassVar[dict[str, Allowed]] = {}

    model_: LinearModel
    fitted_: LinearModel
    caution_: Caution

    def fit(self, X: Logs, y: object = None) -> Self:
        """Learn from a log: in memory, as a stream, as names of files, or prepared."""
        self.check()
        self.learn(PreparedLog.of(X, held=not self.streams))
        return self

    @abstractmethod
    def learn(self, log: PreparedLog) -> None:
        """Learn from a prepared log: the algorithm."""

    @abstractmethod
    def findings(self) -> Findings:
        """What was found in the log, as the terminal, JSON and the page show it."""

    if not TYPE_CHECKING:  # to a type checker, fitted attributes are always there

        def __getattr__(self, name: str) -> Any:
            common = ("model_", "fitted_", "caution_", "rank_")
            if name in (*common, *(field.name for field in fields(self))):
                raise NotFitted(f"{type(self).__name__} is not fitted: {name} is there after fit")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def rank_(self) -> int:
        """The dimension of the model."""
        return self.model_.dimension

    def check(self) -> None:
        """Refuse a parameter that is out of range, by its name."""
        for name, allowed in self._ranges.items():  # a group comes before its fields
            group, _, field = name.partition("__")
            value = getattr(self, group)
            allowed.check(name, getattr(value, field) if field else value)

    def judge(self, logs: Logs) -> Diagnosis:
        """How well the fitted model predicts a log that it has not seen."""
        return diagnose(self.fitted_, logs)

    def score(self, X: Logs, y: object = None) -> float:
        """`Diagnosis.score` of a log: the higher, the better its predictions."""
        return self.judge(X).score

    def models(self) -> list[LinearModel]:
        """All models that explain the log about equally well, the chosen one first."""
        return [self.model_]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. deep: also the fields of grouped ones, as `group__field`."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # pyright: ignore
        groups = {name: value for name, value in own.items() if _is_group(value)}
        if not deep:
            return own
        return own | {
            f"{name}__{each.name}": getattr(group, each.name)
            for name, group in groups.items()
            for each in fields(group)
        }

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name, or a field of a grouped one by `group__field`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                expected = ", ".join(known)
                raise DataError(f"no parameter is called {name!r}; expected {expected}")
            group, _, each = name.partition("__")
            setattr(self, group, replace(getattr(self, group), **{each: value}) if each else value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn, which alone asks, wants to know: X is a log, and there is no y."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
        )


def _is_group(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)
