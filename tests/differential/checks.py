"""The laws that ranks, bounds and policies must obey, checked on one model.

Bounds are compared as rationals, without a tolerance. Tolerances that are left are shares of the
scale of values, the largest reward over 1 - discount. Where a model has floats only, the largest
reward of a single outcome counts, for its expected rewards are rounded by that.

- LOOSE: bounds are no worse than the MDP's value and the best blind policy's, but for a thousandth
  of the gap that the planner was asked for, and for rounding. A backup in floats, which a bound
  pays for, is off by up to BACKUP (some hundred operations) of the largest value, and this adds up
  over 1 / (1 - discount) steps.
- FORM: a policy earns the lower bound but for the numbers of its file, which are floats, and for
  ties: actions within 4e-12 of the best are equals, at every step.
- ROUNDED: a value function is evaluated in floats, from equations that are solved up to SOLVED per
  step.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.differential.families import lottery
from tests.differential.forms import FORMS, HORIZON_FORMS, earned_by, obeyed
from tests.differential.models import Written, draw
from tests.differential.oracle import Bracket, Oracle
from tests.differential.plans import Plan, draw_plan
from tests.differential.spans import Spans
from tests.differential.tally import Record, Tally

import rpsr
from rpsr import LinearModel, RpsrError
from rpsr.planning import Solution, planner_by_name, solve

LOOSE, ROUNDED = Fraction(1, 10**9), Fraction(1, 10**12)
FORM, TIES = Fraction(1, 10**9), Fraction(1, 10**11)
BACKUP, SOLVED = Fraction(512, 2**53), Fraction(8, 2**53)
NONE = Fraction(0)
Task = tuple[bool, int | None]  # whether the rewards are the PSR's, and the horizon
LIMIT = 60  # beliefs of a bracket
PLANS = 3  # for each model
EVERYWHERE = ("vi", "policy-iteration", "enumeration")  # whose epsilon is about every belief


def check_model(seed: int, index: int, tally: Tally) -> None:
    """Draw a model and check all that is drawn for it; what raises is a violation, too."""
    written = draw(seed, index)
    record = Record(tally, seed, index, f"{written.family} {written.source} {written.discount}")
    tally.models += 1
    try:
        Checks(written, record, np.random.default_rng([seed, index, 1])).run()
    except Exception as error:
        record.holds("no crash", False, f"{type(error).__name__}: {error}")
    else:
        record.holds("no crash", True, "")


class Checks:
    """All checks of one model. Belief model and R-PSR are one task, the PSR is another."""

    def __init__(self, written: Written, record: Record, rng: np.random.Generator) -> None:
        self.written, self.record, self.rng = written, record, rng
        self.exact, self.pomdp = written.exact, written.pomdp()
        self.spans = Spans(self.exact)
        largest = self.exact.raw if written.source == "arrays" else self.exact.largest
        self.steps = 1 / (1 - self.exact.discount)
        self.scale = largest * self.steps
        self.rounded = (ROUNDED + SOLVED * self.steps) * self.scale
        self._oracles: dict[bool, Oracle] = {}
        self._brackets: dict[Task, Bracket] = {}
        self._claims: dict[Task, Bracket] = {}

    def run(self) -> None:
        """Ranks and accuracy, a policy file, then plans."""
        if self.rng.random() < 0.5:
            self._said("accuracy", self.accuracy)
        self._said(".alpha file", lambda: obeyed(self.pomdp, self.rng, self.record))
        for _ in range(PLANS):
            discount, scale = float(self.exact.discount), float(self.scale)
            plan = draw_plan(self.rng, self.written.sizes, discount, scale)
            self._said(str(plan), lambda plan=plan: self.plan(plan))

    def _said(self, plan: str, check: Callable[[], None]) -> None:
        """Run a check; a refusal in words is counted, and is no violation."""
        self.record.plan = plan
        try:
            check()
        except RpsrError as error:
            what = " ".join(word for word in str(error).split() if not any(map(str.isdigit, word)))
            self.record.tally.refused[f"{plan.split()[0]}: {what}"] += 1

    # ---- ranks and accuracy

    def accuracy(self) -> None:
        """Ranks, verdicts, and the errors of a PSR's rewards."""
        measured, spans, record = rpsr.accuracy(self.pomdp), self.spans, self.record
        ranks = (len(spans.tests), len(spans.intents))
        said = (measured.psr.rank, measured.rpsr.rank)
        if not measured.certified and said != ranks:
            return  # floats only estimate ranks
        record.holds("ranks", said == ranks, f"{said} for {ranks}")
        record.holds("accurate", measured.accurate == (spans.d_inf == 0), f"{measured.accurate}")
        if not measured.certified:
            return
        reachable = spans.accurate_reachable
        verdicts = f"{measured.accurate_reachable} for {reachable}"
        record.holds("accurate_reachable", measured.accurate_reachable == reachable, verdicts)
        for name in ("d_inf", "d_inf_reachable"):
            number, meant = getattr(measured, name), getattr(spans, name)
            off, allowed = abs(Fraction(number) - meant), LOOSE * self.exact.largest
            record.at_most(name, off, NONE, allowed, f"{number} for {float(meant)}")

    # ---- plans

    def plan(self, plan: Plan) -> None:
        """Plan, and check what is said of the plan."""
        model = self._model(plan.kind)
        if model is None:
            return
        planner = planner_by_name(plan.planner, **plan.options)
        solution = solve(model, planner)
        self.record.tally.covered[f"{plan.planner}, {plan.kind}"] += 1
        oracle = self._oracle(plan.kind == "psr")
        self.bounds(plan, solution)
        if plan.horizon is None:
            self.loose(solution, oracle, Fraction(getattr(planner, "epsilon", None) or 0))
            asked = plan.planner in EVERYWHERE or plan.options.get("everywhere")
            if asked and solution.epsilon is not None:
                self.everywhere(solution, oracle)
            if plan.options.get("everywhere"):
                by = solution.extras["proven_by"]["lower"]
                self.record.holds("a plan for every belief", by in ("vi", "sarsop"), by)
        self.form(plan, solution, oracle)

    def bounds(self, plan: Plan, solution: Solution) -> None:
        """Bounds hold and do not cross, nor do those of two plans for one task."""
        task = (plan.kind == "psr", plan.horizon)
        low, high = self._bracket(*task)
        record, lower = self.record, Fraction(solution.lower)
        record.at_most("lower <= V*", lower, high, NONE, "lower bound")
        record.holds("horizon", solution.horizon == plan.horizon, f"{solution.horizon} steps")
        value, rounded = Fraction(solution.value), self.rounded
        record.at_most("lower <= value", lower, value, rounded, "lower bound")
        record.at_most("value <= V*", value, high, rounded, "value")
        record.holds("an upper bound", solution.upper is not None, "none")
        if solution.upper is None:
            return
        upper = Fraction(solution.upper)
        record.at_most("V* <= upper", low, upper, NONE, "upper bound")
        record.at_most("lower <= upper", lower, upper, NONE, "lower bound")
        below, above = self._claims.setdefault(task, (lower, upper))
        record.at_most("plans agree", lower, above, NONE, "lower bound, and the upper one before")
        record.at_most("plans agree", below, upper, NONE, "the lower bound before, and upper one")
        self._claims[task] = max(lower, below), min(upper, above)

    def loose(self, solution: Solution, oracle: Oracle, epsilon: Fraction) -> None:
        """Bounds are no worse than those that cost nothing."""
        allowed = (LOOSE + BACKUP * self.steps) * self.scale + epsilon / 1000
        upper, lower = Fraction(solution.upper or 0), Fraction(solution.lower)
        self.record.at_most("upper <= MDP", upper, oracle.seen, allowed, "upper bound")
        self.record.at_most("blind <= lower", oracle.blind, lower, allowed, "best blind policy")

    def everywhere(self, solution: Solution, oracle: Oracle) -> None:
        """A value function is within its epsilon of the optimal value at any belief."""
        belief = lottery(self.rng, len(self.exact.start))
        at = np.array(belief, dtype=float) @ solution.model.domain.corners
        value = Fraction(float(solution.value_at(at)[0]))
        low, high = oracle.optimal(LIMIT, belief)
        off = max(low - value, value - high, NONE)
        allowed = Fraction(solution.epsilon or 0) + self.rounded
        where = " ".join(f"{float(p):g}" for p in belief)
        self.record.at_most("|V - V*| <= epsilon", off, NONE, allowed, f"at {where}")

    def form(self, plan: Plan, solution: Solution, oracle: Oracle) -> None:
        """A policy, followed or written to a file and read again, earns what is printed."""
        form = str(self.rng.choice(FORMS if plan.horizon is None else HORIZON_FORMS))
        elsewhere = plan.kind == "rpsr" and self.rng.random() < 0.5
        system = self.pomdp if plan.kind == "belief" or elsewhere else solution.model
        earned = earned_by(solution, form, system, oracle)
        if earned is None:
            return
        allowed = (FORM + TIES * self.steps) * self.scale
        promised = Fraction(solution.lower if solution.horizon is None else solution.value)
        self.record.at_most(f"{form} earns lower", promised, earned[1], allowed, "promised")

    # ---- what checks share

    def _model(self, kind: str) -> LinearModel | None:
        """A form of the model; None where floats estimate a rank that is another."""
        if kind == "belief":
            return self.pomdp.belief_model()
        model = rpsr.psr(self.pomdp) if kind == "psr" else rpsr.rpsr(self.pomdp)
        span = self.spans.tests if kind == "psr" else self.spans.intents
        return model if self.pomdp.exact or model.dimension == len(span) else None

    def _oracle(self, psr: bool) -> Oracle:
        if psr not in self._oracles:
            rewards = self.spans.psr_rewards() if psr else None
            self._oracles[psr] = Oracle(self.exact, rewards)
        return self._oracles[psr]

    def _bracket(self, psr: bool, horizon: int | None) -> Bracket:
        if (psr, horizon) not in self._brackets:
            oracle = self._oracle(psr)
            bracket = oracle.optimal(LIMIT) if horizon is None else oracle.horizon(horizon)
            self._brackets[psr, horizon] = bracket
        return self._brackets[psr, horizon]
