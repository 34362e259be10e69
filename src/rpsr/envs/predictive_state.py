"""A wrapper that replaces observations by the state of a model."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from rpsr.envs.labels import Labels, named_like
from rpsr.envs.system import Source, opened
from rpsr.errors import ImpossibleObservation, InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.as_model import as_linear
from rpsr.models.filter_batch import filter_batch
from rpsr.models.linear import LinearModel
from rpsr.models.renaming import END, OTHER, with_other


class Reader:
    """Filters B episodes of an environment with a model of the same names.

    An observation unknown to a learned model carries no information: the state moves as the mean
    over observations. A model that was not learned must know all of them.
    """

    def __init__(
        self, env: Any, model: Source, batch: int, *, core: bool = False, initial: str = "drop"
    ) -> None:
        if initial not in ("drop", "step"):
            raise InputError(f"initial: read {initial!r}, expected 'drop' or 'step'")
        self._first = initial == "step"
        vector = isinstance(env, VectorEnv)
        self._actions = Labels(env.single_action_space if vector else env.action_space, "action")
        space = env.single_observation_space if vector else env.observation_space
        self._observations = Labels(space, "observation")
        linear = as_linear(opened(model))
        self._check(linear)
        self.model = linear = with_other(linear)
        if core and linear.coordinates is None:
            origin = f" (learned by {linear.estimator})" if linear.estimator else ""
            cause = f"a {linear.kind} model{origin} has no core tests or intents"
            raise ModelError(f"core: {cause}; leave out core=True")
        self._coordinates = linear.coordinates if core else None
        self._index = {
            "action": {name: i for i, name in enumerate(linear.actions)},
            "observation": {name: i for i, name in enumerate(linear.observations)},
        }
        self._batch = batch
        self._filter = filter_batch(linear, batch)

    def _check(self, model: LinearModel) -> None:
        """Refuse a model with other names."""
        names = self._actions.names
        strange = [name for name in names or () if name not in model.actions]
        if strange:
            raise InputError(
                f"model: the environment has action {strange[0]!r}, which the model lacks; the "
                f"model's actions are {', '.join(model.actions)}"
                f"{named_like(self._actions, model.actions)}"
            )
        names = self._observations.names
        if names is not None:
            strange = [name for name in model.observations if name not in (*names, END, OTHER)]
            if strange:
                known = tuple(name for name in model.observations if name not in (END, OTHER))
                raise InputError(
                    f"model: the model has observation {strange[0]!r}, which the environment lacks"
                    f"{named_like(self._observations, known)}"
                )

    @property
    def space(self) -> Box:
        """The space of the states."""
        n = self.model.dimension
        simplex = self.model.domain.beliefs and self._coordinates is None
        low, high = (0.0, 1.0) if simplex else (-np.inf, np.inf)
        return Box(low, high, (n,), np.float64)

    @property
    def states(self) -> Floats:
        """The states, or the predictions of the core, (B, n)."""
        x = self._filter.states
        return x.copy() if self._coordinates is None else x @ self._coordinates

    def codes(self, observations: Any) -> Ints:
        """The codes of the environment's observations, (B,)."""
        return self._observations.codes(observations, self._batch)

    def final_codes(self, observations: Any, which: Bools) -> Ints:
        """The codes of last observations, an array of objects, where they exist, (B,)."""
        codes = np.zeros(self._batch, dtype=np.int64)
        codes[which] = self._observations.codes_of(observations[which])
        return codes

    def begin(self, codes: Ints, which: Bools | None = None) -> None:
        """Begin some of the episodes, by default all, with their first observations."""
        rows = np.arange(self._batch) if which is None else np.flatnonzero(which)
        self._filter.restart(rows)
        if self._first:
            # In the log every first action has the same effect.
            self._update(np.zeros(self._batch, dtype=np.int64), codes, rows)

    def step(self, actions: Any, codes: Ints, which: Bools | None = None) -> None:
        """Update some of the episodes, by default all, with one interaction each."""
        rows = np.arange(self._batch) if which is None else np.flatnonzero(which)
        taken = self._indices(self._actions.codes(actions, self._batch), self._actions)
        self._update(taken, codes, rows)

    def _update(self, actions: Ints, codes: Ints, rows: Ints) -> None:
        seen = self._indices(codes, self._observations)
        unknown = rows[seen[rows] < 0]
        if len(unknown):
            name = self._observations.name(int(codes[unknown[0]]))
            raise InputError(
                f"model: the environment returned observation {name!r}, which the model lacks"
            )
        possible = self._filter.update(actions, seen, rows)
        if not possible.all():
            i = int(possible.argmin())
            action, name = self.model.actions[actions[i]], self.model.observations[seen[i]]
            raise ImpossibleObservation(
                f"the environment returned observation {name!r} after action {action!r}, which has "
                "probability 0 in the model: it is a model of another environment; give another "
                "model, or record episodes and learn one"
            )

    def _indices(self, codes: Ints, labels: Labels) -> Ints:
        """Codes of the environment's values as indices of the model, -1 for unknown ones."""
        kinds, where = np.unique(codes, return_inverse=True)
        index = self._index[labels.kind]
        known = [index.get(labels.name(code), index.get(OTHER, -1)) for code in kinds.tolist()]
        return np.array(known, dtype=np.int64)[where]


