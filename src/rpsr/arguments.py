"""Numbers that a user passes: of any integer or real type, numpy's included."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from rpsr.errors import InputError


def whole(name: str, value: Any, least: int | None = None) -> int:
    """An argument that is a whole number, from the least one on; an `InputError` if it is none."""
    if isinstance(value, bool) or not isinstance(value, Integral) or _below(int(value), least):
        limit = "" if least is None else f" from {least}"
        raise InputError(f"{name}: read {value!r}, expected a whole number{limit}")
    return int(value)


def _below(value: int, least: int | None) -> bool:
    return least is not None and value < least


def real(value: Any) -> float | None:
    """A number as a float; None if it is none."""
    return None if isinstance(value, bool) or not isinstance(value, Real) else float(value)
