"""Is a PSR enough for this task? The accuracy condition, and the size of the error where it fails.

A PSR carries the POMDP's rewards on every belief if and only if every column of R lies in the span
of its outcome vectors. Where one does not, the reconstruction U U^+ R is what the PSR takes the
rewards for, and

    d_inf = max |R - U U^+ R|      rel_d_inf = d_inf / max |R|

are the paper's errors. If outcome vectors span everything constant on blocks of indistinguishable
states, U U^+ averages over blocks, and the errors are computed in fractions.

Two finer questions concern what can happen. `accurate_reachable` asks for the rewards of reachable
beliefs only (`rpsr.predictive.reach`): the theorem's "only if" needs the reachable beliefs to span
all beliefs, which is more than every state being reachable. `d_inf_reachable` repeats the least
squares on the states that can be visited.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rpsr import deadline
from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.given import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.predictive.core import Core, find_core
from rpsr.predictive.projection import EXACT_WORK, block_means, exact_residuals, on_blocks
from rpsr.predictive.rank.modular_search import Spans
from rpsr.predictive.rank.orthonormal import reward_magnitudes
from rpsr.predictive.rank.span import rational_rows
from rpsr.predictive.reach import accurate_on_reachable, reachable_states
from rpsr.predictive.rewards import reconstruct

SAME_REWARD = 1e-12  # relative: expected rewards are sums of rounded products
NO_DIRECTION = 1e-6  # a basis restricted to some states may be singular: below this, it is,
PRIMES = 2, 8, 32  # by which a basis of rationals is looked for: rare events have long fractions
NOTHING = 1e-13  # if this is all that is left; in between, floats cannot tell
NOISE = 1e-10  # of a basis, at most, for a direction no larger than it to count as nothing


@dataclass(frozen=True)
class Merge:
    """States that look alike to every test although some actions earn differently in them.

    rewards: what each of the actions earns in each state, in their order.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    rewards: tuple[float, ...]

    def __str__(self) -> str:
        alike = _listed(self.states)
        earn = f"action {self.actions[0]} earns"
        if len(self.actions) > 1:
            earn = f"actions {_listed(self.actions)} earn"
        groups: dict[str, list[str]] = {}
        for state, reward in zip(self.states, self.rewards, strict=True):
            groups.setdefault(f"{reward:.12g}", []).append(state)
        shown = {reward: f"{float(reward):g}" for reward in groups}
        if len(set(shown.values())) < len(groups):
            shown = {reward: reward for reward in groups}
        each = ", ".join(f"{shown[r]} in {_listed(tuple(names))}" for r, names in groups.items())
        return f"states {alike} look alike to every test, but {earn} {each}"


def _listed(names: tuple[str, ...], most: int = 4) -> str:
    if len(names) > most:
        names = (*names[: most - 1], f"{len(names) - most + 1} more")
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """What a PSR does to a POMDP's rewards.

    reconstruction (S, A): U U^+ R. d_inf_by_action (A,). merges: the costly ones, see `Merge`.
    merged_states: how many states share their outcomes with another.
    d_inf_reachable: None where floats cannot tell and fractions are too much work; `note` says why.
    history_error: mean and largest |reward error| along random histories, over all actions.
    certified: ranks and both accuracy answers were decided in exact arithmetic, and are wrong with
    at most `error_probability`. margin: the thinner of the two cores' margins.
    """

    psr: Core
    rpsr: Core
    accurate: bool
    accurate_reachable: bool
    d_inf: float
    rel_d_inf: float
    d_inf_by_action: Floats
    d_inf_reachable: float | None
    rpsr_d_inf: float
    reconstruction: Floats
    merges: tuple[Merge, ...]
    merged_states: int
    history_error: tuple[float, float]
    certified: bool
    error_probability: float | None
    margin: tuple[float, float]
    seconds: float
    note: str | None = None

    def __repr__(self) -> str:
        answer = "accurate" if self.accurate else f"not accurate, d_inf {self.d_inf:.4g}"
        return f"<a PSR of rank {self.psr.rank} for one of {self.rpsr.rank}: {answer}>"


