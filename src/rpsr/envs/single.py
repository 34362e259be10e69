"""A model as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from rpsr.envs.system import RENDER_FPS, OfModel, Source, System
from rpsr.errors import InputError
from rpsr.evaluation.systems import FilteredStates
from rpsr.models.linear import LinearModel
from rpsr.planning.solution import Solution


class POMDPEnv(OfModel, gymnasium.Env[Any, Any]):
    """Any file, built-in domain, POMDP or learned model, one episode at a time.

    Actions and observations are numbered as in the model; `action_space.names` and
    `observation_space.names` have their names. `reset` returns one more observation, "(start)",
    because a model of rpsr makes its first observation after the first action.

    `terminated` is true at an observation that only absorbing states emit, as in `rpsr.simulate`
    (for a learned model, at one that occurs only at ends in its log). `truncated` is never true:
    `max_episode_steps` of `gymnasium.make` sets a limit. Rewards are R(s, a, s', o) for a POMDP,
    and the expected x R[:, a] for a linear model.

    source: a path, a domain's name, a POMDP or a linear model.
    hidden_state: `info` has "state", the index of the hidden state of a POMDP.
    optimum: True solves the model for up to 10 seconds; a `Solution` of it is taken as it is.
    `info` then has "optimum" (the upper bound on the optimal value), "optimum_gap" (upper minus
    lower bound) and "regret": the optimum minus the discounted return of the episode so far.
    ends: False to ignore ends of tasks.
    normalize, discount: as in `rpsr.load`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": RENDER_FPS,
    }

    # The arguments are options, each given by name.
    def __init__(
        self,
        source: Source | None = None,
        *,
        render_mode: str | None = None,
        hidden_state: bool = False,
        optimum: bool | Solution = False,
        ends: bool = True,
        normalize: bool = False,
        discount: float | str | None = None,
    ) -> None:
        self._system = System(
            source, normalize=normalize, discount=discount, ends=ends, optimum=optimum
        )
        self._system.check_render_mode(render_mode)
        self._system.check_hidden_state(hidden_state)
        self.render_mode = render_mode
        self.metadata = {**type(self).metadata, "render_modes": self._system.render_modes()}
        self.action_space = self._system.actions
        self.observation_space = self._system.observations
        self._hidden_state = hidden_state
        self._filtered = FilteredStates(self.model) if isinstance(self.model, LinearModel) else None
        self._state: Any = None
        self._line = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode; returns the observation "(start)" and `info`. There are no options."""
        super().reset(seed=seed)
        if self._system.hidden is not None:
            self._state, _, _ = self._system.hidden.draw(self.np_random.random())
        else:
            assert self._filtered is not None
            self._state = self._filtered.begin(self.np_random, 1)
        self._return, self._weight = 0.0, 1.0
        self._over = False
        self._line = "start"
        return self._system.initial, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """One action: observation, reward, terminated, truncated (always false) and `info`."""
        if self._state is None or self._over:
            raise InputError("the episode is over or has not begun: call reset first")
        if not self.action_space.contains(action):
            known = f"0 to {len(self.model.actions) - 1}"
            raise InputError(f"action: read {action!r}, expected an index from {known}")
        if self._system.hidden is not None:
            chance = self.np_random.random()
            self._state, seen, paid = self._system.hidden.draw(chance, self._state, int(action))
        else:
            assert self._filtered is not None
            taken = np.array([action], dtype=np.int64)
            self._state, heard, worth = self._filtered.step(self.np_random, self._state, taken)
            seen, paid = int(heard[0]), float(worth[0])
        self._return += self._weight * paid
        self._weight *= self._system.discount
        self._over = bool(self._system.final[seen])
        names = self.model.actions[int(action)], self.model.observations[seen]
        self._line = f"{names[0]} -> {names[1]}, reward {paid:g}"
        return seen, paid, self._over, False, self._info()

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {}
        if self._hidden_state:
            info["state"] = self._state
        optimum = self.optimum
        if optimum is not None:
            info["optimum"] = optimum.upper
            info["optimum_gap"] = optimum.upper - optimum.lower
            info["regret"] = optimum.upper - self._return
        return info

    def render(self) -> Any:
        """The hidden state on its floor, and the last step in words ("ansi") or as an image."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render needs a render_mode; give one when the environment is made"
            )
            return None
        if self._state is None:
            raise InputError("no episode has begun, so there is no image: call reset first")
        return self._system.frame(self.render_mode, self._state, self._line)
