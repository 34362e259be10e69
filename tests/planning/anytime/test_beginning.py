"""How an anytime search begins: which beliefs it may merge."""

import pytest
from tests.planning.anytime.test_undiscounted import two_doors

from rpsr import reach
from rpsr.domains import build
from rpsr.planning.anytime.beginning import CLOSE, begin
from rpsr.planning.corners.cheap_bounds import initial_upper_bound
from rpsr.planning.corners.corner_model import corner_process
from rpsr.planning.limits import no_limits

MODELS = {
    "discounted": build("tiger").belief_model(),
    "undiscounted": reach("goal").task(two_doors()).belief_model(),
}


@pytest.mark.parametrize("kind", list(MODELS))
def test_merging_close_beliefs_costs_little_of_the_gap_to_reach(kind):
    process = corner_process(MODELS[kind])
    assert begin(process, no_limits(), 1e6).tau == CLOSE
    begun = begin(process, no_limits(), 1e-6)
    # At every step ahead, values of merged beliefs differ by at most tau times the largest value.
    assert 0 < begun.ahead * begun.tau * begun.scale <= 1e-4 * 1e-6 * (1 + 1e-12)


def test_the_first_upper_bound_has_a_name_and_those_beside_it():
    process = corner_process(build("hallway").belief_model())
    begun = begin(process, no_limits(), None)
    (beside,) = begun.first_upper_bound["beside"]
    assert begun.first_upper_bound["name"] == "tighter informed"
    assert begun.first_upper_bound["value"] == begun.first < beside["value"]
    assert beside["value"] == initial_upper_bound(process, no_limits())[1]
    assert beside["name"] == "fast informed"
    assert 0 <= beside["seconds"] <= begun.first_upper_bound["seconds"]


@pytest.mark.parametrize("kind", list(MODELS))
def test_a_bound_that_is_alone_has_none_beside_it(kind):
    begun = begin(corner_process(MODELS[kind]), no_limits(), None, by_points=True)
    known = begun.first_upper_bound
    assert (known["name"], known["value"], known["beside"]) == ("fast informed", begun.first, [])
