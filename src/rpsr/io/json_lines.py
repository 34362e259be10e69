"""Write one JSON value per line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rpsr.io.files import write_parts


def write_json_lines(path: str | Path, values: Iterable[Any]) -> int:
    """Write values line by line, as `write_parts` does; returns the bytes of their text."""
    size = 0

    def texts() -> Iterator[bytes]:
        nonlocal size
        for value in values:
            text = json.dumps(value, separators=(",", ":")).encode() + b"\n"
            size += len(text)
            yield text

    write_parts(path, texts())
    return size
