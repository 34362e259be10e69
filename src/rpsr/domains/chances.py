"""Exact numbers and exact lotteries, from which the built-in domains are made.

A parameter may be given as a fraction, an integer or a float. A float means the decimal that it
prints as: `0.85` is 17/20, not the binary number nearest to it, so a domain stays exact however its
parameters are written.
"""

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import TypeAlias, TypeVar

Number: TypeAlias = Fraction | int | float
Outcome = TypeVar("Outcome", bound=Hashable)


def exact(name: str, value: Number) -> Fraction:
    """The fraction that `value` stands for; `name` is the parameter an error speaks of."""
    try:
        return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value}, but must be a finite number") from None


def probability(name: str, value: Number) -> Fraction:
    """The fraction that `value` stands for, which must lie between 0 and 1."""
    fraction = exact(name, value)
    if not 0 <= fraction <= 1:
        raise ValueError(f"{name} is {value}, but must lie between 0 and 1")
    return fraction


LARGEST = 20_000  # of any size parameter: a table of states, written out one by one, has an end


def at_least(name: str, value: int, least: int, why: str) -> int:
    """`value` itself, which must be an integer and no less than `least`."""
    number = exact(name, value)
    if number.denominator != 1 or number < least:
        raise ValueError(f"{name} is {value}, but must be an integer of {least} or more: {why}")
    if number > LARGEST:
        raise ValueError(f"{name} is {value}, but models are built up to {LARGEST} only")
    return int(number)


def lottery(tickets: Iterable[tuple[Outcome, Fraction | int]]) -> dict[Outcome, Fraction]:
    """Outcomes and their chances: those of equal outcomes added up, impossible ones left out."""
    chances: dict[Outcome, Fraction] = {}
    for outcome, chance in tickets:
        if chance:
            chances[outcome] = chances.get(outcome, Fraction(0)) + chance
    return chances


def evenly(outcomes: Iterable[Outcome]) -> dict[Outcome, Fraction]:
    """The same chance for each outcome."""
    outcomes = list(outcomes)
    return lottery((outcome, Fraction(1, len(outcomes))) for outcome in outcomes)
