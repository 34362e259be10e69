"""From a log to a model by an estimator's name, with all that can be said of the result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np

from rpsr.errors import InputError
from rpsr.learning.base import HELD_OUT, Estimator, Part, in_memory
from rpsr.learning.caution import Caution
from rpsr.learning.choice import Choice, bootstrap, choose
from rpsr.learning.diagnostics import Diagnosis
from rpsr.learning.ends import seen_ends, with_end
from rpsr.learning.enough import Enough, TooShort, psr_enough
from rpsr.learning.learned import Logs, check_repeatable, chunks_of
from rpsr.learning.moments_plan import Survey
from rpsr.learning.propensities import NO_PROPENSITIES, Overlap, some_of
from rpsr.learning.rank import rank_cut, rank_words
from rpsr.logs.census import Census
from rpsr.models.linear import LinearModel
from rpsr.models.renaming import END
from rpsr.planning.discounts import NEAR_ONE
from rpsr.registry import Registry
from rpsr.showing import counted

ESTIMATORS = Registry(
    "estimator",
    "rpsr.estimators",
    {
        "em": "rpsr.learning.em:EMRPSR",
        "spectral": "rpsr.learning.spectral:SpectralRPSR",
        "discovered": "rpsr.learning.discovery:DiscoveredRPSR",
        "psr": "rpsr.learning.spectral:SpectralPSR",
        "last-k": "rpsr.learning.last_k:LastKTable",
    },
)
BehaviourPolicy = Literal["logged", "estimated", "blind"]


@dataclass(frozen=True, eq=False)
class Learned:
    """A model learned from a log, and what is known about it.

    estimator: the fitted estimator, and name its name. census: what the log shows. heldout: what
    episodes said that took no part in learning. psr_enough: whether a PSR would have been enough,
    or None where the log is too short to tell. choice: the plan to follow and its alternatives,
    where one was asked for.
    """

    name: str
    estimator: Estimator
    model: LinearModel
    episodes: int
    steps: int
    census: Census
    heldout: Diagnosis
    overlap: Overlap
    psr_enough: Enough | None
    choice: Choice | None
    seconds: float

    @property
    def pairs(self) -> int | None:
        """The longest context of a table of the last pairs; None for other estimators."""
        return getattr(self.estimator, "k_", None)

    @property
    def origin(self) -> str:
        """What the rank comes from, in words, where that is not the rank itself; else nothing."""
        if self.pairs is not None:
            return f"contexts of up to {counted(self.pairs, 'pair')}"
        for chosen in getattr(self.estimator, "candidates_", ())[:1]:
            end = " and the end" if chosen.fitted.end >= 0 else ""
            return counted(chosen.states, "state") + end
        if self.estimator.rank_ < self.model.dimension:
            return f"{counted(self.estimator.rank_, 'direction')} and the end"
        return ""

    @property
    def caution(self) -> str:
        """Where the model to plan on is not what was fitted, in a line; empty where it is."""
        counts, what = _hardly_known(self.estimator)
        if not counts.get("unknown"):
            return ""
        return (
            f"{what} {'was' if counts['unknown'] == 1 else 'were'} hardly tried: there the model "
            "to plan on expects a penalty, which may lie far below all rewards of the log"
        )

    @property
    def rank_words(self) -> str:
        """What decided the rank of a spectral model, in a sentence; empty for other estimators."""
        found: Any = self.estimator
        if not hasattr(found, "singular_values_"):
            return ""
        standing = rank_cut(found.singular_values_, found.noise_level_)
        return rank_words(found.rank_, standing, found.trials_)

    def document(self) -> dict[str, Any]:
        """All of it, plain JSON values; None where an estimator has no such thing."""
        found = self.estimator
        core = getattr(found, "core_", None)
        candidates = getattr(found, "candidates_", ())
        return {
            "estimator": self.name,
            "episodes": self.episodes,
            "steps": self.steps,
            "terminated": self.census.ended,
            "discount": self.model.discount,
            "rank": self.model.dimension,
            "pairs": self.pairs,
            "singular_values": _plain(getattr(found, "singular_values_", None)),
            "noise_level": getattr(found, "noise_level_", None),
            "trials": [asdict(each) for each in getattr(found, "trials_", ())],
            "core": None if core is None else [str(member) for member in core],
            "stability": getattr(found, "stability_", None),
            "heldout": {
                "loglik": self.heldout.loglik,
                "reward_rmse": self.heldout.reward_rmse,
                "reward_std": self.heldout.reward_std,
                "steps": self.heldout.steps,
            },
            "psr_enough": _plain(self.psr_enough),
            "overlap": _plain(self.overlap),
            "negative_mass": self.heldout.negative_mass,
            "resets": self.heldout.resets,
            "candidates": [
                {"states": each.states, "loglik": each.loglik, "behind": each.behind}
                for each in candidates
            ],
            "caution": _hardly_known(found)[0] or None,
            "choice": None
            if self.choice is None
            else {"rule": self.choice.rule, "options": self.choice.rows()},
            "seconds": self.seconds,
        }


def streams(name: str) -> bool:
    """Whether an estimator, by its name, passes through a log without holding it in memory."""
    return ESTIMATORS.get(name).streams


def estimator_by_name(
    name: str,
    *,
    discount: float | None,
    rank: int | Literal["auto"] = "auto",
    policy: BehaviourPolicy | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Estimator:
    """An estimator by its name; what is None, or what it has no use for, is left out.

    rank: the number of states for `em`, of pairs for `last-k`.
    """
    kind = ESTIMATORS.get(name)
    given = {
        kind.rank_parameter: rank,
        "discount": discount,
        "policy": policy,
        "seed": seed,
        "progress": progress,
    }
    known = {field.name for field in fields(kind) if field.init}
    return kind(
        **{key: value for key, value in given.items() if key in known and value is not None}
    )


def learn(
    name: str,
    logs: Logs,
    *,
    discount: float | None,
    rank: int | Literal["auto"] = "auto",
    policy: BehaviourPolicy | None = None,
    plan: bool = False,
    ensemble: int = 0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Learned:
    """Fit an estimator to a log, judge it, and plan with it if asked to.

    The judgement is of the same estimator fitted to four of five episodes, on the fifth: whatever
    an estimator keeps out for its own choices is part of the four. plan: whether to plan, on the
    models that explain the log about equally well and on those of `ensemble` resampled logs, and
    choose one plan by its value in all of them. The other options are as in `estimator_by_name`.
    """
    began = time.perf_counter()
    if plan and (discount is None or discount > 1 - NEAR_ONE):
        raise InputError(f"discount: read {discount}, expected one below 1 to plan with")
    if not streams(name):
        logs = in_memory(logs)
    check_repeatable(logs)
    census = Census()
    told = seen_ends(logs)
    first = next(iter(chunks_of(told)), None)
    if first is None:
        raise InputError("the log is empty")
    watched = census.watch(chunks_of(logs))  # as it is, before ends are seen
    survey = Survey.of(with_end(log) if END in first.observation_names else log for log in watched)
    logs = told
    unseen = Part(logs, held_out=True)
    if survey.episodes == 0:
        raise InputError("the log has no episodes")
    if not survey.has_rewards:
        raise InputError("the log has no rewards, expected them for learning")
    if policy == "logged" and not survey.has_propensities:
        raise InputError(NO_PROPENSITIES)
    if not any(part.steps for part in unseen):
        read = f"read {counted(survey.episodes, 'episode')}"
        raise InputError(f"{read}, expected at least {HELD_OUT}: one in {HELD_OUT} is held out")

    def recipe(prefix: str) -> Estimator:
        tell = None if progress is None else lambda what: progress(f"{prefix}{what}")  # pyright: ignore
        return estimator_by_name(
            name, discount=discount, rank=rank, policy=policy, seed=seed, progress=tell
        )

    estimator = recipe("").fit(logs)
    choice = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has said it
        heldout = recipe("to be judged, ").fit(Part(logs, held_out=False)).judge(unseen)
        enough = _psr_enough(logs, policy or "estimated", seed)
        if plan:
            again = recipe("resampled, ")
            models = estimator.models()
            models += bootstrap(again, logs, repeats=ensemble, seed=seed, progress=progress)
            choice = choose(models, logs, seed=seed, progress=progress)
    return Learned(
        name=name,
        estimator=estimator,
        model=estimator.model_,
        episodes=survey.episodes,
        steps=survey.steps,
        census=census,
        heldout=heldout,
        overlap=survey.overlap,
        psr_enough=enough,
        choice=choice,
        seconds=time.perf_counter() - began,
    )


def _hardly_known(estimator: Estimator) -> tuple[dict[str, int], str]:
    """Of how much too little is known to plan with, in counts and in words; nothing if not asked.

    EM asks of every action in each of its states, spectral estimators of every action.
    """
    for chosen in getattr(estimator, "candidates_", ())[:1]:
        what = f"{chosen.unknown} of {chosen.pairs} pairs of a state and an action"
        return {"unknown": chosen.unknown, "pairs": chosen.pairs}, what
    caution: Caution | None = getattr(estimator, "caution_", None)
    if caution is None:
        return {}, ""
    unknown, total = len(caution.unknown), len(caution.known)
    what = f"{unknown} of {total} actions ({some_of(caution.unknown)})"
    return {"unknown": unknown, "actions": total}, what


def _psr_enough(logs: Logs, policy: str, seed: int) -> Enough | None:
    """The rank test on data, or None where the log is too short for it."""
    try:
        return psr_enough(logs, policy=policy, seed=seed)
    except TooShort:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
