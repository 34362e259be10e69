"""Policies of several kinds that play in a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rpsr.envs.labels import Labels, named_like
from rpsr.errors import InputError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.models.renaming import END, OTHER, with_other
from rpsr.planning.as_policy import UNIFORM, as_policy
from rpsr.planning.value.controllers import ControllerPolicy
from rpsr.planning.value.policies import AlphaPolicy, Policy
from rpsr.planning.value.trees import TreePolicy
from rpsr.showing import some

MOST_ACTIONS = 2**16  # of an environment in which a policy of rpsr plays


class Player(Protocol):
    """Chooses codes of actions; propensity: the probability of each, if it is always the same."""

    propensity: float | None

    def begin(self, observation: Any, code: int) -> None:
        """Begin an episode with the observation before the first action."""
        ...

    def act(self) -> int:
        """The code of the next action."""
        ...

    def update(self, action: int, observation: Any, code: int) -> None:
        """Receive the observation after an action, as a value and as a code."""
        ...


def player(policy: Any, actions: Labels, observations: Labels, rng: np.random.Generator) -> Player:
    """A player for anything that stands for a policy."""
    if isinstance(policy, str) and policy == UNIFORM:
        return _Uniform(actions, rng)
    plain = callable(policy) and not hasattr(policy, "act") and not hasattr(policy, "policy")
    if plain and not isinstance(policy, type):
        choose: Any = policy
        return _Function(choose, actions)
    if isinstance(policy, str):
        raise InputError(f"policy: read {policy!r}, expected {UNIFORM!r}, a function or a policy")
    return _Following(as_policy(policy, None), actions, observations)  # pyright: ignore


class _Uniform:
    """Uniformly random actions."""

    def __init__(self, actions: Labels, rng: np.random.Generator) -> None:
        self._size, self._rng = actions.size, rng
        self.propensity: float | None = 1 / actions.size

    def begin(self, observation: Any, code: int) -> None: ...

    def act(self) -> int:
        return int(self._rng.integers(self._size))

    def update(self, action: int, observation: Any, code: int) -> None: ...


class _Function:
    """A function from the last observation to an action."""

    propensity: float | None = None

    def __init__(self, choose: Callable[[Any], Any], actions: Labels) -> None:
        self._choose, self._actions = choose, actions
        self._observation: Any = None

    def begin(self, observation: Any, code: int) -> None:
        self._observation = observation

    def act(self) -> int:
        return self._actions.code(self._choose(self._observation))

    def update(self, action: int, observation: Any, code: int) -> None:
        self._observation = observation


class _Following:
    """A policy of rpsr, matched by names.

    A policy planned on a learned model may meet observations that the model does not know: they
    carry no information.
    """

    propensity: float | None = None

    def __init__(self, policy: Policy, actions: Labels, observations: Labels) -> None:
        self._known: frozenset[str] | None = None
        if isinstance(policy, AlphaPolicy):
            model = with_other(policy.model)
            policy = AlphaPolicy(model, policy.vectors, policy.epsilon, actions=policy.actions)
            self._known = frozenset(model.observations)
        self._policy = policy
        self._actions, self._observations = actions, observations
        if actions.size > MOST_ACTIONS:
            raise InputError(f"action_space: {actions.space} has more than {MOST_ACTIONS} actions")
        self._codes = {actions.name(code): code for code in range(actions.size)}
        self._names = _action_names(self._policy, tuple(self._codes))
        strange = [name for name in self._names if name not in self._codes]
        if strange:
            raise InputError(
                f"policy: the environment has no action {strange[0]!r} of the policy; the "
                f"environment's actions are {', '.join(self._codes)}"
                f"{named_like(actions, self._names)}"
            )
        seen = observations.names
        if self._known and seen is not None and not self._known.intersection(seen):
            names = tuple(sorted(self._known - {END, OTHER}))
            raise InputError(
                "policy: the environment has none of the policy's observations; the environment's "
                f"observations are {some(seen)}{named_like(observations, names)}"
            )

    def begin(self, observation: Any, code: int) -> None:
        self._policy.reset()

    def act(self) -> int:
        return self._codes[self._names[self._policy.act()]]

    def update(self, action: int, observation: Any, code: int) -> None:
        self._policy.update(self._actions.name(action), self._name(code))

    def _name(self, code: int) -> str:
        name = self._observations.name(code)
        unknown = self._known is not None and name not in self._known and OTHER in self._known
        return OTHER if unknown else name


def _action_names(policy: Policy, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a policy's actions, in the order of its indices."""
    if isinstance(policy, ControllerPolicy):
        return policy.controller.action_names
    if isinstance(policy, TreePolicy):
        return policy.tree.action_names
    model = getattr(policy, "model", None)
    return model.actions if isinstance(model, POMDP | LinearModel) else otherwise
