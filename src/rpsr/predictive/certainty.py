"""How sure a rank or a verdict is, in the same words wherever it is said."""

from __future__ import annotations


def certainty(certified: bool, error_probability: float | None) -> str:
    """How a decision was made and how likely it is wrong, as the middle of a sentence."""
    if not certified:
        return "decided in floats"
    if not error_probability:
        return "certain, by exact arithmetic"
    odds = f"wrong with probability at most {error_probability:.2g}"
    return f"decided by exact arithmetic modulo random primes, {odds}"


def sentence(
    subject: str,
    certified: bool,
    error_probability: float | None,
    margin: tuple[float, float] | None = None,
) -> str:
    """How sure a decision is, in a sentence; with the margin, if given, of one made in floats."""
    words = f"{subject} {certainty(certified, error_probability)}"
    return f"{words}." if certified or margin is None else f"{words} ({margin_words(margin)})."


def margin_words(margin: tuple[float, float]) -> str:
    """The margin of a decision in floats: (smallest residual accepted, largest rejected)."""
    return (
        f"independent outcomes have residuals of at least {margin[0]:.2g}, dependent ones of at "
        f"most {margin[1]:.2g}"
    )