def accuracy(
    pomdp: POMDP, *, exact: bool | None = None, seed: int = 0, time_limit: float | None = None
) -> Accuracy:
    """Compare a POMDP's rewards with those its PSR and its R-PSR can carry.

    exact: decide in exact arithmetic (the default where the model is known exactly) or in floats.
    time_limit: seconds, after which a `TimeLimitReached` says what was being done.
    """
    pomdp = as_pomdp(pomdp)
    with deadline.time_limit(time_limit):
        return _compare(pomdp, exact, seed)


def _compare(pomdp: POMDP, exact: bool | None, seed: int) -> Accuracy:
    began = time.perf_counter()
    tests = find_core(pomdp, "psr", exact=exact, named=False, seed=seed)
    intents = find_core(pomdp, "rpsr", exact=exact, named=False, seed=seed)
    deadline.begin("measuring the errors of rewards")
    spans = Spans.of(pomdp, rewards=False, seed=seed)
    errors = reward_errors(pomdp, tests, spans=spans)
    if errors is None:
        raise ModelError(f"{pomdp.name}: floats cannot tell what tests span")
    deadline.begin("asking what can be reached from the start")
    at_reachable = reward_errors(pomdp, tests, reachable_states(pomdp), spans=spans)
    answer = accurate_on_reachable(pomdp, tests, intents, seed=seed)
    lost = float(np.abs(pomdp.R - reconstruct(intents, pomdp.R)).max())
    if (tests.rank == intents.rank) != tests.accurate:  # the theorem says they go together
        raise ModelError(f"{pomdp.name}: floats contradict themselves; exact arithmetic can tell")
    deadline.begin("measuring the errors of rewards")
    size = float(np.abs(pomdp.R).max())
    d_inf = float(errors.max())
    odds = [tests.error_probability, intents.error_probability, answer.error_probability]
    known = [p for p in odds if p is not None]
    return Accuracy(
        psr=tests,
        rpsr=intents,
        accurate=tests.accurate,
        accurate_reachable=answer.accurate,
        d_inf=d_inf,
        rel_d_inf=d_inf / size if size > 0 else 0.0,
        d_inf_by_action=errors.max(axis=0),
        d_inf_reachable=None if at_reachable is None else float(at_reachable.max()),
        rpsr_d_inf=lost,
        reconstruction=reconstruct(tests, pomdp.R),
        merges=costly_merges(pomdp, tests.labels) if not tests.accurate else (),
        merged_states=int((np.bincount(tests.labels)[tests.labels] > 1).sum()),
        history_error=_history_error(pomdp, tests, seed),
        certified=tests.certified and intents.certified,
        error_probability=min(1.0, sum(known)) if len(known) == len(odds) else None,
        margin=(
            min(tests.margin[0], intents.margin[0]),
            max(tests.margin[1], intents.margin[1]),
        ),
        seconds=time.perf_counter() - began,
        note=None if at_reachable is not None else _why_not_known(pomdp, tests),
    )


def _why_not_known(pomdp: POMDP, core: Core) -> str:
    """Why there is no `d_inf_reachable`."""
    said = "d_inf_reachable is not known: floats cannot tell what tests span on reachable states"
    if core.certified:
        return said + ", and fractions would take too much work"
    return said + ("; exact arithmetic can tell" if pomdp.exact else "")


def reward_errors(
    pomdp: POMDP, core: Core, states: Bools | None = None, *, spans: Spans | None = None
) -> Floats | None:
    """|R - U U^+ R|, (S, A); with `states` (S,), on those alone, and 0 elsewhere.

    Exactly 0 where the core is certified to carry the rewards; from fractions where the span is
    that of blocks of states, or has a small basis of rationals; else in floats. None where floats
    cannot tell what the span is on those states.
    spans: those of the core's outcome vectors modulo primes, where they may have been found before.
    """
    if core.certified and core.accurate:
        return np.zeros(pomdp.R.shape)
    chosen = np.ones(len(pomdp.states), dtype=np.bool_) if states is None else states
    if on_blocks(core):
        return _block_errors(pomdp, core.blocks, chosen)
    errors = np.zeros(pomdp.R.shape)
    found = _rational_errors(pomdp, core, chosen, spans) if core.certified else None
    if found is None:
        noise = max(NOTHING, 10 * core.error)
        noise = noise if noise <= NOISE else NOTHING
        found = _float_errors(pomdp.R[chosen], core.basis[chosen], noise)
    if found is None:
        return None
    errors[chosen] = found
    if core.certified:
        errors[:, core.rewards_inside] = 0
    return errors


