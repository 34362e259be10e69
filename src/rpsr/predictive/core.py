"""Core sets: found by search or given by the user, with a basis and a measure of certainty.

A core set is shown in its own coordinates (probabilities of tests, rewards of intents); computation
uses an orthonormal basis Q of the same span: U = Q T, with T = Q^T U invertible. `margin` measures
how clear the decisions are in floats. If decided in floats, it is the smallest direction kept and
the largest dropped. If decided exactly, it is the smallest sine of the angle between a member's
outcome vector and the span of those before it, and the largest distance of extensions from the span
of all members, estimated on a few random ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rpsr import deadline
from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.as_model import as_pomdp
from rpsr.models.labels import index_of
from rpsr.models.pomdp import POMDP
from rpsr.predictive.certainty import certainty
from rpsr.predictive.futures import (
    ZETA,
    Future,
    Intent,
    Interaction,
    Test,
    Token,
    parse_future,
)
from rpsr.predictive.rank.certify import CertifiedCore, MembersCheck, certified_core, check_members
from rpsr.predictive.rank.closure import TOLERANCE, is_clear, unclear
from rpsr.predictive.rank.estimate import float_members
from rpsr.predictive.rank.modular_search import FINDING_BASIS
from rpsr.predictive.rank.search import Member, breadth_first, depth_first
from rpsr.predictive.rank.span import (
    block_basis,
    closure_basis,
    leak,
    rational_basis,
    rewards_in_span,
)
from rpsr.showing import Shown, counted, some

Kind = Literal["psr", "rpsr"]
Order = Literal["bfs", "dfs"]
GROWTH = 100  # largest factor by which an estimated error of the basis grows along a history
_PANEL = 512  # columns factorised at once
_SEARCHES = {"bfs": breadth_first, "dfs": depth_first}


@dataclass(frozen=True, eq=False, repr=False)
class Core(Shown):
    """A core set of tests (`kind` 'psr') or intents ('rpsr') of a POMDP with S states.

    members: in order of acceptance. outcomes (S, n): the paper's U, a column per member.
    basis (S, n): Q, orthonormal, with the same span.
    labels (S,): states with the same label have the same outcome for every test (or intent).
    blocks (S,): states merged before the search; may be finer than `labels`.
    rewards_inside (A,): whether R[:, a] lies in the span: the accuracy condition per action.
    certified: decided in exact arithmetic; then `error_probability` bounds the probability that the
    true rank is higher, 0 meaning certainty. margin: how clear the choice of members is in floats:
    the smallest direction kept and the largest dropped, or, if certified, the smallest sine of the
    angle between a member and those before it and the largest distance of an extension from the
    span. leak: the measured distance by which operators move the span of Q out of itself. error:
    |(I - P) Q|, with P the projection on the exact span; a proven bound for bases of blocks and of
    rationals, else an estimate.
    seconds: the time of the search.
    """

    kind: Kind
    search: str
    members: tuple[Future, ...]
    outcomes: Floats
    basis: Floats
    labels: Ints
    blocks: Ints
    rewards_inside: Bools
    certified: bool
    error_probability: float | None
    margin: tuple[float, float]
    leak: float
    error: float
    seconds: float

    def title(self) -> str:
        """A description in one line."""
        known = certainty(self.certified, self.error_probability)
        return f"{self.kind} core: rank {self.rank}, {len(self.basis)} states, {known}"

    def facts(self) -> list[tuple[str, str]]:
        """The members, and whether the rewards lie in their span."""
        members = some([str(member) for member in self.members]) or "not searched for"
        actions = counted(len(self.rewards_inside), "action")
        return [
            ("tests" if self.kind == "psr" else "intents", members),
            ("rewards in the span", f"{int(self.rewards_inside.sum())} of {actions}"),
            ("seconds", f"{self.seconds:.3g}"),
        ]

    @property
    def rank(self) -> int:
        """The PSR's or R-PSR's rank: the dimension of the span."""
        return self.basis.shape[1]

    @property
    def accurate(self) -> bool:
        """Whether every reward column lies in the span."""
        return bool(self.rewards_inside.all())

    @cached_property
    def coordinates(self) -> Floats:
        """T = Q^T U, (n, n): a state x has the core predictions x T."""
        return self.basis.T @ self.outcomes

    @cached_property
    def condition_number(self) -> float:
        """The condition number of U; its log10 is the digits lost in the core's coordinates."""
        return float(np.linalg.cond(self.coordinates))


