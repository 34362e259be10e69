"""Text for a terminal, a page or a spreadsheet, in which it is text and nothing else.

Names come from files, and a file may hold any character. A control character of C0 or C1 (ESC,
U+009B) moves the cursor or sets a title; a bidirectional override makes one name look like another;
a line separator breaks a line in two. A spreadsheet takes a cell of a CSV file that begins with
`=`, `+`, `-` or `@` for a formula, unless an apostrophe is before it.
"""

from __future__ import annotations

import json
import re

# C0, DEL and C1; then marks and overrides of direction, and line separators.
_STEERS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IN_TEXT = re.compile(f"[{_STEERS}]")
_IN_LINE = re.compile(f"[{_STEERS}\t\n]")


_FORMULA = re.compile(r"'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")  # also full-width ones
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|nan)", re.ASCII)

LONGEST = 40  # characters of the input that a message repeats


def shortened(text: str) -> str:
    """A text for a message; a long one as its beginning and its length."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}... ({len(text):,} characters)"


def quoted(text: str) -> str:
    """The input in quotes, for a message; a long one as its beginning and its length."""
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[: LONGEST - 3] + '...'!r} ({len(text):,} characters)"


def printable(text: str, *, one_line: bool = False) -> str:
    r"""The text with control characters escaped as in JSON: \u001b, \u202e.

    one_line: also escape tabs and line ends, as in a name.
    """
    steers = _IN_LINE if one_line else _IN_TEXT
    return steers.sub(lambda match: json.dumps(match[0])[1:-1].replace("\x7f", r"\u007f"), text)


def as_cell(text: str) -> str:
    """A text for a cell of a CSV file: with an apostrophe before what looks like a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_cell(cell: str) -> str:
    """The text that `as_cell` made a cell of; any other cell as it is."""
    return cell[1:] if cell.startswith("'") and as_cell(cell[1:]) == cell else cell
