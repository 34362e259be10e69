"""The finite POMDP: an immutable value.

Its one stored process is D[a, o], sparse, with D[a, o][s, s'] = Pr(s', o | s, a): the paper's
generative matrix G_ao, transposed, so that beliefs are rows and b D[a, o] is the unnormalised next
belief. It is kept as its two factors, rows of transitions and rows of emissions, because a file
gives those and a writer must give them back to the last bit. Rewards keep their R(s, a, s', o)
form on the possible outcomes; the expected R(s, a) follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints, Record, Rows, frozen
from rpsr.models.labels import Label, index_of
from rpsr.models.numbers import parse_discount
from rpsr.models.operators import (
    MOST_BLOCKS,
    Entries,
    Process,
    Sparse,
    StackedProcess,
    read_only,
)

if TYPE_CHECKING:
    from rpsr.models.linear import LinearModel


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every outcome of positive probability, as parallel arrays of length N, in edge order.

    probability is Pr(s', o | s, a); reward is R(s, a, s', o); reward_index points into the
    model's table of distinct rewards.
    """

    action: Ints
    state: Ints
    next_state: Ints
    observation: Ints
    probability: Floats
    reward: Floats
    reward_index: Ints

    def __post_init__(self) -> None:
        for name, array in vars(self).items():
            object.__setattr__(self, name, frozen(array))


