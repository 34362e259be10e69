"""The paper's case study: the PSR of load/unload, its rewards, and its optimal policy.

Everything is computed from the domain: the outcomes of the paper's core tests, the PSR's rewards,
their reconstruction over states, and the walks of the three models' optimal policies. A walk
follows a policy from a state until it repeats.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from rpsr.errors import ModelError
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning import AlphaPolicy, Policy
from rpsr.predictive import CoreView, find_core, outcomes_of, parse_future, reconstruct
from rpsr.predictive import psr as psr_of
from rpsr.predictive import rpsr as rpsr_of
from rpsr.reproduce import paper
from rpsr.reproduce.one_domain import Planned
from rpsr.sources import load_pomdp

CASE = "loadunload"
_SHOWN = 20  # steps of a walk that are shown
_LONGEST = 400  # steps before a walk must have repeated itself


class Walk(TypedDict):
    """A policy followed from one state.

    cells: the position of the cart before each step; earned: true rewards; believed: the PSR's
    expected rewards at the same steps. cycle: the cells of the part that repeats.
    """

    start: str
    cells: list[int]
    actions: list[str]
    earned: list[float]
    believed: list[float]
    cycle: list[int]
    behaviour: str


class Facts(TypedDict):
    """The models of the case study, as plain JSON values.

    outcomes: of the paper's core tests, one row of states per test. rewards, psr_rewards,
    reconstruction: one row per action.
    """

    states: list[str]
    actions: list[str]
    psr_rank: int
    rpsr_rank: int
    core_tests: list[str]
    outcomes: list[list[float]]
    breadth_first: list[str]
    rewards: list[list[float]]
    psr_rewards: list[list[float]]
    reconstruction: list[list[float]]
    alike: list[list[str]]


class CaseStudy(Facts):
    """The facts, and the walks by policy, one from each state."""

    walks: dict[str, list[Walk]]


def case_study() -> Facts:
    """Compute the facts of the case study; `walks` needs plans."""
    pomdp = load_pomdp(CASE)
    psr = psr_of(pomdp, core=list(paper.CORE_TESTS))
    core = find_core(pomdp, "psr")
    view = CoreView(psr)
    outcomes = outcomes_of(pomdp, [parse_future(test) for test in paper.CORE_TESTS])
    return Facts(
        states=list(pomdp.states),
        actions=list(pomdp.actions),
        psr_rank=psr.dimension,
        rpsr_rank=rpsr_of(pomdp).dimension,
        core_tests=list(paper.CORE_TESTS),
        outcomes=_rounded(outcomes.T),
        breadth_first=[str(member) for member in core.members],
        rewards=_rounded(pomdp.R.T),
        psr_rewards=_rounded(view.R.T),
        reconstruction=_rounded(reconstruct(core, pomdp.R).T),
        alike=_alike(pomdp, outcomes),
    )


def walks(planned: Planned) -> dict[str, list[Walk]]:
    """The walks of each model's optimal policy, one from each state of load/unload."""
    states, psr = range(len(planned.pomdp.states)), planned.models["psr"]
    return {
        name: [walk_from(planned.pomdp, AlphaPolicy.of(plan), state, psr) for state in states]
        for name, plan in planned.plans.items()
    }


def _rounded(array: np.ndarray) -> list[list[float]]:
    """Rounded to 12 decimals, with zeros unsigned."""
    return (np.round(array, 12) + 0.0).tolist()


def _alike(pomdp: POMDP, outcomes: np.ndarray) -> list[list[str]]:
    """States with the same row of outcomes."""
    groups: dict[bytes, list[str]] = {}
    for state, row in zip(pomdp.states, np.round(outcomes, 12), strict=True):
        groups.setdefault(row.tobytes(), []).append(state)
    return [group for group in groups.values() if len(group) > 1]


def walk_from(pomdp: POMDP, policy: Policy, state: int, psr: LinearModel) -> Walk:
    """Follow a policy for 20 steps from a state of load/unload, which is deterministic.

    psr: the model whose expected rewards are recorded as `believed`, beside the true ones.
    """
    start = pomdp.states[state]
    policy.reset()
    belief = psr.filter()
    cells: list[int] = []
    actions: list[str] = []
    earned: list[float] = []
    believed: list[float] = []
    seen: dict[tuple[float, ...], int] = {}
    while (moment := (state, *np.round(policy.memory, 9).tolist())) not in seen:
        if len(cells) == _LONGEST:
            raise ModelError(
                f"from {start}, the policy did not repeat itself within {_LONGEST} steps"
            )
        seen[moment] = len(cells)
        action = policy.act()
        cells.append(_cell(pomdp, state))
        actions.append(pomdp.actions[action])
        earned.append(round(float(pomdp.R[state, action]), 12))
        believed.append(round(float(psr.expected_rewards(belief.state)[action]), 12) + 0.0)
        state, observation = _only_outcome(pomdp, state, action)
        policy.update(action, observation)
        belief.update(action, observation)
    cycle = cells[seen[moment] :]
    while len(cells) < _SHOWN:  # repeat the cycle
        for column in (cells, actions, earned, believed):
            column.append(column[-len(cycle)])  # type: ignore[arg-type]
    return Walk(
        start=start,
        cells=cells[:_SHOWN],
        actions=actions[:_SHOWN],
        earned=earned[:_SHOWN],
        believed=believed[:_SHOWN],
        cycle=cycle,
        behaviour=behaviour(cycle, last=_cell(pomdp, len(pomdp.states) - 1)),
    )


def behaviour(cycle: list[int], last: int) -> str:
    """What a policy in load/unload does, in words.

    cycle: the positions of the cart that it repeats indefinitely. last: the last position.
    """
    places = set(cycle)
    if {0, last} <= places:
        return "moves back and forth between the ends"
    if places in ({0}, {last}):
        return "reaches an end and stays there"
    return "does something else"


def _cell(pomdp: POMDP, state: int) -> int:
    return int(pomdp.states[state].partition("-")[2])


def _only_outcome(pomdp: POMDP, state: int, action: int) -> tuple[int, int]:
    """The one next state and observation that an action leads to."""
    for observation, process in enumerate(pomdp.D[action]):
        row = process[[state]].toarray()[0]
        if row.max() == 1.0:
            return int(row.argmax()), observation
    raise ModelError(
        f"{pomdp.name}: an action has more than one possible next state or observation, expected a "
        "deterministic POMDP"
    )
