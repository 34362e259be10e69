"""How much memory reading a file may take.

A few megabytes can unpack to gigabytes, and a few lines can stand for millions of probabilities. So
readers compute the memory they need before they allocate it. They refuse a file that needs more
than max(`LIMIT`, `FACTOR` times the file's size). The environment variable RPSR_READ_LIMIT replaces
`LIMIT`.
"""

from __future__ import annotations

import os
import re

from rpsr.errors import InputError

FACTOR = 256  # an ordinary file needs less than this times its size
LIMIT = 2**30  # bytes of memory for reading a small file
VARIABLE = "RPSR_READ_LIMIT"
TEXT_COST = 24  # bytes of memory per byte of text split into words, or of parsed JSON
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    unit + "i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)
}
_SIZE = re.compile(r"(\d*\.?\d+(?:e\d{1,2})?)\s*([kmgt]?i?)b?", re.ASCII | re.IGNORECASE)
_LONGEST = 30  # characters of a number of bytes


def parse_size(text: str) -> int | None:
    """The bytes that `4GiB`, `1.5 GB`, `500M` or a plain number means; None if it is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or len(match[1]) > _LONGEST or match[2].lower() not in _UNITS:
        return None
    return int(float(match[1]) * _UNITS[match[2].lower()])


def show_size(size: int) -> str:
    """A number of bytes in readable units."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if size >= 2**power:
            return f"{size / 2**power:,.1f} {unit}"
    return f"{size:,} bytes"


def allowance(size: int) -> int:
    """The bytes of memory that reading a file of this size may take."""
    given = os.environ.get(VARIABLE)
    limit = LIMIT if given is None else parse_size(given)
    if limit is None:
        raise InputError(f"{VARIABLE}: read {given!r}, expected a size such as 4GiB")
    return max(limit, FACTOR * size)


def excess(needed: int, size: int) -> str | None:
    """The error message if reading needs more than a file of this size may take, else None."""
    limit = allowance(size)
    if needed <= limit:
        return None
    takes = f"reading takes {show_size(needed)} of memory"
    return f"{takes}, the limit is {show_size(limit)} (set {VARIABLE} to change it)"