class PredictiveState(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Observations become the state of a model: a belief, a PSR's, an R-PSR's or a learned one.

    The environment, single or vectorised, must have the names of the model: any environment of
    this package, or another whose actions and observations are named as `record` names them. For a
    vector environment the result is a `VectorPredictiveState`.

    model: a POMDP (for beliefs), a linear model, or the name of one (see `rpsr.load`).
    core: return the predictions of the core tests or intents instead of the model's own
    coordinates.
    initial: "drop" ignores the observation of `reset`; "step" is for models of a log that `record`
    or `read_minari` made with `initial="step"`.
    """

    def __new__(cls, env: Any, model: Source, *, core: bool = False, initial: str = "drop") -> Any:
        """A wrapper of the kind that the environment needs."""
        if isinstance(env, VectorEnv):
            return VectorPredictiveState(env, model, core=core, initial=initial)
        return super().__new__(cls)

    def __init__(
        self, env: Any, model: Source, *, core: bool = False, initial: str = "drop"
    ) -> None:
        RecordConstructorArgs.__init__(self, model=model, core=core, initial=initial)
        gymnasium.Wrapper.__init__(self, env)
        self._reader = Reader(env, model, 1, core=core, initial=initial)
        self.observation_space = self._reader.space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; the model's state at its start, (n,)."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._reader.begin(self._reader.codes(observation))
        return self._reader.states[0], info

    def step(self, action: Any) -> tuple[Floats, Any, bool, bool, dict[str, Any]]:
        """One step; the model's state after it, (n,)."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._reader.step(action, self._reader.codes(observation))
        return self._reader.states[0], reward, terminated, truncated, info


# Not generic before Gymnasium 1.4.
class VectorPredictiveState(VectorWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """`PredictiveState` for a vector environment, in any of Gymnasium's autoreset modes."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        model: Source,
        *,
        core: bool = False,
        initial: str = "drop",
    ) -> None:
        super().__init__(env)
        self._reader = Reader(env, model, env.num_envs, core=core, initial=initial)
        self._mode = env.metadata.get("autoreset_mode")
        if not isinstance(self._mode, AutoresetMode):
            raise InputError(
                "env: the vector environment does not declare an autoreset_mode in its metadata, "
                "expected a gymnasium.vector.AutoresetMode"
            )
        self.single_observation_space = self._reader.space
        self.observation_space = batch_space(self._reader.space, env.num_envs)
        self._over: Bools = np.zeros(env.num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin all episodes, or those of the option "reset_mask"; the states, (B, n)."""
        mask = None if options is None else options.get("reset_mask")
        observations, info = self.env.reset(seed=seed, options=options)
        self._reader.begin(self._reader.codes(observations), mask)
        self._over = self._over & False if mask is None else self._over & ~mask
        return self._reader.states, info

    def step(self, actions: Any) -> tuple[Floats, Any, Any, Any, dict[str, Any]]:
        """One step of all episodes; the states after it, (B, n)."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        begun, self._over = self._over, np.asarray(terminated) | np.asarray(truncated)
        codes = self._reader.codes(observations)
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            info = self._ended(actions, codes, info)
        elif self._mode is AutoresetMode.NEXT_STEP and begun.any():
            self._reader.step(actions, codes, ~begun)
            self._reader.begin(codes, begun)
        else:
            self._reader.step(actions, codes)
        return self._reader.states, rewards, terminated, truncated, info

    def _ended(self, actions: Any, codes: Ints, info: dict[str, Any]) -> dict[str, Any]:
        """The rest of a step that ended episodes and began the next; `info` with last states."""
        over = self._over
        last = self._reader.final_codes(info["final_obs"], over)
        self._reader.step(actions, np.where(over, last, codes))
        final = np.full(len(over), None, dtype=object)
        for i, state in zip(np.flatnonzero(over).tolist(), self._reader.states[over], strict=True):
            final[i] = state
        self._reader.begin(codes, over)
        return info | {"final_obs": final}
