"""Checkpoints: the state of a planner when it stopped, so that it can be resumed.

A checkpoint is a native archive with the value function in belief coordinates (the model's own
coordinates if the domain is unknown), its actions and successors, and the bounds. A planner that
can be resumed has a method

    resume(model, progress, checkpoint) -> Solution

(`Resumable`). The vectors were lower bounds on the optimal value function when they were written,
each the value of some policy; a planner that relies on this must check it.
`rpsr.planning.files.checkpoint.resume` calls the method and refuses planners without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from rpsr._version import __version__
from rpsr.errors import InputError, ModelError
from rpsr.io.archive import read_archive, write_archive
from rpsr.io.records import LARGEST_VALUE
from rpsr.models.linear import LinearModel
from rpsr.planning.solution import Planner, Progress, Solution
from rpsr.planning.value.coordinates import from_beliefs, to_beliefs
from rpsr.planning.value.value_function import ValueFunction

FORMAT = "rpsr-checkpoint"
FORMAT_VERSION = 1
INSTEAD = "choose another file, or delete this file to start planning anew"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A value function to continue from, as in `Solution`, with its bounds."""

    planner: str
    value_function: ValueFunction
    lower: float
    upper: float | None
    iterations: int
    seconds: float

    @property
    def controller(self) -> ValueFunction:
        """The value function; a `ModelError` if a successor is unknown."""
        if int(self.value_function.successors.min(initial=0)) < 0:
            raise ModelError(
                f"planning cannot continue from this checkpoint: planner {self.planner} does not "
                "store which vector follows each observation"
            )
        return self.value_function


@runtime_checkable
class Resumable(Protocol):
    """A planner that can continue from a checkpoint."""

    def resume(self, model: LinearModel, progress: Progress, checkpoint: Checkpoint) -> Solution:
        """Plan as `solve` does, starting from the checkpoint's vectors."""
        ...


def save_checkpoint(solution: Solution, path: str | Path) -> None:
    """Write the value function of a solution with any status, completely or not at all."""
    model = solution.model
    own = not model.domain.known
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "written_by": __version__,
        "planner": solution.planner,
        "horizon": solution.horizon,
        "model": _identity(model),
        "coordinates": "model" if own else "belief",
        "lower": solution.lower,
        "upper": solution.upper,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
    }
    vectors = solution.vectors if own else to_beliefs(model, solution.vectors)
    arrays = {
        "vectors": vectors,
        "actions": solution.actions,
        "successors": solution.successors,
    }
    write_archive(path, header, arrays)


def load_checkpoint(path: str | Path, model: LinearModel) -> Checkpoint:
    """Read a checkpoint for the model it was written for, or another model of the same POMDP."""
    header, arrays = read_archive(path, "checkpoint")
    place = str(path)
    if header.get("format") != FORMAT or header.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"the file is not a checkpoint of this version of rpsr; {INSTEAD}", place=place
        )
    if header.get("model") != _identity(model):
        raise InputError(
            f"the checkpoint is of another model, expected {model}; {INSTEAD}", place=place
        )
    if header.get("horizon") is not None:
        raise InputError(
            f"the checkpoint is of a plan for a finite horizon, which cannot be resumed; {INSTEAD}",
            place=place,
        )
    try:
        vectors, actions, successors = (arrays[k] for k in ("vectors", "actions", "successors"))
        if vectors.ndim != 2 or len(vectors) == 0 or actions.shape != (len(vectors),):
            raise ValueError(
                f"read vectors of shape {vectors.shape} and actions of shape {actions.shape}, "
                "expected one action per vector"
            )
        if vectors.dtype != np.float64 or not (np.abs(vectors) <= LARGEST_VALUE).all():
            raise ValueError(f"vectors: expected numbers up to ±{LARGEST_VALUE:.0e}")
        if actions.dtype != np.int64 or actions.min() < 0 or actions.max() >= len(model.actions):
            raise ValueError("actions: expected indices of the model's actions")
        if successors.shape != (len(vectors), len(model.observations)):
            raise ValueError(
                f"successors: read shape {successors.shape}, expected one row per vector and one "
                "column per observation"
            )
        if (
            successors.dtype != np.int64
            or successors.min() < -1
            or successors.max() >= len(vectors)
        ):
            raise ValueError("successors: expected indices of vectors, or -1")
        if header["coordinates"] == "belief":
            vectors = from_beliefs(model, vectors)
        return Checkpoint(
            planner=header["planner"],
            value_function=ValueFunction(vectors, actions, successors),
            lower=header["lower"],
            upper=header["upper"],
            iterations=header["iterations"],
            seconds=header["seconds"],
        )
    except KeyError as error:
        message = f"damaged checkpoint: {error} is missing; {INSTEAD}"
        raise InputError(message, place=place) from None
    except (TypeError, ValueError, InputError) as error:
        raise InputError(f"damaged checkpoint: {error}; {INSTEAD}", place=place) from None


def resume(
    model: LinearModel, planner: Planner, checkpoint: Checkpoint, progress: Progress
) -> Solution:
    """Continue from a checkpoint; the planner must be `Resumable`."""
    if not isinstance(planner, Resumable):
        raise ModelError(
            f"planner {planner.name} cannot continue from a checkpoint; plan without a checkpoint"
        )
    return planner.resume(model, progress, checkpoint)


def _identity(model: LinearModel) -> dict[str, object]:
    """The properties that must agree: fingerprint (if any), names and discount."""
    return {
        "name": model.name,
        "actions": list(model.actions),
        "observations": list(model.observations),
        "discount": model.discount,
        "pomdp": model.pomdp,
        "rewards": "approximate" if model.kind == "psr" else "exact",
    }
