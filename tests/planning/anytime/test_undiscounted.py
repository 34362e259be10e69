"""Planning without a discount: bounds hold, policies earn them, loops do not keep bounds apart."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import few

import rpsr
from rpsr.domains.rules import tabulate
from rpsr.errors import ModelError
from rpsr.evaluation import exact_return
from rpsr.models.row_edits import join_rows, split_rows
from rpsr.planning import Status
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.corners.reward_signs import exact_rewards
from rpsr.planning.corners.undiscounted_bounds import reward_cap, undiscounted_bounds
from rpsr.planning.exact_steps import ExactSteps
from rpsr.planning.limits import no_limits

ONE = Fraction(1)


def game(draw, end=Fraction(1, 3)):
    """Three states that end with a positive probability at every step, in goal or pit."""
    part = st.integers(0, 3)

    def row(width):
        weights = draw(st.lists(part, min_size=width, max_size=width).filter(any))
        return [Fraction(w, sum(weights)) for w in weights]

    states, actions = ("s", "t", "u", "goal", "pit"), ("x", "y")
    moves = {}
    for s in states[:3]:
        for a in actions:
            goes, ends = row(3), row(2)
            moves[s, a] = {
                **{t: (1 - end) * p for t, p in zip(states[:3], goes, strict=True)},
                **{t: end * p for t, p in zip(states[3:], ends, strict=True)},
            }
    sees = {(a, s): dict(zip(("o", "p"), row(2), strict=True)) for s in states for a in actions}
    return tabulate(
        name="game",
        states=states,
        actions=actions,
        observations=("o", "p"),
        start=dict(zip(states[:3], row(3), strict=True)),
        transition=lambda s, a: moves.get((s, a), {s: ONE}),
        emission=lambda a, s: sees[a, s],
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )


@settings(max_examples=few(20))
@given(st.data())
def test_bounds_enclose_the_value_of_many_steps(data):
    pomdp = game(data.draw)
    objective = rpsr.reach("goal", avoiding="pit")
    task = objective.task(pomdp)
    steps = 25
    finite = rpsr.solve(pomdp, "vi", objective=rpsr.reach("goal", avoiding="pit", within=steps))
    rest = float(Fraction(2, 3) ** steps)
    for model in (task, rpsr.rpsr(task)):
        for planner in ("sarsop", "hsvi"):
            plan = rpsr.solve(model, planner, epsilon=1e-4, max_iterations=200)
            assert plan.lower <= finite.value + rest + 1e-9
            assert plan.upper >= finite.value - 1e-9
            assert plan.status is Status.SOLVED
    plan = rpsr.solve(pomdp, "sarsop", objective=objective, epsilon=1e-4, max_iterations=200)
    earned = exact_return(task, plan)
    assert earned is not None
    assert plan.lower - 1e-12 <= earned <= plan.upper + 1e-12


def maze(cells=4, slip=Fraction(1, 10)):
    """A corridor whose ends look like its middle; right of it is the goal, left of it a pit.

    'look' shows, with an error, on which half one is, and costs nothing: it can be repeated.
    """
    states = (*range(cells), "goal", "pit")

    def move(s, a):
        if not isinstance(s, int) or a == "look":
            return {s: ONE}
        to = {"right": s + 1, "left": s - 1}[a]
        return {("goal" if to == cells else "pit" if to < 0 else to): ONE}

    def see(a, s):
        if a != "look" or not isinstance(s, int):
            return {"dark": ONE}
        half = "high" if s >= cells // 2 else "low"
        other = {"high": "low", "low": "high"}[half]
        return {half: 1 - slip, other: slip}

    return tabulate(
        name="maze",
        states=states,
        actions=("look", "left", "right"),
        observations=("dark", "high", "low"),
        start={s: Fraction(1, cells) for s in range(cells)},
        transition=move,
        emission=see,
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )


def test_a_free_action_that_changes_nothing_is_no_reason_to_wait():
    """'right' reaches the goal from everywhere; 'look' leaves beliefs in loops of equal bounds."""
    plan = rpsr.solve(maze(), "sarsop", objective=rpsr.reach("goal"), epsilon=1e-6)
    assert plan.status is Status.SOLVED
    assert plan.lower == pytest.approx(1.0, abs=1e-6)


def two_doors(tells=True):
    """A door to the goal and one to a pit, left or right; 'listen' tells which, or nothing."""

    def move(s, a):
        if s in ("goal", "pit") or a == "listen":
            return {s: ONE}
        return {"goal" if (s == "left") == (a == "open left") else "pit": ONE}

    def see(a, s):
        if a == "listen" and s in ("left", "right") and tells:
            right = {"left": "low", "right": "high"}[s]
            wrong = {"low": "high", "high": "low"}[right]
            return {right: Fraction(3, 4), wrong: Fraction(1, 4)}
        return {"low": Fraction(1, 2), "high": Fraction(1, 2)}

    return tabulate(
        name="doors",
        states=("left", "right", "goal", "pit"),
        actions=("listen", "open left", "open right"),
        observations=("low", "high"),
        start={"left": Fraction(1, 2), "right": Fraction(1, 2)},
        transition=move,
        emission=see,
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )


def test_a_loop_of_beliefs_is_worth_what_leaving_it_is():
    """Listening tells nothing: the belief stays the same, and so did its upper bound of 1."""
    plan = rpsr.solve(two_doors(tells=False), "sarsop", objective=rpsr.reach("goal"), epsilon=1e-9)
    assert plan.status is Status.SOLVED
    assert plan.upper == pytest.approx(0.5, abs=1e-8)
    assert exact_return(plan.model, plan) == pytest.approx(0.5, abs=1e-12)
    assert plan.iterations <= 2  # trials in vain are followed by sweeps, not by more of them


@pytest.mark.parametrize("twins", [False, True])
def test_a_loop_is_found_on_an_rpsr_as_on_its_pomdp(twins):
    """twins: two states that no test tells apart are one corner of the R-PSR."""
    pomdp = two_doors(tells=False)
    if twins:
        pomdp = with_twin(pomdp, Fraction(1, 2))
    model = rpsr.rpsr(rpsr.reach("goal").task(pomdp))
    plan = rpsr.solve(model, "sarsop", epsilon=1e-9)
    assert plan.status is Status.SOLVED
    assert plan.upper == pytest.approx(0.5, abs=1e-8)


def with_twin(pomdp, chance):
    """The doors with a second state 'left', which listening leads to with some probability."""

    def move(s, a):
        if s in ("goal", "pit"):
            return {s: ONE}
        if a == "listen":
            return {s: ONE} if s == "right" else {"left": 1 - chance, "twin": chance}
        return {"goal" if (s != "right") == (a == "open left") else "pit": ONE}

    return tabulate(
        name="twins",
        states=("left", "twin", "right", "goal", "pit"),
        actions=pomdp.actions,
        observations=pomdp.observations,
        start={"left": Fraction(1, 2), "right": Fraction(1, 2)},
        transition=move,
        emission=lambda a, s: {"low": Fraction(1, 2), "high": Fraction(1, 2)},
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )


def test_states_are_one_only_if_they_move_exactly_alike():
    exact = with_twin(two_doors(), Fraction(1, 2)).record
    near = with_noise(exact)
    parts = np.array([0, 0, 1, 2, 3])
    assert ExactSteps(exact, parts).lumps(lambda: None)
    assert not ExactSteps(near, parts).lumps(lambda: None)
    assert ExactSteps(near).lumps(lambda: None)
    assert not ExactSteps(exact, np.array([0, 1, 0, 2, 3])).lumps(lambda: None)


def test_states_are_one_only_if_they_earn_exactly_alike():
    exact = with_twin(two_doors(), Fraction(1, 2)).record
    parts, index = np.array([0, 0, 1, 2, 3]), exact.rewards.index.copy()
    state = exact.transition.row_of_entry()[exact.outcome_entries()[0]] % len(exact.states)
    index[state == 1] = 1
    table = replace(
        exact.rewards, values=np.array([0.0, 1e-18]), index=index, exact=(0 * ONE, ONE / 10**18)
    )
    near = replace(exact, rewards=table)
    assert not ExactSteps(near, parts).lumps(lambda: None)
    assert ExactSteps(near, parts).lumps(lambda: None, earning=False)


def with_noise(record):
    """The record with a probability that floats hardly show: 'twin' opens the wrong door."""
    rows = split_rows(record.transition)
    row = record.actions.index("open left") * len(record.states) + 1
    rows[row] = (np.array([3, 4]), np.array([1.0, 1e-17]), np.array([10**17, 1], dtype=object), -1)
    noisy = replace(record, transition=join_rows(rows, len(record.states)))
    nothing = np.zeros(int(noisy.outcomes_of_edge().sum()), dtype=np.int64)
    return replace(noisy, rewards=replace(record.rewards, index=nothing))


def test_the_best_probability_may_need_any_number_of_steps():
    """Listening longer is always better, and the supremum, 1, is reached by no policy."""
    task = rpsr.reach("goal").task(two_doors())
    plan = rpsr.solve(task, "sarsop", epsilon=1e-3)
    assert plan.status is Status.SOLVED
    earned = exact_return(task, plan)
    assert earned is not None
    assert 1 - 1e-3 <= plan.lower <= earned <= 1.0 <= plan.upper + 1e-12


def test_rewards_of_both_signs_are_summed_where_every_policy_ends():
    pomdp = rpsr.POMDP.from_arrays(
        [[[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]] * 2,
        np.ones((2, 3, 1)),
        [[-1.0, 2.0], [3.0, -4.0], [0.0, 0.0]],
        start=[0.5, 0.5, 0.0],
        discount=1,
        exact=True,
    )
    plan = rpsr.solve(pomdp, "hsvi", epsilon=1e-6)
    # No observation tells the states apart: the same action indefinitely, 1 + 1/2 + 1/4 + ... = 2.
    values = [2 * (0.5 * -1 + 0.5 * 3), 2 * (0.5 * 2 + 0.5 * -4)]
    assert plan.lower == pytest.approx(max(values), abs=1e-5)
    assert plan.upper >= max(values) - 1e-9


def test_sums_that_are_not_well_defined_are_refused():
    stays = [np.eye(2)]
    earns = rpsr.POMDP.from_arrays(stays, np.ones((1, 2, 1)), [[1.0], [0.0]], discount=1)
    with pytest.raises(ModelError, match="the sum of rewards is infinite: state '0'"):
        rpsr.solve(earns, "sarsop")
    pays = rpsr.POMDP.from_arrays(stays, np.ones((1, 2, 1)), [[-1.0], [0.0]], discount=1)
    with pytest.raises(
        ModelError, match="every policy has an infinite expected cost from state '0'"
    ):
        rpsr.solve(pays, "sarsop")
    with pytest.raises(ModelError, match="the sum of rewards of this policy is infinite"):
        exact_return(earns, "uniform")


@given(st.data())
@settings(max_examples=few(30))
def test_the_first_bounds_are_those_of_observed_states(data):
    """Beside many sweeps from below, which converge to the optimum of the observed problem."""
    task = rpsr.reach("goal", avoiding="pit").task(game(data.draw))
    process = corner_process(task.belief_model())
    known = undiscounted_bounds(process, no_limits())
    moves = np.stack([task.transition(a).toarray() for a in range(2)])
    values = np.zeros(5)
    for _ in range(200):
        values = (task.R.T + moves @ values).max(axis=0)
    assert (known.most.max(axis=0) >= values - 1e-15).all()
    np.testing.assert_allclose(known.most.max(axis=0), values, atol=1e-9)
    exact = exact_rewards(process)
    assert exact is not None
    assert reward_cap(process, np.array([False, False, False, True, True]), exact) <= 1.0
    assert (known.floor == 0).all()


def test_a_checkpoint_is_evaluated_again(tmp_path):
    from rpsr.planning.files.checkpoint import load_checkpoint, resume, save_checkpoint

    task = rpsr.reach("goal").task(two_doors()).belief_model()
    first = rpsr.solve(task, "sarsop", epsilon=1e-2)
    save_checkpoint(first, tmp_path / "c")
    stored = load_checkpoint(tmp_path / "c", task)
    again = resume(task, rpsr.SARSOP(epsilon=1e-2), stored, lambda row: None)
    assert again.lower >= first.lower - 1e-6
    assert again.lower <= again.upper


def test_a_plan_without_a_discount_is_saved_as_its_controller(tmp_path):
    task = rpsr.reach("goal").task(two_doors())
    plan = rpsr.solve(task, "sarsop", epsilon=1e-2)
    for name in ("p.json", "p.pg"):
        rpsr.save_policy(plan, tmp_path / name)
        stored = rpsr.load_policy(tmp_path / name, task)
        earned = exact_return(task, stored)
        assert earned is not None
        assert earned >= plan.lower - 1e-9
    with pytest.raises(
        rpsr.InputError, match=r"\.alpha file cannot store .* use a \.json or a \.pg"
    ):
        rpsr.save_policy(plan, tmp_path / "p.alpha")


def test_other_rewards_are_not_bounded_by_those_of_the_pomdp():
    """A belief model may have rewards of its own; its process is still the POMDP's."""
    task = rpsr.reach("goal").task(two_doors(tells=False)).belief_model()
    richer = task.with_rewards(3 * task.rewards)
    plan = rpsr.solve(richer, "sarsop", epsilon=1e-6, max_iterations=200)
    assert plan.lower == pytest.approx(1.5, abs=1e-5)
    assert plan.upper == pytest.approx(1.5, abs=1e-5)
    assert plan.upper >= 1.5 - 1e-12


