"""Tokens: what counts as a number, and finding a token's place in the text again."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpsr.errors import InputError
from rpsr.io.tokens import MOST_DIGITS, is_name, parse_decimal, tokenize


@pytest.mark.parametrize(
    "word",
    ["", ".", "+", "-", "e5", ".e5", "1e", "1e+", "1.2.3", "--1", "1_0", "0x1", "inf", "nan", "1f",
     "\u0661", "1e401", "1e-401", "1e400", "1e-330", "9" * 400, "0." + "1" * 401, "1" * 1001],
)  # fmt: skip
def test_these_are_no_numbers(word):
    assert parse_decimal(word.encode()) is None


@given(st.from_regex(rb"\A[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?\Z"))
def test_a_number_is_its_decimal_exactly(word):
    decimal = parse_decimal(word)
    assert decimal is not None
    mantissa, digits = decimal
    assert digits >= 0
    assert Fraction(mantissa, 10**digits) == Fraction(word.decode())
    assert not is_name(word)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_can_be_read(value):
    decimal = parse_decimal(repr(value).encode())
    assert decimal is not None
    assert decimal[1] <= MOST_DIGITS
    assert Fraction(decimal[0], 10 ** decimal[1]) == Fraction(repr(value))


WORDS = ["T", ":", "*", "s-1", "é", "- 5", "+\t.5", "-x", "0.5", "a-", "-", "1e-3"]
GAPS = [" ", "\n", "\r\n", "\t ", " # c: - 5\n", "#\r\n", "\r", "\f"]


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), min_size=1))
def test_the_place_of_every_token_is_found_again(parts):
    parts = [(word, "\n" if word == "-" else gap) for word, gap in parts]  # no sign by accident
    text, expected = "# é\n ", []
    for word, gap in parts:
        before = text.replace("\r\n", "\n").replace("\r", "\n")
        expected.append((before.count("\n") + 1, len(before) - before.rfind("\n")))
        text += word + gap
    tokens = tokenize(text.encode(), "f")
    read = [tokens.words[i].decode() for i in tokens.ids.tolist()]
    assert read == ["".join(word.split()) for word, _ in parts]
    errors = [tokens.error(at, "here") for at in range(len(parts))]
    assert [(error.line, error.column) for error in errors] == expected


def test_an_error_past_the_last_token_is_at_the_end():
    assert str(tokenize(b"T\n: a", "f").error(3, "over")) == "f:2:4: over"
    assert str(tokenize(b"T # x", "f").error(1, "over")) == "f:1:6: over"


def test_a_long_word_is_shown_short():
    tokens = tokenize(b"x" * 1000 + b" \xff", "f")
    assert tokens.show(0) == repr("x" * 37 + "...") + " (1,000 characters)"
    assert tokens.show(1) == repr("\\xff")
    assert tokens.show(2) == "the end of the file"


@pytest.mark.parametrize("byte", [0, 7, 8, 14, 26, 27, 31, 127])
def test_control_characters_mean_a_binary_file(byte):
    with pytest.raises(InputError) as refused:
        tokenize(b"T:\n a" + bytes([byte]), "f")
    expected = f"f:2:3: read the byte 0x{byte:02x}, expected text: is this a binary file?"
    assert str(refused.value) == expected
