"""Domains by name, built on demand: the built-in ones and those of other packages.

A name may carry parameters of the domain's generator: `loadunload:cells=20` or
`rock-sample:n=5,k=3`. Another package offers a generator under the entry point `rpsr.domains`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import get_args, get_type_hints

from rpsr.errors import InputError
from rpsr.models.numbers import parse_fraction
from rpsr.models.pomdp import POMDP
from rpsr.registry import Registry

_WHERE = {
    "1d": "corridors:corridor",
    "4x3": "mazes:four_by_three",
    "4x4": "grids:grid",
    "cheese": "grids:cheese",
    "floatreset": "drift:float_reset",
    "hallway": "hallways:hallway",
    "hallway2": "hallways:hallway2",
    "heavenhell": "mazes:heaven_hell",
    "iff": "radar:iff",
    "line4-2goals": "corridors:line_two_goals",
    "loadunload": "corridors:load_unload",
    "network": "networks:network",
    "paint": "factory:paint",
    "parr": "choices:parr",
    "rock-sample": "rocks:rock_sample",
    "shuttle": "shuttles:shuttle",
    "stand-tiger": "choices:stand_tiger",
    "t-maze": "tmaze:t_maze",
    "tag": "tag:tag",
    "tiger": "choices:tiger",
    "tiger-grid": "hallways:tiger_grid",
}
NAMES = tuple(_WHERE)  # the built-in ones
DOMAINS = Registry(
    "domain", "rpsr.domains", {name: f"rpsr.domains.{where}" for name, where in _WHERE.items()}
)


def names() -> tuple[str, ...]:
    """The names of all domains: the built-in ones, then those of other packages."""
    return DOMAINS.names()


def generator(name: str) -> Callable[..., POMDP]:
    """The function behind a name."""
    return DOMAINS.get(name)


def story(name: str) -> str:
    """The first line of a domain's docstring; empty if it has none."""
    return next(iter((generator(name).__doc__ or "").strip().splitlines()), "")


def parameters(name: str) -> dict[str, str]:
    """The parameters that `build` accepts for a domain, and their defaults as text."""
    return {key: str(default) for key, default in _parameters(generator(name)).items()}


def build(specification: str) -> POMDP:
    """A built-in domain from `name` or `name:parameter=value,...`."""
    name, colon, rest = specification.partition(":")
    make = generator(name)
    known, as_text = _parameters(make), _of_types(make, str)
    given: dict[str, Fraction | int | bool | str] = {}
    for part in rest.split(",") if colon else ():
        key, equals, text = part.partition("=")
        if not equals or key not in known:
            raise InputError(
                f"{name}: read {part!r}, expected PARAMETER=VALUE; "
                f"the parameters are {', '.join(known)}"
            )
        if key in given:
            raise InputError(f"{name}: read {key} twice, expected it once")
        given[key] = text if key in as_text else _value(name, key, text, known[key])
    try:
        pomdp = make(**given)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name}: {error}") from None
    return pomdp.with_name(specification)


def _parameters(make: Callable[..., POMDP]) -> dict[str, object]:
    """The generator's parameters that are numbers, truth values or text, and their defaults."""
    defaults = {key: one.default for key, one in inspect.signature(make).parameters.items()}
    accepted = _of_types(make, int, bool, Fraction, str)
    return {key: default for key, default in defaults.items() if key in accepted}


def _of_types(make: Callable[..., POMDP], *types: type) -> set[str]:
    """The generator's parameters that may have one of these types."""
    hints = get_type_hints(make)
    return {key for key, hint in hints.items() if {hint, *get_args(hint)} & set(types)}


def _value(name: str, key: str, text: str, default: object) -> Fraction | int | bool:
    if isinstance(default, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise InputError(f"{name}: {key}: read {text!r}, expected true or false")
    value = parse_fraction(text)
    if value is None:
        raise InputError(f"{name}: {key}: read {text!r}, expected a number")
    return int(value) if value.denominator == 1 else value
