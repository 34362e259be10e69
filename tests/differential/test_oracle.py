"""The oracle of the differential run, against analytic values, enumeration and itself."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.differential.finite import ONE, Choice, Finite
from tests.differential.models import DISCOUNTS, Exact, Written, draw
from tests.differential.oracle import SLACK, Oracle
from tests.differential.spans import Spans
from tests.differential.values import controller_value, followed_value, horizon_value
from tests.evaluation.oracle import expected_return
from tests.predictive.exact_accuracy import accuracy_in_fractions

from rpsr.planning import FiniteStateController

TINY = Fraction(1, 10**20)
DRAWN = range(40)


def tiny(discount):
    """What rounding may shift, as a share of the largest value: `SLACK` at each step."""
    return max(TINY, 4 * SLACK / (1 - Fraction(discount)))


def exact(chance, rewards, start, discount):
    """A model from nested lists of numbers as text."""
    chance, rewards, (start,) = (_fractions(numbers) for numbers in (chance, rewards, [start]))
    raw = max(abs(r) for row in rewards for r in row)
    return Exact(chance, rewards, start, Fraction(discount), raw)


def _fractions(numbers):
    return [_fractions(n) if isinstance(n, list) else Fraction(n) for n in numbers]


def tiger(discount="0.95"):
    """Listen, open left, open right; the tiger is left or right."""
    listen = [[["0.85", 0], [0, "0.15"]], [["0.15", 0], [0, "0.85"]]]
    opened = [[["0.25", "0.25"], ["0.25", "0.25"]]] * 2
    rewards = [[-1, -100, 10], [-1, 10, -100]]
    return exact([listen, opened, opened], rewards, ["0.5", "0.5"], discount)


def one_state(reward, discount):
    return exact([[[["1"]]]], [[reward]], ["1"], discount)


# ---- optimal values


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_one_state_is_a_geometric_sum(discount):
    oracle = Oracle(one_state("2.5", discount))
    answer = Fraction("2.5") / (1 - Fraction(discount))
    low, high = oracle.optimal(1)
    assert low <= answer <= high
    assert high - low < tiny(discount) * answer
    assert abs(oracle.blind - answer) < tiny(discount) * answer
    assert abs(oracle.seen - answer) < tiny(discount) * answer


def test_the_tiger_has_its_known_value_and_bounds():
    oracle = Oracle(tiger())
    assert abs(oracle.blind + 20) < TINY
    assert abs(oracle.seen - 200) < TINY
    # Optimal is to listen until one side was heard twice more often than the other, then to open.
    discount, again = Fraction("0.95"), Fraction("0.745")  # .85^2 + .15^2: heard on that side again
    right = Fraction("0.7225") / again
    opening = 10 * right - 100 * (1 - right)
    returns = discount**2 * (again * discount + 1 - again)
    value = (-1 - discount + discount**2 * again * opening) / (1 - returns)
    low, high = oracle.optimal(300)
    assert low <= value <= high
    assert high - low < TINY


def test_one_step_is_the_best_reward():
    low, high = Oracle(tiger()).horizon(1)
    assert low <= -1 <= high
    assert high - low < TINY


@pytest.mark.parametrize("index", DRAWN)
def test_a_horizon_is_the_best_of_all_trees(index):
    written = draw(7, index)
    A, _, O = written.sizes
    steps = 2 if A ** (1 + O) <= 81 else 1
    low, high = Oracle(written.exact).horizon(steps)
    trees = product(range(A), repeat=1 + (O if steps == 2 else 0))
    best = max(_tree_return(written.exact, tree, steps) for tree in trees)
    assert low <= best <= high
    assert high - low <= TINY * 4 * written.exact.largest


def _tree_return(model, tree, steps):
    """An action, then one for each observation: by the definition."""
    S, a = range(len(model.start)), tree[0]
    earned = sum(model.start[s] * model.rewards[s][a] for s in S)
    if steps == 1:
        return earned
    for o, following in enumerate(tree[1:]):
        for s, t in product(S, S):
            chance = model.start[s] * model.chance[a][o][s][t]
            earned += model.discount * chance * model.rewards[t][following]
    return earned


@pytest.mark.parametrize("index", DRAWN)
def test_brackets_are_nested_and_stay_between_the_simple_bounds(index):
    written = draw(11, index)
    oracle = Oracle(written.exact)
    wide, narrow = oracle.optimal(3), oracle.optimal(40)
    slack = tiny(written.exact.discount) * oracle.scale
    assert oracle.blind - slack <= wide[0] <= narrow[0] + slack
    assert narrow[0] <= narrow[1]
    assert narrow[1] <= wide[1] + slack <= oracle.seen + 2 * slack


def test_most_brackets_are_closed():
    oracles = [Oracle(draw(3, index).exact) for index in range(100)]
    brackets = [(oracle.optimal(60), oracle.scale) for oracle in oracles]
    closed = [high - low <= TINY * scale for (low, high), scale in brackets]
    assert sum(closed) > 60


# ---- policies


@pytest.mark.parametrize("index", DRAWN)
def test_a_controller_is_worth_what_every_history_says(index):
    written = replace(draw(5, index), discount="0.3", source="file")
    rng = np.random.default_rng(index)
    A, _, O = written.sizes
    nodes = 3
    controller = FiniteStateController(
        *(tuple(str(i) for i in range(n)) for n in (A, O)),
        rng.integers(A, size=nodes),
        rng.integers(nodes, size=(nodes, O)),
    )

    def choose(history):
        node = controller.first
        for _, o in history:
            node = controller.after(node, o)
        return {int(controller.actions[node]): Fraction(1)}

    oracle, steps = Oracle(written.exact), 4
    sum_of = expected_return(written.pomdp(), choose, steps)
    low, high = horizon_value(oracle, controller.policy(), steps)
    assert low <= sum_of <= high
    rest = written.exact.discount**steps * oracle.scale
    low, high = controller_value(oracle, controller)
    assert sum_of - rest <= high
    assert low <= sum_of + rest
    followed = followed_value(oracle, controller.policy(), 30)
    assert followed[0] <= high
    assert low <= followed[1]


# ---- finite problems


def test_a_finite_problem_is_solved_beyond_floats():
    third = ONE // 3
    nodes = [[Choice(third, [(ONE, 0)]), Choice(0, [(ONE, 1)])], [Choice(ONE, [(ONE, 1)])]]
    values, off = Finite(nodes, Fraction(9, 10)).optimum([0, 0])
    assert abs(values[1] - 10 * ONE) <= off
    assert abs(values[0] - 9 * ONE) <= off
    assert off < ONE >> 100


def test_leaves_are_worth_what_is_said():
    values, off = Finite([[Choice(0, [(ONE, 1)])], []], Fraction(1, 2)).optimum([0, ONE])
    assert abs(values[0] - ONE // 2) <= off + 1


# ---- spans, and what models mean


@pytest.mark.parametrize("index", DRAWN)
def test_spans_agree_with_the_literal_search(index):
    written = replace(draw(13, index), source="file")
    spans, literal = Spans(written.exact), accuracy_in_fractions(written.pomdp())
    assert len(spans.tests) == literal.psr_rank
    assert (spans.d_inf == 0) is literal.accurate
    assert spans.accurate_reachable is literal.accurate_reachable
    assert (spans.d_inf, spans.d_inf_reachable) == (literal.d_inf, literal.d_inf_reachable)


@pytest.mark.parametrize("index", DRAWN)
def test_the_meaning_of_a_file_is_the_reader_s(index):
    written: Written = replace(draw(17, index), source="file")
    pomdp, meant = written.pomdp(), written.exact
    assert [list(row) for row in pomdp.exact_rewards()] == meant.rewards
    assert pomdp.record.start.fractions(0) == {s: p for s, p in enumerate(meant.start) if p}
    assert pomdp.record.discount == meant.discount
    for row in (
        sum(p for o in by_a for p in o[s]) for by_a in meant.chance for s in range(len(meant.start))
    ):
        assert row == 1