def slow(chance):
    """One state that is left for the goal with a small probability at every step."""
    return tabulate(
        name="slow",
        states=("s", "goal"),
        actions=("a",),
        observations=("o",),
        start={"s": ONE},
        transition=lambda s, a: {"goal": chance, "s": 1 - chance} if s == "s" else {s: ONE},
        emission=lambda a, s: {"o": ONE},
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )


def test_small_probabilities_are_paid_for_or_refused():
    for digits in (17, 40):  # 1 - p is 1 in floats
        plan = rpsr.solve(
            slow(Fraction(1, 10**digits)), "sarsop", objective=rpsr.reach("goal"), max_iterations=3
        )
        assert plan.upper >= 1.0
    with pytest.raises(ModelError, match="is too small for floats"):
        rpsr.solve(slow(Fraction(1, 10**400)), "sarsop", objective=rpsr.reach("goal"))
    task = rpsr.reach("goal").task(slow(Fraction(1, 10**40)))
    with pytest.raises(ModelError, match="too many steps"):
        exact_return(task, "uniform")


def test_rewards_of_predictive_models_are_zero_up_to_their_error():
    """The R-PSR of a task has rewards of 1e-17 where the task has none."""
    moves = {
        "s": {"s": Fraction(1, 3), "t": Fraction(2, 3)},
        "t": {"s": Fraction(1, 5), "pit": Fraction(4, 5)},
    }
    pomdp = tabulate(
        name="noise",
        states=("s", "t", "pit"),
        actions=("a",),
        observations=("o",),
        start={"s": Fraction(2, 3), "t": Fraction(1, 3)},
        transition=lambda s, a: moves.get(s, {s: ONE}),
        emission=lambda a, s: {"o": ONE},
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )
    task = rpsr.reach("s").task(pomdp)
    for model in (task, rpsr.rpsr(task), rpsr.planning.compress(task).model):
        plan = rpsr.solve(model, "sarsop", epsilon=1e-6, max_iterations=100)
        assert plan.lower == pytest.approx(11 / 15, abs=1e-6)
        assert plan.upper >= 11 / 15 - 1e-9


