"""Planning without a discount, on small random tasks that end: bounds and policies.

Two or three states, a goal and a pit; two actions that end the task with a probability of at least
15/16 at every step; the process strains floats by weights from 1 to 1e12. In half of the models a
third action waits: it changes nothing and shows nothing, so that it is of no use, but a policy may
repeat it indefinitely. Objectives are the probability of the goal, costs (waiting costs, too) and,
where nothing waits, rewards of both signs.

The oracle is an enumeration of all histories without waiting, in fractions; what is left after a
few steps is at most 16 to the power of their number, or much less. It shares no code with planners.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tests.differential.tally import Record, Tally

import rpsr
from rpsr import POMDP, RpsrError
from rpsr.domains.rules import tabulate
from rpsr.evaluation import exact_return

OBSERVED, WAIT = ("o", "p"), "wait"
STEPS, LEFT = 4, Fraction(1, 16)  # steps of the oracle, and the largest share that goes on
EARNED = Fraction(1, 10**9)  # of the scale: the value of a controller is computed in floats
OBJECTIVES = ("probability", "cost", "reward")
PLANNERS = ("auto", "sarsop", "hsvi", "reachable", "vi", "policy-iteration")
PLANNERS += ("pbvi", "perseus", "qmdp", "fib")
OPTIONS = {
    "sarsop": {"max_iterations": 30},
    "hsvi": {"max_iterations": 30},
    "auto": {"max_iterations": 30},
    "reachable": {"max_states": 60},
    "pbvi": {"max_points": 20, "max_iterations": 10},
    "perseus": {"max_points": 20, "max_iterations": 10},
    "qmdp": {"max_states": 20},
    "fib": {"max_states": 20},
}
PLANS = 3  # for each task


@dataclass(frozen=True)
class Ending:
    """A task in fractions: moves[s, a] has (next state, observation, reward) by probability."""

    objective: str
    states: tuple[str, ...]
    actions: tuple[str, ...]
    start: dict[str, Fraction]
    moves: dict[tuple[str, str], dict[str, Fraction]]
    sees: dict[tuple[str, str], dict[str, Fraction]]
    earns: dict[tuple[str, str], Fraction]

    def pomdp(self) -> POMDP:
        """The POMDP, before the objective."""

        def reward(s: str, a: str, after: str, seen: str) -> Fraction:
            return self.earns.get((s, a), Fraction(0))

        return tabulate(
            name="ending",
            states=(*self.states, "goal", "pit"),
            actions=self.actions,
            observations=OBSERVED,
            start=self.start,
            transition=lambda s, a: self.moves.get((s, a), {s: Fraction(1)}),
            emission=lambda a, s: self.sees[a, s],
            reward=reward,
            discount=Fraction(1, 2),
        )

    def task(self) -> POMDP:
        """The task of the objective."""
        if self.objective == "probability":
            return rpsr.reach("goal", avoiding="pit").task(self.pomdp())
        if self.objective == "cost":
            return rpsr.total_cost("goal,pit").task(self.pomdp())
        return rpsr.total_reward("goal,pit").task(self.pomdp())

    @property
    def scale(self) -> Fraction:
        """A bound on the absolute values of policies that do not wait."""
        if self.objective == "probability":
            return Fraction(1)
        return max(abs(r) for r in self.earns.values()) / (1 - LEFT)

    def best(self) -> tuple[Fraction, Fraction]:
        """The optimal value, between two fractions."""
        goes_on = max(
            sum((p for t, p in row.items() if t in self.states), Fraction(0))
            for (_, a), row in self.moves.items()
            if a != WAIT
        )
        value, left = self._within(self.start, STEPS), goes_on**STEPS * self.scale
        return value - left, value + left

    def _within(self, belief: dict[str, Fraction], steps: int) -> Fraction:
        """The optimal value within some steps; belief: unnormalised."""
        if steps == 0 or not belief:
            return Fraction(0)
        return max(self._after(belief, a, steps) for a in self.actions if a != WAIT)

    def _after(self, belief: dict[str, Fraction], action: str, steps: int) -> Fraction:
        total, after = Fraction(0), dict[str, dict[str, Fraction]]()
        for s, p in belief.items():
            if self.objective != "probability":
                earned = self.earns[s, action]
                total += p * (-abs(earned) if self.objective == "cost" else earned)
            for t, q in self.moves[s, action].items():
                if self.objective == "probability" and t == "goal":
                    total += p * q
                if t in self.states:
                    for o, e in self.sees[action, t].items():
                        branch = after.setdefault(o, {})
                        branch[t] = branch.get(t, Fraction(0)) + p * q * e
        return total + sum(self._within(b, steps - 1) for b in after.values())


def draw_ending(seed: int, index: int) -> Ending:
    """A random task."""
    rng = np.random.default_rng([seed, index, 2])

    def row(keys: tuple[str, ...]) -> dict[str, Fraction]:
        sizes = [0, 1, 1, 2, 3, 10**12] if rng.random() < 0.2 else [0, 1, 2, 3]
        weights = [int(rng.choice(sizes)) for _ in keys]
        weights[int(rng.integers(len(keys)))] += 1
        return {k: Fraction(w, sum(weights)) for k, w in zip(keys, weights, strict=True) if w}

    states = ("s", "t", "u")[: int(rng.integers(2, 4))]
    objective, waits = str(rng.choice(OBJECTIVES)), bool(rng.random() < 0.5)
    waits &= objective != "reward"
    actions = ("x", "y", WAIT) if waits else ("x", "y")
    going = LEFT if rng.random() < 0.7 else LEFT / 10**6
    moves: dict[tuple[str, str], dict[str, Fraction]] = {}
    for s in states:
        for a in actions[:2]:
            moves[s, a] = {t: going * p for t, p in row(states).items()}
            moves[s, a] |= {t: (1 - going) * p for t, p in row(("goal", "pit")).items()}
        if waits:
            moves[s, WAIT] = {s: Fraction(1)}
    sees = {(a, s): row(OBSERVED) for a in actions for s in (*states, "goal", "pit")}
    blind = row(OBSERVED)
    sees |= {(a, s): blind for a, s in sees if a == WAIT}
    signs = -1 if objective == "cost" else 1
    earns = {
        (s, a): Fraction(int(rng.integers(-9 if objective == "reward" else 1, 10)), 7) * signs
        for s in states
        for a in actions
    }
    return Ending(objective, states, actions, row(states), moves, sees, earns)


def check_ending(seed: int, index: int, tally: Tally) -> None:
    """Draw a task and check some planners on it; what raises is a violation, too."""
    ending = draw_ending(seed, index)
    waits = " with waiting" if WAIT in ending.actions else ""
    record = Record(tally, seed, index, f"ending {ending.objective}{waits}")
    rng = np.random.default_rng([seed, index, 3])
    tally.models += 1
    try:
        task, bracket = ending.task(), ending.best()
        for planner in rng.choice(PLANNERS, size=PLANS, replace=False).tolist():
            kind = "rpsr" if rng.random() < 0.3 else "belief"
            record.plan = f"{planner} {kind}"
            _plan(ending, task, bracket, planner, kind, record)
    except Exception as error:
        record.holds("no crash", False, f"{type(error).__name__}: {error}")
    else:
        record.holds("no crash", True, "")


def _plan(
    ending: Ending,
    task: POMDP,
    bracket: tuple[Fraction, Fraction],
    planner: str,
    kind: str,
    record: Record,
) -> None:
    model = task.belief_model() if kind == "belief" else rpsr.rpsr(task)
    try:
        plan = rpsr.solve(model, planner, **OPTIONS.get(planner, {}))
    except RpsrError as error:
        record.tally.refused[f"{planner}: {str(error).split(': ', 1)[1][:60]}"] += 1
        return
    record.tally.covered[f"{planner}, {kind}"] += 1
    low, high = bracket
    assert plan.upper is not None
    record.at_most("lower <= V*", Fraction(plan.lower), high, Fraction(0), "lower bound")
    record.at_most("V* <= upper", low, Fraction(plan.upper), Fraction(0), "upper bound")
    record.at_most("lower <= upper", Fraction(plan.lower), Fraction(plan.upper), Fraction(0), "")
    earned = exact_return(task, plan)
    if earned is not None:
        allowed = EARNED * ending.scale
        record.at_most(
            "policy earns lower", Fraction(plan.lower), Fraction(earned), allowed, "promised"
        )
        record.at_most("policy <= V*", Fraction(earned), high, allowed, "earned")
