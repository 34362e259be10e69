"""Is a PSR enough for this task? The accuracy condition, and the size of the error if it fails.

A PSR represents the POMDP's rewards on every belief if and only if every column of R lies in the
span of its outcome vectors. Otherwise the PSR's rewards are the reconstruction U U^+ R, and

    d_inf = max |R - U U^+ R|      rel_d_inf = d_inf / max |R|

are the paper's errors. If the outcome vectors span all vectors constant on blocks of
indistinguishable states, U U^+ averages over blocks, and the errors are computed in fractions.

Two further results concern reachable beliefs and states. `accurate_reachable` says whether the
rewards of reachable beliefs are represented (`rpsr.predictive.reach`): the theorem's "only if"
requires that reachable beliefs span all beliefs, which is more than that every state is reachable.
`d_inf_reachable` repeats the least squares on the reachable states.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rpsr import deadline
from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Ints
from rpsr.models.as_model import as_pomdp
from rpsr.models.pomdp import POMDP
from rpsr.predictive.certainty import certainty
from rpsr.predictive.core import Core, exact_instead, find_core
from rpsr.predictive.projection import EXACT_WORK, block_means, exact_residuals, on_blocks
from rpsr.predictive.rank.modular_search import Spans
from rpsr.predictive.rank.orthonormal import reward_magnitudes
from rpsr.predictive.rank.span import rational_rows
from rpsr.predictive.reach import accurate_on_reachable, reachable_states
from rpsr.predictive.rewards import reconstruct
from rpsr.showing import Shown

BEFORE = (
    "observations on entering these states differ, but the state of a PSR predicts only later "
    "observations"
)
SAME_REWARD = 1e-12  # relative: expected rewards are sums of rounded products
PRIMES = 2, 8, 32  # tried in turn to find a basis of rationals: rare events have long fractions
# Singular values of a basis restricted to some states: floats cannot decide between these two.
NO_DIRECTION = 1e-6  # a value above this is a direction of the span
NOTHING = 1e-13  # a value below this, or below the error of the basis, counts as 0
NOISE = 1e-10  # largest error of a basis that replaces NOTHING


@dataclass(frozen=True)
class Merge:
    """States that no test distinguishes although the rewards of some actions differ.

    rewards: the reward of these actions in each state, in the order of `states`. seen_apart:
    whether, after some action, arriving in one gives other observations than arriving in another.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    rewards: tuple[float, ...]
    seen_apart: bool = False

    def __str__(self) -> str:
        noun = "action" if len(self.actions) == 1 else "actions"
        groups: dict[str, list[str]] = {}
        for state, reward in zip(self.states, self.rewards, strict=True):
            groups.setdefault(f"{reward:.12g}", []).append(state)
        shown = {reward: f"{float(reward):g}" for reward in groups}
        if len(set(shown.values())) < len(groups):
            shown = {reward: reward for reward in groups}
        rewards = ", ".join(f"{shown[r]} in {_listed(tuple(names))}" for r, names in groups.items())
        return (
            f"no test distinguishes states {_listed(self.states)}, "
            f"but the reward of {noun} {_listed(self.actions)} is {rewards}"
        )

    @property
    def remark(self) -> str:
        """Why different observations do not help, in parentheses after a space; else empty."""
        return f" ({BEFORE})" if self.seen_apart else ""


def _listed(names: tuple[str, ...], most: int = 4) -> str:
    if len(names) > most:
        names = (*names[: most - 1], f"{len(names) - most + 1} more")
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


@dataclass(frozen=True, eq=False, repr=False)
class Accuracy(Shown):
    """The errors of a PSR in a POMDP's rewards.

    reconstruction (S, A): U U^+ R. d_inf_by_action (A,). merges: states merged despite different
    rewards, see `Merge`. merged_states: how many states have the same outcomes as another.
    d_inf_reachable: None if floats cannot decide and fractions take too much work; see `note`.
    history_error: mean and largest |reward error| along random histories, over all actions.
    certified: ranks and both accuracy answers were decided in exact arithmetic, and are wrong with
    a probability of at most `error_probability`. margin: the smaller of the two cores' margins.
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

    @property
    def merged_groups(self) -> int:
        """The number of groups of states that have the same outcomes."""
        return int((np.bincount(self.psr.labels) > 1).sum())

    def title(self) -> str:
        """A description in one line."""
        answer = "accurate" if self.accurate else f"not accurate, d_inf {self.d_inf:.4g}"
        return f"PSR of rank {self.psr.rank}, R-PSR of rank {self.rpsr.rank}: {answer}"

    def facts(self) -> list[tuple[str, str]]:
        """Both answers, the errors, and how sure they are."""
        mean, largest = self.history_error
        return [
            ("accurate", "yes" if self.accurate else "no"),
            ("accurate (reachable)", "yes" if self.accurate_reachable else "no"),
            ("d_inf", f"{self.d_inf:.6g}"),
            ("error along histories", f"mean {mean:.4g}, largest {largest:.4g}"),
            ("certainty", certainty(self.certified, self.error_probability)),
        ]


def accuracy(
    pomdp: POMDP, *, exact: bool | None = None, seed: int = 0, time_limit: float | None = None
) -> Accuracy:
    """Compare a POMDP's rewards with those that its PSR and its R-PSR can represent.

    exact: decide in exact arithmetic (the default if the model is exact) or in floats.
    time_limit: seconds, after which a `TimeLimitReached` names the current phase.
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
        reason = "floats cannot determine the span of the tests' outcomes"
        raise ModelError(f"{pomdp.name}: d_inf is unknown: {_with_remedy(reason, pomdp, tests)}")
    deadline.begin("finding the states reachable from the start")
    at_reachable = reward_errors(pomdp, tests, reachable_states(pomdp), spans=spans)
    answer = accurate_on_reachable(pomdp, tests, intents, seed=seed)
    lost = float(np.abs(pomdp.R - reconstruct(intents, pomdp.R)).max())
    if (tests.rank == intents.rank) != tests.accurate:  # equivalent, by the theorem
        raise ModelError(
            f"{pomdp.name}: in floats, the ranks of the PSR and the R-PSR contradict the reward "
            f"errors of the PSR; {exact_instead(pomdp)}"
        )
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
    reason = "floats cannot determine the span of the tests' outcomes on reachable states"
    return f"d_inf_reachable is unknown: {_with_remedy(reason, pomdp, core)}"


