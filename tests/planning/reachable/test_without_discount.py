"""Planner `reachable` without a discount: exact where the reachable beliefs are finitely many."""

from fractions import Fraction

import pytest
from tests.planning.anytime.test_undiscounted import two_doors

import rpsr
from rpsr.domains.rules import tabulate
from rpsr.errors import ModelError
from rpsr.evaluation import exact_return
from rpsr.planning import Status

ONE, HALF = Fraction(1), Fraction(1, 2)


def toll(pay=Fraction(-1, 3), prize=Fraction(0), slip=Fraction(1, 4)):
    """Out by the door on one's side, with probability 1 - slip; else the side is drawn again.

    'wait' changes nothing, 'look' shows the side, and both cost; 'go left' and 'go right' cost 1.
    """

    def move(s, a):
        if s == "out" or a in ("wait", "look"):
            return {s: ONE}
        out = 1 - slip if (s == "left") == (a == "go left") else Fraction(0)
        return {"out": out, "left": (1 - out) / 2, "right": (1 - out) / 2}

    def see(a, s):
        return {s if a == "look" or s == "out" else "dark": ONE}

    def earn(s, a, t, o):
        if s == "out":
            return Fraction(0)
        return (pay if a in ("wait", "look") else -ONE) + (prize if t == "out" else 0)

    return tabulate(
        name="toll",
        states=("left", "right", "out"),
        actions=("wait", "look", "go left", "go right"),
        observations=("dark", "left", "right", "out"),
        start={"left": HALF, "right": HALF},
        transition=move,
        emission=see,
        reward=earn,
        discount=Fraction(1),
    )


def test_a_loop_of_beliefs_is_solved_exactly():
    plan = rpsr.solve(two_doors(tells=False), "reachable", objective=rpsr.reach("goal"))
    assert plan.status is Status.EXACT
    assert Fraction(plan.lower) <= HALF <= Fraction(plan.upper)
    assert plan.gap <= 1e-12
    assert exact_return(plan.model, plan) == pytest.approx(0.5, abs=1e-12)


def test_the_least_cost_where_a_policy_may_pay_indefinitely():
    """Look and go, (1/3 + 1) / (3/4) in all, is better than going without a look, 1 / (3/8)."""
    plan = rpsr.solve(toll(), "reachable")
    assert plan.status is Status.EXACT
    assert Fraction(plan.lower) <= Fraction(-16, 9) <= Fraction(plan.upper)
    assert plan.gap <= 1e-10
    assert exact_return(toll(), plan) == pytest.approx(-16 / 9, abs=1e-12)


@pytest.mark.parametrize("planner", ["sarsop", "hsvi"])
def test_searches_begin_with_a_policy_that_ends(planner):
    plan = rpsr.solve(toll(), planner, epsilon=1e-4, max_iterations=200)
    assert plan.status is Status.SOLVED
    assert Fraction(plan.lower) <= Fraction(-16, 9) <= Fraction(plan.upper)
    earned = exact_return(toll(), plan)
    assert earned is not None
    assert earned >= plan.lower - 1e-12


def test_a_search_without_a_policy_that_ends_says_so():
    """Each state of the start needs one action that is a trap in the other."""
    pomdp = tabulate(
        name="traps",
        states=("x", "y", "trap", "out"),
        actions=("a", "b", "ask"),
        observations=("x", "y"),
        start={"x": HALF, "y": HALF},
        transition=lambda s, a: {
            s
            if s in ("trap", "out") or a == "ask"
            else ("out" if (s == "x") == (a == "a") else "trap"): ONE
        },
        emission=lambda a, s: {"x": ONE} if s == "x" else {"y": ONE},
        reward=lambda s, a, t, o: Fraction(0) if s == "out" else -ONE,
        discount=ONE,
    )
    with pytest.raises(ModelError, match="when repeated, ends the task from every reachable state"):
        rpsr.solve(pomdp, "sarsop")
    plan = rpsr.solve(pomdp, "reachable")  # ask, then leave
    assert Fraction(plan.lower) <= -2 <= Fraction(plan.upper)
    assert plan.gap <= 1e-9