def find_core(
    pomdp: POMDP,
    kind: Kind,
    *,
    search: Order = "bfs",
    exact: bool | None = None,
    named: bool = True,
    seed: int = 0,
    time_limit: float | None = None,
) -> Core:
    """Search for a core set of tests or intents.

    exact: decide in exact arithmetic (the default if the model is exact) or in floats. In floats, a
    `ModelError` is raised if the rank or the members are not clear. named: whether to name members;
    without, floats find the span only. time_limit: seconds, after which a `TimeLimitReached` names
    the current phase.
    """
    pomdp = as_pomdp(pomdp)
    if kind not in ("psr", "rpsr"):
        raise InputError(f"kind: read {kind!r}, expected 'psr' or 'rpsr'")
    if search not in _SEARCHES:
        raise InputError(f"search: read {search!r}, expected 'bfs' or 'dfs'")
    with deadline.time_limit(time_limit):
        return _find(pomdp, kind, search, exact, named, seed)


def _find(
    pomdp: POMDP, kind: Kind, search: Order, exact: bool | None, named: bool, seed: int
) -> Core:
    began = time.perf_counter()
    rewards = kind == "rpsr"
    if pomdp.exact if exact is None else exact:
        proof = certified_core(pomdp, rewards=rewards, search=_SEARCHES[search], seed=seed)
        return _certified(pomdp, kind, search, proof.members, proof, began, seed)
    basis, alike, margin = closure_basis(pomdp, rewards=rewards, seed=seed)
    if not is_clear(margin):
        raise ModelError(
            f"{pomdp.name}: floats cannot decide the rank: {unclear(margin)}; "
            f"{exact_instead(pomdp)}"
        )
    members: tuple[Member, ...] = ()
    if named:
        members = float_members(pomdp, rewards=rewards, search=_SEARCHES[search], seed=seed)
        if len(members) != basis.shape[1]:
            raise ModelError(
                f"{pomdp.name}: the rank in floats is {basis.shape[1]}, but the search in floats "
                f"finds {len(members)} independent {'intents' if rewards else 'tests'}; "
                f"{exact_instead(pomdp)}"
            )
    escaped = leak(pomdp, basis)
    return Core(
        kind=kind,
        search=search,
        members=tuple(as_future(pomdp, member, kind) for member in members),
        outcomes=_outcome_matrix(pomdp, members),
        basis=basis,
        labels=alike,
        blocks=alike,
        rewards_inside=rewards_in_span(pomdp, basis),
        certified=False,
        error_probability=None,
        margin=margin,
        leak=escaped,
        error=GROWTH * escaped,
        seconds=time.perf_counter() - began,
    )


def exact_instead(pomdp: POMDP) -> str:
    """What to do where floats fail."""
    if pomdp.exact:
        return "use exact arithmetic (leave out --float; exact=True in Python)"
    return "read the model with exact numbers (in Python from_arrays(..., exact=True))"


def given_core(pomdp: POMDP, kind: Kind, futures: Iterable[Future | str], *, seed: int = 0) -> Core:
    """A core set chosen by the user, as tests or intents, or as their text forms.

    It must be independent and closed: an `InputError` names a member that depends on those before
    it, or an extension that is independent of the set. The model must be exact.
    """
    pomdp, began = as_pomdp(pomdp), time.perf_counter()
    parsed = [_parsed(future, kind) for future in futures]
    if len(set(parsed)) != len(parsed):
        twice = next(f for f in parsed if parsed.count(f) > 1)
        raise InputError(f"core: read {twice} twice, expected each member once")
    members = tuple(as_member(pomdp, future) for future in parsed)
    check = check_members(pomdp, members, rewards=kind == "rpsr", seed=seed)
    if check.dependent is not None:
        raise InputError(
            f"core: the outcome of {parsed[check.dependent]!s} depends linearly on those of the "
            "members before it; leave it out"
        )
    if check.missing is not None:
        missing = as_future(pomdp, check.missing, kind)
        raise InputError(
            f"core: the set is not maximal: {missing!s} is linearly independent of it; add it"
        )
    return _certified(pomdp, kind, "given", members, check, began, seed)


def outcomes_of(pomdp: POMDP, futures: Sequence[Future]) -> Floats:
    """U, (S, len(futures)): outcome vectors by the paper's recursion u(aoq) = D[a,o] u(q)."""
    return _outcome_matrix(pomdp, tuple(as_member(pomdp, future) for future in futures))


def as_future(pomdp: POMDP, member: Member, kind: Kind) -> Future:
    """A member as a test or intent with names."""
    steps = tuple(
        Interaction(pomdp.actions[a], pomdp.observations[o]) for a, o in member.interactions
    )
    if kind == "psr":
        return Test(steps)
    return Intent(Test(steps), ZETA if member.action is None else pomdp.actions[member.action])


