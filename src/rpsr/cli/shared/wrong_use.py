"""Wrong usage in one line: which word of the command is wrong, and what was expected.

A wrong value reads `Invalid value for --seed: read 'x', expected a whole number` whether a type, a
converter or a validator refuses it.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any, Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnusedCliTokensError,
    ValidationError,
)

_NUMBERS: dict[Any, str] = {float: "a number", int: "a whole number", bool: "true or false"}


def wrong_use(error: CycloptsError, verb: str) -> str:
    """The words that were wrong; verb: the command that was given, such as `rpsr solve`."""
    argument = error.argument
    missing = isinstance(error, MissingArgumentError) and error.keyword is None
    if missing and argument is not None and not argument.tokens and not error.unused_tokens:
        return f"'{verb}' needs {argument.name}"
    if isinstance(error, UnusedCliTokensError):
        return _unexpected(error, verb)
    if isinstance(error, ValidationError) and argument is not None and argument.tokens:
        name = argument.tokens[0].keyword or argument.name
        return f"Invalid value for {name}: {' '.join(error.exception_message.split())}"
    if isinstance(error, CoercionError) and error.msg is None and error.token is not None:
        expected = _expected(error.target_type)
        name = error.token.keyword or (argument.name if argument is not None else "")
        if expected and name:
            return f"Invalid value for {name}: read {error.token.value!r}, expected {expected}"
    return " ".join(str(error).split())


def _unexpected(error: CycloptsError, verb: str) -> str:
    """Words that a verb does not take, and those that it takes."""
    words = error.unused_tokens or []
    known = signature(error.target).parameters.values() if error.target is not None else ()
    takes = [one.name.upper() for one in known if one.kind is Parameter.POSITIONAL_ONLY]
    plural = "s" * (len(words) > 1)
    took = f"only {' '.join(takes)}" if takes else "no argument"
    return f"unexpected argument{plural} {', '.join(map(repr, words))}: '{verb}' takes {took}"


def _expected(kind: Any) -> str:
    """The values of a type in words; empty if there are none."""
    if get_origin(kind) is Literal:
        *others, last = map(str, get_args(kind))
        return f"{', '.join(others)} or {last}" if others else last
    return _NUMBERS.get(kind, "")
