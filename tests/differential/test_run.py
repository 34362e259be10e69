"""The differential run itself: it can fail, says how to see that again, and covers what it says."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.differential import __main__ as run
from tests.differential import checks
from tests.differential.families import PROCESSES, REWARDS
from tests.differential.models import DISCOUNTS, draw
from tests.differential.tally import Record, Tally, Violation

from rpsr.planning import solve


def broken(index, seed=0):
    """The violations of one model, by check."""
    tally = run.check_chunk(seed, [index])
    return Counter(violation.check for violation in tally.violations)


def shifted(**by):
    """`solve`, with an error added to numbers of its solutions."""

    def shift(model, planner):
        plan = solve(model, planner)
        for name, amount in by.items():
            object.__setattr__(plan, name, getattr(plan, name) + amount)
        return plan

    return shift


@pytest.mark.parametrize(
    ("by", "law"),
    [
        ({"lower": 1.0}, "lower <= V*"),
        ({"upper": -1.0}, "V* <= upper"),
        ({"upper": 1e20}, "upper <= MDP"),
        ({"lower": -1e20}, "blind <= lower"),
        ({"value": 1e20}, "value <= V*"),
        ({"lower": 1e20, "value": 1e20}, "lower <= upper"),
    ],
)
def test_a_bound_that_is_moved_is_found(monkeypatch, by, law):
    monkeypatch.setattr(checks, "solve", shifted(**by))
    laws = Counter()
    for index in range(8):
        laws += broken(index)
    assert laws[law] >= 8  # many more than any mistake of the planners themselves


def test_a_policy_that_earns_less_is_found(monkeypatch):
    def backwards(model, planner):
        plan = solve(model, planner)
        negated = replace(plan.value_function, vectors=-plan.vectors)
        return replace(plan, value_function=negated)

    def short():
        laws = sum((broken(index) for index in range(20)), Counter())
        return sum(count for law, count in laws.items() if law.endswith("earns lower"))

    before = short()
    monkeypatch.setattr(checks, "solve", backwards)
    assert short() >= before + 3


def test_what_raises_is_a_violation(monkeypatch):
    def fails(model, planner):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(checks, "solve", fails)
    tally = run.check_chunk(0, [0])
    assert any("ZeroDivisionError: on purpose" in str(v) for v in tally.violations)


def test_a_model_depends_on_seed_and_index_only():
    assert draw(3, 5) == draw(3, 5)
    assert draw(3, 5) != draw(3, 6)
    assert draw(4, 5) != draw(3, 5)


def test_a_thousand_models_are_of_every_kind():
    drawn = [draw(0, index) for index in range(1000)]
    families = [model.family.split("/") for model in drawn]
    assert {process for process, _ in families} == set(PROCESSES)
    assert {rewards for _, rewards in families} == set(REWARDS)
    assert {model.discount for model in drawn} == set(DISCOUNTS)
    assert {model.source for model in drawn} == {"file", "arrays"}


def test_tallies_add_up_and_say_how_to_see_a_violation_again():
    one, other = Tally(models=1), Tally(models=2)
    Record(one, 7, 8, "thin/zero", "vi").at_most("law", *map(Fraction, (1, 0, 2)), "lower")
    Record(other, 7, 9, "thin/zero", "vi").at_most("law", *map(Fraction, (3, 0, 2)), "lower")
    one.add(other)
    assert (one.models, one.checked["law"], one.used["law"]) == (3, 2, 0.5)
    assert [type(v) for v in one.violations] == [Violation]
    assert "--seed 7 --index 9" in str(one.violations[0])
    assert "3 models, 1 violations" in one.table()


def test_the_command_shows_a_table_and_exits_by_what_it_found(monkeypatch, capsys):
    monkeypatch.setattr(run, "check_chunk", lambda _, indices, *__: Tally(models=len(indices)))
    assert run.main(["--count", "25", "--seed", "1"]) == 0
    assert "25 models, 0 violations" in capsys.readouterr().out
    violation = Violation("law", 0, 3, "plain/zero", "vi", "said")
    monkeypatch.setattr(run, "check_chunk", lambda *_: Tally(models=1, violations=[violation]))
    assert run.main(["--index", "3"]) == 1
    assert "again by --seed 0 --index 3" in capsys.readouterr().out

    def interrupted(_, indices, *__):
        if indices[0] > 10:
            raise KeyboardInterrupt
        return Tally(models=len(indices))

    monkeypatch.setattr(run, "check_chunk", interrupted)
    assert run.main(["--count", "50"]) == 130
    assert "20 models, 0 violations" in capsys.readouterr().out
