"""How long a policy looks ahead at every step: seconds, or a number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rpsr.arguments import real, whole
from rpsr.errors import InputError
from rpsr.planning.limits import Clock, no_cutoff
from rpsr.planning.solution import silent
from rpsr.showing import counted

SECONDS = 1.0  # per step, by default


@dataclass(frozen=True)
class Effort:
    """The effort per step: a time limit in seconds, a number of trials, or both.

    With trials alone, equal seeds and equal histories give equal actions.
    """

    seconds: float | None
    trials: int | None

    @staticmethod
    def of(seconds: Any, trials: Any) -> Effort:
        """The effort that a user asked for; an `InputError` if it is none."""
        trials = None if trials is None else whole("trials", trials, 1)
        if seconds is None:
            return Effort(SECONDS if trials is None else None, trials)
        number = real(seconds)
        if number is None or not 0 < number < float("inf"):
            expected = "a finite number of seconds per step above 0"
            raise InputError(f"seconds: read {seconds!r}, expected {expected}")
        return Effort(number, trials)

    def clock(self, memory_limit: int | None = None) -> Clock:
        """A clock for one step, which begins now; compiling before the first is not counted."""
        return Clock(silent, self.seconds, memory_limit, cutoff=no_cutoff())

    def spent(self, trials: int) -> bool:
        """Whether this many trials are enough for one step."""
        return self.trials is not None and trials >= self.trials

    def __str__(self) -> str:
        parts = (
            [] if self.seconds is None else [f"{self.seconds:g} second{'s' * (self.seconds != 1)}"]
        )
        parts += [] if self.trials is None else [counted(self.trials, "trial")]
        return " and ".join(parts) + " per step"
