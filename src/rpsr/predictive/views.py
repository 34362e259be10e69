"""A predictive model read in its core's coordinates: the paper's own quantities.

The model computes with x in an orthonormal basis. With T = `model.coordinates`,

    p(h) or r(h) = x T      m_q = T^-1 v(q)      M_ao = T^-1 M[a,o] T      R = T^-1 rewards

where v(q) is the model's own vector of a future: v(empty, zeta) = e, v(empty, a) = rewards[:, a],
v(aoq) = M[a,o] v(q). T may be ill-conditioned: these quantities may lose log10(condition_number)
digits. Filtering and prediction do not use T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.models.labels import Label, index_of
from rpsr.models.linear import LinearModel
from rpsr.predictive.futures import ZETA, Future, Intent, Test, Token, parse_future

WORST_CONDITION = 1e12  # beyond this, fewer than four digits are correct
History = Test | Sequence[tuple[Label, Label]]


def state_after(model: LinearModel, history: History | str) -> Floats:
    """The model's state after a history, given as a test, as its text, or as pairs; (n,)."""
    filter_ = model.filter()
    for action, observation in _pairs(history):
        filter_.update(action, observation)
    return filter_.state


def future_vector(model: LinearModel, future: Future | str) -> Floats:
    """v with p(q|h) = x v for a test, r(qz|h) = x v for an intent, (n,)."""
    parsed = parse_future(future) if isinstance(future, str) else future
    test = parsed.test if isinstance(parsed, Intent) else parsed
    action = parsed.action if isinstance(parsed, Intent) else ZETA
    if isinstance(action, Token):
        vector = model.normalizer
    else:
        vector = model.rewards[:, index_of(model.actions, action, "action")]
    for step in reversed(test.interactions):
        a = index_of(model.actions, step.action, "action")
        o = index_of(model.observations, step.observation, "observation")
        vector = model.operators.right(vector[None], a, o)[0]
    return vector


def expect(model: LinearModel, future: Future | str, history: History | str = ()) -> float:
    """p(q|h), the probability of a test, or r(qz|h), the reward of an intent, after a history."""
    return float(state_after(model, history) @ future_vector(model, future))


def _pairs(history: History | str) -> list[tuple[Label, Label]]:
    if isinstance(history, str):
        history = Test.parse(history)
    if isinstance(history, Test):
        return [(step.action, step.observation) for step in history.interactions]
    return list(history)


@dataclass(frozen=True, eq=False)
class CoreView:
    """The paper's parameters of a PSR or R-PSR of rank n."""

    model: LinearModel

    def __post_init__(self) -> None:
        if self.model.coordinates is None:
            raise ModelError(f"a {self.model.kind} model has no core set, so no core coordinates")

    @property
    def _coordinates(self) -> Floats:
        assert self.model.coordinates is not None
        return self.model.coordinates

    @cached_property
    def condition_number(self) -> float:
        """The condition number of U and of T; log10 of it is the digits that may be lost below."""
        return float(np.linalg.cond(self._coordinates))

    @property
    def U(self) -> Floats:  # noqa: N802 - the paper's letter
        """The outcome matrix, (S, n): a row per state, a column per core test or intent."""
        return self.model.U

    def state(self, x: Floats) -> Floats:
        """p(h) or r(h): the core predictions in a state, (n,) -> (n,)."""
        return x @ self._coordinates

    def m(self, future: Future | str) -> Floats:
        """The parameter vector m_q or m_qz of any test or intent, (n,)."""
        return self._read(future_vector(self.model, future))

    def M(self, action: Label, observation: Label) -> Floats:  # noqa: N802
        """M_ao, (n, n): the parameters of the core's extensions, a column per member."""
        a = index_of(self.model.actions, action, "action")
        o = index_of(self.model.observations, observation, "observation")
        moved = self.model.operators.right(self._coordinates.T, a, o).T
        return self._read(moved)

    @cached_property
    def R(self) -> Floats:  # noqa: N802
        """The reward matrix in core coordinates, (n, A)."""
        return self._read(self.model.rewards)

    def _read(self, columns: Floats) -> Floats:
        return in_coordinates(self._coordinates, columns)


def in_coordinates(coordinates: Floats, columns: Floats) -> Floats:
    """T^-1 columns, for T = `coordinates`; a `ModelError` if floats cannot invert T."""
    condition = float(np.linalg.cond(coordinates))
    if not condition <= WORST_CONDITION:
        raise ModelError(
            f"the outcome matrix U has condition number {condition:.2g}, too large for core "
            "coordinates in floats; use the model's own coordinates instead"
        )
    return np.asarray(np.linalg.solve(coordinates, columns), dtype=np.float64)