@dataclass(frozen=True, eq=False, repr=False)
class POMDP:
    """A finite POMDP with A actions, S states and O observations.

    Build one from arrays (`POMDP.from_arrays`), from a file (`rpsr.load`) or from a built-in
    domain (`rpsr.domains`). Equal models compare equal and hash alike.

    record: the plain data behind the model.
    """

    record: Record

    @staticmethod
    def from_arrays(
        T: Any,
        O: Any,
        R: Any,
        start: Any = None,
        discount: Fraction | float | str | None = None,
        names: Mapping[str, Any] | None = None,
    ) -> POMDP:
        """A POMDP from arrays; see `rpsr.models.arrays.record_from_arrays` for the shapes."""
        from rpsr.models.arrays import record_from_arrays

        return POMDP(record_from_arrays(T, O, R, start, discount, names))

    # ---- what it is

    @property
    def name(self) -> str:
        """The model's name: of its file, its domain, or what the user gave."""
        return self.record.name

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the S states."""
        return self.record.states

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the A actions."""
        return self.record.actions

    @property
    def observations(self) -> tuple[str, ...]:
        """Names of the O observations."""
        return self.record.observations

    @property
    def discount(self) -> float | None:
        """The discount, or None where the source gave none."""
        return None if self.record.discount is None else float(self.record.discount)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader changed or noticed, one sentence each."""
        return self.record.warnings

    @property
    def exact(self) -> bool:
        """Whether the model is known in rationals, not only in floats."""
        return self.record.exact

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the model's content, equal for equal models."""
        return self.record.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, POMDP) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.actions)} actions"
        known = "exact" if self.exact else "floats"
        return f"<POMDP {self.name!r}: {sizes}, {len(self.observations)} observations, {known}>"

    # ---- its matrices

    @cached_property
    def start(self) -> Floats:
        """The initial belief, (S,)."""
        row = self.record.start
        start = np.zeros(len(self.states))
        start[row.indices] = row.values
        start.setflags(write=False)
        return start

    def transition(self, action: Label) -> Sparse:
        """Pr(s' | s, a) as a sparse (S, S) matrix, rows s."""
        return self._block(self.record.transition, action)

    def emission(self, action: Label) -> Sparse:
        """Pr(o | a, s') as a sparse (S, O) matrix, rows s'.

        Where observations depend on the state left as well, no such matrix exists: a `ModelError`
        says so, and `D` is the thing to use.
        """
        if self.record.emission_by_edge:
            raise ModelError(
                f"{self.name}: observations depend on (s, a, s'), not on (a, s') alone"
            )
        return self._block(self.record.emission, action)

    def _block(self, rows: Rows, action: Label) -> Sparse:
        n = len(self.states)
        first = index_of(self.actions, action, "action") * n
        indptr = rows.indptr[first : first + n + 1]
        span = slice(int(indptr[0]), int(indptr[-1]))
        parts = (rows.values[span], rows.indices[span], indptr - indptr[0])
        return read_only(sp.csr_array(parts, shape=(n, rows.width)))

    @cached_property
    def D(self) -> Process:  # noqa: N802 - the paper's G, transposed
        """D[a][o], sparse (S, S): Pr(s', o | s, a), rows s, columns s'."""
        outcomes, n = self.outcomes, len(self.states)
        shape = (len(self.actions), len(self.observations), n)
        # Keeps (s, s') ascending within each (a, o).
        order = np.argsort(outcomes.action * shape[1] + outcomes.observation, kind="stable")
        entries = Entries(
            action=outcomes.action[order],
            observation=outcomes.observation[order],
            row=outcomes.state[order],
            column=outcomes.next_state[order],
            value=outcomes.probability[order],
        )
        stacked = StackedProcess(entries, shape)
        if shape[0] * shape[1] > MOST_BLOCKS:
            return stacked
        return tuple(tuple(blocks) for blocks in stacked)

    @cached_property
    def outcomes(self) -> Outcomes:
        """All possible (s, a, s', o) with probability and reward, in a fixed order."""
        record, n = self.record, len(self.states)
        edge, entry = record.outcome_entries()
        row = record.transition.row_of_entry()[edge]
        rewards = record.rewards
        return Outcomes(
            action=row // n,
            state=row % n,
            next_state=record.transition.indices[edge],
            observation=record.emission.indices[entry],
            probability=record.transition.values[edge] * record.emission.values[entry],
            reward=rewards.values[rewards.index],
            reward_index=rewards.index,
        )

    @cached_property
    def R(self) -> Floats:  # noqa: N802 - the paper's letter
        """Expected rewards R(s, a), (S, A), summed over possible outcomes only."""
        o, shape = self.outcomes, (len(self.states), len(self.actions))
        cell = o.state * shape[1] + o.action
        summed = np.bincount(cell, o.probability * o.reward, minlength=shape[0] * shape[1])
        # A reward that is the same whatever follows is that reward, not a rounded average of it.
        low, high = np.full(summed.shape, np.inf), np.full(summed.shape, -np.inf)
        np.minimum.at(low, cell, o.reward)
        np.maximum.at(high, cell, o.reward)
        expected = np.where(low == high, low, summed).reshape(shape)
        expected.setflags(write=False)
        return expected

    def exact_rewards(self) -> tuple[tuple[Fraction, ...], ...]:
        """Expected rewards as fractions, S tuples of A; a `ModelError` if known only in floats."""
        return self._exact_rewards

    @cached_property
    def _exact_rewards(self) -> tuple[tuple[Fraction, ...], ...]:
        record, o = self.record, self.outcomes
        if not self.exact or record.rewards.exact is None:
            raise ModelError(f"{self.name} is known only in floats: it has no exact rewards")
        edge, entry = record.outcome_entries()
        table = [[Fraction(0)] * len(self.actions) for _ in self.states]
        chances = _exact_values(record.transition), _exact_values(record.emission)
        earns = np.array([value != 0 for value in record.rewards.exact])
        for k in np.flatnonzero(earns[o.reward_index]).tolist():
            chance = chances[0][edge[k]] * chances[1][entry[k]]
            table[o.state[k]][o.action[k]] += chance * record.rewards.exact[o.reward_index[k]]
        return tuple(tuple(row) for row in table)

    # ---- terminal semantics and variants

    @property
    def resets(self) -> Bools:
        """(A, S): rows the source declared as `reset`, a jump to the start distribution."""
        return self.record.resets

    @cached_property
    def absorbing(self) -> Bools:
        """(S,): states that no action leaves and in which no action earns anything."""
        o = self.outcomes
        busy = (o.next_state != o.state) | (o.reward != 0)
        absorbing = np.ones(len(self.states), dtype=np.bool_)
        absorbing[o.state[busy]] = False
        absorbing.setflags(write=False)
        return absorbing

    def with_discount(self, discount: Fraction | float | str | None) -> POMDP:
        """The same model under another discount, within [0, 1]."""
        return POMDP(replace(self.record, discount=parse_discount(discount)))

    def with_name(self, name: str) -> POMDP:
        """The same model under another name."""
        return POMDP(replace(self.record, name=name))

    def belief_model(self) -> LinearModel:
        """The POMDP as a linear model whose states are beliefs."""
        from rpsr.models.belief import belief_model

        return belief_model(self)


def _exact_values(rows: Rows) -> list[Fraction]:
    assert rows.weights is not None
    totals = rows.totals()[rows.row_of_entry()].tolist()
    return [Fraction(int(w), int(t)) for w, t in zip(rows.weights.tolist(), totals, strict=True)]
