"""Values of Gymnasium's discrete spaces as numbers and names.

A value is a tuple of integers v_1, ..., v_k, each from low_i to low_i + size_i - 1: one for a
`Discrete` space, several for `MultiDiscrete`, `MultiBinary`, a `Box` of integers, and for `Tuple`
and `Dict` spaces of these. Its code is the tuple read as a number in mixed radix, the last integer
fastest. Its name is the integers with commas between them, such as "14,10,1" for a hand of
Blackjack; a `NamedDiscrete` space has names of its own.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from rpsr.envs.names import NamedDiscrete
from rpsr.errors import InputError
from rpsr.io.records import Ints

MOST = 2**62  # codes


class Labels:
    """The codes and names of the values of one space.

    kind: "action" or "observation", for messages.
    """

    def __init__(self, space: Space[Any], kind: str) -> None:
        self.space, self.kind = space, kind
        self._low, self._size = np.array(_ranges(space, kind), dtype=np.int64).reshape(-1, 2).T
        self.size = prod(self._size.tolist())
        if self.size > MOST:
            raise InputError(f"{kind}_space: {space} has too many values; {_WAY_OUT}")
        self._names: dict[int, str] = {}

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of all values, for a single integer; None for tuples, which may be many."""
        if isinstance(self.space, NamedDiscrete):
            return self.space.names
        return tuple(self.name(code) for code in range(self.size)) if len(self._size) == 1 else None

    def codes(self, values: Any, batch: int) -> Ints:
        """The codes of B values as a vector environment gives them, (B,)."""
        columns = np.concatenate(_columns(self.space, values, batch), axis=1).astype(np.int64)
        digits = columns - self._low
        if ((digits < 0) | (digits >= self._size)).any():
            raise InputError(f"{self.kind}: read {values!r}, expected a value of {self.space}")
        code = np.zeros(batch, dtype=np.int64)
        for digit, size in zip(digits.T, self._size.tolist(), strict=True):
            code = code * size + digit
        return code

    def code(self, value: Any) -> int:
        """The code of one value."""
        return int(self.codes(value, 1)[0])

    def codes_of(self, values: np.ndarray) -> Ints:
        """The codes of single values in an array of objects, (K,) -> (K,)."""
        if len(self._size) == 1:
            return self.codes(np.array(values.tolist()), len(values))
        return np.array([self.code(value) for value in values], dtype=np.int64)

    def name(self, code: int) -> str:
        """The name of a code."""
        if isinstance(self.space, NamedDiscrete):
            return self.space.names[code]
        known = self._names.get(code)
        if known is None:
            known = self._names[code] = ",".join(map(str, self._integers(code)))
        return known

    def value(self, code: int) -> Any:
        """The value of a code, in the form that the space expects."""
        return _value(self.space, self._integers(code))

    def _integers(self, code: int) -> list[int]:
        digits: list[int] = []
        for size in reversed(self._size.tolist()):
            code, digit = divmod(code, size)
            digits.append(digit)
        return [
            digit + low for digit, low in zip(reversed(digits), self._low.tolist(), strict=True)
        ]


def named_like(labels: Labels, names: tuple[str, ...]) -> str:
    """How to give the numbers of a space these names, for a message; empty if it has names."""
    if isinstance(labels.space, NamedDiscrete) or labels.names is None:
        return ""
    listed = list(names) if labels.size == len(names) else "names"
    return (
        f"; if the {labels.kind}s are the same, name the environment's, in its order: "
        f"{labels.kind}_space = rpsr.envs.NamedDiscrete({listed})"
    )


_WAY_OUT = (
    "put a discretiser in front, such as scikit-learn's KBinsDiscretizer in a "
    "gymnasium.wrappers.TransformObservation"
)


def _ranges(space: Space[Any], kind: str) -> list[tuple[int, int]]:
    """Low and size of each integer of a value."""
    match space:
        case spaces.Discrete():
            return [(int(space.start), int(space.n))]
        case spaces.MultiDiscrete():
            starts, sizes = space.start.reshape(-1).tolist(), space.nvec.reshape(-1).tolist()
            return list(zip(starts, sizes, strict=True))
        case spaces.MultiBinary():
            return [(0, 2)] * int(np.prod(space.shape))
        case spaces.Box() if np.issubdtype(space.dtype, np.integer):
            low, high = space.low.reshape(-1).tolist(), space.high.reshape(-1).tolist()
            return [(int(a), int(b - a) + 1) for a, b in zip(low, high, strict=True)]
        case spaces.Tuple():
            return [pair for part in space.spaces for pair in _ranges(part, kind)]
        case spaces.Dict():
            return [pair for part in space.spaces.values() for pair in _ranges(part, kind)]
        case _:
            advice = _WAY_OUT if kind == "observation" else "discretise the actions first"
            raise InputError(f"{kind}_space: read {space}, expected discrete values; {advice}")


def _columns(space: Space[Any], values: Any, batch: int) -> list[np.ndarray]:
    """The integers of B values, as arrays (B, some)."""
    if isinstance(space, spaces.Tuple):
        parts = zip(space.spaces, values, strict=True)
        return [column for part, given in parts for column in _columns(part, given, batch)]
    if isinstance(space, spaces.Dict):
        inner = space.spaces.items()
        return [column for key, part in inner for column in _columns(part, values[key], batch)]
    return [np.asarray(values).reshape(batch, -1)]


def _value(space: Space[Any], integers: list[int]) -> Any:
    """A value of a space; takes its integers from the front of the list."""
    if isinstance(space, spaces.Tuple):
        return tuple(_value(part, integers) for part in space.spaces)
    if isinstance(space, spaces.Dict):
        return {key: _value(part, integers) for key, part in space.spaces.items()}
    shape: tuple[int, ...] = space.shape or ()
    count = int(np.prod(shape))
    taken, integers[:count] = integers[:count], []
    array = np.array(taken, dtype=space.dtype).reshape(shape)
    return array[()] if shape == () else array
