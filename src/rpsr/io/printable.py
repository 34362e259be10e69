"""Text for a terminal or a page: what would steer it, or turn lines around, is shown escaped.

Names come from files, and a file may hold any character. A control character of C0 or C1 (ESC,
U+009B) moves the cursor or sets a title; a bidirectional override shows one name as another; a line
separator breaks a line in two.
"""

from __future__ import annotations

import json
import re

# C0, DEL and C1; then marks and overrides of direction, and separators of lines.
_STEERS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IN_TEXT = re.compile(f"[{_STEERS}]")
_IN_LINE = re.compile(f"[{_STEERS}\t\n]")


LONGEST = 40  # characters of what was read that a message repeats


def shortened(text: str) -> str:
    """A text for a message: its beginning and its length where it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}... ({len(text):,} characters)"


def quoted(text: str) -> str:
    """What was read, in quotes, for a message: its beginning and its length where it is long."""
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[: LONGEST - 3] + '...'!r} ({len(text):,} characters)"


def printable(text: str, *, one_line: bool = False) -> str:
    r"""The text with whatever steers a terminal written as JSON would: \u001b, \u202e.

    one_line: write tabs and ends of lines so as well, as in a name.
    """
    steers = _IN_LINE if one_line else _IN_TEXT
    return steers.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", r"\u007f"), text)