def test_a_start_of_long_weights_has_no_exact_loops():
    w = Fraction(1, 3**3000)
    turn = {("s", "b"): "goal", ("t", "b"): "pit", ("s", "c"): "t", ("t", "c"): "s"}
    pomdp = tabulate(
        name="long",
        states=("s", "t", "goal", "pit"),
        actions=("b", "c"),
        observations=("o",),
        start={"s": Fraction(1, 3) - w, "t": Fraction(2, 3) + w},
        transition=lambda s, a: {turn.get((s, a), s): ONE},
        emission=lambda a, s: {"o": ONE},
        reward=lambda s, a, following, o: Fraction(0),
        discount=Fraction(1, 2),
    )
    plan = rpsr.solve(pomdp, "sarsop", objective=rpsr.reach("goal"), max_iterations=20)
    assert plan.lower == pytest.approx(2 / 3, abs=1e-6)
    assert plan.upper >= 2 / 3 - 1e-12


def test_a_search_for_loops_ends_at_the_deadline(monkeypatch):
    """The deadline passes, on a fake clock, while the first exact belief is compared."""
    import time

    from rpsr.planning.anytime.exact_beliefs import ExactBeliefs

    judge, now, calls = ExactBeliefs.exact, time.perf_counter, []
    monkeypatch.setattr(time, "perf_counter", lambda: now() + 1e6 * len(calls))

    def slow(self, *edge):
        calls.append(edge)
        return judge(self, *edge)

    monkeypatch.setattr(ExactBeliefs, "exact", slow)
    task = rpsr.reach("goal").task(two_doors(tells=False))
    plan = rpsr.solve(task, "sarsop", epsilon=1e-9, time_limit=1e5)
    assert plan.status is Status.TIME
    assert len(calls) == 1
    assert plan.lower <= 0.5 <= plan.upper
