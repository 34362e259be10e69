"""A horizon that was stopped early: the plan covers all of its steps, and earns what is said.

Trees are valued here in fractions, from the record of the POMDP alone.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.models.builders import Sizes, random_exact, rotated

from rpsr import POMDP
from rpsr.domains import build
from rpsr.errors import InputError
from rpsr.models.operators import SparseOperators
from rpsr.planning import PolicyTree, load_policy, planner_by_name, solve
from rpsr.planning.files.policies import save_policy
from rpsr.planning.finite_mdp import FiniteProblem
from rpsr.planning.limits import Clock
from rpsr.planning.reachable import horizon as horizons
from rpsr.planning.solution import Status
from rpsr.predictive import rpsr

STOPS = {
    "vi": {"max_iterations": 2},
    "enumeration": {"max_iterations": 2},
    "reachable": {"max_states": 5},
}


def exact_worth(pomdp, tree):
    """The value of a tree at the start, by backward induction in fractions."""
    record, rewards, n = pomdp.record, pomdp.exact_rewards(), len(pomdp.states)
    discount = Fraction(1) if record.discount is None else record.discount
    moves = {}  # (action, state) -> [(observation, state, chance)]
    edge = 0
    for a in range(len(pomdp.actions)):
        for s in range(n):
            outcomes = moves[a, s] = []
            for t, chance in record.transition.fractions(a * n + s).items():
                seen = record.emission.fractions(edge if record.emission_by_edge else a * n + t)
                outcomes += [(o, t, chance * p) for o, p in seen.items()]
                edge += 1
    values = [[Fraction(0)] * n]
    for steps, (actions, _) in enumerate(tree.layers, 1):
        layer = []
        for node, a in enumerate(actions.tolist()):
            after = [
                0 if steps == 1 else tree.after(steps, node, o)
                for o in range(len(pomdp.observations))
            ]
            layer.append(
                [
                    rewards[s][a]
                    + discount * sum(p * values[after[o]][t] for o, t, p in moves[a, s])
                    for s in range(n)
                ]
            )
        values = layer
    start = record.start.fractions(0)
    return sum(chance * values[tree.root][s] for s, chance in start.items())


def scale(pomdp, horizon):
    return horizon * float(np.abs(pomdp.R).max())


@pytest.mark.parametrize("planner", STOPS)
@pytest.mark.parametrize("discount", ["0.9", "1"])
@pytest.mark.parametrize("seed", range(6))
def test_the_tree_that_is_written_has_every_step_and_earns_the_lower_bound(
    planner, discount, seed, tmp_path
):
    pomdp = random_exact(seed, Sizes(3, 4, 2), by_edge=seed % 2 == 1).with_discount(discount)
    for model in (pomdp.belief_model(), rpsr(pomdp), rotated(pomdp)):
        plan = solve(model, planner_by_name(planner, horizon=7, **STOPS[planner]))
        assert not plan.status.reached_goal
        assert plan.horizon == len(plan.stages) == 7
        save_policy(plan, tmp_path / "t.json")
        tree = load_policy(tmp_path / "t.json", model)
        assert isinstance(tree, PolicyTree)
        assert tree.horizon == 7
        worth = exact_worth(pomdp, tree)
        assert Fraction(plan.lower) <= worth
        assert plan.value == pytest.approx(float(worth), abs=1e-12 * scale(pomdp, 7))
        assert plan.lower == pytest.approx(plan.value, abs=1e-9 * scale(pomdp, 7))
        assert worth <= Fraction(plan.upper)


@pytest.mark.parametrize("planner", STOPS)
def test_the_steps_that_were_not_planned_do_the_action_whose_worst_reward_is_best(planner):
    pomdp = random_exact(1, Sizes(3, 4, 2))
    plan = solve(pomdp, planner_by_name(planner, horizon=9, **STOPS[planner]))
    best = int(pomdp.R.min(axis=0).argmax())
    last = [(len(stage), int(stage.actions[0])) for stage in plan.stages[:5]]
    assert last == [(1, best)] * 5


class Looks:
    """A clock's seconds: how often it was looked at."""

    def __init__(self):
        self.count = 0

    def __get__(self, clock, kind=None):
        self.count += 1
        return float(self.count)


@pytest.mark.parametrize("planner", STOPS)
@pytest.mark.parametrize("kind", ["belief", "rpsr"])
def test_wherever_the_clock_stops_it_a_plan_for_all_steps_earns_its_lower_bound(
    planner, kind, monkeypatch
):
    looks = Looks()
    monkeypatch.setattr(Clock, "seconds", looks)
    pomdp = build("loadunload").with_discount("0.9")
    model = pomdp.belief_model() if kind == "belief" else rpsr(pomdp)
    stopped = 0
    for cut in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233):
        looks.count = 0
        plan = solve(model, planner_by_name(planner, horizon=40, time_limit=cut + 0.5))
        stopped += plan.status is Status.TIME
        # Past the deadline each phase looks once and ends: bounds to begin with, planning, valuing.
        assert plan.status.reached_goal or looks.count <= cut + 14
        assert plan.horizon == len(plan.stages) == 40
        worth = exact_worth(pomdp, PolicyTree.of(plan))
        assert Fraction(plan.lower) <= worth <= Fraction(plan.upper)
        assert plan.lower <= plan.value <= float(worth) + 1e-12 * scale(pomdp, 40)
    assert stopped >= 8


