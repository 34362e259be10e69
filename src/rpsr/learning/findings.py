"""What an estimator found in a log: one record that the terminal, JSON and the page show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rpsr.io.records import Floats
from rpsr.learning.caution import Caution
from rpsr.learning.spectral.rank import Trial, rank_cut, rank_words


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What decided the rank of a spectral model.

    singular_values (K,): of the scaled moments. noise_level: the singular value that noise alone
    would have. directions: how many were kept. asked: the rank asked for, or 'auto'. trials: what
    each rank was worth on held-out episodes, where those decided.
    """

    singular_values: Floats
    noise_level: float
    directions: int
    asked: int | Literal["auto"]
    trials: tuple[Trial, ...] = ()

    @property
    def reason(self) -> str:
        """What decided the rank, in a sentence."""
        standing = rank_cut(self.singular_values, self.noise_level)
        return rank_words(self.directions, standing, self.trials)

    @property
    def warning(self) -> str:
        """Whether the log supports a lower rank than was asked for, in a line; else empty."""
        if self.asked == "auto" or self.directions >= self.asked:
            return ""
        return f"rank {self.asked} was asked for; the log supports at most {self.directions}"


@dataclass(frozen=True)
class CoreIntent:
    """An intent whose prediction is a coordinate of the state.

    stability: the share of bootstrap samples that chose the same intent; None where none was drawn.
    """

    intent: str
    stability: float | None


@dataclass(frozen=True)
class FittedSize:
    """A candidate: how many states it has, the end left out, and what held-out episodes say of it.

    loglik: the mean log-likelihood of a held-out episode; behind: how far below the best that is.
    """

    states: int
    loglik: float
    behind: float


@dataclass(frozen=True, eq=False)
class Findings:
    """What an estimator found, as far as it has such things.

    rank: the dimension of the model. origin: what the rank comes from, in words; empty where it is
    what was estimated. context: the longest context of a table, in (action, observation) pairs.
    spectrum: of spectral estimators. core: the core intents, where the state is their predictions.
    candidates: the fitted sizes, the chosen one first. caution: which actions were hardly tried.
    """

    rank: int
    origin: str = ""
    context: int | None = None
    spectrum: Spectrum | None = None
    core: tuple[CoreIntent, ...] | None = None
    candidates: tuple[FittedSize, ...] = ()
    caution: Caution = field(default_factory=Caution)

    def document(self) -> dict[str, Any]:
        """The record as plain JSON values; None where an estimator has no such thing."""
        spectrum, core = self.spectrum, self.core
        return {
            "rank": self.rank,
            "pairs": self.context,
            "singular_values": None if spectrum is None else spectrum.singular_values.tolist(),
            "noise_level": None if spectrum is None else spectrum.noise_level,
            "trials": [] if spectrum is None else list(map(asdict, spectrum.trials)),
            "core": None if core is None else [member.intent for member in core],
            "stability": None if core is None else [member.stability for member in core],
            "candidates": list(map(asdict, self.candidates)),
            "caution": self.caution.document(),
        }
