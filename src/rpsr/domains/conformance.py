"""The conformance check of domains (public in `rpsr.testing`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rpsr.models.pomdp import POMDP


def check_domain(generator: Callable[..., POMDP]) -> None:
    """Verify the rules for the generator of a domain.

    It has a docstring, which describes the problem; every parameter has a default; it returns an
    exact POMDP without warnings; a second call returns an equal one.
    """
    _require(bool((generator.__doc__ or "").strip()), "the generator has no docstring")
    for key, parameter in inspect.signature(generator).parameters.items():
        has_default = parameter.default is not inspect.Parameter.empty
        _require(has_default, f"parameter {key} has no default")
    pomdp: Any = generator()
    kind = type(pomdp).__name__
    _require(isinstance(pomdp, POMDP), f"the generator returned a {kind}, expected a POMDP")
    _require(pomdp.exact, "the POMDP is not exact: give probabilities and rewards as fractions")
    _require(not pomdp.warnings, f"the POMDP comes with warnings: {'; '.join(pomdp.warnings)}")
    _require(generator() == pomdp, "a second call of the generator returned a different POMDP")


def _require(holds: bool, otherwise: str) -> None:
    """Not an `assert`, which `python -O` would skip."""
    if not holds:
        raise AssertionError(otherwise)
