"""Stochastic controllers in native policy files (kind "stochastic").

Names are matched: the system has the same actions, in any order, and at least the file's
observations, except `END`. After an observation that the file does not have, the controller starts
again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rpsr._version import __version__
from rpsr.errors import InputError
from rpsr.evaluation.stochastic import StochasticController
from rpsr.io.file_kinds import NATIVE_POLICY
from rpsr.io.files import packed, path_text, place_of, read_bytes, write_bytes
from rpsr.models.linear import LinearModel
from rpsr.models.renaming import END
from rpsr.planning.files.native import FORMAT_VERSION

KIND = "stochastic"


def save_stochastic(controller: StochasticController, path: str | Path) -> None:
    """Write a controller, completely or not at all."""
    target = path_text(path, "path")
    document: dict[str, Any] = {
        "format": NATIVE_POLICY,  # the first key: `kind_of` finds it at the beginning
        "format_version": FORMAT_VERSION,
        "written_by": __version__,
        "kind": KIND,
        "actions": controller.action_names,
        "observations": controller.observation_names,
        "first": controller.first,
        "probabilities": controller.probabilities.tolist(),
        "successors": controller.successors.tolist(),
    }
    write_bytes(target, packed((json.dumps(document) + "\n").encode(), target))


def stochastic_file(path: str | Path, system: LinearModel) -> StochasticController | None:
    """The controller of a file, for a system; None if the file has another kind of policy."""
    name = path_text(path, "path")
    if not name.lower().removesuffix(".gz").endswith(".json"):
        return None
    place = place_of(path)
    try:
        document = json.loads(read_bytes(name))
    except (ValueError, RecursionError):
        return None  # `load_policy` says what is wrong with it
    if not isinstance(document, dict) or document.get("kind") != KIND:  # pyright: ignore
        return None
    try:
        return _matched(document, system)  # pyright: ignore[reportUnknownArgumentType]
    except KeyError as error:
        raise InputError(f"damaged policy file: {error} is missing", place=place) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"damaged policy file: {error}", place=place) from None
    except InputError as error:
        raise InputError(error.message, place=place) from None


def _matched(document: dict[str, Any], system: LinearModel) -> StochasticController:
    """The controller over a system's names."""
    actions, observations = tuple(document["actions"]), tuple(document["observations"])
    made = StochasticController(
        actions,
        observations,
        np.array(document["probabilities"], dtype=np.float64),
        np.array(document["successors"], dtype=np.int64),
        int(document["first"]),
    )
    if set(actions) != set(system.actions):
        raise InputError(
            f"the policy has the actions {', '.join(actions)}, expected those of the system, "
            f"{', '.join(system.actions)}"
        )
    unknown = sorted(set(observations) - {*system.observations, END})
    if unknown:
        raise InputError(
            f"the policy has observations that the system does not have: {', '.join(unknown)}"
        )
    order = [actions.index(name) for name in system.actions]
    successors = np.full((len(made), len(order), len(system.observations)), made.first)
    for o, name in enumerate(system.observations):
        if name in observations:
            successors[:, :, o] = made.successors[:, order, observations.index(name)]
    return StochasticController(
        system.actions, system.observations, made.probabilities[:, order], successors, made.first
    )
