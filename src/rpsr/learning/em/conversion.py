"""Models from a fitted POMDP: the POMDP to plan on, with caution, and its R-PSR."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Floats
from rpsr.learning.caution import Caution, known_share, worst
from rpsr.learning.em.fitted_pomdp import FittedPOMDP
from rpsr.learning.ends import final_names
from rpsr.logs.trajectories import Trajectories
from rpsr.models.domain import Simplex
from rpsr.models.linear import LinearModel
from rpsr.models.operators import DenseOperators
from rpsr.models.pomdp import POMDP
from rpsr.predictive import rpsr


@dataclass(frozen=True)
class Facts:
    """Facts of a log for models: its names, the range of its rewards, its longest episode.

    size: the numbers of episodes and of steps. final: the observations at ends of tasks alone.
    """

    action_names: tuple[str, ...]
    observation_names: tuple[str, ...]
    rewards: tuple[float, float]
    longest: int
    size: tuple[int, int]
    final: tuple[str, ...]

    @staticmethod
    def of(log: Trajectories) -> Facts:
        """The facts of a log with rewards."""
        rewards = log.rewards_for("learning")
        return Facts(
            log.action_names,
            log.observation_names,
            (float(rewards.min()), float(rewards.max())),
            int(log.lengths.max()),
            (log.episodes, log.steps),
            final_names(log),
        )


def as_pomdp(
    parameters: FittedPOMDP,
    facts: Facts,
    discount: float | None,
    enough: float = 0.0,
) -> POMDP:
    """The fitted POMDP, with the names of the log, and penalties for rarely tried actions."""
    states = [f"state-{s}" for s in range(parameters.states)]
    if parameters.end >= 0:
        states[parameters.end] = "end"
    return POMDP.from_arrays(
        parameters.moves,
        np.swapaxes(parameters.emissions, 1, 2),
        cautious(parameters, facts, discount, enough).T,
        parameters.start,
        discount,
        {
            "states": states,
            "actions": facts.action_names,
            "observations": facts.observation_names,
        },
        name="learned",
    )


def known(parameters: FittedPOMDP, enough: float) -> Floats:
    """The share from 0 to 1 to which each action is known in each state, by visits, (A, S)."""
    shares = known_share(parameters.visits, enough)
    if parameters.end >= 0:
        shares[:, parameters.end] = 1.0
    return shares


def caution_of(
    parameters: FittedPOMDP, facts: Facts, discount: float | None, enough: float
) -> Caution:
    """How well each action is known in each state, without the end, and the penalty."""
    share = known(parameters, enough)
    names = [
        (share[a, s], f"{action} in state-{s}")
        for a, action in enumerate(facts.action_names)
        for s in range(parameters.states)
        if s != parameters.end
    ]
    return Caution(
        known=tuple(float(share) for share, _ in names),
        worst=_worst(parameters, facts, discount),
        unknown=tuple(name for share, name in names if share < 1),
        by_state=True,
    )


def _worst(parameters: FittedPOMDP, facts: Facts, discount: float | None) -> float:
    low, high = facts.rewards
    if parameters.end >= 0:
        low, high = min(low, 0.0), max(high, 0.0)  # the reward of the end
    return worst(low, high, discount, facts.longest)


def cautious(
    parameters: FittedPOMDP, facts: Facts, discount: float | None, enough: float
) -> Floats:
    """Expected rewards (A, S), mixed with the penalty where the share `known` is below 1."""
    share = known(parameters, enough)
    return share * parameters.means + (1 - share) * _worst(parameters, facts, discount)


def as_rpsr(pomdp: POMDP) -> LinearModel:
    """The R-PSR of a fitted POMDP.

    If the rank is the number of states, or uncertain in floats, the basis is the identity: states
    of the R-PSR are beliefs, and its domain is the simplex.
    """
    n = len(pomdp.states)
    try:
        model = rpsr(pomdp)
    except ModelError:
        model = None
    if model is not None and model.dimension < n:
        return model
    belief = pomdp.belief_model()
    matrices = [
        [belief.operators.matrix(a, o) for o in range(len(pomdp.observations))]
        for a in range(len(pomdp.actions))
    ]
    return replace(
        belief,
        kind="rpsr",
        operators=DenseOperators(np.array(matrices)),
        domain=Simplex(n),
    )