def costly_merges(pomdp: POMDP, labels: Ints) -> tuple[Merge, ...]:
    """Groups of states alike to every test in which some action earns differently.

    Compared in fractions where the model is known exactly.
    """
    exact = pomdp.exact_rewards() if pomdp.exact else None
    sizes = reward_magnitudes(pomdp)
    merges: list[Merge] = []
    for members in _groups(labels):
        if len(members) == 1:
            continue
        deadline.check()
        costly: dict[tuple[float, ...], list[str]] = {}
        for action, name in enumerate(pomdp.actions):
            earned = pomdp.R[members, action]
            if exact is not None:
                differ = len({exact[s][action] for s in members.tolist()}) > 1
            else:
                differ = bool(np.ptp(earned) > SAME_REWARD * sizes[members, action].max())
            if differ:
                costly.setdefault(tuple(earned.tolist()), []).append(name)
        states = tuple(pomdp.states[s] for s in members.tolist())
        merges += [Merge(states, tuple(names), earned) for earned, names in costly.items()]
    return tuple(merges)


def _block_errors(pomdp: POMDP, labels: Ints, chosen: Bools) -> Floats:
    exact = pomdp.exact_rewards()
    errors = np.zeros(pomdp.R.shape)
    for states, means in block_means(pomdp, labels, chosen):
        deadline.check()
        for s in states:
            errors[s] = [float(abs(r - mean)) for r, mean in zip(exact[s], means, strict=True)]
    return errors


def _groups(labels: Ints) -> list[Ints]:
    """The positions of each label, ascending; groups by label."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []


def _rational_errors(pomdp: POMDP, core: Core, chosen: Bools, spans: Spans | None) -> Floats | None:
    """The errors on chosen states, (C, A), in fractions; None where that is too much work."""
    if core.rank * (core.rank + len(pomdp.actions)) * int(chosen.sum()) > EXACT_WORK:
        return None
    known = Spans.of(pomdp, rewards=core.kind == "rpsr") if spans is None else spans
    tried = (rational_rows(known, k) for k in PRIMES)
    found = next((rows for rows in tried if rows is not None), None)
    if found is None:
        return None
    states, exact = np.flatnonzero(chosen).tolist(), pomdp.exact_rewards()
    places = found[1][chosen].tolist()
    vectors = [[row[place] for place in places] for row in found[0]]
    targets = [[exact[s][a] for s in states] for a in range(len(pomdp.actions))]
    left = exact_residuals(vectors, targets)
    return None if left is None else np.array([[float(abs(x)) for x in row] for row in left]).T


def _float_errors(rewards: Floats, basis: Floats, noise: float) -> Floats | None:
    """The errors on some states, (C, A); None where it is not clear what the basis spans there."""
    deadline.check(10 * basis.size * min(basis.shape))
    sizes = np.linalg.svd(basis, compute_uv=False)
    unclear = (sizes > noise) & (sizes < NO_DIRECTION)
    if unclear.any():
        return None
    fitted = basis @ np.linalg.lstsq(basis, rewards, rcond=NO_DIRECTION)[0]
    return np.abs(rewards - fitted)


def _history_error(
    pomdp: POMDP, core: Core, seed: int, histories: int = 20, steps: int = 50
) -> tuple[float, float]:
    """Mean and largest reward error of the PSR along histories of uniformly random actions."""
    if core.certified and core.accurate:
        return 0.0, 0.0
    rng = np.random.default_rng(seed)
    belief, gap = pomdp.belief_model(), pomdp.R - core.basis @ (core.basis.T @ pomdp.R)
    seen: list[Floats] = []
    for _ in range(histories):
        deadline.check()
        b = belief.start
        for _ in range(steps):
            seen.append(np.abs(b @ gap))
            action = int(rng.integers(len(pomdp.actions)))
            chances = belief.predict(b, action)
            observation = int(rng.choice(len(chances), p=chances / chances.sum()))
            b = belief.update(b, action, observation)
    errors = np.array(seen)
    return float(errors.mean()), float(errors.max())
