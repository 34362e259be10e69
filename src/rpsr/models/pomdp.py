"""The finite POMDP: an immutable value.

The process is D[a, o], sparse, with D[a, o][s, s'] = Pr(s', o | s, a): the paper's generative
matrix G_ao, transposed, so that beliefs are rows and b D[a, o] is the unnormalised next belief. It
is stored as two factors, rows of transitions and rows of emissions, because files hold those and
the writer must reproduce them to the last bit. Rewards are stored as R(s, a, s', o) for the
possible outcomes; the expected R(s, a) is computed from them.
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
from rpsr.io.records import Bools, Floats, Integers, Ints, Record, Rows, frozen, ratios
from rpsr.io.variables import Variable
from rpsr.models.expectations import exact_expectations, float_expectations
from rpsr.models.labels import Label, index_of
from rpsr.models.numbers import parse_discount
from rpsr.models.operators import (
    MOST_BLOCKS,
    MOST_POINTERS,
    Entries,
    Process,
    Sparse,
    StackedProcess,
    read_only,
)
from rpsr.showing import Shown, counted, some

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
class POMDP(Shown):
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
        *,
        name: str = "arrays",
        exact: bool = False,
    ) -> POMDP:
        """A POMDP from arrays; errors name the array and the place.

        T: P(s' | s, a) as (A, S, S) = [a, s, s'], (S, A, S) = [s, a, s'], or a list of A matrices
        (S, S), dense or sparse. O: P(o | a, s') as (A, S, O) = [a, s', o], or P(o | s, a, s') as
        (S, A, S, O) = [s, a, s', o]. R: rewards as (S,), (S, A), (A, S), (A, S, S) = [a, s, s'],
        (S, A, S), (A, S, S, O) = [a, s, s', o] or (S, A, S, O). If A = S makes two shapes equal,
        the one listed first is meant. start (S,): probabilities; uniform by default. discount:
        between 0 and 1, or None. names: may give 'states', 'actions' and 'observations'. name: the
        model's name.

        Each row of T and O is divided by its sum; a sum that differs from 1 by more than 1e-5 is an
        error. exact: read each float as its shortest decimal, 0.1 as 1/10. The model is then known
        in rationals, which exact functions need, such as those that take a core set of your own.
        """
        from rpsr.models.arrays import record_from_arrays

        record = record_from_arrays(T, O, R, start, discount, names, name=name, exact=exact)
        return POMDP(record)

    # ---- description

    @property
    def name(self) -> str:
        """The model's name: of its file or domain, or as given by the user."""
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
    def state_variables(self) -> tuple[Variable, ...]:
        """The variables whose joint values the states are, the first varying slowest; () if none.

        The value of one that is `observed` is part of every observation.
        """
        return self.record.state_variables

    @property
    def labels(self) -> dict[str, tuple[int, ...]]:
        """Sets of states that the source names: the indices of their states, ascending."""
        return dict(self.record.labels)

    @property
    def unavailable(self) -> Bools | None:
        """(A, S): the actions that may not be taken in a state; None if all may.

        In the model, such an action does what the first available action of the state does. So
        values, bounds and plans are those of the source.
        """
        return self.record.unavailable

    @property
    def discount(self) -> float | None:
        """The discount, or None if the source has none."""
        return None if self.record.discount is None else float(self.record.discount)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reader's warnings, one sentence each."""
        return self.record.warnings

    @property
    def exact(self) -> bool:
        """Whether the model is known in rationals, not only in floats."""
        return self.record.exact

    @cached_property
    def digest(self) -> str:
        """A hash of the model's content, equal for equal models."""
        return self.record.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, POMDP) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def title(self) -> str:
        """A description in one line."""
        names = {"state": self.states, "action": self.actions, "observation": self.observations}
        sizes = ", ".join(counted(len(items), noun) for noun, items in names.items())
        return f"POMDP {self.name!r}: {sizes}, {'exact' if self.exact else 'floats'}"

    def facts(self) -> list[tuple[str, str]]:
        """Names, discount, rewards and the start, for people."""
        rewards = self.record.rewards.values
        start = np.flatnonzero(self.start)
        return [
            ("states", some(self.states)),
            ("actions", some(self.actions)),
            ("observations", some(self.observations)),
            ("discount", "none" if self.discount is None else f"{self.discount:g}"),
            ("rewards", f"{rewards.min():g} to {rewards.max():g}" if len(rewards) else "none"),
            (
                "start",
                self.states[start[0]] if len(start) == 1 else counted(len(start), "possible state"),
            ),
        ]

    def inexact(self, consequence: str) -> ModelError:
        """The error where an exact model is needed, with the consequence and a remedy."""
        return ModelError(
            f"{self.name} is known only in floats: {consequence}; "
            "in Python, from_arrays(..., exact=True) reads floats as the decimals they print as"
        )

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

        A `ModelError` if observations also depend on the previous state: no such matrix exists;
        use `D`.
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
        blocks = shape[0] * shape[1]
        if blocks > MOST_BLOCKS or blocks * n > max(MOST_POINTERS, len(entries.value)):
            return stacked
        return tuple(tuple(blocks) for blocks in stacked)

    @cached_property
    def outcomes(self) -> Outcomes:
        """All possible (s, a, s', o) with probability and reward, in a fixed order."""
        record, rewards = self.record, self.record.rewards
        edge, entry = record.outcome_entries()
        return Outcomes(
            **record.outcome_cells(edge, entry)._asdict(),
            probability=record.transition.values[edge] * record.emission.values[entry],
            reward=rewards.values[rewards.index],
            reward_index=rewards.index,
        )

    @cached_property
    def R(self) -> Floats:  # noqa: N802 - the paper's letter
        """Expected rewards R(s, a), (S, A), over possible outcomes only.

        Correctly rounded where the model is exact; elsewhere `reward_error` bounds their error.
        """
        if self._expectations is None:
            summed, _ = float_expectations(self.record)
        else:
            summed = ratios(*self._expectations)
        expected = np.ascontiguousarray(summed.reshape(len(self.actions), len(self.states)).T)
        expected.setflags(write=False)
        return expected

    @cached_property
    def reward_error(self) -> float:
        """A bound on the error of an entry of R, beyond rounding to a float; 0 if exact."""
        return 0.0 if self.exact else float_expectations(self.record)[1]

    def exact_rewards(self) -> tuple[tuple[Fraction, ...], ...]:
        """Expected rewards as fractions, S tuples of A; a `ModelError` if known only in floats."""
        return self._exact_rewards

    @cached_property
    def _exact_rewards(self) -> tuple[tuple[Fraction, ...], ...]:
        if self._expectations is None:
            raise self.inexact("it has no exact rewards")
        sizes, n = zip(*(x.tolist() for x in self._expectations), strict=True), len(self.states)
        flat = [Fraction(above, below) for above, below in sizes]
        return tuple(tuple(flat[s::n]) for s in range(n))

    @cached_property
    def _expectations(self) -> tuple[Integers, Integers] | None:
        return exact_expectations(self.record) if self.exact else None

    # ---- terminal semantics and variants

    @property
    def resets(self) -> Bools:
        """(A, S): rows the source declared as `reset`, a jump to the start distribution."""
        return self.record.resets

    @cached_property
    def absorbing(self) -> Bools:
        """(S,): states that no action leaves and in which every reward is 0."""
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

    def with_plain_names(self) -> POMDP:
        """The same model with states s0, s1, ..., actions a0, ... and observations o0, ..."""
        names = {
            kind: tuple(f"{kind[0]}{i}" for i in range(len(getattr(self, kind))))
            for kind in ("states", "actions", "observations")
        }
        return POMDP(replace(self.record, **names))

    def belief_model(self) -> LinearModel:
        """The POMDP as a linear model whose states are beliefs."""
        from rpsr.models.belief import belief_model

        return belief_model(self)
