"""The linear controlled model, the common form of belief, PSR, R-PSR and learned models.

A state x is a row vector in R^n with x e = 1. With operators M[a, o] and rewards R,

    P(o | x, a) = x M[a, o] e      x' = x M[a, o] / P(o | x, a)      r(x, a) = x R[:, a]

and sum_o M[a, o] e = e for every action. A policy's value is linear in x as well:
alpha = R[:, a] + discount * sum_o M[a, o] alpha_o.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rpsr.errors import ImpossibleObservation, InputError, ModelError
from rpsr.io.records import LARGEST_REWARD, Floats, Record
from rpsr.io.variables import Variable
from rpsr.models.domain import NO_CORNERS, Domain
from rpsr.models.labels import Label, index_of
from rpsr.models.numbers import parse_discount
from rpsr.models.operators import Operators, Process, own
from rpsr.showing import Shown, counted, some

if TYPE_CHECKING:
    from rpsr.models.filter import Filter


# In an orthonormal basis, |R| is at most sqrt(S) times the largest reward of a state.
LARGEST_COEFFICIENT = 1e10 * LARGEST_REWARD


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Shown):
    """A linear controlled model of dimension n with A actions and O observations.

    A state is a row vector x with x e = 1. The probability of an observation o after an action a is
    x M[a, o] e, and the next state is x M[a, o] over this probability.

    kind: 'belief', 'psr', 'rpsr', ...; start (n,); normalizer (n,): e; rewards (n, A).
    rounding: a bound on the error of a probability; one at or below it counts as impossible.
    reward_error: a bound on the error of an expected reward at a corner of the domain, beyond
    rounding to a float; planners' bounds allow for it.
    core: names of core tests or intents, n of them or none.
    coordinates (n, n): the predictions of the core in state x are x @ coordinates.
    estimator: the name of the estimator that learned the model; None if it was not learned.
    final: observations that end a task.
    pomdp: the digest of the POMDP whose states are the corners of the domain.
    state_variables: the variables of that POMDP (`POMDP.state_variables`), if it is factored.
    record: the plain data of the POMDP whose beliefs are the states, or None; for exact questions
    on the process. The rewards may be others (`with_rewards`).
    provenance: further information on the model's origin, plain JSON values, for people only.
    """

    kind: str
    name: str
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    start: Floats
    operators: Operators
    normalizer: Floats
    rewards: Floats
    discount: float | None
    domain: Domain
    rounding: float = 0.0
    reward_error: float = 0.0
    core: tuple[str, ...] = ()
    coordinates: Floats | None = None
    estimator: str | None = None
    final: tuple[str, ...] = ()
    pomdp: str | None = None
    state_variables: tuple[Variable, ...] = ()
    record: Record | None = None
    provenance: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("start", "normalizer", "rewards", "coordinates"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, own(array, name))
        n_actions, n_observations, n = self.operators.shape
        expected = {
            "actions": (len(self.actions), n_actions),
            "observations": (len(self.observations), n_observations),
            "start": (self.start.shape, (n,)),
            "normalizer": (self.normalizer.shape, (n,)),
            "rewards": (self.rewards.shape, (n, n_actions)),
        }
        for what, (given, wanted) in expected.items():
            if given != wanted:
                raise InputError(f"{what}: read shape {given}, expected {wanted}")
        unknown = [name for name in self.final if name not in self.observations]
        if unknown:
            raise InputError(f"final: read {unknown[0]!r}, expected the name of an observation")
        large = np.argwhere(np.abs(self.rewards) > LARGEST_COEFFICIENT)
        if len(large):
            i, a = large[0].tolist()
            read = f"entry ({i}, {a}), of action {self.actions[a]!r}, is {self.rewards[i, a]}"
            raise InputError(
                f"rewards: {read}, expected an absolute value of at most {LARGEST_COEFFICIENT:.0e}"
            )
        discount = parse_discount(self.discount)
        object.__setattr__(self, "discount", None if discount is None else float(discount))
        if not 0 <= self.rounding < 1:
            raise InputError(f"rounding: read {self.rounding}, expected a number in [0, 1)")
        if not 0 <= self.reward_error < np.inf:
            expected = "expected a number of at least 0"
            raise InputError(f"reward_error: read {self.reward_error}, {expected}")

    @property
    def dimension(self) -> int:
        """The dimension n of the state."""
        return len(self.start)

    @property
    def rank(self) -> int:
        """The dimension n, by the name it has for PSRs and R-PSRs."""
        return self.dimension

    @property
    def U(self) -> Floats:  # noqa: N802 - the paper's letter
        """The outcome matrix of a PSR or R-PSR, (S, n): a row per state, a column per core member.

        A `ModelError` if the model has no core set or its domain has no known corners.
        """
        if self.coordinates is None:
            cause = f"a {self.kind} model has no core tests or intents"
            raise ModelError(f"{cause}, so it has no outcome matrix")
        if self.domain.points is None:
            raise ModelError(
                "the outcome matrix needs the states of the POMDP, which this model does not have"
            )
        return self.domain.points @ self.coordinates

    @property
    def corner_kernel(self) -> Process:
        """Moved corners as mixtures of corners, sparse (k, k) per action and observation.

        A `ModelError` if the domain is unknown.
        """
        if self.domain.kernel is not None:
            return self.domain.kernel
        if not self.domain.known:
            raise ModelError(NO_CORNERS)
        return self.operators.as_process()

    def title(self) -> str:
        """A description in one line."""
        return (
            f"{self.kind} model of {self.name!r}: dimension {self.dimension}, "
            f"{counted(len(self.actions), 'action')}, "
            f"{counted(len(self.observations), 'observation')}"
        )

    def facts(self) -> list[tuple[str, str]]:
        """Names, discount and core, for people."""
        core = [("core", some(self.core))] if self.core else []
        return [
            ("actions", some(self.actions)),
            ("observations", some(self.observations)),
            ("discount", "none" if self.discount is None else f"{self.discount:g}"),
            *core,
            *([] if self.estimator is None else [("learned by", self.estimator)]),
        ]

    def origin(self) -> dict[str, Any]:
        """Where the model came from, in plain JSON values for people: its provenance and fields."""
        known: dict[str, Any] = {} if self.pomdp is None else {"pomdp": self.pomdp}
        if self.estimator is not None:
            known |= {"estimator": self.estimator, "final": list(self.final)}
        return known | self.provenance

    @cached_property
    def emissions(self) -> Floats:
        """M[a, o] e, (A, n, O): x @ emissions[a] is P(. | x, a)."""
        emissions = self.operators.emissions(self.normalizer)
        emissions.setflags(write=False)
        return emissions

    def predict(self, x: Floats, action: Label) -> Floats:
        """Probabilities of the observations after an action, (n,) -> (O,)."""
        return x @ self.emissions[index_of(self.actions, action, "action")]

    def expected_rewards(self, x: Floats) -> Floats:
        """Expected reward of every action, (n,) -> (A,)."""
        return x @ self.rewards

    def update(self, x: Floats, action: Label, observation: Label) -> Floats:
        """The state after an interaction, (n,) -> (n,); an error if it is impossible."""
        a = index_of(self.actions, action, "action")
        o = index_of(self.observations, observation, "observation")
        probability = float(x @ self.emissions[a, :, o])
        after, mass = self.moved(x, a, o)  # mass is the probability, unless products underflow
        if not (probability > self.rounding and mass > 0):
            raise ImpossibleObservation(
                f"observation {self.observations[o]!r} cannot follow action {self.actions[a]!r} "
                f"here: its probability is {max(probability, 0.0):.3g}"
            )
        after = after / mass
        after.setflags(write=False)
        return after

    def moved(self, states: Floats, action: int, observation: int) -> tuple[Floats, Any]:
        """The filter step before the division: x M[a, o], and its mass x M[a, o] e = P(o | x, a).

        For one state, (n,) -> (n,) and a number; for a batch, (B, n) -> (B, n) and (B,). The caller
        decides which outcomes count as impossible.
        """
        if states.ndim == 1:
            after = self.operators.left(states[None], action, observation)[0]
            return after, float(after @ self.normalizer)
        after = self.operators.left(states, action, observation)
        return after, after @ self.normalizer

    def filter(self) -> Filter:
        """A filter that tracks the state along a history.

        For an estimated model, the filter accepts observations of probability zero
        (`RobustFilter`).
        """
        from rpsr.models.filter import Filter, RobustFilter

        return RobustFilter(self) if self.estimated else Filter(self)

    @property
    def estimated(self) -> bool:
        """Whether the model was learned from data, so that its predictions may be wrong."""
        return not self.domain.known or self.estimator is not None

    def with_discount(self, discount: Fraction | float | str | None) -> LinearModel:
        """The same model under another discount, within [0, 1]."""
        return replace(self, discount=parse_discount(discount))

    def with_rewards(self, rewards: Floats) -> LinearModel:
        """The same process with other rewards, (n, A), taken as exact."""
        return replace(self, rewards=rewards, reward_error=0.0)
