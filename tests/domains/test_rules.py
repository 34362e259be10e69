"""`tabulate` writes down what rules say, exactly, and refuses rules that say no distribution."""

from fractions import Fraction

import pytest

from rpsr import InputError
from rpsr.domains import tabulate

HALF = Fraction(1, 2)


def weather(**changes):
    """Rain or sun, as likely tomorrow as not, seen through a window."""
    rules = {
        "name": "weather",
        "states": [True, False],
        "actions": ["wait", "dance"],
        "observations": ["wet", "dry"],
        "start": {True: 1},
        "transition": lambda s, a: {True: 1} if a == "dance" else {s: HALF, not s: HALF},
        "emission": lambda _a, t: {"wet": 1 if t else 0, "dry": 0 if t else 1},
        "reward": lambda s, a, t, o: 4 * s + 2 * (a == "dance") + t + Fraction(o == "wet", 10),
        "discount": 0.9,
        "state_name": lambda s: "rain" if s else "sun",
    }
    return tabulate(**rules | changes)


def test_rules_become_tables():
    model = weather()
    assert model.exact
    assert model.states == ("rain", "sun")
    assert model.transition("wait").toarray().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert model.transition("dance").toarray().tolist() == [[1, 0], [1, 0]]
    assert model.emission(0).toarray().tolist() == [[1, 0], [0, 1]]
    assert model.start.tolist() == [1, 0]
    dancing = 2 + 1 + Fraction(1, 10)
    assert model.exact_rewards() == (
        (4 + Fraction(11, 20), 4 + dancing),
        (Fraction(11, 20), dancing),
    )


def test_a_discount_in_decimals_is_that_decimal():
    assert weather().record.discount == Fraction(9, 10)
    assert weather(discount=None).discount is None
    with pytest.raises(InputError, match="discount: read 2"):
        weather(discount=2)


def test_impossible_outcomes_are_neither_stored_nor_asked_about():
    asked = []
    weather(reward=lambda *outcome: asked.append(outcome) or 0)
    assert (True, "dance", False, "dry") not in asked
    assert len(asked) == len(set(asked)) == 6


def test_observations_may_depend_on_the_state_left():
    model = weather(emission=None, edge_emission=lambda s, _a, t: {"wet" if s == t else "dry": 1})
    assert model.record.emission_by_edge
    assert model.D[0][0].toarray().tolist() == [[0.5, 0], [0, 0.5]]
    assert model.D[0][1].toarray().tolist() == [[0, 0.5], [0.5, 0]]


def test_resets_are_marked():
    model = weather(resets=lambda s, a: a == "dance" and not s)
    assert model.resets.tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": {True: HALF}}, "start: the probabilities sum to 1/2, expected 1"),
        ({"start": {True: 2, False: -1}}, "start: read -1 for False, expected a probability"),
        ({"start": {}}, "start: the probabilities sum to 0, expected 1"),
        ({"start": {"fog": 1}}, "start: read 'fog', expected one of True, False"),
        (
            {"transition": lambda *_: {True: 0.1, False: 0.9}},
            r"transition\(True, 'wait'\): read 0.1 for True, expected an integer or a fraction, "
            r"such as Fraction\('0.1'\)",
        ),
        (
            {"transition": lambda *_: "dry"},
            "transition.*: read str, expected a mapping of names to probabilities",
        ),
        ({"emission": lambda *_: {"damp": 1}}, r"emission.*: read 'damp', expected one of wet"),
        ({"emission": lambda *_: {"wet": "1"}}, "emission.*: read '1' for 'wet', expected an int"),
        ({"reward": lambda *_: 0.3}, r"reward\(.*\): read 0.3, expected an integer or a fraction"),
        ({"actions": ["wait", "wait"]}, "actions: the name 'wait' was given twice"),
        ({"observations": ["wet", "dry", "wet"]}, "observations: the name 'wet' was given twice"),
        ({"state_name": lambda _: "day"}, "states: the name 'day' was given twice"),
    ],
)
def test_rules_that_make_no_model_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        weather(**changes)


@pytest.mark.parametrize("both", [{"emission": None}, {"edge_emission": lambda *_: {"wet": 1}}])
def test_observations_have_one_rule(both):
    with pytest.raises(
        InputError, match=r"emission, edge_emission: read (both|neither of them), expected one"
    ):
        weather(**both)


def test_a_mapping_that_is_returned_again_is_read_once():
    class Counted(dict[str, Fraction]):
        reads = 0

        def items(self):
            Counted.reads += 1
            return super().items()

    both = Counted(wet=HALF, dry=HALF)
    model = weather(emission=lambda _a, _t: both)
    assert Counted.reads == 1
    assert model.emission(1).toarray().tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_float_is_refused_even_if_an_equal_integer_came_before():
    rewards = iter([1, 1.0])
    with pytest.raises(InputError, match=r"reward\(.*read 1\.0"):
        weather(reward=lambda *_: next(rewards))
    with pytest.raises(InputError, match=r"transition\(.*read 1\.0"):
        weather(transition=lambda s, a: {True: 1} if a == "wait" else {True: 1.0})
