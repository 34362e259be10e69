"""Planning without a discount on random tasks that end; CONTRIBUTING.md says how to run more."""

from collections import Counter
from dataclasses import replace

import pytest
from tests.differential import ending
from tests.differential.__main__ import check_chunk

import rpsr

solve = rpsr.solve


def test_nothing_is_violated():
    tally = check_chunk(0, list(range(40)), ending=True)
    assert tally.models == 40
    assert not tally.violations, "\n".join(map(str, tally.violations))
    assert {plan.split(",")[0] for plan in tally.covered} == set(ending.PLANNERS)


@pytest.mark.parametrize(
    ("change", "law"), [({"lower": 1e-4}, "lower <= V*"), ({"upper": -1e-4}, "V* <= upper")]
)
def test_a_bound_that_is_wrong_is_noticed(monkeypatch, change, law):
    """The optimum is known to 1e-29 in this task."""

    def wrong(model, planner, **options):
        plan = solve(model, planner, **options)
        moved = {name: getattr(plan, name) + by for name, by in change.items()}
        return replace(plan, **moved)

    index = next(i for i in range(100) if _width(i) < 1e-20)
    monkeypatch.setattr(ending, "PLANNERS", ("sarsop", "hsvi", "auto"))
    monkeypatch.setattr(rpsr, "solve", wrong)
    tally = check_chunk(0, [index], ending=True)
    assert Counter(violation.check for violation in tally.violations)[law]


def _width(index):
    low, high = ending.draw_ending(0, index).best()
    return float(high - low)