@pytest.mark.parametrize("planner", STOPS)
def test_a_horizon_whose_shortest_plan_does_not_fit_is_refused(planner):
    model = build("tiger").belief_model()
    with pytest.raises(InputError, match="a plan for 1000000000000 steps on tiger takes at least"):
        solve(model, planner_by_name(planner, horizon=10**12))
    with pytest.raises(InputError, match="read 3000 bytes, but the model and a plan for 999 steps"):
        solve(model, planner_by_name(planner, horizon=999, memory_limit=3_000))


class Work:
    """A clock's seconds: how often a piece of work was done."""

    def __init__(self, monkeypatch, owner, name):
        self.count = 0
        plain = getattr(owner, name)

        def counted(*arguments):
            self.count += 1
            return plain(*arguments)

        monkeypatch.setattr(owner, name, counted)

    def __get__(self, clock, kind=None):
        return float(self.count)


@pytest.mark.parametrize(
    ("owner", "name"), [(FiniteProblem, "action_values"), (SparseOperators, "right")]
)
def test_a_long_horizon_on_reachable_states_is_solved_and_valued_while_there_is_time(
    owner, name, monkeypatch
):
    pomdp, horizon, limit = build("loadunload").with_discount("0.9"), 400, 300
    model = pomdp.belief_model()
    optimum = solve(model, planner_by_name("reachable", horizon=horizon)).value
    work = Work(monkeypatch, owner, name)
    monkeypatch.setattr(Clock, "seconds", work)
    plan = solve(model, planner_by_name("reachable", horizon=horizon, time_limit=limit))
    assert plan.status is Status.TIME
    assert 10 < work.count <= limit
    assert plan.horizon == horizon
    assert Fraction(plan.lower) <= exact_worth(pomdp, PolicyTree.of(plan))
    assert plan.lower > 0.9 * optimum


def test_a_tree_with_too_many_successors_is_a_limit_and_equal_successors_share_a_node(
    monkeypatch,
):
    pomdp = build("loadunload").with_discount("0.9")
    whole = solve(pomdp, planner_by_name("reachable", horizon=12))
    sizes = [len(stage) for stage in whole.stages]
    assert whole.extras["states"] > 20
    assert sizes[0] <= len(pomdp.actions)  # with one step to go, only actions differ
    monkeypatch.setattr(horizons, "MOST_CHOICES", 40)
    plan = solve(pomdp, planner_by_name("reachable", horizon=12))
    assert plan.status is Status.SIZE
    assert plan.horizon == len(plan.stages) == 12
    worth = exact_worth(pomdp, PolicyTree.of(plan))
    assert Fraction(plan.lower) <= worth <= Fraction(whole.upper) <= Fraction(plan.upper)


@pytest.mark.parametrize("planner", ["vi", "enumeration", "reachable"])
@pytest.mark.parametrize("name", ["4x3", "hallway"])
def test_no_bound_of_a_stopped_horizon_is_outside_of_blind_and_seen(name, planner):
    pomdp, horizon = build(name), 20
    plan = solve(pomdp, planner_by_name(planner, horizon=horizon, **STOPS[planner]))
    assert not plan.status.reached_goal
    T = np.array([sum(block.toarray() for block in row) for row in pomdp.D])
    seen, blind = np.zeros(len(pomdp.states)), np.zeros((len(pomdp.actions), len(pomdp.states)))
    for _ in range(horizon):
        seen = (pomdp.R.T + pomdp.discount * T @ seen).max(axis=0)
        blind = pomdp.R.T + pomdp.discount * np.einsum("ast,at->as", T, blind)
    best, most = float((blind @ pomdp.start).max()), float(seen @ pomdp.start)
    assert best - 1e-9 <= plan.lower <= plan.upper <= most + 1e-9
    assert PolicyTree.of(plan).value(pomdp) >= plan.lower


@pytest.mark.parametrize("planner", ["vi", "enumeration"])
@pytest.mark.parametrize("limits", [{"time_limit": 1e-9}, {"max_iterations": 0}])
def test_a_plan_without_a_finished_step_counts_the_error_of_its_rewards(planner, limits):
    chances, rewards = (0.3, 0.7), (7000001e8, -3000000e8)  # in floats their mean is off by .0055
    pomdp = POMDP.from_arrays(
        np.ones((1, 1, 1)),
        np.array([[chances]]),
        np.array(rewards).reshape(1, 1, 1, 2),
        discount=0.95,
    )
    exact = [Fraction(chance) for chance in chances]
    mean = sum(p * Fraction(r) for p, r in zip(exact, rewards, strict=True)) / sum(exact)
    plan = solve(pomdp, planner, horizon=1, **limits)
    assert not plan.status.reached_goal
    assert Fraction(plan.lower) <= mean <= Fraction(plan.upper)