def test_a_free_rest_costs_nothing():
    plan = rpsr.solve(toll(pay=Fraction(0)), "reachable")
    assert plan.lower == plan.upper == 0
    assert exact_return(toll(pay=Fraction(0)), plan) == 0


def test_more_beliefs_than_the_limit_are_refused():
    with pytest.raises(ModelError, match="more than 50 beliefs are reachable; plan with sarsop or"):
        rpsr.solve(two_doors(), "reachable", objective=rpsr.reach("goal"), max_states=50)


def test_states_in_floats_are_refused_where_a_policy_may_stay():
    task = rpsr.reach("goal").task(two_doors(tells=False))
    with pytest.raises(ModelError, match="floats cannot tell whether reachable states repeat"):
        rpsr.solve(rpsr.rpsr(task), "reachable")


def test_other_rewards_than_those_of_the_pomdp():
    task = rpsr.reach("goal").task(two_doors(tells=False)).belief_model()
    plan = rpsr.solve(task.with_rewards(3 * task.rewards), "reachable")
    assert Fraction(plan.lower) <= Fraction(3, 2) <= Fraction(plan.upper)
    assert plan.gap <= 1e-12


def test_an_end_that_cannot_be_reached_has_infinite_cost():
    locked = toll(slip=ONE)
    with pytest.raises(ModelError, match="every policy has an infinite expected cost"):
        rpsr.solve(locked, "reachable")


def test_gains_and_losses_in_a_loop_are_refused():
    with pytest.raises(ModelError, match="some rewards are negative and some positive"):
        rpsr.solve(toll(prize=Fraction(3)), "reachable")


def detour(n):
    """By way of w, which is left with probability 1/n, or of u, which can be left at a toll.

    A policy that does not pay the toll at u goes by w; then the toll improves u, not the start.
    """
    slow = {"goal": Fraction(1, n), "stay": 1 - Fraction(1, n)}
    moves = {("s", "a"): "w", ("s", "b"): "u", ("u", "b"): "goal"}

    def move(s, a):
        if s == "goal" or a == "wait":
            return {s: ONE}
        if (s, a) in moves:
            return {moves[s, a]: ONE}
        return {"goal": slow["goal"], s: slow["stay"]}

    def earn(s, a, t, o):
        if s == "goal":
            return Fraction(0)
        if s == "w" and a != "wait":
            return Fraction(-9, 10)
        return Fraction(-4, 10) * n if (s, a) == ("u", "b") else -ONE

    return tabulate(
        name="detour",
        states=("s", "w", "u", "goal"),
        actions=("a", "b", "wait"),
        observations=("s", "w", "u", "goal"),
        start={"s": ONE},
        transition=move,
        emission=lambda a, s: {s: ONE},
        reward=earn,
        discount=ONE,
    )


@pytest.mark.parametrize("planner", ["reachable", "auto"])
@pytest.mark.parametrize("n", [10, 10**4, 10**6])
def test_a_state_far_from_the_start_may_gain_first(planner, n):
    plan = rpsr.solve(detour(n), planner)
    best = -1 - Fraction(4, 10) * n
    assert plan.status.reached_goal
    assert Fraction(plan.lower) <= best <= Fraction(plan.upper)
    assert plan.gap <= 1e-6 * abs(best)


def test_exact_means_that_the_bounds_meet(monkeypatch):
    monkeypatch.setattr("rpsr.planning.reachable.ending_policies.ROUNDS", 0)
    plan = rpsr.solve(detour(10**4), "reachable")
    assert plan.gap > 1000
    assert plan.status is Status.SETTLED
    plan = rpsr.solve(detour(10**4), "reachable", epsilon=10000.0)
    assert plan.status is Status.SOLVED
    auto = rpsr.solve(detour(10**4), "auto", max_iterations=1)
    assert auto.status is not Status.EXACT
    assert auto.extras["proven_by"]["lower"] in ("reachable", "sarsop")
