"""Tests and intents as values: their text parses back, whatever the names."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import ODD_NAMES

from rpsr.errors import InputError
from rpsr.predictive import ZETA, Intent, Interaction, Test, parse_future

TRICKY = [
    "ε",
    "ζ",
    "",
    " ",
    "a b",
    "a,b",
    "a;b",
    '"',
    'a"b',
    "\\",
    "\\n",
    "\n",
    "\t",
    ",",
    ";",
    "-",
]
NAMES = st.one_of(
    st.sampled_from([*ODD_NAMES, *TRICKY]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=6),
)
TESTS = st.lists(st.builds(Interaction, NAMES, NAMES), max_size=4).map(
    lambda steps: Test(tuple(steps))
)
INTENTS = st.builds(Intent, TESTS, st.one_of(st.just(ZETA), NAMES))


@given(TESTS)
@example(Test())
@example(Test((Interaction("ε", "ζ"),)))
def test_a_test_is_read_back_from_its_text(test):
    assert Test.parse(str(test)) == parse_future(str(test)) == test


@given(INTENTS)
@example(Intent(Test(), ZETA))
@example(Intent(Test(), "ζ"))
@example(Intent(Test(), ";"))
def test_an_intent_is_read_back_from_its_text(intent):
    assert Intent.parse(str(intent)) == parse_future(str(intent)) == intent


@given(st.lists(st.one_of(TESTS, INTENTS), max_size=6))
def test_different_futures_have_different_texts(futures):
    assert len({str(future) for future in futures}) == len(set(futures))


def test_the_text_is_what_people_would_write():
    test = Test((Interaction("left", "loading"), Interaction("right", "travel")))
    assert str(test) == "left loading, right travel"
    assert str(Intent(test, "left")) == "left loading, right travel; left"
    assert str(Intent(Test(), ZETA)) == "ε; ζ"
    assert str(Intent(Test(), "turn left")) == 'ε; "turn left"'


def test_the_token_is_not_an_action_of_that_name():
    token, named = Intent(Test(), ZETA), Intent(Test(), "ζ")
    assert token != named
    assert parse_future("ε; ζ") == token
    assert parse_future('ε; "ζ"') == named


def test_a_future_can_be_preceded_by_an_interaction():
    assert Test.parse("a x").after("b", "y") == Test.parse("b y, a x")
    assert Intent.parse("a x; ζ").after("b", "y") == Intent.parse("b y, a x; ζ")
    assert (len(Test.parse("b y, a x")), len(Intent.parse("b y, a x; ζ"))) == (2, 2)


def test_futures_are_values():
    first, second = Test.parse("a x, b y"), Test.parse(" a  x ,b y ")
    assert first == second
    assert len({first, second, Intent(first, ZETA), Intent(second, ZETA)}) == 2
    with pytest.raises(AttributeError):
        first.interactions = ()  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted([Test.parse("b x"), Test(), Test.parse("a y")])[0] == Test()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a test; write ε for the empty test"),
        ("a", "expected pairs 'action observation' between commas"),
        ("a x y", "expected pairs"),
        ("a x,", "expected pairs"),
        (", a x", "expected pairs"),
        ("a x,, b y", "expected pairs"),
        ("a x;", "expected one action or ζ after ';'"),
        ("a x; b; c", "expected one action or ζ after ';'"),
        ("a x; b c", "expected one action or ζ after ';'"),
        ("a x; ,", "expected one action or ζ after ';'"),
        ("; ζ", "expected a test; write ε for the empty test"),
        ("a ζ", "expected a name instead of ζ"),
        ("ε x", "expected a name instead of ε"),
        ("a x; ε", "expected a name instead of ε"),
        ('a "x', "the quotes at column 3 are not closed"),
        (r'a "\q"', "is not a quoted name"),
    ],
)
def test_a_text_that_is_no_future_is_refused_with_the_reason(text, message):
    with pytest.raises(InputError) as caught:
        parse_future(text)
    assert message in str(caught.value)
    assert repr(text) in str(caught.value)


def test_tests_and_intents_are_not_taken_for_each_other():
    with pytest.raises(InputError, match="read the intent 'a x; ζ', expected a test"):
        Test.parse("a x; ζ")
    with pytest.raises(
        InputError, match="read the test 'a x', expected an intent such as 'a x; ζ'"
    ):
        Intent.parse("a x")
