"""The settings of `EMRPSR` in three groups: search, fitting and choosing."""

from __future__ import annotations

from dataclasses import dataclass

from rpsr.learning.parameter_checks import (
    FROM_0,
    FROM_1,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Allowed,
    instance,
    several,
)


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to search for the states of a POMDP.

    sizes: the numbers of states of the starts. starts: how many starts per size; descents: how many
    of them are fitted and merged down. memories: how many starts remember an observation. largest:
    the most states of those starts and of splits. most: the most states of larger starts, which
    follow while held-out episodes ask for them (`growth`), and of the start that follows if rewards
    depend on earlier observations (`window_start`). probe: how many episodes starts are tried on,
    for `probing` iterations.
    """

    sizes: tuple[int, ...] = (12, 18)
    starts: int = 6
    descents: int = 2
    memories: int = 2
    largest: int = 48
    most: int = 90
    probe: int = 400
    probing: int = 20


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How to fit a POMDP.

    prior: the Dirichlet count. sparsity: subtracted from every count while merging and
    refitting, so that small probabilities become 0. iterations: how many iterations of EM
    a start gets. refitting, polishing: how many follow on all episodes, with the prior and then by
    likelihood alone.
    """

    prior: float = 0.02
    sparsity: float = 0.5
    iterations: int = 40
    refitting: int = 30
    polishing: int = 40


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """How to choose among fitted POMDPs.

    holdout: the share of held-out episodes. keep: the largest number of candidates that are fitted
    to all episodes.
    """

    holdout: float = 0.2
    keep: int = 5


RANGES: dict[str, Allowed] = {
    "search": instance(Search),
    "search__sizes": several(FROM_1),
    **dict.fromkeys(("search__starts", "search__descents", "search__probe"), FROM_1),
    **dict.fromkeys(
        ("search__memories", "search__largest", "search__most", "search__probing"), FROM_0
    ),
    "fitting": instance(Fitting),
    "fitting__prior": POSITIVE,
    "fitting__sparsity": NOT_NEGATIVE,
    **{f"fitting__{name}": FROM_0 for name in ("iterations", "refitting", "polishing")},
    "choosing": instance(Choosing),
    "choosing__holdout": SHARE,
    "choosing__keep": FROM_1,
}
