"""How much memory reading a file may take.

A few megabytes can unpack to gigabytes, and a few lines can stand for millions of probabilities. So
readers count what they are about to make before they make it, and refuse what would take more than
`FACTOR` times the file's own size, or more than `LIMIT` where that is larger. The environment
variable RPSR_READ_LIMIT sets another limit.
"""

from __future__ import annotations

import os
import re

from rpsr.errors import InputError

FACTOR = 256  # what a file holds takes less than this times its size, unless it was packed to
LIMIT = 2**30  # bytes that reading a small file may take
VARIABLE = "RPSR_READ_LIMIT"
TEXT_COST = 24  # bytes that it takes to read a byte of text into words, or of JSON into objects
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    unit + "i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)
}
_SIZE = re.compile(r"(\d*\.?\d+(?:e\d{1,2})?)\s*([kmgt]?i?)b?", re.ASCII | re.IGNORECASE)
_LONGEST = 30  # characters: no number of bytes takes more


def parse_size(text: str) -> int | None:
    """The bytes that `4GiB`, `1.5 GB`, `500M` or a plain number says; None where it says none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or len(match[1]) > _LONGEST or match[2].lower() not in _UNITS:
        return None
    return int(float(match[1]) * _UNITS[match[2].lower()])


def show_size(size: int) -> str:
    """A number of bytes as people read it."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if size >= 2**power:
            return f"{size / 2**power:,.1f} {unit}"
    return f"{size:,} bytes"


def allowance(size: int) -> int:
    """The bytes that reading may take of a file of so many bytes."""
    given = os.environ.get(VARIABLE)
    limit = LIMIT if given is None else parse_size(given)
    if limit is None:
        raise InputError(f"{VARIABLE}: read {given!r}, expected a size such as 4GiB")
    return max(limit, FACTOR * size)


def excess(needed: int, size: int) -> str | None:
    """What to say where reading takes more than a file of this size may; None where it may."""
    limit = allowance(size)
    if needed <= limit:
        return None
    takes = f"reading that takes {show_size(needed)} of memory"
    return f"{takes}, the limit is {show_size(limit)} ({VARIABLE} sets another)"
