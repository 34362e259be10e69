"""Planners for discounted sums on tasks that every policy ends."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.anytime.test_undiscounted import game, two_doors
from tests.strategies import few

import rpsr
from rpsr.errors import ModelError
from rpsr.evaluation import exact_return
from rpsr.planning import Status

PLANNERS = ("vi", "policy-iteration", "pbvi", "perseus", "qmdp", "fib")


def at_most(model, belief, steps):
    """The optimal value within some steps, by enumeration in fractions; belief: unnormalised."""
    if steps == 0 or not belief:
        return Fraction(0)
    best = None
    for a in model.actions:
        total, after = Fraction(0), {}
        for s, p in belief.items():
            for (t, o, r), q in model.moves[s, a].items():
                total += p * q * r
                branch = after.setdefault(o, {})
                branch[t] = branch.get(t, 0) + p * q
        total += sum(at_most(model, b, steps - 1) for b in after.values())
        best = total if best is None else max(best, total)
    return best


class Exact:
    """The outcomes of an exact task in fractions, without its ends, where nothing is earned."""

    def __init__(self, task):
        record, outcomes = task.record, task.outcomes
        moves, seen = record.transition, record.emission
        wide = len(task.states)
        self.actions, self.moves, self.start = range(len(task.actions)), {}, {}
        weights = [int(w) for w in record.start.weights]
        for s, w in zip(record.start.indices.tolist(), weights, strict=True):
            self.start[s] = Fraction(w, sum(weights))
        over = {"goal", "pit"}
        for s, a, t, o, i in zip(
            outcomes.state.tolist(),
            outcomes.action.tolist(),
            outcomes.next_state.tolist(),
            outcomes.observation.tolist(),
            outcomes.reward_index.tolist(),
            strict=True,
        ):
            if task.states[s] in over:
                self.moves[s, a] = {}
                continue
            chance = self.share(moves, a * wide + s, t) * self.share(seen, a * wide + t, o)
            self.moves.setdefault((s, a), {})[t, o, record.rewards.exact[i]] = chance

    @staticmethod
    def share(rows, row, column):
        span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        weights = [int(w) for w in rows.weights[span]]
        return Fraction(weights[rows.indices[span].tolist().index(column)], sum(weights))


@pytest.mark.parametrize("planner", PLANNERS)
@settings(max_examples=few(2))
@given(data=st.data())
def test_bounds_hold_for_every_planner(planner, data):
    """Beside four steps in fractions; after each step at most 1/16 is left."""
    task = rpsr.reach("goal", avoiding="pit").task(game(data.draw, end=Fraction(15, 16)))
    exact, steps = Exact(task), 4
    least = at_most(exact, exact.start, steps)
    most = least + Fraction(1, 16) ** steps
    for model in (task, rpsr.rpsr(task)) if planner in ("vi", "pbvi") else (task,):
        plan = rpsr.solve(model, planner, epsilon=1e-4)
        assert Fraction(plan.lower) <= most
        assert Fraction(plan.upper) >= least
        if planner in ("vi", "policy-iteration"):
            assert plan.status is Status.SOLVED
            assert plan.gap <= 1e-4
        earned = exact_return(task, plan)
        assert earned is not None
        assert earned >= plan.lower - 1e-12


def both_signs():
    """No observation tells the states apart; every action ends with probability one half."""
    return rpsr.POMDP.from_arrays(
        [[[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]] * 2,
        np.ones((2, 3, 1)),
        [[-1.0, 2.0], [3.0, -4.0], [0.0, 0.0]],
        start=[0.5, 0.5, 0.0],
        discount=1,
        exact=True,
    )


@pytest.mark.parametrize("planner", PLANNERS)
def test_rewards_of_both_signs(planner):
    plan = rpsr.solve(both_signs(), planner, epsilon=1e-6)
    assert plan.lower <= 2.0 <= plan.upper  # 1 + 1/2 + 1/4 + ...
    assert plan.lower == pytest.approx(2.0, abs=1e-6)
    assert plan.undiscounted
    assert exact_return(both_signs(), plan) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_policy_that_may_stay_is_refused_by_name(planner):
    said = f"stay indefinitely in state 'left', and planner {planner} "
    with pytest.raises(ModelError, match=said):
        rpsr.solve(two_doors(), planner, objective=rpsr.reach("goal"))


def test_progress_is_in_the_units_of_the_task():
    rows = []
    plan = rpsr.solve(both_signs(), "vi", epsilon=1e-6, progress=rows.append)
    assert rows
    assert rows[-1].lower == pytest.approx(2.0, abs=1e-5)
    assert plan.trace[-1].upper == pytest.approx(2.0, abs=1e-5)


def test_a_plan_continues_from_a_checkpoint(tmp_path):
    from rpsr.planning.files.checkpoint import load_checkpoint, resume, save_checkpoint

    model = both_signs().belief_model()
    first = rpsr.solve(model, "vi", epsilon=1e-2)
    save_checkpoint(first, tmp_path / "c")
    stored = load_checkpoint(tmp_path / "c", model)
    again = resume(model, rpsr.ValueIteration(epsilon=1e-6), stored, lambda row: None)
    assert again.lower == pytest.approx(2.0, abs=1e-6)
