"""The linear controlled model: the one object that belief, PSR, R-PSR and learned models are.

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

from rpsr.errors import ImpossibleObservation, InputError
from rpsr.io.records import Floats
from rpsr.models.domain import Domain, Unknown
from rpsr.models.labels import Label, index_of
from rpsr.models.numbers import parse_discount
from rpsr.models.operators import Operators, own

if TYPE_CHECKING:
    from rpsr.models.filter import Filter


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear controlled model of dimension n with A actions and O observations.

    kind: 'belief', 'psr', 'rpsr', ...; start (n,); normalizer (n,), the e above; rewards (n, A).
    rounding: how far a probability may be off; one at or below it counts as impossible.
    core: names of core tests or intents, n of them or none, and
    coordinates (n, n): their predictions in state x are x @ coordinates.
    provenance: where the model came from, plain JSON values.
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
    core: tuple[str, ...] = ()
    coordinates: Floats | None = None
    provenance: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("start", "normalizer", "rewards", "coordinates"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, own(array))
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
        discount = parse_discount(self.discount)
        object.__setattr__(self, "discount", None if discount is None else float(discount))
        if not 0 <= self.rounding < 1:
            raise InputError(f"rounding: read {self.rounding}, expected a number in [0, 1)")

    @property
    def dimension(self) -> int:
        """The dimension n of the state."""
        return len(self.start)

    def __repr__(self) -> str:
        sizes = f"dimension {self.dimension}, {len(self.actions)} actions"
        return (
            f"<{self.kind} model of {self.name!r}: {sizes}, {len(self.observations)} observations>"
        )

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
        """The state after an interaction, (n,) -> (n,); an impossible one is an error."""
        a = index_of(self.actions, action, "action")
        o = index_of(self.observations, observation, "observation")
        probability = float(x @ self.emissions[a, :, o])
        after = self.operators.left(x[None], a, o)[0]
        mass = float(after @ self.normalizer)  # the same probability, unless products underflow
        if not (probability > self.rounding and mass > 0):
            raise ImpossibleObservation(
                f"observation {self.observations[o]!r} cannot follow action {self.actions[a]!r} "
                f"here: its probability is {max(probability, 0.0):.3g}"
            )
        after = after / mass
        after.setflags(write=False)
        return after

    def filter(self) -> Filter:
        """A filter that keeps the state as interactions come in.

        That of an estimated model survives what it thinks impossible (`RobustFilter`).
        """
        from rpsr.models.filter import Filter, RobustFilter

        return RobustFilter(self) if self.estimated else Filter(self)

    @property
    def estimated(self) -> bool:
        """Whether the model was learned from data, so that what it says may be wrong."""
        return isinstance(self.domain, Unknown) or "estimator" in self.provenance

    def with_discount(self, discount: Fraction | float | str | None) -> LinearModel:
        """The same model under another discount, within [0, 1]."""
        return replace(self, discount=parse_discount(discount))

    def with_rewards(self, rewards: Floats) -> LinearModel:
        """The same process with other rewards, (n, A)."""
        return replace(self, rewards=rewards)
