"""Core sets: found by search or given by the user, with their basis, and how sure we are.

A core set is read in its own coordinates (probabilities of tests, rewards of intents) and computed
with in an orthonormal basis Q of the same span: U = Q T, with T = Q^T U invertible. `margin` says
in floats how clear the decisions were: the smallest sine of the angle between a member's outcome
vector and the span of those before it, and how far an extension sticks out of the span of all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.labels import index_of
from rpsr.models.pomdp import POMDP
from rpsr.predictive.certify import certified_core, check_members
from rpsr.predictive.estimate import float_core
from rpsr.predictive.futures import (
    ZETA,
    Future,
    Intent,
    Interaction,
    Test,
    Token,
    parse_future,
)
from rpsr.predictive.search import Member, breadth_first, depth_first
from rpsr.predictive.span import (
    block_basis,
    closure_basis,
    leak,
    rational_basis,
    rewards_in_span,
)

Kind = Literal["psr", "rpsr"]
Order = Literal["bfs", "dfs"]
CLEAR = 100  # a rank is clear in floats if what is kept is this many times what is dropped
_SEARCHES = {"bfs": breadth_first, "dfs": depth_first}


@dataclass(frozen=True, eq=False)
class Core:
    """A core set of tests (`kind` 'psr') or intents ('rpsr') of a POMDP with S states.

    members: in order of acceptance. outcomes (S, n): the paper's U, a column per member.
    basis (S, n): Q, orthonormal, with the same span.
    labels (S,): blocks of states that no member's outcome tells apart.
    rewards_inside (A,): whether R[:, a] lies in the span: the accuracy condition, action by action.
    certified: decided in exact arithmetic; then `error_probability` bounds the chance that the true
    rank is higher, 0 meaning certainty. margin: see above. seconds: what finding it took.
    """

    kind: Kind
    search: str
    members: tuple[Future, ...]
    outcomes: Floats
    basis: Floats
    labels: Ints
    rewards_inside: Bools
    certified: bool
    error_probability: float | None
    margin: tuple[float, float]
    seconds: float

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
        """The condition number of U: what reading in the core's coordinates costs in digits."""
        return float(np.linalg.cond(self.coordinates))


def find_core(
    pomdp: POMDP,
    kind: Kind,
    *,
    search: Order = "bfs",
    exact: bool | None = None,
    named: bool = True,
    seed: int = 0,
) -> Core:
    """Search for a core set of tests or intents.

    exact: decide in exact arithmetic (the default where the model is known exactly) or in floats.
    In floats, a rank that is not clear is refused with a `ModelError`, and so is a core set whose
    members are not; without `named`, only the span is asked for, and there are no members.
    """
    began = time.perf_counter()
    rewards = kind == "rpsr"
    if pomdp.exact if exact is None else exact:
        found = certified_core(pomdp, rewards=rewards, search=_SEARCHES[search], seed=seed)
        members, labels = found.members, found.labels
        inside, error = found.rewards_inside, found.error_probability
        basis = _certified_basis(pomdp, rewards, found.rank, labels, seed)
        certified = True
    else:
        estimate = float_core(pomdp, rewards=rewards, search=_SEARCHES[search], seed=seed)
        labels, error, certified = estimate.labels, None, False
        basis = _float_basis(pomdp, kind, seed)
        members = estimate.members if named else ()
        if named and len(members) != basis.shape[1]:
            raise ModelError(
                f"{pomdp.name}: the rank is {basis.shape[1]}, but floats cannot tell which tests "
                f"are independent (they would take {len(members)}); exact arithmetic can"
            )
        inside = rewards_in_span(pomdp, basis)
    return _finish(
        pomdp,
        kind,
        search,
        members,
        basis,
        labels=labels,
        inside=inside,
        certified=certified,
        error=error,
        began=began,
    )


