"""What every domain owes its user, as a check (public in `rpsr.testing`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rpsr.models.pomdp import POMDP


def check_domain(generator: Callable[..., POMDP]) -> None:
    """Verify what every generator of a domain owes its user.

    Its docstring tells the story; every parameter has a default; it returns a POMDP that is known
    in exact rationals, has names of its own and warns of nothing; calling it again gives an equal
    one.
    """
    _require(bool((generator.__doc__ or "").strip()), "the generator has no docstring")
    for key, parameter in inspect.signature(generator).parameters.items():
        has_default = parameter.default is not inspect.Parameter.empty
        _require(has_default, f"parameter {key} has no default")
    pomdp: Any = generator()
    _require(isinstance(pomdp, POMDP), f"the generator returned {type(pomdp).__name__}")
    _require(pomdp.exact, "the POMDP is not exact: give probabilities and rewards as fractions")
    _require(not pomdp.warnings, f"the POMDP comes with warnings: {'; '.join(pomdp.warnings)}")
    _require(generator() == pomdp, "calling the generator again gave another POMDP")


def _require(holds: bool, otherwise: str) -> None:
    """Not an `assert`: `python -O` must not turn a check into a pass."""
    if not holds:
        raise AssertionError(otherwise)
