"""Many copies of a model as one Gymnasium vector environment, without Python per copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rpsr.arguments import whole
from rpsr.envs.batches import Batch, FilteredBatch, HiddenBatch
from rpsr.envs.system import RENDER_FPS, OfModel, Source, System
from rpsr.errors import InputError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.linear import LinearModel
from rpsr.planning.solution import Solution


class POMDPVectorEnv(OfModel, VectorEnv[Ints, Ints, np.ndarray]):
    """`num_envs` copies of a model, stepped together: on a POMDP by a compiled kernel.

    Its spaces, ends, `info` and options are those of `POMDPEnv`. One generator serves all copies,
    so a seed fixes them all; a single copy has the episodes of `POMDPEnv` with the same seed.

    max_episode_steps: the number of steps after which `truncated` is true.
    autoreset_mode: Gymnasium's "NextStep" (the default: the step after an end begins the next
    episode and ignores the action), "SameStep" (the step that ends an episode begins the next; the
    last observation is in `info["final_obs"]`) or "Disabled" (`reset` with the option "reset_mask"
    begins episodes).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    # The arguments are options, each given by name.
    def __init__(
        self,
        source: Source | None = None,
        *,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        hidden_state: bool = False,
        optimum: bool | Solution = False,
        ends: bool = True,
        normalize: bool = False,
        discount: float | str | None = None,
    ) -> None:
        for name, count in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            if count is not None:
                whole(name, count, 1)
        self._mode = _autoreset_mode(autoreset_mode)
        self._system = System(
            source, normalize=normalize, discount=discount, ends=ends, optimum=optimum
        )
        self._system.check_render_mode(render_mode)
        self._system.check_hidden_state(hidden_state)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {
            **type(self).metadata,
            "render_modes": self._system.render_modes(),
            "autoreset_mode": self._mode,
        }
        self.single_action_space = self._system.actions
        self.single_observation_space = self._system.observations
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._limit = max_episode_steps
        self._hidden_state = hidden_state
        self._batch: Batch = (
            FilteredBatch(self.model, num_envs)
            if isinstance(self.model, LinearModel)
            else HiddenBatch(_tables(self._system), self._system.initial, num_envs)
        )
        self._never: Bools = np.zeros(num_envs, dtype=np.bool_)
        self._over: Bools | None = None  # whether each episode has ended; None before reset
        self._elapsed: Ints = np.zeros(num_envs, dtype=np.int64)
        self._returns: Floats = np.zeros(num_envs)
        self._weights: Floats = np.ones(num_envs)
        self._actions: Ints | None = None  # the last step, to be rendered
        self._step: tuple[Ints, Floats] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Ints, dict[str, Any]]:
        """Begin all episodes, or those that the option "reset_mask" (B,) selects."""
        super().reset(seed=seed)
        which = self._mask(options)
        if self._over is None or which.all():
            which = np.ones(self.num_envs, dtype=np.bool_)
            self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._batch.begin(self.np_random, which)
        self._over = self._over & ~which
        self._begin(which)
        if self._step is None or which.all():
            first = np.full(self.num_envs, self._system.initial, dtype=np.int64)
            self._step = first, np.zeros(self.num_envs)
        else:
            seen, paid = self._step
            self._step = np.where(which, self._system.initial, seen), np.where(which, 0.0, paid)
        return self._step[0].copy(), self._info(which)

    def _mask(self, options: dict[str, Any] | None) -> Bools:
        mask = None if options is None else options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        given = np.asarray(mask)
        if given.dtype != np.bool_ or given.shape != (self.num_envs,) or not given.any():
            raise InputError(
                f"reset_mask: expected {self.num_envs} booleans, at least one of them true"
            )
        if self._over is None and not given.all():
            raise InputError(
                "reset_mask: the first reset must begin all episodes; leave out reset_mask"
            )
        return given

    def _begin(self, which: Bools) -> None:
        self._elapsed[which] = 0
        self._returns[which] = 0.0
        self._weights[which] = 1.0

    def step(
        self, actions: Ints
    ) -> tuple[Ints, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action per episode: observations, rewards, terminated and truncated, all (B,)."""
        taken = self._checked(actions)
        if self._over is None:
            raise InputError("no episode has begun: call reset first")
        begins = self._never
        if self._mode is AutoresetMode.NEXT_STEP:
            begins = self._over
        elif self._mode is AutoresetMode.DISABLED and self._over.any():
            ended = int(self._over.argmax())
            raise InputError(f"episode {ended} is over: call reset with a reset_mask")
        seen, paid = self._batch.step(self.np_random, taken, begins)
        self._actions, self._step = taken, (seen, paid)
        self._elapsed += 1
        terminated = self._system.final[seen]
        truncated = self._never.copy() if self._limit is None else self._elapsed >= self._limit
        if self.optimum is not None:
            self._returns += self._weights * paid
            self._weights *= self._system.discount
        if begins is not self._never:
            self._begin(begins)
            truncated &= ~begins
        self._over = terminated | truncated
        if self._mode is not AutoresetMode.SAME_STEP or not self._over.any():
            return seen, paid, terminated, truncated, self._info()
        return self._begun_again(seen, paid, terminated, truncated)

    def _begun_again(
        self, seen: Ints, paid: Floats, terminated: Bools, truncated: Bools
    ) -> tuple[Ints, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """The end of a step after which episodes begin at once."""
        over = terminated | truncated
        final = np.full(self.num_envs, None, dtype=object)
        final[over] = seen[over]
        ends = {"final_obs": final, "_final_obs": over}
        final_info = self._info(over)
        if final_info:
            ends |= {"final_info": final_info, "_final_info": over.copy()}
        self._batch.begin(self.np_random, over)
        self._begin(over)
        first = np.where(over, self._system.initial, seen)
        self._step = first, paid
        return first, paid, terminated, truncated, self._info() | ends

    def _checked(self, actions: Any) -> Ints:
        taken = np.asarray(actions)
        if taken.shape != (self.num_envs,) or taken.dtype.kind not in "iu":
            raise InputError(
                f"actions: read {taken.dtype} of shape {taken.shape}, "
                f"expected {self.num_envs} indices"
            )
        last = len(self.model.actions) - 1
        if taken.min() < 0 or taken.max() > last:
            wrong = taken[(taken < 0) | (taken > last)][0]
            raise InputError(f"actions: read {wrong}, expected indices from 0 to {last}")
        return taken.astype(np.int64, copy=False)

    def _info(self, which: Bools | None = None) -> dict[str, Any]:
        """The facts on each episode, with Gymnasium's masks of those that have them."""
        facts: dict[str, Any] = {}
        if self._hidden_state:
            facts["state"] = self._batch.states.copy()
        if self.optimum is not None:
            upper, lower = self.optimum.upper, self.optimum.lower
            facts["optimum"] = np.full(self.num_envs, upper)
            facts["optimum_gap"] = np.full(self.num_envs, upper - lower)
            facts["regret"] = upper - self._returns
        if facts:
            given = np.ones(self.num_envs, dtype=np.bool_) if which is None else which
            facts |= {f"_{name}": given.copy() for name in tuple(facts)}
        return facts

    def render(self) -> Any:
        """One frame per episode; see `POMDPEnv.render`."""
        if self.render_mode is None or self._step is None:
            raise InputError(
                "render needs a render_mode, given when the environment is made"
                if self.render_mode is None
                else "no episode has begun, so there is no image: call reset first"
            )
        frames = []
        for i, state in enumerate(self._batch.states.tolist()):
            frames.append(self._system.frame(self.render_mode, state, self._line(i)))
        return tuple(frames)

    def _line(self, i: int) -> str:
        assert self._step is not None
        seen = int(self._step[0][i])
        if seen == self._system.initial or self._actions is None:
            return "start"
        action = self.model.actions[int(self._actions[i])]
        return f"{action} -> {self.model.observations[seen]}, reward {self._step[1][i]:g}"


def _tables(system: System) -> Any:
    assert system.hidden is not None
    return system.hidden


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        known = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise InputError(f"autoreset_mode: read {given!r}, expected one of {known}") from None
