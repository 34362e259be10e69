"""The record of a promise, and the returns that the rewards of a log allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rpsr.errors import DataError
from rpsr.logs.census import Census

LEVEL = 0.95
ASSUMPTION = (
    "Bounds by models and by importance weighting assume that the logged actions depended on "
    "nothing but earlier logged actions and observations. An expert who acted on other information "
    "breaks this assumption, and no test detects that."
)
EQUAL = "all rewards of the log are equal, so that it cannot tell policies apart"
Method = Literal["models", "importance", "returns"]
HOW: dict[Method, str] = {
    "models": "by models of the log",
    "importance": "by importance weighting",
    "returns": "by the returns of the log",
}


@dataclass(frozen=True)
class Gap:
    """The steps of a policy that a log does not show.

    share: of the discounted steps, or of the first ones, whichever is larger. action, after: the
    most frequent case, and the action and observation before it, empty at the start; times: how
    often the log has it.
    """

    share: float
    action: str
    after: tuple[str, ...]
    times: int

    @property
    def where(self) -> str:
        """After which interaction the action is taken, or that it is the first."""
        return f"after {', '.join(self.after)}" if self.after else "at the start"

    @property
    def words(self) -> str:
        """The missing action, in a clause."""
        times = {0: "never", 1: "once"}.get(self.times, f"{self.times} times")
        return (
            f"the log hardly shows the policy's actions: {self.where}, the policy takes "
            f"{self.action} (in the log: {times})"
        )


@dataclass(frozen=True)
class Promise:
    """The discounted return of a policy on the true system, over the whole task.

    value: the estimate; None if importance weighting gives no lower bound. low, high: each holds
    with probability `level`, under the assumptions of the method. least, most: the returns that the
    log's range of rewards allows at all. models: how many models the method used; in_models: the
    lowest and highest value in these, or None; in_fits: the same in those among them that were
    fitted to the whole log. reason: why the models were not used, or empty; gap: the
    interaction that the log hardly shows, if that is the reason; else None.
    """

    value: float | None
    low: float
    high: float
    level: float
    method: Method
    least: float
    most: float
    models: int = 0
    in_models: tuple[float, float] | None = None
    in_fits: tuple[float, float] | None = None
    reason: str = ""
    gap: Gap | None = None

    @property
    def vacuous(self) -> bool:
        """Whether the lower bound says no more than the range of rewards does."""
        return self.low <= self.least

    @property
    def equal(self) -> bool:
        """Whether all rewards of the log are equal."""
        return self.least == self.most

    def about(self, digits: int = 3) -> str:
        """The estimate as text, or a dash."""
        return "-" if self.value is None else f"{self.value:.{digits}g}"

    def words(self, digits: int = 3) -> str:
        """The promise in a line."""
        low, value = f"{self.low:.{digits}g}", self.about(digits)
        high, level = f"{self.high:.{digits}g}", f"{self.level:.4g}"
        if self.equal:
            return EQUAL
        if self.vacuous:
            why = f": {self.reason}" if self.reason else ""
            return f"no lower bound above {low}, the least return that rewards allow{why}"
        return f"at least {low} (level {level}), about {value}, at most {high}, {HOW[self.method]}"

    def document(self) -> dict[str, Any]:
        """The promise as plain JSON values."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
            "vacuous": self.vacuous,
            "models": self.models,
            "in_models": None if self.in_models is None else list(self.in_models),
            "in_fits": None if self.in_fits is None else list(self.in_fits),
            "reason": self.reason or None,
        }


@dataclass(frozen=True)
class ReturnRange:
    """The range of rewards per step, low to high, and of returns, least to most."""

    low: float
    high: float
    discount: float

    @staticmethod
    def of(census: Census, discount: float | None) -> ReturnRange:
        """By the census of a log. If tasks ended, a step may also have reward 0."""
        if discount is None or not 0 <= discount < 1:
            raise DataError(f"discount: read {discount}, expected one below 1 for a promise")
        if census.low > census.high:
            raise DataError("the log has no rewards, expected some for a promise")
        low, high = census.low, census.high
        if census.ended:
            low, high = min(low, 0.0), max(high, 0.0)
        return ReturnRange(low, high, discount)

    @property
    def least(self) -> float:
        """The least return."""
        return self.low / (1 - self.discount)

    @property
    def most(self) -> float:
        """The largest return."""
        return self.high / (1 - self.discount)

    def within(self, value: float) -> float:
        """The closest allowed return."""
        return min(max(value, self.least), self.most)
