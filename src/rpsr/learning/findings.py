"""The results of an estimator: one record that the terminal, JSON and the page show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rpsr.io.records import Floats
from rpsr.learning.caution import Caution
from rpsr.learning.spectral.rank import Trial, rank_cut, rank_words


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The singular values and scores that decide the rank of a spectral model.

    singular_values (K,): of the scaled moments. noise_level: the largest singular value of noise
    alone. directions: how many were kept. asked: the requested rank, or 'auto'. trials: the scores
    of all ranks on held-out episodes, if these decided. found_by: the algorithm that found the
    rank, or empty.
    """

    singular_values: Floats
    noise_level: float
    directions: int
    asked: int | Literal["auto"]
    trials: tuple[Trial, ...] = ()
    found_by: str = ""

    @property
    def reason(self) -> str:
        """The reason for the rank, in a sentence."""
        standing = rank_cut(self.singular_values, self.noise_level)
        source = "no held-out episodes" if self.asked == "auto" else "as requested"
        if self.found_by:
            source = f"found by {self.found_by}"
        return rank_words(self.directions, standing, self.trials, source)

    @property
    def warning(self) -> str:
        """A line if the log supports only a lower rank than requested; else empty."""
        if self.asked == "auto" or self.directions >= self.asked:
            return ""
        return f"rank {self.asked} was requested; the log supports at most {self.directions}"


@dataclass(frozen=True)
class CoreIntent:
    """An intent whose prediction is a coordinate of the state.

    stability: the share of bootstrap samples that chose the same intent; None without samples.
    """

    intent: str
    stability: float | None


@dataclass(frozen=True)
class FittedSize:
    """A candidate: its number of states, without the end, and its held-out log-likelihood.

    loglik: the mean log-likelihood per held-out episode; behind: the best one minus this.
    """

    states: int
    loglik: float
    behind: float


@dataclass(frozen=True, eq=False)
class Findings:
    """The results of an estimator; None or empty where it has no such result.

    rank: the dimension of the model. origin: where the rank comes from, in words; empty if it was
    estimated itself. context: the longest context of a table, in interactions.
    spectrum: of spectral estimators. core: the core intents whose predictions are the state.
    candidates: the fitted sizes, the chosen one first. at_largest: the largest size that was tried,
    if it was the best one. caution: which actions were rarely tried. reward_family: how EM fitted
    rewards.
    """

    rank: int
    origin: str = ""
    context: int | None = None
    spectrum: Spectrum | None = None
    core: tuple[CoreIntent, ...] | None = None
    candidates: tuple[FittedSize, ...] = ()
    at_largest: int | None = None
    caution: Caution = field(default_factory=Caution)
    reward_family: str | None = None

    def document(self) -> dict[str, Any]:
        """The record as plain JSON values; None where an estimator has no such result."""
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
            "reward_family": self.reward_family,
        }