def _with_remedy(reason: str, pomdp: POMDP, core: Core) -> str:
    if core.certified:
        return f"{reason}, and exact arithmetic would take too long"
    return f"{reason}; {exact_instead(pomdp)}"


def reward_errors(
    pomdp: POMDP, core: Core, states: Bools | None = None, *, spans: Spans | None = None
) -> Floats | None:
    """|R - U U^+ R|, (S, A); with `states` (S,), on those alone, and 0 elsewhere.

    Exactly 0 if the core is certified to represent the rewards; from fractions if the span is that
    of blocks of states, or has a small basis of rationals; else in floats. None if floats cannot
    determine the span on those states.
    spans: those of the core's outcome vectors modulo primes, if already computed.
    """
    if core.certified and core.accurate:
        return np.zeros(pomdp.R.shape)
    chosen = np.ones(len(pomdp.states), dtype=np.bool_) if states is None else states
    if on_blocks(core):
        return _block_errors(pomdp, core.blocks, chosen)
    errors = np.zeros(pomdp.R.shape)
    chosen_errors = _rational_errors(pomdp, core, chosen, spans) if core.certified else None
    if chosen_errors is None:
        noise = max(NOTHING, 10 * core.error)
        noise = noise if noise <= NOISE else NOTHING
        chosen_errors = _float_errors(pomdp.R[chosen], core.basis[chosen], noise)
    if chosen_errors is None:
        return None
    errors[chosen] = chosen_errors
    if core.certified:
        errors[:, core.rewards_inside] = 0
    return errors


def costly_merges(pomdp: POMDP, labels: Ints) -> tuple[Merge, ...]:
    """Groups of states that no test distinguishes, with different rewards for some action.

    Compared in fractions if the model is exact.
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
        apart = bool(costly) and _seen_apart(pomdp, members)
        merges += [Merge(states, tuple(names), earned, apart) for earned, names in costly.items()]
    return tuple(merges)


def _seen_apart(pomdp: POMDP, members: Ints) -> bool:
    """Whether arriving in some of these states, by the same action, gives other observations.

    Not decided where observations also depend on the previous state.
    """
    if pomdp.record.emission_by_edge:
        return False
    for action in pomdp.actions:
        entered = members[pomdp.transition(action).sum(axis=0)[members] > 0]
        rows = pomdp.emission(action)[entered]
        if len(entered) > 1 and abs(rows - rows[np.zeros(len(entered), int)]).max() > SAME_REWARD:
            return True
    return False


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
    """The errors on chosen states, (C, A), in fractions; None if that is too much work."""
    if core.rank * (core.rank + len(pomdp.actions)) * int(chosen.sum()) > EXACT_WORK:
        return None
    known = Spans.of(pomdp, rewards=core.kind == "rpsr") if spans is None else spans
    tried = (rational_rows(known, k) for k in PRIMES)
    echelon = next((rows for rows in tried if rows is not None), None)
    if echelon is None:
        return None
    states, exact = np.flatnonzero(chosen).tolist(), pomdp.exact_rewards()
    places = echelon[1][chosen].tolist()
    vectors = [[row[place] for place in places] for row in echelon[0]]
    targets = [[exact[s][a] for s in states] for a in range(len(pomdp.actions))]
    left = exact_residuals(vectors, targets)
    return None if left is None else np.array([[float(abs(x)) for x in row] for row in left]).T


def _float_errors(rewards: Floats, basis: Floats, noise: float) -> Floats | None:
    """The errors on some states, (C, A); None if the span of the basis there is not clear."""
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
