"""Planning online on a linear model: `sarsop` from the current state, at every step.

The search of `sarsop` keeps bounds that hold at every belief: vectors below, which generalise to
other beliefs, and Q's at points above. So it need not begin again at the next state. After an
action and an observation it continues from there, with all vectors and points that earlier steps
have found. The bounds at a leaf are its own: at first those of blind policies and the tighter
informed bound (or the vectors of a plan), later the best that any trial has found.

    action    the best for Q(x, a) = r(x, a) + discount * sum_o P(o | x, a) L(x'), with L the lower
              bound after the search
    stop      the time or the trials of the step are spent; the gap here is small enough; or every
              other action has an upper bound of at most the lower bound of this one

Why not a tree: a tree search such as AEMS2 (Ross et al., 2008) improves bounds at the beliefs of
its tree only. Here a backup improves the lower bound at all beliefs, and nothing is lost when the
root moves. The two have not been measured side by side.

Bounds. At the current mixture of corners, lower <= V* <= upper, rounding of the filter included;
further trials never loosen them. An earlier episode is forgotten at `reset`, so with trials (not
seconds) the actions depend on the seed and the history alone.

References: S. Ross, J. Pineau, S. Paquet and B. Chaib-draa, Online planning algorithms for POMDPs,
JAIR 32 (2008); H. Kurniawati, D. Hsu and W. S. Lee, SARSOP, RSS 2008.
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, Self

import numpy as np

from rpsr.arguments import whole
from rpsr.errors import InputError
from rpsr.io.records import Floats
from rpsr.kernels import interpreted_first
from rpsr.models.as_model import as_linear, wrong_type
from rpsr.models.filter import REPLAY
from rpsr.models.labels import Label, index_of, observed
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP
from rpsr.planning.anytime.beginning import begin
from rpsr.planning.anytime.lower_bound import lower_choice
from rpsr.planning.anytime.schedule import Schedule
from rpsr.planning.convergence import infinite_discount
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import LimitReached
from rpsr.planning.online.corner_filter import CornerFilter, Interactions
from rpsr.planning.online.effort import Effort
from rpsr.planning.online.history import extended
from rpsr.planning.runner import SMALL
from rpsr.planning.solution import Solution, Status
from rpsr.planning.value.policies import Policy
from rpsr.planning.value.value_function import ValueFunction
from rpsr.showing import Shown

MEMORY = 2**30  # bytes of a search, by default


class OnlinePolicy(Shown, Policy):
    """A policy that searches from the current state of a linear model at every step.

    The constructor prepares the first bounds; that time is not part of the seconds per step.

    model: a POMDP or a linear model with known corners and a discount below 1.
    seconds, trials: the effort per step; 1 second by default.
    plan: a plan for the model, whose vectors the search begins with.
    seed: of the random numbers of the search.
    memory_limit: bytes of a search; when it is full, the next step begins a new one.
    """

    def __init__(
        self,
        model: POMDP | LinearModel,
        *,
        seconds: float | None = None,
        trials: int | None = None,
        plan: Solution | None = None,
        seed: int = 0,
        memory_limit: int = MEMORY,
    ) -> None:
        self.effort = Effort.of(seconds, trials)
        self.model = as_linear(model)
        infinite_discount(self.model)
        self.seed = whole("seed", seed, 0)
        self.memory_limit = whole("memory_limit", memory_limit, 1)
        n_actions, n_observations, n = self.model.operators.shape
        self._small = n_actions * n_observations * n * n <= SMALL
        self._process = corner_process(self.model)
        self._earlier = None if plan is None else _vectors(plan, self.model)
        self._filter = CornerFilter(self._process)
        with interpreted_first(self._small):
            self._begun = begin(self._process, Effort(None, None).clock(), None)
        self.reset()

    def reset(self) -> None:
        """Return to the start, with a new search."""
        self._mixture, self._recent, self._steps, self._digest = self._filter.start, (), 0, 0
        self._action: int | None = None
        self._begin()

    def _begin(self) -> None:
        """A new search, from the current state."""
        clock = self.effort.clock(self.memory_limit)
        with interpreted_first(self._small):
            # A user's state may be any mixture of corners, so all corners are one part.
            search = Schedule(
                self._process, clock, None, True, self.seed, one_part=True, begun=self._begun
            )
            if self._earlier is not None:
                search.resume_from(self._earlier)
            self._search: Schedule = search
            self._full = False
            self._search.search_from(self._mixture)

    @property
    def state(self) -> Floats:
        """The current state as a mixture of the model's corners, (k,): a belief of a POMDP."""
        return self._mixture

    @property
    def memory(self) -> Floats:
        """The current mixture of corners, then a number that tells histories apart, (k + 1,)."""
        return np.append(self._mixture, float(self._digest))

    @property
    def bounds(self) -> tuple[float, float]:
        """Proven bounds on the optimal value at the current state: lower and upper."""
        lower, upper = self._search.bounds_here
        # The relative error of a step of the filter is at most that of a backup.
        off = 2 * self._steps * self._process.rounding(self._search.begun.scale)
        return lower - off, upper + off

    @property
    def trials(self) -> int:
        """The number of trials of the current search, at all its steps."""
        return self._search.trials

    def act(self) -> int:
        """The action for the current state, after a search on the first call."""
        if self._action is None:
            if self._full:
                self._begin()
            with interpreted_first(self._small):
                self._look_ahead()
                self._action = self._chosen()[0]
        return self._action

    def _look_ahead(self) -> None:
        """Search until the effort of a step is spent, or more of it cannot change the action."""
        search, begun = self._search, self._search.trials
        search.clock = search.state.clock = self.effort.clock(self.memory_limit)
        try:
            while not (self.effort.spent(search.trials - begun) or self._decided()):
                search.sample()
                search.back_up()
                search.tighten()
        except LimitReached as limit:
            self._full = limit.status is Status.MEMORY

    def _decided(self) -> bool:
        """Whether the gap is small enough, or the other actions are proven no better."""
        lower, upper = self._search.state.bounds
        goal = self._search.begun.goal.at(lower, upper)
        if upper - lower <= goal or self._search.at_rounding:
            return True
        action, worth = self._chosen()
        graph = self._search.state.graph
        highest = graph.value[0, graph.node[self._search.state.knobs.root]["point"]].copy()
        highest[action] = -np.inf
        return bool(highest.max() <= worth)

    def _chosen(self) -> tuple[int, float]:
        """The action with the highest lower bound here, and that bound."""
        state = self._search.state
        root = state.graph.node[state.knobs.root]
        action, worth = lower_choice(state.graph, state.vectors, int(root["point"]))
        below = float(state.graph.bound[state.knobs.root]["lower"])
        if worth >= below:
            return int(action), float(worth)
        # The best vector here may continue with vectors that are no longer searched.
        return int(state.vectors.choice[state.vectors.origin[root["vector"]], 0]), below

    def update(self, action: Label, observation: Label) -> None:
        """Move to the next state, and continue the search from there.

        action, observation: a string is a name, an integer an index.
        """
        a = index_of(self.model.actions, action, "action")
        o = observed(self.model.observations, observation)
        recent: Interactions = (*self._recent, (a, o))[-REPLAY:]
        self._mixture = self._filter.after(self._mixture, recent)
        self._recent, self._action = recent, None
        self._steps += 1
        self._digest = extended(self._digest, a, o)
        try:
            with interpreted_first(self._small):
                self._search.search_from(self._mixture)
        except LimitReached:
            self._begin()

    def copy(self) -> Self:
        """An independent copy, with a copy of the search."""
        twin, shared = copy(self), (self._process, self._process.moves, self._begun)
        twin._search = deepcopy(self._search, {id(part): part for part in shared})
        return twin

    def title(self) -> str:
        """A description in one line."""
        return f"policy that searches for {self.effort}"

    def facts(self) -> list[tuple[str, str]]:
        """The model and the bounds at the current state."""
        lower, upper = self.bounds
        bounds = f"{lower:.6g} to {upper:.6g}"
        return [("model", self.model.title()), ("bounds at this state", bounds)]


def _vectors(plan: Any, model: LinearModel) -> ValueFunction:
    """The vectors of a plan, to begin a search with."""
    if not isinstance(plan, Solution):
        raise wrong_type(plan, "plan", "a plan of rpsr.solve", "rpsr.solve makes plans")
    same = (plan.model.kind, plan.model.actions, plan.model.observations, plan.model.dimension)
    if same != (model.kind, model.actions, model.observations, model.dimension):
        raise InputError(f"plan: read a plan for {plan.model}, expected a plan for {model}")
    if plan.horizon is not None or plan.undiscounted or plan.successors.min() < 0:
        raise InputError(
            f"plan: read a plan of {plan.planner} that contains no controller for an infinite "
            "horizon with a discount; give a plan of sarsop, hsvi, vi or auto"
        )
    return plan.value_function
