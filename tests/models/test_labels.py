"""Names and indices: a number that could be either is refused, where it is an observation."""

from fractions import Fraction

import numpy as np
import pytest

from rpsr.domains import tabulate
from rpsr.errors import InputError
from rpsr.evaluation import simulate
from rpsr.models import Filter, RobustFilter
from rpsr.models.labels import Index, index_of, observed
from rpsr.planning import AlphaPolicy, UniformPolicy, extract_controller, solve
from rpsr.report import plot_states


def numbered():
    """Two hidden states, in a table of numbers: the observations are called 1 and 2."""
    pomdp = tabulate(
        name="numbers",
        states=range(2),
        actions=["101", "205"],
        observations=["1", "2"],
        start={0: Fraction(1, 2), 1: Fraction(1, 2)},
        transition=lambda s, _a: {s: Fraction(1)},
        emission=lambda _a, t: {"1": Fraction(1 + t, 4), "2": Fraction(3 - t, 4)},
        edge_emission=None,
        reward=lambda s, a, *_: Fraction(int(s == int(a == "205"))),
        discount=Fraction(1, 2),
        state_name=str,
    )
    return pomdp.belief_model()


@pytest.mark.parametrize("one", [1, np.int64(1)])
@pytest.mark.parametrize("follower", ["filter", "robust", "alpha", "uniform", "controller"])
def test_a_number_that_is_a_name_and_another_index_is_refused(follower, one):
    model = numbered()
    plan = solve(model, epsilon=1.0)
    policy = {
        "filter": Filter(model),
        "robust": RobustFilter(model),
        "alpha": AlphaPolicy(model, np.ones((1, 2))),
        "uniform": UniformPolicy(model),
        "controller": extract_controller(plan).policy(),
    }[follower]
    action = 0 if follower in ("filter", "robust") else policy.act()
    with pytest.raises(InputError, match="observations are called '1', '2', so 1 may mean '1' or"):
        policy.update(action, one)
    policy.update(action, "1")  # the action is the index that `act` returned


def test_a_name_and_its_index_do_the_same():
    model = numbered()
    after = Filter(model).update("101", "2")
    assert np.array_equal(after, Filter(model).update(0, Index(1)))
    assert np.array_equal(Filter(model).update("101", "1"), Filter(model).update(0, 0))


def test_only_numbers_that_are_another_name_are_refused():
    assert observed(("a", "b"), 1) == 1
    assert observed(("0", "1"), 1) == 1
    assert observed(("5", "7"), 1) == 1
    with pytest.raises(InputError, match="expected a name in quotes"):
        observed(("x", "0"), 0)


def test_a_number_out_of_range_that_is_a_name_says_so():
    with pytest.raises(InputError, match="from 0 to 1, or the name '205' in quotes"):
        index_of(("101", "205"), 205, "action")
    with pytest.raises(InputError, match=r"from 0 to 1$"):
        index_of(("101", "205"), 7, "action")


def test_simulations_and_plots_of_tables_of_numbers_use_indices():
    model = numbered()
    log = simulate(model, UniformPolicy(model), episodes=3, steps=5, seed=0)
    assert log.steps == 15
    assert plot_states(model, log).axes