def given_core(pomdp: POMDP, kind: Kind, futures: Iterable[Future | str], *, seed: int = 0) -> Core:
    """A core set chosen by the user, as futures or their text forms.

    It must be independent and closed: a member that depends on those before it, or an extension
    that the set cannot express, is named in an `InputError`. The model must be known exactly.
    """
    began = time.perf_counter()
    parsed = [_parsed(future, kind) for future in futures]
    if len(set(parsed)) != len(parsed):
        raise InputError(f"core: {next(f for f in parsed if parsed.count(f) > 1)} is given twice")
    members = tuple(as_member(pomdp, future) for future in parsed)
    check = check_members(pomdp, members, rewards=kind == "rpsr", seed=seed)
    if check.dependent is not None:
        raise InputError(f"core: {parsed[check.dependent]!s} depends on the members before it")
    if check.missing is not None:
        missing = as_future(pomdp, check.missing, kind)
        raise InputError(f"core: not closed: {missing!s} is independent of the given set")
    basis = _certified_basis(pomdp, kind == "rpsr", len(members), check.labels, seed)
    return _finish(
        pomdp,
        kind,
        "given",
        members,
        basis,
        labels=check.labels,
        inside=check.rewards_inside,
        certified=True,
        error=check.error_probability,
        began=began,
    )


def outcomes_of(pomdp: POMDP, futures: Sequence[Future]) -> Floats:
    """U, (S, len(futures)): outcome vectors by the paper's recursion u(aoq) = D[a,o] u(q)."""
    return _outcome_matrix(pomdp, tuple(as_member(pomdp, future) for future in futures))


def as_future(pomdp: POMDP, member: Member, kind: Kind) -> Future:
    """A member by its names."""
    steps = tuple(
        Interaction(pomdp.actions[a], pomdp.observations[o]) for a, o in member.interactions
    )
    if kind == "psr":
        return Test(steps)
    return Intent(Test(steps), ZETA if member.action is None else pomdp.actions[member.action])


def as_member(pomdp: POMDP, future: Future) -> Member:
    """A future by its indices; unknown names are an `InputError`."""
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
        expected = "intents" if kind == "rpsr" else "tests"
        raise InputError(f"core: read {parsed}, expected {expected}")
    return parsed


def _float_basis(pomdp: POMDP, kind: Kind, seed: int) -> Floats:
    basis, (kept, dropped) = closure_basis(pomdp, rewards=kind == "rpsr", seed=seed)
    if kept < CLEAR * dropped:
        raise ModelError(
            f"{pomdp.name}: the rank is not clear in floats: a direction of size {kept:.2g} was "
            f"kept and one of {dropped:.2g} dropped; exact arithmetic can tell"
        )
    return basis


def _certified_basis(pomdp: POMDP, rewards: bool, rank: int, labels: Ints, seed: int) -> Floats:
    if rank == int(labels.max()) + 1:
        return block_basis(labels)
    basis = rational_basis(pomdp, rewards=rewards, seed=seed)
    if basis is None:
        basis, _ = closure_basis(pomdp, rewards=rewards, seed=seed)
    if basis.shape[1] != rank:
        raise ModelError(
            f"{pomdp.name}: the rank is {rank}, but floats see {basis.shape[1]} dimensions: "
            "no basis of the span can be trusted"
        )
    return basis


def _finish(
    pomdp: POMDP,
    kind: Kind,
    search: str,
    members: tuple[Member, ...],
    basis: Floats,
    *,
    labels: Ints,
    inside: Bools,
    certified: bool,
    error: float | None,
    began: float,
) -> Core:
    outcomes = _outcome_matrix(pomdp, members)
    sizes = np.linalg.norm(outcomes, axis=0)
    sines = np.abs(np.diag(np.linalg.qr(basis.T @ (outcomes / np.where(sizes > 0, sizes, 1)))[1]))
    sines = np.append(sines, 1.0)
    return Core(
        kind=kind,
        search=search,
        members=tuple(as_future(pomdp, member, kind) for member in members),
        outcomes=outcomes,
        basis=basis,
        labels=labels,
        rewards_inside=inside,
        certified=certified,
        error_probability=error,
        margin=(float(sines.min()), leak(pomdp, basis)),
        seconds=time.perf_counter() - began,
    )


def _outcome_matrix(pomdp: POMDP, members: tuple[Member, ...]) -> Floats:
    known: dict[Member, Floats] = {}
    columns: list[Floats] = []
    for member in members:
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
