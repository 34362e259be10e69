"""What a pass of the search adds to its residual for the filters before it."""

import pytest

from rpsr.domains import build
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.exact import vector_search
from rpsr.planning.exact.vector_search import THIN, begin
from rpsr.planning.limits import no_limits


def rounding_of_filters(model, cutoff):
    """The rounding error of the filters of a pass that adds no vector."""
    search = begin(corner_process(model), no_limits())
    added, _ = search.run(cutoff)
    assert added == 0
    return search.hidden


def test_each_sum_of_two_groups_rounds_as_much_as_all_filters_before(monkeypatch):
    model = build("tiger-grid").belief_model()
    monkeypatch.setattr(vector_search, "LARGEST_SUM", 0)
    without = rounding_of_filters(model, 100.0)
    assert without > 0
    monkeypatch.setattr(vector_search, "LARGEST_SUM", 10**6)
    sums = len(model.observations) - 1  # until one group is left
    assert rounding_of_filters(model, 100.0) == pytest.approx((1 + sums) * without, rel=1e-12)


def test_rounding_is_in_units_of_the_rewards():
    model = build("tiger-grid").belief_model()
    once = rounding_of_filters(model, 100.0)
    assert once > 0
    assert rounding_of_filters(model.with_rewards(2 * model.rewards), 200.0) == 2 * once


@pytest.mark.parametrize("name", ["tiger", "tiger-grid"])
def test_filters_lose_no_more_than_is_added_for_them(name, monkeypatch):
    """For O observations, at most 2 O - 1 times the tolerance (see `projections.thin`)."""
    lost, thin = [], vector_search.projections.thin

    def noted(g, source, first, largest, tolerance, *others):
        lost.append((2 * (len(first) - 1) - 1) * tolerance)
        return thin(g, source, first, largest, tolerance, *others)

    monkeypatch.setattr(vector_search.projections, "thin", noted)
    begin(corner_process(build(name).belief_model()), no_limits()).run(100.0)
    assert 0 < max(lost) <= THIN * 100.0
