"""The default planner: the best bounds of several planners, and when each of them stops."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.planning.plans import ignore

from rpsr.domains import build
from rpsr.errors import InputError
from rpsr.io.pomdp.reader import parse_pomdp
from rpsr.models import POMDP
from rpsr.planning import Autosave
from rpsr.planning.anytime.planners import SARSOP
from rpsr.planning.exact.value_iteration import ValueIteration
from rpsr.planning.limits import no_limits
from rpsr.planning.portfolio import patience, planner
from rpsr.planning.portfolio.answers import Answers
from rpsr.planning.portfolio.patience import Promising, Worthwhile
from rpsr.planning.portfolio.planner import Auto
from rpsr.planning.precision import Goal
from rpsr.planning.reachable.planner import Reachable
from rpsr.planning.runner import Run
from rpsr.planning.solution import ProgressRow, Status
from rpsr.planning.value.controllers import extract_controller
from rpsr.predictive.constructors import rpsr

HALLWAY = build("hallway").belief_model()


def proven_by(plan):
    return plan.extras["proven_by"]["lower"], plan.extras["proven_by"]["upper"]


def hurried(monkeypatch):
    """Without time for `vi`; independent of the machine."""
    monkeypatch.setattr(planner, "MOST_CORNERS", 0)


def test_finitely_many_beliefs_are_solved_exactly():
    pomdp = build("loadunload")
    oracle = Reachable().solve(pomdp, ignore)
    for model in (pomdp.belief_model(), rpsr(pomdp)):
        plan = Auto().solve(model, ignore)
        assert (plan.status, proven_by(plan)) == (Status.EXACT, ("reachable", "reachable"))
        assert plan.lower == pytest.approx(oracle.lower, abs=1e-9)
        assert plan.gap <= 1e-9
        assert plan.trace[0].gap > plan.trace[-1].gap  # the cheap bounds came first


def test_a_small_problem_is_solved_at_every_belief():
    tiger = build("tiger").belief_model()
    plan, exact = Auto().solve(tiger, ignore), ValueIteration().solve(tiger, ignore)
    assert (plan.status, proven_by(plan)) == (Status.SOLVED, ("vi", "vi"))
    assert plan.planner == "auto"
    assert (plan.lower, plan.upper, plan.residual) == (exact.lower, exact.upper, exact.residual)
    assert (plan.vectors == exact.vectors).all()


def test_a_large_problem_is_searched_from_the_start(monkeypatch):
    hurried(monkeypatch)
    plan = Auto(max_iterations=10).solve(HALLWAY, ignore)
    alone = SARSOP(max_iterations=10).solve(HALLWAY, ignore)
    assert (plan.status, proven_by(plan)) == (Status.ITERATIONS, ("sarsop", "sarsop"))
    assert plan.lower >= alone.lower - 1e-9
    assert plan.upper <= alone.upper
    assert extract_controller(plan).value(HALLWAY) >= plan.lower - 1e-12
    first = plan.extras["first_upper_bound"]
    assert first | {"seconds": 0, "beside": []} == alone.extras["first_upper_bound"] | {
        "seconds": 0,
        "beside": [],
    }
    assert first["value"] >= plan.upper


def test_the_first_upper_bound_stays_if_another_planner_has_the_best_lower_one():
    searched = SARSOP(max_iterations=1).solve(HALLWAY, ignore)
    better = replace(searched, planner="vi", lower=searched.lower + 1, extras={})
    first = searched.extras["first_upper_bound"]
    for plans in ([searched, better], [better, searched]):
        answers = Answers(Run(Auto(), HALLWAY, ignore))
        for plan in plans:
            answers.add(plan)
        solution = answers.solution(Status.TIME)
        assert proven_by(solution)[0] == "vi"
        assert solution.extras["first_upper_bound"] == first
    answers = Answers(Run(Auto(), HALLWAY, ignore))
    answers.add(better)
    assert answers.solution(Status.TIME).extras["first_upper_bound"] is None
    assert answers.solution(Status.TIME, searched).extras["first_upper_bound"] == first


def test_the_search_begins_with_the_vectors_of_value_iteration(monkeypatch):
    monkeypatch.setattr(planner, "VI_SECONDS", 1e9)
    tiger = build("tiger").belief_model()
    early = ValueIteration(max_iterations=1).solve(tiger, ignore)
    plan = Auto(max_iterations=1, epsilon=1e-9).solve(tiger, ignore)
    assert plan.status is Status.ITERATIONS
    assert plan.lower >= early.lower
    assert plan.upper <= early.upper
    assert plan.iterations == 2  # a pass and a trial


def test_bounds_only_improve_along_the_trace(monkeypatch):
    monkeypatch.setattr(planner, "VI_SECONDS", 0.2)
    plan = Auto(max_iterations=20).solve(HALLWAY, ignore)
    lower, upper = [row.lower for row in plan.trace], [row.upper for row in plan.trace]
    assert (lower[:-1], upper) == (sorted(lower[:-1]), sorted(upper, reverse=True))
    assert (plan.lower, plan.upper) == (lower[-1], upper[-1])
    assert lower[-1] == pytest.approx(lower[-2], abs=1e-9)  # evaluated again, with rounding
    iterations = [row.iteration for row in plan.trace]
    assert iterations == sorted(iterations)


@pytest.mark.parametrize("after", [1, 2, 4])
def test_an_interrupt_keeps_the_best_bounds_so_far(monkeypatch, after):
    hurried(monkeypatch)
    rows = []

    def interrupt(row):
        rows.append(row)
        if len(rows) == after:
            raise KeyboardInterrupt

    plan = Auto().solve(HALLWAY, interrupt)
    assert plan.status is Status.INTERRUPTED
    assert plan.lower >= rows[after - 1].lower - 1e-12
    assert plan.upper <= rows[after - 1].upper
    assert extract_controller(plan).value(HALLWAY) >= plan.lower - 1e-12


def test_an_interrupt_before_any_bound_has_cheap_ones(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(planner, "cheap_plan", interrupt)
    plan = Auto().solve(HALLWAY, ignore)
    assert plan.status is Status.INTERRUPTED
    assert plan.lower < plan.upper


def test_every_planner_in_turn_offers_solutions(monkeypatch):
    monkeypatch.setattr(planner, "VI_SECONDS", 1e9)
    kept = []
    tiger = build("tiger").belief_model()
    auto = Auto(max_iterations=1, epsilon=1e-9)
    plan = auto.solve(tiger, Autosave(kept.append, every=0.0))
    assert {so_far.planner for so_far in kept} == {"auto"}
    assert {"vi", "sarsop"} <= {name for so_far in kept for name in proven_by(so_far)}
    for so_far in kept:
        assert so_far.lower <= plan.upper
        assert so_far.upper >= plan.lower


def test_a_memory_limit_leaves_the_bounds_that_fit(monkeypatch):
    hurried(monkeypatch)
    with pytest.raises(InputError, match="the model alone takes"):
        Auto(memory_limit=1000).solve(HALLWAY, ignore)
    plan = Auto(memory_limit=Run(Auto(), HALLWAY, ignore).corners().nbytes + 10_000).solve(
        HALLWAY, ignore
    )
    assert (plan.status, proven_by(plan)) == (Status.MEMORY, ("blind policy", "qmdp"))


def test_the_trace_ends_with_the_bounds_of_the_solution():
    plan = Auto().solve(build("shuttle"), ignore)
    last = plan.trace[-1]
    assert (last.iteration, last.lower, last.upper) == (plan.iterations, plan.lower, plan.upper)


def test_every_belief_can_be_asked_for():
    plan = Auto(everywhere=True).solve(build("loadunload"), ignore)
    assert proven_by(plan) == ("vi", "vi")


# One action is optimal at the start, which is never left. The other states alternate.
APART = b"""
discount: 0.9
values: reward
states: home left right
actions: x y
observations: u v
start: 1 0 0
T: *
1 0 0
0 0 1
0 1 0
O: *
uniform
R: x : home : * : * 1
R: x : left : * : * -5
R: y : left : * : * 5
R: x : right : * : * 5
R: y : right : * : * -5
"""


@pytest.mark.parametrize("epsilon", [None, 1e-3])
def test_a_blind_policy_that_is_optimal_at_the_start_does_not_count_at_every_belief(epsilon):
    model = POMDP(parse_pomdp(APART, place="text", name="apart")).belief_model()
    assert Auto(epsilon=epsilon).solve(model, ignore).value == pytest.approx(10)
    plan = Auto(epsilon=epsilon, everywhere=True).solve(model, ignore)
    assert (plan.status, proven_by(plan)[0]) == (Status.SOLVED, "vi")
    assert plan.epsilon <= (epsilon or 1e-6)
    assert plan.value_at(np.eye(3)) == pytest.approx([10, 50, 50], abs=plan.epsilon)


def test_without_a_proof_at_every_belief_no_largest_error_is_claimed(monkeypatch):
    monkeypatch.setattr(planner, "VI_SECONDS", 1e9)
    model = POMDP(parse_pomdp(APART, place="text", name="apart")).belief_model()
    plan = Auto(everywhere=True, max_iterations=0).solve(model, ignore)
    assert plan.epsilon is None
    assert proven_by(plan)[0] in ("vi", "sarsop")


def test_planning_stops_if_the_gap_hardly_narrows(monkeypatch):
    hurried(monkeypatch)
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    plan = Auto().solve(HALLWAY, ignore)
    assert plan.status is Status.STALLED
    assert not plan.status.reached_goal
    assert plan.lower < plan.upper


@dataclass
class At:
    """A clock that shows what it is set to."""

    seconds: float
    time_limit: float | None = None

    @property
    def seconds_left(self):
        return None if self.time_limit is None else self.time_limit - self.seconds


def row(seconds, gap, residual=None):
    return ProgressRow(seconds, 1, 0.0, gap, gap, residual)


def watched(watch, whole, until, rows):
    """The time limit of a planner after its rows of (seconds, gap, residual)."""
    clock = At(0.0, until)
    for seconds, gap, residual in rows:
        whole.seconds = clock.seconds = seconds
        watch(row(seconds, gap, residual), clock)
    return clock.time_limit


def promising(whole, rows, *, goal=1e-6, proven=1e-9, enough=False):
    return watched(Promising(whole, Goal(goal), Goal(proven), enough), whole, 2.0, rows)


def test_value_iteration_goes_on_if_it_will_end_in_time():
    fast = [(0.1, 1e-2, 1e-2), (0.2, 1e-3, 1e-3)]  # a decade per 0.1 s, six are left
    assert 5 < promising(At(0.0, 100.0), fast) <= 100
    assert promising(At(0.0, 10.0), fast) == 2.0, "too long for this limit"
    assert promising(At(0.0), fast) > 2.0, "within a minute"
    slow = [(1.0, 1e-2, 1e-2), (2.0, 1e-3, 1e-3)]
    assert promising(At(0.0), slow) == 2.0


def test_the_first_residual_and_one_of_zero_count_as_a_decade():
    first = (0.1, 3e-2, 1e-2)  # seven decades are left; an eighth may be, of 0.1 s times 2, 4, ...
    assert promising(At(0.0, 100.0), [first]) == pytest.approx(0.1 + 0.1 * 510)
    assert promising(At(0.0, 100.0), [(0.1, 3e-3, 0.0)]) == pytest.approx(0.1 + 0.1 * 254)
    assert promising(At(0.0, 100.0), [first, (0.2, 3e-3, 0.0)]) == pytest.approx(0.1 + 0.1 * 510)


def test_value_iteration_does_not_go_on_without_a_smaller_residual():
    assert promising(At(0.0, 100.0), [(0.1, 1.0, None)]) == 2.0
    first = [(0.001, 1e-3, 1e-3)]
    assert promising(At(0.0), [*first, (1.9, 1e-3, 1e-3)]) == promising(At(0.0), first)


def test_value_iteration_has_as_long_again_once_the_goal_is_reached():
    done = [(0.5, 1e-7, 1e-8)]
    assert promising(At(0.0, 100.0), done) == 1.0
    assert promising(At(0.0, 100.0), done, enough=True) == 0.5


def test_the_search_goes_on_while_the_gap_narrows():
    watch = Worthwhile(At(1.0), Goal(1e-6))
    assert watch.until == 61.0
    rows = [(10.0, 1.0, None), (30.0, 0.94, None), (50.0, 0.9, None)]
    assert watched(watch, At(1.0), watch.until, rows) == 90.0, "0.9 is less than 5% below 0.94"
    assert watched(watch, At(1.0), 90.0, [(60.0, 1e-6, None)]) == 60.0, "the goal is reached"
    limited = Worthwhile(At(1.0, 500.0), Goal(1e-6))
    assert watched(limited, At(1.0, 500.0), limited.until, rows) == 500.0


def test_bounds_of_several_planners_hold_together():
    tiger = build("tiger").belief_model()
    answers = Answers(Run(Auto(), tiger, ignore, clock=no_limits()))
    loose = ValueIteration(max_iterations=1).solve(tiger, ignore)
    tight = SARSOP(max_iterations=30).solve(tiger, ignore)
    for order in ((loose, tight), (tight, loose)):
        answers = Answers(Run(Auto(), tiger, ignore, clock=no_limits()))
        for plan in order:
            answers.add(plan)
        joined = answers.solution(Status.TIME)
        assert joined.lower == max(loose.lower, tight.lower)
        assert joined.upper == min(loose.upper, tight.upper)
