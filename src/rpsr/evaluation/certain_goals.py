"""Can a goal be reached with probability one? Decided exactly, on supports of beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpsr.errors import InputError
from rpsr.evaluation.stochastic import StochasticController
from rpsr.models.as_model import as_pomdp
from rpsr.models.observed_sets import by_state
from rpsr.models.pomdp import POMDP
from rpsr.models.state_sets import SetLike, chosen
from rpsr.planning.support_graph import SupportGraph, bits_of, support_graph
from rpsr.showing import Shown, counted

LIMIT = 100_000  # supports


@dataclass(frozen=True, eq=False, repr=False)
class AlmostSure(Shown):
    """Whether some strategy reaches a goal with probability one, from which supports, and how.

    possible: from the start. supports: those that can be reached from it, each as the names of its
    states in which the goal has not been reached; winning: for each the actions that the strategy
    takes, or none if there is no strategy from there. strategy: a controller whose memory is the
    support, which draws one of these actions at random; None if there is no strategy.

    If it is not possible, the probability may still come close to one.
    """

    possible: bool
    supports: tuple[tuple[str, ...], ...]
    winning: tuple[tuple[str, ...], ...]
    strategy: StochasticController | None

    def title(self) -> str:
        """The answer in one line."""
        return f"the goal {'can' if self.possible else 'cannot'} be reached with probability one"

    def facts(self) -> list[tuple[str, str]]:
        """How many supports there are, and what to do first."""
        won = sum(1 for actions in self.winning if actions)
        shown = [
            ("supports", counted(len(self.supports), "support")),
            ("winning", f"{won} of {counted(len(self.supports), 'support')}"),
        ]
        if self.possible:
            shown.append(("first actions", " or ".join(self.winning[0])))
        return shown


def almost_sure(
    pomdp: POMDP, goal: SetLike, *, avoiding: SetLike | None = None, limit: int = LIMIT
) -> AlmostSure:
    """Whether a goal can be reached with probability one, without entering `avoiding` before.

    The answer is exact: it depends on which probabilities are positive, not on their values.
    goal, avoiding: as for `rpsr.reach`. limit: the largest number of supports; a `ModelError` says
    if there are more. Their number may grow exponentially with that of the states.
    """
    pomdp = as_pomdp(pomdp)
    most: Any = limit
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise InputError(f"limit: read {most!r}, expected a number of supports of at least 1")
    wanted = chosen(pomdp, goal, "goal")
    nothing = np.zeros(len(pomdp.states), np.bool_), np.zeros(len(pomdp.observations), np.bool_)
    avoided = type(wanted)(*nothing) if avoiding is None else chosen(pomdp, avoiding, "avoid")
    split, ends, bad = by_state(pomdp, wanted, avoided)
    graph = support_graph(split, ends, bad, limit)
    actions = graph.winning()
    return AlmostSure(
        possible=bool(actions[0]),
        supports=tuple(tuple(split.states[s] for s in bits_of(bits)) for bits in graph.supports),
        winning=tuple(tuple(split.actions[a] for a in choices) for choices in actions),
        strategy=_controller(graph, actions) if actions[0] else None,
    )


def _controller(graph: SupportGraph, actions: list[list[int]]) -> StochasticController:
    """The winning supports as nodes, and one more for the time after the goal was reached.

    An observation that no state of a support can emit means that the goal was reached before.
    """
    pomdp = graph.pomdp
    nodes = [n for n, allowed in enumerate(actions) if allowed]
    place = {n: i for i, n in enumerate(nodes)}
    n_actions, n_observations, after = len(pomdp.actions), len(pomdp.observations), len(nodes)
    probabilities = np.zeros((after + 1, n_actions))
    successors = np.full((after + 1, n_actions, n_observations), after, dtype=np.int64)
    probabilities[after] = 1 / n_actions
    for i, n in enumerate(nodes):
        probabilities[i, actions[n]] = 1 / len(actions[n])
        for a in actions[n]:
            for o, following in (graph.moves[n][a] or {}).items():
                successors[i, a, o] = place[following]
    return StochasticController(
        pomdp.actions, pomdp.observations, probabilities, successors, first=place[0]
    )