def as_member(pomdp: POMDP, future: Future) -> Member:
    """A test or intent as a member with indices; an `InputError` for an unknown name."""
    test = future.test if isinstance(future, Intent) else future
    action = future.action if isinstance(future, Intent) else ZETA
    steps = tuple(
        (
            index_of(pomdp.actions, step.action, "action"),
            index_of(pomdp.observations, step.observation, "observation"),
        )
        for step in test.interactions
    )
    last = None if isinstance(action, Token) else index_of(pomdp.actions, action, "action")
    return Member(steps, last)


def _parsed(future: Future | str, kind: Kind) -> Future:
    parsed = parse_future(future) if isinstance(future, str) else future
    if isinstance(parsed, Intent) != (kind == "rpsr"):
        read, expected = ("test", "intents") if kind == "rpsr" else ("intent", "tests")
        raise InputError(f"core: read the {read} {parsed}, expected {expected}")
    return parsed


def _certified(
    pomdp: POMDP,
    kind: Kind,
    search: str,
    members: tuple[Member, ...],
    proof: CertifiedCore | MembersCheck,
    began: float,
    seed: int,
) -> Core:
    basis, alike, error = _certified_basis(pomdp, kind, len(members), proof, seed)
    outcomes = _outcome_matrix(pomdp, members)
    deadline.begin("measuring the margin")
    sines = _sines(basis, outcomes)
    escaped = leak(pomdp, basis)
    return Core(
        kind=kind,
        search=search,
        members=tuple(as_future(pomdp, member, kind) for member in members),
        outcomes=outcomes,
        basis=basis,
        labels=alike,
        blocks=proof.labels,
        rewards_inside=proof.rewards_inside,
        certified=True,
        error_probability=proof.error_probability,
        margin=(float(sines.min()), escaped),
        leak=escaped,
        error=error,
        seconds=time.perf_counter() - began,
    )


def _sines(basis: Floats, outcomes: Floats) -> Floats:
    """(n,): sines of the angles between each column of U and the span of those before it.

    Computed by panels; each is orthogonalised twice against those before it, which suffices.
    """
    sizes = np.linalg.norm(outcomes, axis=0)
    done = np.zeros((basis.shape[1], 0))
    sines: list[Floats] = []
    for first in range(0, outcomes.shape[1], _PANEL):
        deadline.check()
        columns = slice(first, first + _PANEL)
        panel = basis.T @ (outcomes[:, columns] / np.where(sizes > 0, sizes, 1)[columns])
        for _ in range(2):
            panel = panel - done @ (done.T @ panel)
        directions, triangle = np.linalg.qr(panel)
        sines.append(np.abs(np.diag(triangle)))
        done = np.concatenate([done, directions], axis=1)
    return np.concatenate(sines)


def _certified_basis(
    pomdp: POMDP, kind: Kind, rank: int, proof: CertifiedCore | MembersCheck, seed: int
) -> tuple[Floats, Ints, float]:
    """Q, labels of states with equal rows of Q, and the error |(I - P) Q| of Q."""
    deadline.begin(FINDING_BASIS)
    blocks = proof.labels
    if rank == int(blocks.max()) + 1:
        return block_basis(blocks), blocks, 0.0  # the columns are constant on blocks, to the bit
    candidate = rational_basis(proof.spans)
    if candidate is None:
        basis, alike, _ = closure_basis(pomdp, rewards=kind == "rpsr", seed=seed)
        candidate = basis, alike, GROWTH * leak(pomdp, basis)
    if candidate[0].shape[1] != rank or leak(pomdp, candidate[0]) > TOLERANCE:
        raise ModelError(
            f"{pomdp.name}: the rank is {rank}, but rounding errors prevent a basis of that size; "
            "use the POMDP itself, which needs no basis"
        )
    return candidate


def _outcome_matrix(pomdp: POMDP, members: tuple[Member, ...]) -> Floats:
    known: dict[Member, Floats] = {}
    columns: list[Floats] = []
    for member in members:
        deadline.check()
        steps, action = member.interactions, member.action
        done = next(
            k
            for k in range(len(steps) + 1)
            if Member(steps[k:], action) in known or k == len(steps)
        )
        vector = known.get(Member(steps[done:], action))
        if vector is None:
            vector = np.ones(len(pomdp.states)) if action is None else pomdp.R[:, action]
        for k in range(done - 1, -1, -1):
            a, o = steps[k]
            vector = np.asarray(pomdp.D[a][o] @ vector)
            known[Member(steps[k:], action)] = vector
        columns.append(vector)
    return np.stack(columns, axis=1) if columns else np.zeros((len(pomdp.states), 0))
