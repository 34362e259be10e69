"""Propensities pi of logged actions: as logged, estimated by counts, or taken as uniform.

Futures are weighted by 1 / pi, because only the consequences of taken actions are observed.
Propensities may be estimated by counts even if they were logged. A context is the last few
interactions; each estimate is shrunk towards that of the context one interaction shorter:

    pi(a | c) = (n(c, a) + s pi(a | shorter c)) / (n(c) + s).

At the first step, c is empty and counts all steps; where the weights of whole episodes are needed
(`PreparedLog.propensities`), the start is a context of its own.

`blind` assumes that all actions are equally likely after every history. This is right for a uniform
policy, and a bias that more data does not remove for a policy that depends on the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rpsr.errors import DataError
from rpsr.io.records import Floats, Ints
from rpsr.logs import Trajectories

Behaviour = Literal["logged", "estimated", "blind"]  # where propensities come from
BEHAVIOURS: tuple[str, ...] = get_args(Behaviour)
SHRINKAGE = 8.0  # s, the weight of the shorter context, in counts
NO_PROPENSITIES = (
    "behaviour 'logged' needs the probability of each logged action, and the log has none: use "
    "'estimated'"
)
MISSING = 0.05  # warn from this share of contexts with an action that was never taken
SOME = 4  # names in a sentence
COMMON = 10  # a common context occurs at least this many times per action


@dataclass(frozen=True)
class Overlap:
    """How well the logged actions cover all actions.

    smallest: the smallest propensity. effective: the effective sample size of the importance
    weights over the number of steps, 1 if all weights are equal; for windows of k actions it is
    about the k-th power of this. unseen: the share of common contexts (the last interaction) after
    which some action was never taken. never: the actions that were taken nowhere, by name. missing:
    for the most frequent such context, the action that was never taken there, and the action and
    observation before it; empty if there is none.
    """

    smallest: float
    effective: float
    unseen: float
    never: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def warning(self) -> str:
        """Which actions the log does not cover, in a line; empty if it covers about all."""
        if self.never:
            return (
                f"no episode takes {some_of(self.never)}: the log has no data on what happens then,"
                " and a plan that does so is a guess"
            )
        if self.unseen < MISSING:
            return ""
        return (
            f"after {self.unseen:.0%} of the frequent interactions, at least one action was never "
            f"taken next{self._example}: the log has no data on what happens then, and a plan that "
            "does so is a guess"
        )

    @property
    def _example(self) -> str:
        if not self.missing:
            return ""
        action, *before = self.missing
        return f", such as {action} after {', '.join(before)}"


def some_of(names: tuple[str, ...]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SOME} more" if len(names) > SOME else ""
    return f"{', '.join(names[:SOME])}{more}"


@dataclass
class Weights:
    """The smallest propensity pi, and sums over steps: of 1 / (A pi), of its square, and of 1."""

    smallest: float = 1.0
    total: float = 0.0
    squares: float = 0.0
    steps: int = 0

    @property
    def effective(self) -> float:
        """The effective sample size over the number of steps; 0 without steps."""
        return self.total**2 / (self.squares * self.steps) if self.steps else 0.0

    def add(self, chances: Floats, n_actions: int, counts: Ints | None = None) -> None:
        """Add propensities, (n,), with multiplicities `counts` (n,), by default 1."""
        often = np.ones(len(chances), dtype=np.int64) if counts is None else counts
        weights = 1.0 / (n_actions * chances)
        self.smallest = min(self.smallest, float(chances.min(initial=1.0)))
        self.total += float(often @ weights)
        self.squares += float(often @ weights**2)
        self.steps += int(often.sum())

    def __add__(self, other: Weights) -> Weights:
        """The weights of both together."""
        smallest = min(self.smallest, other.smallest)
        sums = self.total + other.total, self.squares + other.squares
        return Weights(smallest, *sums, self.steps + other.steps)

    @staticmethod
    def counted(tables: Ints, policies: tuple[Floats, ...]) -> Weights:
        """Of all steps by their longest contexts; tables (lengths, rows, A) of `count_contexts`."""
        weights = Weights()
        n_actions = tables.shape[2]
        for k, policy in enumerate(policies):
            counts = tables[k, : len(policy)]
            if k + 1 < len(policies):  # only those steps that have no longer context
                longer = tables[k + 1, : len(policies[k + 1])]
                counts = counts - longer.reshape(-1, len(policy), n_actions).sum(axis=0)
            taken = counts > 0
            weights.add(policy[taken], n_actions, counts[taken])
        return weights


def unseen_share(follows: Ints) -> float:
    """The share of common contexts, from counts (A * O, A), with an action that was never taken."""
    common = follows[_common(follows)]
    return float((common == 0).any(axis=1).mean()) if len(common) else 0.0


def unseen_case(follows: Ints) -> tuple[int, int] | None:
    """The most frequent common context with an action that was never taken, and that action."""
    missing = _common(follows) & (follows == 0).any(axis=1)
    if not missing.any():
        return None
    context = int(np.where(missing, follows.sum(axis=1), -1).argmax())
    return context, int((follows[context] == 0).argmax())


def _common(follows: Ints) -> NDArray[np.bool_]:
    """Which contexts occur often enough that each action may be expected there."""
    return follows.sum(axis=1) >= COMMON * follows.shape[1]


def code_words(interactions: Ints, offsets: Ints, lengths: int, n_interactions: int) -> Ints:
    """For each step, the code of the k interactions before it, (lengths + 1, L); -1 if fewer."""
    position = np.arange(len(interactions)) - np.repeat(offsets[:-1], np.diff(offsets))
    codes = np.zeros((lengths + 1, len(interactions)), dtype=np.int64)
    digit = 1
    for k in range(1, lengths + 1):
        shifted = np.zeros(len(interactions), dtype=np.int64)
        shifted[k:] = interactions[:-k] if k < len(interactions) else shifted[k:]
        codes[k] = np.where(position >= k, codes[k - 1] + digit * shifted, -1)
        digit *= n_interactions
    return codes


def shrunk_policy(tables: Ints, n_interactions: int) -> tuple[Floats, ...]:
    """pi(a | c) for contexts of 0, 1, 2, ... interactions, each (contexts, A), from counts.

    tables (lengths, rows, A) as `count_contexts` fills them.
    """
    n_actions = tables.shape[2]
    policies: list[Floats] = [np.full((1, n_actions), 1.0 / n_actions)]
    for k, table in enumerate(tables):
        counts = table[: n_interactions**k].astype(np.float64)
        # The highest digit of a code is the oldest interaction: forgetting it is a remainder.
        shorter = policies[-1][np.arange(len(counts)) % len(policies[-1])]
        policies.append(shrunk(counts, shorter))
    return tuple(policies[1:])


def shrunk(counts: Floats, shorter: Floats) -> Floats:
    """pi(a | c) from n(c, a) and from pi(a | shorter c), each (..., A)."""
    return (counts + SHRINKAGE * shorter) / (counts.sum(axis=-1, keepdims=True) + SHRINKAGE)


def propensities(
    log: Trajectories, behaviour: str, tables: tuple[Floats, ...] | None = None
) -> Floats:
    """The propensity of each logged action, (L,); `tables` as `shrunk_policy` gives them."""
    n_actions, n_observations = len(log.action_names), len(log.observation_names)
    if behaviour == "blind":
        return np.full(log.steps, 1.0 / max(n_actions, 1))
    if behaviour == "logged":
        if log.propensities is None:
            raise DataError(NO_PROPENSITIES)
        return log.propensities
    if tables is None:
        raise DataError("estimated propensities need `tables`, counts of actions after contexts")
    n_interactions = n_actions * n_observations
    interactions = log.actions * n_observations + log.observations
    codes = code_words(interactions, log.offsets, len(tables) - 1, n_interactions)
    chances = np.empty(log.steps)
    for table, code in zip(tables, codes, strict=True):  # longer contexts overwrite shorter ones
        known = code >= 0
        chances[known] = table[code[known], log.actions[known]]
    return chances
