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


def printable(text: str, *, one_line: bool = False) -> str:
    r"""The text with whatever steers a terminal written as JSON would: \u001b, \u202e.

    one_line: write tabs and ends of lines so as well, as in a name.
    """
    steers = _IN_LINE if one_line else _IN_TEXT
    return steers.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", r"\u007f"), text)
