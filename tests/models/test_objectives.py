"""Objectives: which sets they name, and that the value of a task is the probability it means."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpsr
from rpsr.domains.rules import tabulate
from rpsr.errors import InputError, ModelError
from rpsr.evaluation import exact_return
from rpsr.models.objectives import REACHED
from rpsr.planning import FiniteStateController

HALF = Fraction(1, 2)


def corridor(start="a", light="light"):
    """a - b - goal, with a pit below b, into which 'right' slips with probability 1/4."""

    def move(state, action):
        if state in ("goal", "pit"):
            return {state: Fraction(1)}
        if action == "stay":
            return {state: Fraction(1)}
        if state == "a":
            return {"b": Fraction(1)}
        return {"goal": Fraction(3, 4), "pit": Fraction(1, 4)}

    return tabulate(
        name="corridor",
        states=("a", "b", "goal", "pit"),
        actions=("right", "stay"),
        observations=("dark", "light"),
        start={start: Fraction(1)} if isinstance(start, str) else start,
        transition=move,
        emission=lambda action, state: {light if state == "goal" else "dark": Fraction(1)},
        reward=lambda state, action, following, observation: Fraction(-1),
        discount=Fraction(9, 10),
    )


def always(pomdp, action):
    observations = len(pomdp.observations)
    number = pomdp.actions.index(action)
    return FiniteStateController(
        pomdp.actions, pomdp.observations, np.array([number]), np.zeros((1, observations), int), 0
    )


@pytest.mark.parametrize("goal", ["goal", 2, ["goal"], "state:goal", "observation:light", "light"])
def test_a_goal_is_named_in_many_ways(goal):
    task = rpsr.reach(goal, avoiding="pit").task(corridor())
    assert task.discount == 1
    assert exact_return(task, always(task, "right")) == pytest.approx(0.75, abs=1e-15)
    assert exact_return(task, always(task, "stay")) == 0.0


def test_complements_and_lists():
    task = rpsr.reach("goal", avoiding="!a").task(corridor())
    assert exact_return(task, always(task, "right")) == 0.0  # b is not a, so b is to be avoided
    task = rpsr.reach(["goal", "pit"]).task(corridor())
    assert exact_return(task, always(task, "right")) == pytest.approx(1.0, abs=1e-15)


def test_a_start_in_the_goal_counts():
    task = rpsr.reach("goal").task(corridor({"a": HALF, "goal": Fraction(1, 4), "pit": HALF / 2}))
    assert task.states[-1] == REACHED
    assert exact_return(task, always(task, "stay")) == pytest.approx(0.25, abs=1e-15)
    assert exact_return(task, always(task, "right")) == pytest.approx(0.25 + 0.5 * 0.75, abs=1e-15)
    assert exact_return(task, always(task, "stay"), steps=1) == pytest.approx(0.25, abs=1e-15)


def test_a_bound_on_steps():
    pomdp = corridor()
    for steps, expected in ((1, 0.0), (2, 0.75), (5, 0.75)):
        plan = rpsr.solve(pomdp, objective=rpsr.reach("goal", within=steps))
        assert rpsr.solve(pomdp, "vi", objective=rpsr.reach("goal", within=steps)).horizon == steps
        assert plan.value == pytest.approx(expected, abs=1e-12)


def test_rewards_and_costs_until_the_goal():
    pomdp = corridor()
    task = rpsr.total_reward(["goal", "pit"]).task(pomdp)
    assert exact_return(task, always(task, "right")) == pytest.approx(-2.0, abs=1e-15)
    costs = rpsr.total_cost(["goal", "pit"]).task(pomdp)
    assert costs.record.rewards.exact == task.record.rewards.exact
    assert rpsr.discounted_reward("0.5").task(pomdp).discount == 0.5
    assert rpsr.discounted_reward().task(pomdp) == pomdp


@pytest.mark.parametrize(
    ("goal", "options", "message"),
    [
        ("gaol", {}, "goal: no label, state or observation is called 'gaol'; did you mean 'goal'"),
        (7, {}, "goal: state: read 7, expected an index from 0 to 3"),
        ([], {}, "goal: read an empty set"),
        ("", {}, "goal: read an empty set"),
        ("!light", {}, "only a state or a label may follow !"),
        ("goal", {"avoiding": "nowhere"}, "avoid: no label, state or observation"),
    ],
)
def test_wrong_sets_are_named(goal, options, message):
    with pytest.raises(InputError) as caught:
        rpsr.reach(goal, **options).task(corridor())
    assert message in str(caught.value)


def test_what_is_not_well_defined_is_refused():
    with pytest.raises(ModelError, match="avoid: the states to avoid contain the start"):
        rpsr.reach("goal", avoiding="a").task(corridor())
    with pytest.raises(InputError, match="within: read 0, expected a number of steps"):
        rpsr.reach("goal", within=0)
    with pytest.raises(InputError, match="expected a POMDP"):
        rpsr.reach("goal").task(corridor().belief_model())
    mixed = rpsr.load("tiger")
    with pytest.raises(ModelError, match="cost: expected rewards of one sign, read"):
        rpsr.total_cost().task(mixed)


def test_observations_by_edge_are_refused():
    """Staying in the goal has no observations there."""
    pomdp = tabulate(
        name="edges",
        states=("s", "goal"),
        actions=("a",),
        observations=("o", "p"),
        start={"s": Fraction(1)},
        transition=lambda s, a: {"goal": Fraction(1)},
        edge_emission=lambda s, a, t: {"o" if s == "s" else "p": Fraction(1)},
        reward=lambda s, a, following, o: Fraction(0),
        discount=HALF,
    )
    for objective in (rpsr.reach("goal"), rpsr.total_reward("goal"), rpsr.reach("p")):
        with pytest.raises(ModelError, match=r"depend on \(s, a, s'\)"):
            objective.task(pomdp)


def test_wrong_objectives_are_refused():
    pomdp = corridor()
    with pytest.raises(InputError, match="goal: missing"):
        rpsr.reach(None)
    with pytest.raises(InputError, match="measure: read 'foo', expected one of probability"):
        rpsr.Objective("foo", "goal")
    with pytest.raises(InputError, match="objective: read 'reach', expected an objective"):
        rpsr.solve(pomdp, objective="reach")
    within = rpsr.reach("goal", within=3)
    with pytest.raises(InputError, match="horizon, within: read both, expected only one"):
        rpsr.solve(pomdp, "vi", objective=within, horizon=1)
    with pytest.raises(
        InputError, match="within: an objective with a number of steps needs a planner's name"
    ):
        rpsr.solve(pomdp, rpsr.ValueIteration(), objective=within)


def test_a_name_of_a_state_and_an_observation_is_ambiguous():
    tables = np.full((1, 2, 2), 0.5)
    names = {"states": ["x", "y"], "observations": ["x", "z"]}
    pomdp = rpsr.POMDP.from_arrays(tables, tables, np.zeros(2), names=names, exact=True)
    with pytest.raises(InputError, match="write state:x or observation:x"):
        rpsr.reach("x").task(pomdp)
    assert len(rpsr.reach("state:x").task(pomdp).states) == 3  # the start may be in it


def random_pomdp(draw):
    """Four states, two actions, two observations, in twelfths."""
    part = st.integers(0, 4)

    def row(width):
        weights = draw(st.lists(part, min_size=width, max_size=width).filter(any))
        return [Fraction(w, sum(weights)) for w in weights]

    states, actions = ("s", "t", "u", "v"), ("x", "y")
    moves = {(s, a): dict(zip(states, row(4), strict=True)) for s in states for a in actions}
    sees = {(a, s): dict(zip(("o", "p"), row(2), strict=True)) for s in states for a in actions}
    return tabulate(
        name="random",
        states=states,
        actions=actions,
        observations=("o", "p"),
        start=dict(zip(states, row(4), strict=True)),
        transition=lambda s, a: moves[s, a],
        emission=lambda a, s: sees[a, s],
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )


def histories(pomdp, actions, counts, goal, avoid):
    """The probability of reaching a goal along fixed actions, by enumeration of all paths.

    goal and avoid are rules of (state, observation or None at the start).
    """
    start = pomdp.record.start.fractions(0)
    n = len(pomdp.states)
    total = Fraction(0)
    paths = [(p, s, None) for s, p in start.items() if p]
    for step in range(counts + 1):
        following = []
        for p, s, o in paths:
            if goal(s, o):
                total += p
            elif not avoid(s, o) and step < counts:
                a = actions[step]
                for t, q in pomdp.record.transition.fractions(a * n + s).items():
                    for seen, e in pomdp.record.emission.fractions(a * n + t).items():
                        if q * e:
                            following.append((p * q * e, t, seen))
        paths = following
    return total


@given(st.data())
def test_the_value_of_a_task_is_the_probability_of_reaching_the_goal(data):
    pomdp = random_pomdp(data.draw)
    if pomdp.start[1] == 1.0:
        return
    tasks = [
        (rpsr.reach("s", avoiding="t"), lambda s, o: s == 0, lambda s, o: s == 1),
        (rpsr.reach("p"), lambda s, o: o == 1, lambda s, o: False),
        (
            rpsr.reach("s,p", avoiding="t"),
            lambda s, o: s == 0 or o == 1,
            lambda s, o: s == 1,
        ),
    ]
    word = data.draw(st.lists(st.integers(0, 1), min_size=3, max_size=3))
    for objective, goal, avoid in tasks:
        task = objective.task(pomdp)
        expected = histories(pomdp, word, len(word), goal, avoid)
        nodes = np.arange(len(word) + 1)
        after = np.minimum(nodes + 1, len(word))
        controller = FiniteStateController(
            task.actions,
            task.observations,
            np.array([*word, 0]),
            np.repeat(after[:, None], len(task.observations), axis=1),
            0,
        )
        chance = exact_return(task, controller, steps=len(word))
        assert chance == pytest.approx(float(expected), abs=1e-12)


def test_labels_of_a_file_are_sets(tmp_path):
    text = """pomdp
