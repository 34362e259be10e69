"""Planning on a smaller model of the same problem; solutions are lifted to the original.

Two reductions, neither of which changes the value at the start: states of the POMDP that no
history visits are dropped, and the rest is replaced by its observable quotient (see
`rpsr.predictive.reduction`). The corners of the quotient are the kept states, so bounds are proven
as on beliefs. Equal states become one corner.

A vector alpha of the quotient has the values Q alpha at the kept states. At the others, which have
probability 0 in every belief reached from the start, its value is set to the least possible return,
so that it is at most the optimal value everywhere. A precision that was proven over the quotient's
domain holds for beliefs over the kept states.

When it pays: the cost of planning depends on the dimension and on the nonzeros of a state.
`aloha.30` has 90 states and a quotient of dimension 30. `iff` has 104 states and a quotient of
dimension 57, but its beliefs have about 17 nonzeros and its quotient's states 57. `Saved` has both
dimensions and both counts, so users can decide before planning.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from rpsr.io.records import LARGEST_VALUE, Ints, Record, Rewards, Rows
from rpsr.models.as_model import as_pomdp
from rpsr.models.linear import LinearModel
from rpsr.models.operators import FactoredOperators, Operators, SparseOperators
from rpsr.models.pomdp import POMDP
from rpsr.planning.solution import Solution
from rpsr.planning.value.value_function import ValueFunction
from rpsr.predictive.reach import reachable_states
from rpsr.predictive.reduction import Reduction, observable_quotient


@dataclass(frozen=True)
class Saved:
    """Sizes before and after compression.

    states: of the POMDP. reached: states that some history visits. dimension: of the smaller model.
    nonzeros, nonzeros_after: numbers stored in the operators before and after.
    """

    states: int
    reached: int
    dimension: int
    nonzeros: int
    nonzeros_after: int

    def __str__(self) -> str:
        return (
            f"{self.states} states, {self.reached} of them reachable, merged to dimension "
            f"{self.dimension}; nonzeros in the operators: {self.nonzeros} before, "
            f"{self.nonzeros_after} after"
        )


@dataclass(frozen=True, eq=False)
class Compressed:
    """A POMDP made smaller. Plan on `model`, then `lift` the solution.

    kept (S',): the states of the POMDP that are reached.
    """

    pomdp: POMDP
    kept: Ints
    reduction: Reduction
    saved: Saved

    @property
    def model(self) -> LinearModel:
        """The smaller model."""
        return self.reduction.model

    def lift(self, solution: Solution) -> Solution:
        """A solution on the smaller model as one on the POMDP's beliefs."""
        model = self.pomdp.belief_model()
        return replace(
            solution,
            model=model,
            value_function=self._up(solution.value_function, solution.horizon, model),
            stages=tuple(
                self._up(stage, step, model) for step, stage in enumerate(solution.stages, 1)
            ),
            extras={**solution.extras, "faces": None, "compressed": asdict(self.saved)},
            points=None,  # they are mixtures of the smaller model's corners
        )

    def _up(self, values: ValueFunction, horizon: int | None, model: LinearModel) -> ValueFunction:
        """Vectors of the smaller model at the POMDP's states, (K, n) -> (K, S).

        A look-ahead on the smaller model becomes one on the POMDP's beliefs.
        """
        least = self._least(horizon)
        out = np.full((len(values), len(self.pomdp.states)), least)
        out[:, self.kept] = self.reduction.lift(values.vectors)
        return replace(values, vectors=out, ahead=None if values.ahead is None else model)

    def _least(self, horizon: int | None) -> float:
        """A number below every return; without a discount, negative rewards may add up to any."""
        discount, least = self.pomdp.discount, float(self.pomdp.R.min())
        if horizon is not None:
            return least * sum((1.0 if discount is None else discount) ** t for t in range(horizon))
        if discount is None or discount >= 1:
            return 0.0 if least >= 0 else -LARGEST_VALUE
        return least / (1 - discount)


def compress(pomdp: POMDP) -> Compressed:
    """Drop the unreachable states of a POMDP, and merge states that no observation distinguishes.

    Neither changes the value at the start. The result lifts solutions back to the POMDP.
    """
    pomdp = as_pomdp(pomdp)
    kept = np.flatnonzero(reachable_states(pomdp))
    reduction = observable_quotient(restricted(pomdp, kept))
    saved = Saved(
        len(pomdp.states),
        len(kept),
        reduction.model.dimension,
        sum(matrix.nnz for row in pomdp.D for matrix in row),
        _nonzeros(reduction.model.operators),
    )
    return Compressed(pomdp, kept, reduction, saved)


def restricted(pomdp: POMDP, kept: Ints) -> POMDP:
    """The POMDP on a closed subset of its states, ascending; exact if the POMDP is."""
    record, n_states = pomdp.record, len(pomdp.states)
    if len(kept) == n_states:
        return pomdp
    place = np.full(n_states, -1)
    place[kept] = np.arange(len(kept))
    rows = (np.arange(len(pomdp.actions))[:, None] * n_states + kept).ravel()
    edge, _ = record.outcome_entries()
    stays = np.isin(record.transition.row_of_entry(), rows)
    emission = np.flatnonzero(stays) if record.emission_by_edge else rows
    old = record.rewards
    return POMDP(
        Record(
            name=record.name,
            states=tuple(record.states[s] for s in kept.tolist()),
            actions=record.actions,
            observations=record.observations,
            discount=record.discount,
            start=_selected(record.start, np.array([0]), len(kept), place),
            transition=_selected(record.transition, rows, len(kept), place),
            emission=_selected(record.emission, emission, len(record.observations), None),
            emission_by_edge=record.emission_by_edge,
            rewards=Rewards(old.values, old.index[stays[edge]], old.exact),
            resets=record.resets[:, kept],
            labels=tuple(
                (name, tuple(int(place[s]) for s in states if place[s] >= 0))
                for name, states in record.labels
            ),
            unavailable=None if record.unavailable is None else record.unavailable[:, kept],
        )
    )


def _selected(rows: Rows, kept: Ints, width: int, place: Ints | None) -> Rows:
    """Some rows, their columns renumbered by `place`."""
    entries = np.flatnonzero(np.isin(rows.row_of_entry(), kept))
    indices = rows.indices[entries]
    return Rows(
        width,
        np.append(0, np.cumsum(np.diff(rows.indptr)[kept])).astype(np.int64),
        indices if place is None else place[indices],
        rows.values[entries],
        None if rows.weights is None else rows.weights[entries],
        None if rows.digits is None else rows.digits[kept],
    )


def _nonzeros(operators: Operators) -> int:
    """How many numbers the operators store."""
    match operators:
        case SparseOperators(process=process):
            return sum(matrix.nnz for row in process for matrix in row)
        case FactoredOperators(basis=basis, process=process):
            return basis.size + sum(matrix.nnz for row in process for matrix in row)
        case _:
            n_actions, n_observations, _ = operators.shape
            return sum(
                int(np.count_nonzero(operators.matrix(a, o)))
                for a in range(n_actions)
                for o in range(n_observations)
            )
