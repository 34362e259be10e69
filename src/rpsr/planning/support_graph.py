"""The supports of beliefs, as a graph: what can happen, whatever the probabilities.

A support is the set of states that are possible given the actions and observations so far; here,
of the states in which the goal has not been reached yet. It is an integer whose bit s is state s.
Whether a goal can be reached with probability one depends on supports alone, so it is decided
without any arithmetic on probabilities.

Reference: Chatterjee, Doyen, Gimbert and Henzinger, Randomness for free, MFCS (2010); Baier,
Groesser and Bertrand, Probabilistic omega-automata, JACM (2012).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools
from rpsr.models.pomdp import POMDP

Outcomes = dict[int, int]  # observation -> the states that may follow, as bits


@dataclass(frozen=True, eq=False)
class SupportGraph:
    """The N supports that can be reached from the start, never entering a state to avoid.

    supports (N,): the first is that of the start; 0 is a support if the goal may be reached for
    certain. moves[n][a]: for each observation the support that follows, by its number; None if
    action a is not available or may enter a state to avoid. outcomes[s][a]: of each state.
    """

    pomdp: POMDP
    supports: list[int]
    moves: list[list[dict[int, int] | None]]
    outcomes: list[list[Outcomes]]

    def winning(self) -> list[list[int]]:
        """For each support the actions of a strategy that reaches the goal with probability one.

        Empty if there is none. The strategy takes each of these actions with positive probability:
        then from every state of every such support some outcome leads to the goal, again and again
        until one does. Supports from which a possible state has no way to the goal are removed,
        with the actions that lead to them, until none is left to remove.
        """
        kept = [True] * len(self.supports)
        while True:
            actions = [self._allowed(n, kept) if kept[n] else [] for n in range(len(kept))]
            reaching = self._reaching(actions)
            lost = [n for n, bits in enumerate(self.supports) if kept[n] and bits & ~reaching[n]]
            if not lost:
                return actions
            for n in lost:
                kept[n] = False

    def _allowed(self, n: int, kept: list[bool]) -> list[int]:
        """The actions whose successors are all kept."""
        return [
            a
            for a, after in enumerate(self.moves[n])
            if after is not None and all(kept[m] for m in after.values())
        ]

    def _reaching(self, actions: list[list[int]]) -> list[int]:
        """The states (bits) of each support from which the actions may lead to the goal."""
        reaching, waiting, leading = [0] * len(actions), deque[tuple[int, int]](), {}
        for n, allowed in enumerate(actions):
            for s in bits_of(self.supports[n]):
                for a in allowed:
                    for o, following in self.outcomes[s][a].items():
                        m = (self.moves[n][a] or {}).get(o)
                        live = 0 if m is None else following & self.supports[m]
                        for t in bits_of(live):
                            leading.setdefault((m, t), []).append((n, s))
                        if following & ~live and not reaching[n] >> s & 1:  # enters the goal
                            reaching[n] |= 1 << s
                            waiting.append((n, s))
        while waiting:
            for n, s in leading.get(waiting.popleft(), ()):
                if not reaching[n] >> s & 1:
                    reaching[n] |= 1 << s
                    waiting.append((n, s))
        return reaching


def bits_of(support: int) -> list[int]:
    """The states of a support, in order."""
    states: list[int] = []
    while support:
        lowest = support & -support
        states.append(lowest.bit_length() - 1)
        support ^= lowest
    return states


def support_graph(pomdp: POMDP, goal: Bools, avoid: Bools, limit: int) -> SupportGraph:
    """The graph of supports for a goal (S,) and states to avoid (S,), of at most `limit` supports.

    A `ModelError` names the limit if there are more.
    """
    outcomes = _outcomes(pomdp)
    done = _bits(goal)
    bad = _bits(avoid & ~goal)
    unavailable = pomdp.record.unavailable
    barred = [
        0 if unavailable is None else _bits(unavailable[a]) for a in range(len(pomdp.actions))
    ]
    start = sum(1 << int(s) for s in pomdp.record.start.indices) & ~done
    number, supports = {start: 0}, [start]
    moves: list[list[dict[int, int] | None]] = []
    for support in supports:  # which grows
        moves.append([])
        for a in range(len(pomdp.actions)):
            merged: Outcomes = {}
            for s in bits_of(support):
                for o, following in outcomes[s][a].items():
                    merged[o] = merged.get(o, 0) | following
            refused = support & (bad | barred[a])
            if refused or any(following & bad for following in merged.values()):
                moves[-1].append(None)
                continue
            after: dict[int, int] = {}
            for o, following in merged.items():
                left = following & ~done
                if left not in number:
                    if len(supports) == limit:
                        raise ModelError(
                            f"{pomdp.name}: more than {limit} supports of beliefs can be reached; "
                            "raise the limit on supports, or plan with sarsop for bounds on the "
                            "probability"
                        )
                    number[left] = len(supports)
                    supports.append(left)
                after[o] = number[left]
            moves[-1].append(after)
    return SupportGraph(pomdp, supports, moves, outcomes)


def _bits(states: Bools) -> int:
    return sum(1 << int(s) for s in np.flatnonzero(states))


def _outcomes(pomdp: POMDP) -> list[list[Outcomes]]:
    """For each state and action the states that may follow with each observation."""
    record = pomdp.record
    outcomes: list[list[Outcomes]] = [[{} for _ in pomdp.actions] for _ in pomdp.states]
    cells = record.outcome_cells(*record.outcome_entries())
    columns = (cells.action, cells.state, cells.next_state, cells.observation)
    for a, s, following, o in zip(*(column.tolist() for column in columns), strict=True):
        here = outcomes[s][a]
        here[o] = here.get(o, 0) | 1 << following
    return outcomes
