"""Exact numbers and exact distributions, for the built-in domains.

A parameter may be given as a fraction, an integer or a float. A float means the decimal that it
prints as: `0.85` is 17/20, not the binary number nearest to it, so a domain is always exact.
"""

import math
import os
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import TypeAlias, TypeVar

Number: TypeAlias = Fraction | int | float
Outcome = TypeVar("Outcome", bound=Hashable)


def exact(name: str, value: Number) -> Fraction:
    """The fraction that `value` stands for; `name`: the parameter, for errors."""
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


LARGEST = 20_000  # limit of any size parameter, because all states are enumerated


def at_least(name: str, value: int, least: int, why: str) -> int:
    """`value` itself; an error unless it is an integer of at least `least`."""
    number = exact(name, value)
    if number.denominator != 1 or number < least:
        raise ValueError(f"{name} is {value}, but must be an integer of {least} or more: {why}")
    if number > LARGEST:
        raise ValueError(f"{name} is {value}, but must be at most {LARGEST}")
    return int(number)


BYTES_PER_PAIR = 400  # of a state and an action, while a domain is made


def check_memory(what: str, states: int, actions: int) -> None:
    """Refuse a domain that would take more than half of the machine's memory to make."""
    memory = machine_memory()
    if states * actions * BYTES_PER_PAIR > memory / 2:
        raise ValueError(
            f"the states for {what} need more than half of this machine's memory of "
            f"{memory / 2**30:.3g} GiB; choose smaller parameters"
        )


def machine_memory() -> float:
    """The bytes of this machine's memory; infinite if they are not known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def lottery(tickets: Iterable[tuple[Outcome, Fraction | int]]) -> dict[Outcome, Fraction]:
    """Outcomes with probabilities: those of equal outcomes are added, zeros are omitted."""
    chances: dict[Outcome, Fraction] = {}
    for outcome, chance in tickets:
        if chance:
            chances[outcome] = chances.get(outcome, Fraction(0)) + chance
    return chances


def evenly(outcomes: Iterable[Outcome]) -> dict[Outcome, Fraction]:
    """The uniform distribution over outcomes."""
    outcomes = list(outcomes)
    return lottery((outcome, Fraction(1, len(outcomes))) for outcome in outcomes)
