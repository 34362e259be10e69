"""Finite decision problems in integers, with proven bounds.

A number x stands for x / 2**BITS. Values solve v = r + discount P v; floating point only proposes
them. What a proposal misses its equation by is computed in integers and corrected again and again,
and what is left of it, over 1 - discount, bounds the error. BITS is far beyond floats, so these
bounds are narrower than any that the code under test can prove by some 20 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import lu_factor, lu_solve

BITS = 192
ONE = 1 << BITS
CLOSE = 1 << (BITS - 110)  # a residual this small is corrected no further
ROUNDS = 12

Edges = list[tuple[int, int]]  # (chance, node that follows)


@dataclass(frozen=True)
class Choice:
    """An action in a node: what it earns and where it leads; chances sum to at most one."""

    reward: int
    edges: Edges


class Finite:
    """Nodes with choices; a node without one is worth what `leaves` says.

    nodes[n] lists the choices of node n. Rewards are at most ONE in size.
    """

    def __init__(self, nodes: Sequence[Sequence[Choice]], discount: Fraction) -> None:
        self.nodes = nodes
        self.discount = discount
        self.ahead = 1 / (1 - discount)
        self.inner = [n for n, choices in enumerate(nodes) if choices]
        self.place = {n: i for i, n in enumerate(self.inner)}

    def ahead_of(self, choice: Choice, values: Sequence[int]) -> int:
        """A choice's value where nodes that follow have values."""
        after = sum(chance * values[n] for chance, n in choice.edges) >> BITS
        return choice.reward + after * self.discount.numerator // self.discount.denominator

    def optimum(self, leaves: Sequence[int]) -> tuple[list[int], int]:
        """Optimal values, and how far each may be off at most; policy iteration."""
        chosen = [
            max(range(len(choices)), key=lambda c: choices[c].reward) if choices else -1
            for choices in self.nodes
        ]
        for _ in range(ROUNDS * 4):
            values = self.evaluate(chosen, leaves)
            changed, off = False, 0
            for n in self.inner:
                worth = [self.ahead_of(choice, values) for choice in self.nodes[n]]
                best = max(worth)
                off = max(off, abs(best - values[n]))
                if best > worth[chosen[n]] + CLOSE:
                    chosen[n], changed = worth.index(best), True
            if not changed:
                break
        return values, _up(off * self.ahead)

    def of(self, chosen: Sequence[int], leaves: Sequence[int]) -> tuple[list[int], int]:
        """The values of a policy, and how far each may be off at most."""
        values = self.evaluate(chosen, leaves)
        off = max(
            (abs(self.ahead_of(self.nodes[n][chosen[n]], values) - values[n]) for n in self.inner),
            default=0,
        )
        return values, _up(off * self.ahead)

    def evaluate(self, chosen: Sequence[int], leaves: Sequence[int]) -> list[int]:
        """Values of a policy, nearly: by a linear system in floats, corrected in integers."""
        values = [0 if choices else leaves[n] for n, choices in enumerate(self.nodes)]
        if not self.inner:
            return values
        system = np.eye(len(self.inner))
        for i, n in enumerate(self.inner):
            for chance, after in self.nodes[n][chosen[n]].edges:
                if after in self.place:
                    system[i, self.place[after]] -= float(self.discount) * (chance / ONE)
        factors = lu_factor(system)
        for _ in range(ROUNDS):
            missing = [
                self.ahead_of(self.nodes[n][chosen[n]], values) - values[n] for n in self.inner
            ]
            size = max(map(abs, missing)).bit_length()
            if size <= CLOSE.bit_length():
                break
            steps = lu_solve(factors, np.array([x / (1 << size) for x in missing]))
            for n, step in zip(self.inner, steps.tolist(), strict=True):
                values[n] += int(step * 2.0**53) * (1 << size) >> 53
        return values


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator) + 1
