"""Finite decision problems on a graph of states, solved to machine precision.

Policy iteration: evaluate a policy by a sparse linear system (I - discount P) v = r, then take in
every state the best action for v; it ends when no action improves by more than rounding, or when
rounding repeats an earlier policy. For a finite horizon, backward induction.
Reference: M. L. Puterman, Markov Decision Processes, 1994, sections 4.5 and 6.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.operators import Sparse
from rpsr.planning.limits import Clock, no_limits
from rpsr.planning.linear_systems import solve_discounted

_IMPROVEMENT = 1e-14  # of the scale of values: a smaller gain in one step is rounding
SWEEPS = 200  # from above, before policy iteration
TINY = 32  # states: policy iteration takes less time than the sweeps, and no limit is needed


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """N states and A actions: transitions sparse (A * N, N), rewards (N, A), allowed (N, A)."""

    transitions: Sparse
    rewards: Floats
    allowed: Bools
    discount: float

    def action_values(self, values: Floats) -> Floats:
        """One-step values (N, A) of continuing with values (N,); -inf where not allowed."""
        n_states, n_actions = self.rewards.shape
        after = (self.transitions @ values).reshape(n_actions, n_states).T
        return np.where(self.allowed, self.rewards + self.discount * after, -np.inf)

    def evaluate(self, actions: Ints, clock: Clock, guess: Floats | None = None) -> Floats:
        """The value (N,) of a policy (N,), by a linear system; approximate after the deadline."""
        n_states = len(self.rewards)
        rows = np.arange(n_states)
        moves = sp.csr_array(self.transitions[actions * n_states + rows])
        return solve_discounted(self.discount * moves, self.rewards[rows, actions], clock, guess)

    def smallest_gain(self, values: Floats) -> float:
        """The gain in one step below which an action counts as no better."""
        return _IMPROVEMENT * max(float(np.finfo(float).tiny), float(np.abs(values).max()))

    def swept(self, values: Floats, clock: Clock) -> Floats:
        """Upper bounds (N,) on the values, lowered by sweeps while they improve and time is left.

        values (N,): at least their own backups, as are the returned values.
        """
        settled = self.smallest_gain(values)
        for _ in range(SWEEPS):
            if clock.over:
                break
            lower = np.minimum(values, self.action_values(values).max(axis=1))
            gain, values = float((values - lower).max()), lower
            if gain <= settled:
                break
        return values

    def from_above(self, most: Floats, clock: Clock) -> tuple[Floats, Floats]:
        """Two values (N,) near the optimum: `most` lowered by `swept`, and the `optimum`.

        The first takes at most half of the time, and the second continues from it. A tiny problem
        is not swept.
        """
        if len(self.rewards) <= TINY:
            return most, self.optimum()[0]
        lowered = self.swept(most, clock.share(0.5))
        return lowered, self.optimum(clock, lowered)[0]

    def optimum(
        self, clock: Clock | None = None, guess: Floats | None = None
    ) -> tuple[Floats, Ints]:
        """The values (N,) and the policy (N,) that policy iteration ended with.

        They are optimal up to rounding, unless the deadline came first: then `action_values` shows
        the possible error. guess (N,): values whose greedy policy is the first.
        """
        clock = clock or no_limits()
        n_states = len(self.rewards)
        rows = np.arange(n_states)
        ahead = self.rewards if guess is None else self.action_values(guess)
        actions = np.where(self.allowed, ahead, -np.inf).argmax(axis=1)
        tried: set[bytes] = set()
        values = guess
        while True:
            tried.add(actions.tobytes())
            values = self.evaluate(actions, clock, values)
            if clock.over:
                return values, actions
            choices = self.action_values(values)
            better = choices.argmax(axis=1)
            gain = choices[rows, better] - choices[rows, actions]
            improved = gain > self.smallest_gain(values)
            following = np.where(improved, better, actions)
            if following.tobytes() in tried:  # nothing improves, or rounding repeats a policy
                return values, actions
            actions = following


def lowest_within(choices: Floats, tolerance: float | Floats) -> Ints:
    """The lowest action whose value is within a tolerance of the best, (N, A) -> (N,).

    tolerance: a number, or one for each row, (N, 1).
    """
    best = choices.max(axis=1, keepdims=True)
    return (choices >= best - tolerance).argmax(axis=1)
