"""The common parts of the single and the vector environment of a model."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rpsr.envs.floors import Floor, floor_of
from rpsr.envs.names import NamedDiscrete, observation_space
from rpsr.envs.optimum import Optimum
from rpsr.errors import InputError, ModelError
from rpsr.evaluation.systems import HiddenStates, ending_observations
from rpsr.io.records import Bools, Floats
from rpsr.models.as_model import as_model
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.sources import load

RENDER_FPS = 4
Source = str | os.PathLike[str] | POMDP | LinearModel


class System:
    """A model with its spaces, the ends of its episodes and, if asked for, its optimum.

    actions, observations: its spaces; the last observation is that of `reset`.
    final (O + 1,): whether an observation ends an episode, as in `rpsr.simulate`.
    hidden: the tables of a POMDP to sample from; None for a linear model.
    floor: its picture; None if the names of its states tell no places.
    """

    def __init__(
        self,
        source: Source | None,
        *,
        normalize: bool,
        discount: float | str | None,
        ends: bool,
        optimum: Any,
    ) -> None:
        if source is None:
            raise InputError(
                'source: missing, expected a file, a domain or a model: source="tiger"'
            )
        self.model = opened(source, normalize=normalize, discount=discount)
        self.actions = NamedDiscrete(self.model.actions)
        self.observations = observation_space(self.model.observations)
        self.final: Bools = np.append(ending_observations(self.model) & ends, False)
        self.hidden = HiddenStates(self.model) if isinstance(self.model, POMDP) else None
        wanted = optimum is not None and optimum is not False
        self.optimum = Optimum.of(self.model, optimum) if wanted else None
        self.floor: Floor | None = floor_of(self.model) if isinstance(self.model, POMDP) else None

    @property
    def initial(self) -> int:
        """The observation of `reset`."""
        return len(self.model.observations)

    @property
    def discount(self) -> float:
        """The discount of returns; 1 if the model has none."""
        return 1.0 if self.model.discount is None else self.model.discount

    def render_modes(self) -> list[str]:
        """The ways in which it can be shown."""
        return ["ansi"] if self.floor is None else ["ansi", "rgb_array"]

    def check_render_mode(self, mode: str | None) -> None:
        """Refuse a way of rendering that it does not have."""
        if mode is not None and mode not in self.render_modes():
            known = ", ".join(map(repr, self.render_modes()))
            raise InputError(f"render_mode: read {mode!r}, expected {known}: {_PLACES}")

    def check_hidden_state(self, asked: bool) -> None:
        """Refuse the hidden state of a model that has none."""
        if asked and isinstance(self.model, LinearModel):
            raise ModelError(f"hidden_state: a {self.model.kind} model has no hidden states")

    def frame(self, mode: str, state: int | Floats, line: str) -> str | np.ndarray:
        """One picture of a state; line: what happened in the last step."""
        if mode == "rgb_array":
            assert self.floor is not None
            assert isinstance(state, int)
            return self.floor.pixels(state)
        drawn = "" if self.floor is None or not isinstance(state, int) else self.floor.text(state)
        return f"{drawn}{line}\n"


class OfModel:
    """The options of an environment beyond Gymnasium's interface."""

    _system: System

    @property
    def model(self) -> POMDP | LinearModel:
        """The model behind the environment."""
        return self._system.model

    @property
    def optimum(self) -> Optimum | None:
        """The optimum of the model, if it was asked for."""
        return self._system.optimum


_PLACES = "an image needs states with the names of places, such as 'r0c3' or 'column-3-row-0'"


def opened(
    source: Source, *, normalize: bool = False, discount: float | str | None = None
) -> POMDP | LinearModel:
    """A model from anything that names one."""
    if isinstance(source, str | os.PathLike):
        return load(source, normalize=normalize, discount=discount)
    model = as_model(source, "source")
    return model if discount is None else model.with_discount(discount)
