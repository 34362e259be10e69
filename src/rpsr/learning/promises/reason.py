"""The base class of reasons why a learned policy may fail."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Reason:
    """A reason for doubt, made from its fields: what is wrong, and what to do, a clause each."""

    WORDS: ClassVar[str]
    ADVICE: ClassVar[str]

    @property
    def words(self) -> str:
        """The fault, in a clause."""
        return self.WORDS.format(**vars(self))

    @property
    def advice(self) -> str:
        """The remedy, in a clause."""
        return self.ADVICE.format(**vars(self))

    def document(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        words = {"words": self.words, "advice": self.advice}
        return {"kind": type(self).__name__, **words, **asdict(self)}
