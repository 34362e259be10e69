"""Text that would steer a terminal is shown, not obeyed."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from rpsr.printable import as_cell, from_cell, printable, quoted, shortened


def test_every_control_character_and_override_is_escaped():
    for number in range(0x3000):
        character = chr(number)
        steers = unicodedata.category(character) in ("Cc", "Zl", "Zp")
        turns = unicodedata.bidirectional(character) in (
            *("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"),
        )
        shown = printable(character, one_line=True)
        if steers or turns or character in "\u200e\u200f\u061c":
            assert shown.startswith("\\")
            assert shown.isascii()
            assert shown.isprintable()
        else:
            assert shown == character
    assert printable("a\n\tb\x1b[0m") == "a\n\tb\\u001b[0m"
    assert printable("a\nb", one_line=True) == "a\\nb"


def test_what_a_message_repeats_is_short():
    assert quoted("x" * 40) == repr("x" * 40)
    assert quoted("1" * 5000) == f"'{'1' * 37}...' (5,000 characters)"
    assert shortened("[1, 2]") == "[1, 2]"
    assert shortened("1" * 5000) == f"{'1' * 37}... (5,000 characters)"


@given(st.text("'=+-@\t\r\n\uff1d\uff0b\uff0d\uff201.e a", max_size=6))
def test_no_cell_is_a_formula_and_every_text_comes_back(text):
    cell = as_cell(text)
    assert from_cell(cell) == text
    if cell[:1] and cell[0] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20":
        float(cell)  # a number is no formula


def test_cells_of_others_stay_as_they_are():
    for cell in ("'tis", "'-1", "'", "a", "-1.5e3", ""):
        assert from_cell(cell) == cell
