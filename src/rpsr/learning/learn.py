"""From a log to a model by an estimator's name, with all that can be said of the result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib import import_module
from typing import Any, Literal

from rpsr.errors import InputError
from rpsr.learning.base import HELD_OUT, Part, pieces
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.enough import GROUPS, Enough, TooShort, psr_enough
from rpsr.logs.readers import join
from rpsr.logs.trajectories import Trajectories
from rpsr.models.linear import LinearModel

# Where each estimator lives, and what it calls the rank: found when asked for.
_ESTIMATORS = {
    "em": ("rpsr.learning.em", "EMRPSR", "states"),
    "spectral": ("rpsr.learning.spectral", "SpectralRPSR", "rank"),
    "discovered": ("rpsr.learning.discovery", "DiscoveredRPSR", "rank"),
    "psr": ("rpsr.learning.spectral", "SpectralPSR", "rank"),
    "last-k": ("rpsr.learning.last_k", "LastKTable", "k"),
}
ESTIMATOR_NAMES = tuple(_ESTIMATORS)
BehaviourPolicy = Literal["logged", "estimated", "blind"]


@dataclass(frozen=True, eq=False)
class Learned:
    """A model learned from a log, and what is known about it.

    estimator: the fitted estimator, and name its name. heldout: what episodes that it had not seen
    said; psr_enough: whether a PSR would have been enough, or None where the log is too
    short to tell.
    """

    name: str
    estimator: Any
    model: LinearModel
    log: Trajectories
    heldout: Diagnosis
    psr_enough: Enough | None
    seconds: float

    def document(self) -> dict[str, Any]:
        """All of it, plain JSON values; None where an estimator has no such thing."""
        found = self.estimator
        core = getattr(found, "core_", None)
        return {
            "estimator": self.name,
            "episodes": self.log.episodes,
            "steps": self.log.steps,
            "discount": self.model.discount,
            "rank": found.rank_,
            "singular_values": _plain(getattr(found, "singular_values_", None)),
            "noise_level": _plain(getattr(found, "noise_level_", None)),
            "core": None if core is None else [str(member) for member in core],
            "stability": _plain(getattr(found, "stability_", None)),
            "heldout": {
                "loglik": self.heldout.loglik,
                "reward_rmse": self.heldout.reward_rmse,
                "reward_std": self.heldout.reward_std,
                "steps": self.heldout.steps,
            },
            "psr_enough": _plain(self.psr_enough),
            "overlap": _plain(getattr(found, "overlap_", None)),
            "negative_mass": self.heldout.negative_mass,
            "resets": self.heldout.resets,
            "candidates": [
                {"states": each.states, "loglik": each.loglik, "behind": each.behind}
                for each in getattr(found, "candidates_", ())
            ],
            "seconds": self.seconds,
        }


def estimator_by_name(
    name: str,
    *,
    discount: float | None,
    rank: int | None = None,
    policy: BehaviourPolicy | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Any:
    """An estimator by its name; what is None, or what it has no use for, is left out.

    rank: the number of states for `em`, of pairs for `last-k`.
    """
    if name not in _ESTIMATORS:
        raise InputError(f"no estimator is called {name!r}; there is {', '.join(ESTIMATOR_NAMES)}")
    module, attribute, rank_name = _ESTIMATORS[name]
    try:
        kind = getattr(import_module(module), attribute)
    except ModuleNotFoundError:
        raise InputError(f"estimator {name} is not part of this installation") from None
    given = {
        rank_name: rank,
        "discount": discount,
        "policy": policy,
        "seed": seed,
        "progress": progress,
    }
    known = {field.name for field in fields(kind) if field.init}
    return kind(
        **{key: value for key, value in given.items() if key in known and value is not None}
    )


def learn(name: str, log: Trajectories, **options: Any) -> Learned:
    """Fit an estimator to a log and judge the result on episodes it has not seen.

    options: as `estimator_by_name` takes them. An estimator that keeps no episodes out for itself
    is fitted once more, to four of five episodes and at the rank it chose, and judged on the fifth.
    """
    if log.episodes == 0:
        raise InputError("the log has no episodes")
    began = time.perf_counter()
    estimator = estimator_by_name(name, **options).fit(log)
    heldout = getattr(estimator, "heldout_", None)
    if not isinstance(heldout, Diagnosis):
        again = estimator_by_name(name, **(options | {"rank": estimator.rank_}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has said it
            again.fit(join(Part(log, held_out=False)))
        unseen = join(Part(log, held_out=True))
        if unseen.steps == 0:
            read = f"read {log.episodes} episodes"
            raise InputError(f"{read}, expected at least {HELD_OUT}: one in {HELD_OUT} is held out")
        heldout = diagnose(again.model_, unseen)
    return Learned(
        name=name,
        estimator=estimator,
        model=estimator.model_,
        log=log,
        heldout=heldout,
        psr_enough=_psr_enough(log, options.get("policy"), options.get("seed")),
        seconds=time.perf_counter() - began,
    )


def _psr_enough(log: Trajectories, policy: str | None, seed: int | None) -> Enough | None:
    """The rank test on data, or None where the log is too short for it."""
    if sum(part.episodes for _, part in pieces(log, 1)) < GROUPS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the estimator has said it
        try:
            return psr_enough(log, policy=policy or "estimated", seed=seed or 0)
        except TooShort:
            return None


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
