"""Variables of a factored model, and the flat numbering of their joint values.

The joint values of variables are numbered with the first variable varying slowest:

    flat = sum_i value_i * stride_i,    stride_i = product of the sizes after i.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rpsr.io.records import Ints


@dataclass(frozen=True)
class Variable:
    """A variable with the names of its values.

    observed: for a state variable, whether the agent observes its value after every action.
    """

    name: str
    values: tuple[str, ...]
    observed: bool = False

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)


@dataclass(frozen=True)
class Space:
    """The joint values of some variables."""

    variables: tuple[Variable, ...]

    @property
    def size(self) -> int:
        """The number of joint values; 1 without variables."""
        return prod(variable.size for variable in self.variables)

    def stride(self, number: int) -> int:
        """The distance between joint values that differ by one in a variable."""
        return prod(variable.size for variable in self.variables[number + 1 :])

    def digit(self, flat: Ints, number: int) -> Ints:
        """The values of one variable in joint values."""
        return flat // self.stride(number) % self.variables[number].size

    def part(self, flat: Ints, numbers: list[int]) -> Ints:
        """The joint values of some of the variables, in the order given, in joint values of all."""
        space = Space(tuple(self.variables[i] for i in numbers))
        joint = flat * 0
        for place, number in enumerate(numbers):
            joint = joint + self.digit(flat, number) * space.stride(place)
        return joint

    def names(self) -> list[str]:
        """Names of the joint values: those of a single variable, else `robot=3,rock1=good`."""
        if len(self.variables) == 1:
            return list(self.variables[0].values)
        names = [""]
        for variable in self.variables:
            shown = [f"{variable.name}={value}" for value in variable.values]
            names = [f"{name},{value}" if name else value for name in names for value in shown]
        return names

    def name_bytes(self) -> int:
        """The size of these names, without building them."""
        mean_sizes = [
            sum(len(variable.name) + len(value) + 2 for value in variable.values) / variable.size
            for variable in self.variables
        ]
        return int(self.size * (60 + sum(mean_sizes)))
