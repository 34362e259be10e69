"""What a policy earns, by the definition: every history, in fractions, from hidden states."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.predictive.rationals import process

from rpsr import POMDP
from rpsr.evaluation import StochasticController

History = tuple[tuple[int, int], ...]
Choice = Callable[[History], dict[int, Fraction]]
Rewards = list[list[Fraction]]


def expected_return(pomdp: POMDP, choose: Choice, steps: int, rewards: Rewards | None = None):
    """The expected discounted return of a number of steps, as a Fraction.

    choose: the probabilities of actions after a history. rewards[s][a]: instead of the POMDP's.
    """
    D, discount = process(pomdp), Fraction(pomdp.record.discount)
    R = [list(row) for row in pomdp.exact_rewards()] if rewards is None else rewards

    def after(weights: dict[int, Fraction], history: History) -> Fraction:
        if len(history) == steps:
            return Fraction(0)
        total = Fraction(0)
        for a, chance in choose(history).items():
            total += chance * sum((w * R[s][a] for s, w in weights.items()), Fraction(0))
            for o in range(len(pomdp.observations)):
                moved: dict[int, Fraction] = {}
                for s, w in weights.items():
                    for t, p in D[a][o][s].items():
                        moved[t] = moved.get(t, Fraction(0)) + w * p
                if moved:
                    total += chance * discount * after(moved, (*history, (a, o)))
        return total

    return after(pomdp.record.start.fractions(0), ())


def choice_of(table: StochasticController) -> Choice:
    """What a controller does after a history; its probabilities must be small fractions."""

    def choose(history: History) -> dict[int, Fraction]:
        node = table.first
        for a, o in history:
            node = int(table.successors[node, a, o])
        row = table.probabilities[node].tolist()
        return {a: Fraction(p).limit_denominator(1000) for a, p in enumerate(row) if p > 0}

    return choose


def random_table(seed: int, pomdp: POMDP, nodes: int, *, mixed: bool = True):
    """A controller of random nodes; mixed: that draws actions with chances in quarters."""
    rng = np.random.default_rng(seed)
    A, O = len(pomdp.actions), len(pomdp.observations)
    draws = 4 if mixed else 1
    probabilities = np.stack([rng.multinomial(draws, np.full(A, 1 / A)) for _ in range(nodes)])
    successors = rng.integers(nodes, size=(nodes, A, O))
    first = int(rng.integers(nodes))
    return StochasticController(
        pomdp.actions, pomdp.observations, probabilities / draws, successors, first
    )
