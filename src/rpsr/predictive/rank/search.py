"""The search for a core set, the same for tests and intents, in any arithmetic.

A candidate is a test q followed by z, an action or the token zeta; its outcome vector is

    u(zeta) = 1,    u(a) = R[:,a],    u(aoqz) = D[a,o] u(qz).

A PSR's core set holds tests, candidates with z = zeta, and its search starts from the one-step
tests ao: the empty test itself is no candidate (1 is the sum over o of the u(ao)). An R-PSR's holds
intents and its search starts from the empty test with every z.

Breadth-first (the paper's Algorithm 2). Level by level: the candidates of a level are the
extensions of the members accepted on the level before, and those accepted become members. Older
members need not be extended again, since their extensions have been tried and lie in the span.
Every member has the shortest possible test.

Depth-first (the paper's Algorithm 1). When a candidate qz is accepted, all extensions aoq of its
test, with every z, are tried before the next candidate. A test is expanded once: expanding it
again for its next z would only repeat candidates that now lie in the span. The extended test aoq
may carry a z whose own qz was not accepted, so a member's suffix need not be a member.

Completing. Candidates given by a user come first, in their order; the breadth-first search
continues from those accepted. Any further member it accepts was missing from the given set.

Order, for all: z is zeta, then the actions; extensions go by action a, then observation o, then
(breadth-first) member in order of acceptance or (depth-first) z. A candidate is accepted if it is
independent of all accepted before it. The search ends when no candidate is left, or as soon as the
span is the whole space. In exact arithmetic two runs agree, whatever the block size or the prime.

Reference: A. Baisero and C. Amato, "Reconciling Rewards with Predictive State Representations",
IJCAI 2021; M. Littman, R. Sutton and S. Singh, "Predictive Representations of State", NIPS 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rpsr import deadline
from rpsr.io.records import Bools

Block = NDArray[Any]  # (B, ...): B vectors of an arithmetic, one per entry of the first axis
Path = tuple[tuple[int, int], ...]

_BLOCK_ENTRIES = 2**19  # numbers in a block of candidates: it should stay in the cache


class Member(NamedTuple):
    """A member of a core set, by index.

    interactions: the test, as pairs (action, observation) in the order they would happen.
    action: the action whose reward is expected after it, or None for the token zeta.
    """

    interactions: Path
    action: int | None


class Arithmetic(Protocol):
    """Outcome vectors of one model, and the span of those accepted so far."""

    @property
    def base(self) -> Block:
        """(k, ...): the outcome vectors of the empty test, zeta first, then any actions."""
        ...

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of actions, of observations and of coordinates."""
        ...

    @property
    def full(self) -> bool:
        """Whether the span is the whole space."""
        ...

    def extend(self, vectors: Block, first: int, last: int) -> Block:
        """Operators a*O + o from `first` to before `last`, each times every vector in turn."""
        ...

    def outside(self, block: Block) -> Bools:
        """(B,): which vectors are not in the span."""
        ...

    def absorb(self, block: Block) -> Bools:
        """(B,): which vectors were independent of all before them; they are added to the span."""
        ...


Search = Callable[[Arithmetic, bool], tuple[Member, ...]]
"""`breadth_first`, `depth_first` or `completing(...)`, called with (arithmetic, from_empty)."""


def breadth_first(arithmetic: Arithmetic, from_empty: bool) -> tuple[Member, ...]:
    """A core set by Algorithm 2; with `from_empty`, the empty test is itself a candidate."""
    return _level_by_level(arithmetic, from_empty, ())


def completing(given: Sequence[Member]) -> Search:
    """The search that tries the given candidates first and continues breadth-first."""
    return lambda arithmetic, from_empty: _level_by_level(arithmetic, from_empty, given)


