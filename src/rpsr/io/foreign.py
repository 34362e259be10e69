"""Recognise model files of other formats by content or suffix, and name the format in the error.

The `.pomdp` reader alone would only report an unexpected first word.
"""

from __future__ import annotations

import re

# The name of each format, the suffix of its files, and how they begin.
_FORMATS = (
    (
        "a PRISM model",
        ".prism",
        re.compile(rb"\s*(pomdp|popta|dtmc|ctmc|mdp|smg|ma|module|const|formula)\b(?!\s*:)"),
    ),
    ("a DRN file of Storm", ".drn", re.compile(rb"\s*@(type|model|nr_states|parameters)\b", re.I)),
    ("a JANI model (JSON)", ".jani", re.compile(rb'\s*\{.*"jani-version"', re.S)),
)
_COMMENT = re.compile(rb"\s*//[^\n]*")
READS = "rpsr reads .pomdp and .pomdpx files (also gzipped) and its own .rpsr files"


def foreign_format(text: bytes, place: str) -> str | None:
    """The error message if the text is of another format; None if it may be `.pomdp`."""
    bare = text[: 2**16].removeprefix(b"\xef\xbb\xbf")
    if text.startswith(b"PK\x03\x04"):
        return f"is a zip archive; a native model needs a name ending in .rpsr; {READS}"
    while (comment := _COMMENT.match(bare)) is not None:  # of PRISM and DRN
        bare = bare[comment.end() :]
    named = place.lower().removesuffix(".gz")
    for name, suffix, begins in _FORMATS:
        if begins.match(bare) or named.endswith(suffix):
            return f"is {name}, which rpsr does not read; {READS}"
    return None
