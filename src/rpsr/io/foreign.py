"""Recognise the format of a model file by content, else by suffix.

The `.pomdp` reader alone would only report an unexpected first word of a file of another format.
"""

from __future__ import annotations

import re

from rpsr.errors import InputError

POMDP, POMDPX, PRISM, DRN, JANI = ".pomdp", ".pomdpx", ".prism", ".drn", ".jani"

# The suffix of each format, and how its files begin, after comments.
_BEGINNINGS = (
    (POMDPX, re.compile(rb"\s*<")),
    (
        PRISM,
        re.compile(
            rb"\s*(\[\w*\]\s*\w+\s*=|(pomdp|popta|dtmc|ctmc|mdp|smg|ma|observables?|module|const"
            rb"|formula|global|label)\b(?!\s*:))"
        ),
    ),
    (DRN, re.compile(rb"\s*@(type|value_type|model|nr_states|parameters)\b", re.I)),
    (JANI, re.compile(rb'\s*\{.*"jani-version"', re.S)),
)
_COMMENT = re.compile(rb"\s*//[^\n]*")
READS = "rpsr reads .pomdp, .pomdpx, .prism and .drn files (also gzipped) and its own .rpsr files"
EXPLICIT_ONLY = (
    "rpsr itself reads only PRISM's explicit form: "
    "one module, with one variable for the state and one for the observation"
)
STORM_BUILDS = (
    "PRISM models with constants or several modules need Storm: pip install 'rpsr[storm]'"
)
JANI_NEEDS = (
    "is a JANI model, which needs Storm: pip install 'rpsr[storm]'; Storm 2.0 builds no POMDP from "
    "JANI, so give a PRISM model if there is one"
)


def format_of(text: bytes, place: str) -> str:
    """The suffix of the format that the text has; `.pomdp` if it has no mark of another one."""
    if text.startswith(b"PK\x03\x04"):
        message = (
            f"is a zip archive; a model in rpsr's own format needs a name ending in .rpsr; {READS}"
        )
        raise InputError(message, place=place)
    bare = text[: 2**16].removeprefix(b"\xef\xbb\xbf")
    while (comment := _COMMENT.match(bare)) is not None:  # of PRISM and DRN
        bare = bare[comment.end() :]
    for suffix, begins in _BEGINNINGS:
        if begins.match(bare):
            return suffix
    named = place.lower().removesuffix(".gz")
    return next((s for s in (PRISM, DRN, JANI) if named.endswith(s)), POMDP)