def _level_by_level(
    arithmetic: Arithmetic, from_empty: bool, given: Sequence[Member]
) -> tuple[Member, ...]:
    n_actions, n_observations, size = arithmetic.shape
    n_operators = n_actions * n_observations
    base = arithmetic.base
    initial = base, [_after_empty(z) for z in range(len(base))]
    chosen = np.concatenate([base[:0], *(_follow(arithmetic, member) for member in given)])
    kept = _accepted(arithmetic, chosen, given)
    members = [*kept[1]]
    if from_empty:
        initial = _accepted(arithmetic, *initial)
        members += initial[1]
    frontier, names = np.concatenate([initial[0], kept[0]]), initial[1] + kept[1]
    while names and not arithmetic.full:
        step = max(1, _BLOCK_ENTRIES // (len(names) * size))
        blocks: list[Block] = []
        grown: list[Member] = []
        width = len(names) if step > 1 else max(1, _BLOCK_ENTRIES // size)  # of a wide level
        for first, begin in product(range(0, n_operators, step), range(0, len(names), width)):
            deadline.check()
            parents = names[begin : begin + width]
            last = min(first + step, n_operators)
            block = arithmetic.extend(frontier[begin : begin + width], first, last)
            accepted = np.flatnonzero(arithmetic.absorb(block))
            blocks.append(block[accepted])
            for i in accepted.tolist():
                operator, parent = divmod(i, len(parents))
                grown.append(_extended(parents[parent], divmod(first + operator, n_observations)))
        frontier, names = np.concatenate(blocks), grown
        members += grown
    return tuple(members)


@dataclass
class _Node:
    """A test of the depth-first search; its outcome vectors, for every z, are made on demand."""

    path: Path
    parent: _Node | None
    operator: int
    outcomes: Block | None = None
    expanded: bool = False


def depth_first(arithmetic: Arithmetic, from_empty: bool) -> tuple[Member, ...]:
    """A core set by Algorithm 1; with `from_empty`, the empty test is itself a candidate."""
    root = _Node((), None, -1, arithmetic.base)
    n_z = len(arithmetic.base)
    members: list[Member] = []
    pending = [(root, z) for z in reversed(range(n_z))] if from_empty else []
    if not from_empty:
        pending = _children(arithmetic, root, n_z)
    while pending and not arithmetic.full:
        deadline.check()
        node, z = pending.pop()
        outcomes = _outcomes(arithmetic, node)
        if arithmetic.absorb(outcomes[z : z + 1])[0]:
            members.append(Member(node.path, _after_empty(z).action))
            if not node.expanded:
                pending += _children(arithmetic, node, n_z)
    return tuple(members)


def _children(arithmetic: Arithmetic, node: _Node, n_z: int) -> list[tuple[_Node, int]]:
    """The node's extensions, last first, without those already in the span."""
    node.expanded = True
    n_actions, n_observations, size = arithmetic.shape
    n_operators, step = n_actions * n_observations, max(1, _BLOCK_ENTRIES // (n_z * size))
    nodes: dict[int, _Node] = {}
    children: list[tuple[_Node, int]] = []
    for first in range(0, n_operators, step):
        deadline.check()
        last = min(first + step, n_operators)
        block = arithmetic.extend(_outcomes(arithmetic, node), first, last)
        for i in np.flatnonzero(arithmetic.outside(block)).tolist():
            operator, z = first + i // n_z, i % n_z
            path = (divmod(operator, n_observations), *node.path)
            children.append((nodes.setdefault(operator, _Node(path, node, operator)), z))
    return children[::-1]


def _outcomes(arithmetic: Arithmetic, node: _Node) -> Block:
    if node.outcomes is None:
        assert node.parent is not None
        parent = _outcomes(arithmetic, node.parent)
        node.outcomes = arithmetic.extend(parent, node.operator, node.operator + 1)
    return node.outcomes


def _accepted(
    arithmetic: Arithmetic, block: Block, names: Sequence[Member]
) -> tuple[Block, list[Member]]:
    accepted = np.flatnonzero(arithmetic.absorb(block))
    return block[accepted], [names[i] for i in accepted.tolist()]


def _follow(arithmetic: Arithmetic, member: Member) -> Block:
    """(1, ...): the outcome vector of a candidate, interaction by interaction from its end."""
    z = 0 if member.action is None else member.action + 1
    outcome = arithmetic.base[z : z + 1]
    for action, observation in reversed(member.interactions):
        operator = action * arithmetic.shape[1] + observation
        outcome = arithmetic.extend(outcome, operator, operator + 1)
    return outcome


def _after_empty(z: int) -> Member:
    return Member((), None if z == 0 else z - 1)


def _extended(member: Member, step: tuple[int, int]) -> Member:
    return Member((step, *member.interactions), member.action)