observables
  o
endobservables
module m
  s : [0..2] init 0;
  o : [0..1] init 0;
  [go] s=0 -> 0.25 : (s'=1) & (o'=1) + 0.75 : (s'=2) & (o'=0);
  [go] s=1 -> 1.0 : (s'=1) & (o'=1);
  [go] s=2 -> 1.0 : (s'=2) & (o'=0);
endmodule
label "goal" = s=1;
label "fine" = s=0 | s=1;
"""
    (tmp_path / "m.prism").write_text(text)
    pomdp = rpsr.load(tmp_path / "m.prism")
    for objective in (rpsr.reach("goal"), rpsr.reach("goal", avoiding="!fine")):
        task = objective.task(pomdp)
        assert exact_return(task, always(task, "go")) == 0.25


def test_the_theory_holds_for_tasks():
    """A PSR of a task is enough exactly if its states of equal tests have equal chances."""
    seen = rpsr.reach("light").task(corridor())
    assert rpsr.accuracy(seen).accurate
    hidden = corridor(light="dark")
    assert not rpsr.accuracy(rpsr.reach("goal").task(hidden)).accurate
    for model in (rpsr.rpsr(seen), rpsr.rpsr(rpsr.reach("goal").task(hidden))):
        plan = rpsr.solve(model, "sarsop")
        assert plan.value == pytest.approx(0.75, abs=1e-6)


def test_all_words_of_the_front_door():
    for name, words in product(("reach", "total_reward", "total_cost"), ((), ("goal",))):
        if name == "reach" and not words:
            continue
        objective = getattr(rpsr, name)(*words, within=3)
        assert "within 3 steps" in str(objective)


def test_which_objectives_a_model_admits():
    from rpsr.planning import admitted_objectives

    admitted = admitted_objectives(corridor())
    assert admitted["discounted"] is None
    assert admitted["probability"] is None
    assert admitted["reward"] == admitted["cost"]
    assert admitted["reward"] == "every policy has an infinite expected cost from state 'a'"
    reached = rpsr.total_cost("goal,pit").task(corridor())  # "stay" pays indefinitely
    assert admitted_objectives(reached)["reward"] is None
    assert "no discount below 1" in (
        admitted_objectives(corridor().with_discount(1))["discounted"] or ""
    )
    ends = rpsr.load("line4-2goals")
    assert admitted_objectives(ends)["reward"] is None
    tiger = admitted_objectives(rpsr.load("tiger"))
    assert "can be repeated indefinitely" in (tiger["reward"] or "")
    assert "both signs" in (tiger["cost"] or "")
