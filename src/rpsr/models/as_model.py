"""Check an argument that should be a model: convert it, or raise a one-line error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpsr.errors import InputError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP

_OPENS = "rpsr.load opens files and names"


def as_model(given: Any, what: str = "model") -> POMDP | LinearModel:
    """A POMDP or a linear model, unchanged; an `InputError` for anything else.

    what: the name of the argument, for the message.
    """
    if not isinstance(given, POMDP | LinearModel):
        raise wrong_type(given, what, "a POMDP or a linear model", _OPENS)
    return given


def as_linear(given: Any, what: str = "model") -> LinearModel:
    """A linear model, or the belief model of a POMDP; an `InputError` for anything else."""
    model = as_model(given, what)
    return model.belief_model() if isinstance(model, POMDP) else model


def named_models(given: Any, what: str = "models") -> dict[str, LinearModel]:
    """Linear models by name; a single model gets its kind as name."""
    if isinstance(given, Mapping):
        models: dict[Any, Any] = dict(given)
        return {str(name): as_linear(model, f"{what}: {name}") for name, model in models.items()}
    only = as_linear(given, what)
    return {only.kind: only}


def as_pomdp(given: Any, what: str = "pomdp") -> POMDP:
    """A POMDP, unchanged; an `InputError` for anything else, linear models included."""
    if not isinstance(given, POMDP):
        raise wrong_type(given, what, "a POMDP", _OPENS)
    return given


def wrong_type(given: Any, what: str, expected: str, of_text: str = "") -> InputError:
    """The error for an argument of the wrong type; of_text: advice if it is a string."""
    read = f"a {given.kind} model" if isinstance(given, LinearModel) else type(given).__name__
    if isinstance(given, type):
        read = f"the class {given.__name__}"
    if isinstance(given, str):
        read = repr(given if len(given) <= 40 else given[:37] + "...")
        expected += f"; {of_text}" if of_text else ""
    return InputError(f"{what}: read {read}, expected {expected}")
